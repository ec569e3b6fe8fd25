from __future__ import annotations

import numpy as np

from closeknit.model.node import Node
from closeknit.model.shape import Shape
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.state.mirror import Mirror
from closeknit.state.snapshot import LIMIT, Snapshot
from closeknit.state.table import NodeTable
from engine.clusters import BLOCK, BY_RACK, RACK, TOPOLOGY, host


def snapshot(*nodes: Node, topology: Topology = TOPOLOGY, labels: dict[str, str] | None = None) -> Snapshot:
    return Snapshot(topology, NodeTable.of(nodes), labels)


def test_leaves_are_numbered_by_path_not_by_name() -> None:
    built = snapshot(host("a", "b2", "1", 1), host("z", "b1", "1", 1))
    assert built.tree.names == [("z",), ("a",)]
    assert built.tree.path(2, 0) == ("b1", "b1-1", "z")


def test_every_domain_is_a_slice_of_the_level_below() -> None:
    built = snapshot(host("a", "x", "1", 1), host("b", "x", "2", 1), host("c", "x", "2", 1), host("d", "y", "1", 1))
    assert [first.tolist() for first in built.tree.first] == [[0, 2, 3], [0, 1, 3, 4]]
    assert built.tree.leaf_range(0, 0) == (0, 3)
    assert built.tree.ancestor(3, 0) == 1


def test_nodes_without_a_level_or_without_the_flavors_labels_stay_out() -> None:
    other = Node("n", {BLOCK: "x", RACK: "r"}, {"cpu": 1})
    labelled = Node("m", {BLOCK: "x", RACK: "r", HOSTNAME: "m", "pool": "tas"}, {"cpu": 1})
    assert snapshot(other, labelled).tree.names == [("m",)]
    assert snapshot(labelled, host("z", "x", "1", 1), labels={"pool": "tas"}).tree.names == [("m",)]


def test_an_empty_label_value_is_a_value() -> None:
    assert snapshot(Node("m", {BLOCK: "", RACK: "r", HOSTNAME: "m"}, {})).tree.path(2, 0) == ("", "r", "m")


def test_nodes_of_one_hostname_fall_into_one_leaf_at_the_place_of_the_first() -> None:
    one = Node("n1", {BLOCK: "b", RACK: "r", HOSTNAME: "same"}, {"cpu": 2})
    two = Node("n2", {BLOCK: "a", RACK: "q", HOSTNAME: "same"}, {"cpu": 3})
    built = snapshot(two, one)
    assert built.tree.names == [("same",)]
    assert built.tree.path(2, 0) == ("b", "r", "same")
    assert built.remaining[built.index["cpu"]].tolist() == [5]


def test_a_rack_sums_its_nodes_and_leaves_out_unusable_ones() -> None:
    built = snapshot(
        host("a", "x", "1", 2), host("b", "x", "1", 3), host("c", "x", "1", 9, ready=False), topology=BY_RACK
    )
    assert built.tree.names == [("x", "x-1")]
    assert built.remaining[built.index["cpu"]].tolist() == [5000]


def test_room_forgets_what_is_admitted_but_not_what_is_assumed() -> None:
    built = snapshot(host("a", "x", "1", 9))
    built.use("a", {"cpu": 1000})
    built.admit(np.array([0]), np.array([2]), Shape.of({"cpu": 1000}).charge)
    built.assume(np.array([0]), np.array([3]), Shape.of({"cpu": 1000}).charge)
    cpu = built.index["cpu"]
    assert (built.room[cpu, 0], built.remaining[cpu, 0]) == (5000, 3000)


def test_many_entries_are_undone_to_the_byte_even_where_their_sum_would_be_clamped() -> None:
    built = snapshot(host("a", "x", "1", 4), host("b", "x", "2", 4))
    small, vast = Shape.of({"cpu": 1000}).charge, Shape.of({"cpu": LIMIT // 2}).charge
    built.admit(np.array([0, 1]), np.array([1, 2]), small)
    mark, before = built.checkpoint(), (built.remaining.tobytes(), built.columns.state)
    for row in (0, 1, 0):
        for charge in (small, vast):
            built.admit(np.array([row]), np.array([2]), charge)
            built.assume(np.array([row]), np.array([1]), charge)
    built.rollback(mark)
    assert (built.remaining.tobytes(), built.columns.state) == before
    assert built.columns.admitted[built.index["cpu"]].tolist() == [1000, 2000]
    assert not built.columns.assumed.any()


def test_a_rollback_restores_every_column_to_the_byte() -> None:
    built = snapshot(host("a", "x", "1", 9), host("b", "x", "2", 9))
    charge = Shape.of({"cpu": 700}).charge
    built.admit(np.array([0]), np.array([2]), charge)
    before = [column.tobytes() for column in (built.admitted, built.assumed, built.room, built.remaining)]
    mark = built.checkpoint()
    built.assume(np.array([0, 1]), np.array([1, 2]), charge)
    built.admit(np.array([1]), np.array([-5]), charge)
    built.rollback(mark)
    assert [c.tobytes() for c in (built.admitted, built.assumed, built.room, built.remaining)] == before


def test_the_log_tells_what_changed_since_a_version() -> None:
    built = snapshot(*(host(f"h{i:02d}", "x", "1", 9) for i in range(80)))
    version = built.version
    built.use("h03", {"cpu": 1})
    built.use("h05", {"cpu": 1})
    changed = built.changed_since(version)
    assert changed is not None
    assert changed.tolist() == [3, 5]


def test_a_log_that_no_longer_reaches_back_says_so() -> None:
    built = snapshot(host("a", "x", "1", 9))
    version = built.version
    built.use_columns({"cpu": np.array([1])})
    assert built.changed_since(version) is None


def test_the_log_is_bounded() -> None:
    built = snapshot(host("a", "x", "1", 9))
    for _ in range(20_000):
        built.use("a", {"cpu": 1})
    assert len(built.log) < 10_000


def test_amounts_beyond_all_reason_are_taken_as_unlimited() -> None:
    built = snapshot(Node("a", {BLOCK: "x", RACK: "r", HOSTNAME: "a"}, {"cpu": 2**63 - 1, "pods": 9}))
    built.use("a", {"cpu": 2**63 - 1})
    assert built.remaining[built.index["cpu"], 0] == 0
    assert built.allocatable[built.index["cpu"], 0] == LIMIT


def test_a_changed_node_is_put_in_its_row_and_a_moved_one_lays_the_tree_again() -> None:
    mirror = Mirror()
    view = mirror.add_flavor("", TOPOLOGY)
    mirror.put_node(host("a", "x", "1", 2))
    columns, built = mirror.columns, view.snapshot
    mirror.put_node(host("a", "x", "1", 5))
    assert view.snapshot is built
    assert built.remaining[built.index["cpu"], 0] == 5000
    mirror.put_node(host("a", "y", "1", 5))
    assert view.snapshot is not built
    assert view.snapshot.columns is columns
    assert view.snapshot.tree.path(0, 0) == ("y",)
    mirror.put_node(host("new", "x", "1", 5))
    assert view.snapshot.columns is not columns
