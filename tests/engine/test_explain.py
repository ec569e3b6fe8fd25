from __future__ import annotations

import numpy as np
import pytest

from closeknit.engine.explain import Explanation, explain
from closeknit.engine.place import Result, place
from closeknit.engine.policy import Policy
from closeknit.model.node import Node
from closeknit.model.request import Constraint, Layer, PodSet, Request
from closeknit.model.shape import MAINTENANCE, Requirement, Shape, Taint, Term
from closeknit.model.topology import HOSTNAME
from closeknit.state.snapshot import Snapshot
from closeknit.state.table import NodeTable

from .clusters import BLOCK, RACK, TAINT, TOPOLOGY, columns, host

POLICY = Policy()


def cluster() -> Snapshot:
    """Two racks of one block: four hosts of 4 cpu each, one tainted, one cordoned; some are half used."""
    nodes = [host(f"r1-{i}", "x", "1", 4) for i in range(4)] + [host(f"r2-{i}", "x", "2", 4) for i in range(2)]
    nodes.append(host("r2-2", "x", "2", 4, taints=(TAINT,)))
    nodes.append(Node("r2-3", host("r2-3", "x", "2", 4).labels, {"cpu": 4000, "pods": 110}, unschedulable=True))
    snapshot = Snapshot(TOPOLOGY, NodeTable.of(nodes))
    for name in ("r1-0", "r1-1"):
        for _ in range(2):
            snapshot.use(name, {"cpu": 1000})
    return snapshot


def ask(count: int, constraint: Constraint, cpu: int = 1000) -> Request:
    return Request.of([PodSet("main", count, Shape.of({"cpu": cpu}), constraint)])


def explained(count: int, constraint: Constraint, cpu: int = 1000) -> Explanation:
    found = explain(cluster(), ask(count, constraint, cpu), POLICY)
    assert isinstance(found, Explanation)
    return found


def texts(found: Explanation) -> list[str]:
    return [str(remedy) for remedy in found.remedies]


def test_a_job_that_fits_gives_its_result() -> None:
    assert isinstance(explain(cluster(), ask(4, Constraint(required=RACK)), POLICY), Result)


def test_each_level_tells_what_its_best_domain_holds() -> None:
    found = explained(14, Constraint(required=RACK))
    assert [(view.level, view.domains, view.holding, view.pods) for view in found.levels] == [
        (BLOCK, 1, 1, 20),
        (RACK, 2, 0, 12),
        (HOSTNAME, 8, 0, 4),
    ]
    assert found.levels[1].best == ("x", "x-1")


def test_causes_come_with_numbers() -> None:
    found = explained(14, Constraint(required=RACK))
    assert {(cause.cause, cause.leaves, cause.pods) for cause in found.causes} == {
        ('taint "dedicated=x:NoSchedule"', 1, 4),
        ("cordoned", 1, 4),
    }


def test_a_cordoned_node_counts_with_the_room_that_is_left_on_it() -> None:
    snapshot = cluster()
    leaf = snapshot.tree.leaf_of["r2-3",]
    snapshot.assume(np.array([leaf]), np.array([3]), (("cpu", 1000), ("pods", 1)))
    found = explain(snapshot, ask(14, Constraint(required=RACK)), POLICY)
    assert isinstance(found, Explanation)
    assert [cause.pods for cause in found.causes if cause.cause == "cordoned"] == [1]


def test_pods_larger_than_any_node_are_offered_the_size_of_a_node() -> None:
    assert texts(explained(2, Constraint(required=RACK), cpu=5000)) == [
        "request 4 cpu per pod, which is all that a node has"
    ]


def maintained(nodes: int) -> Snapshot:
    """Four hosts of 4 cpu each in one rack, the first of which are reserved for maintenance."""
    window = Taint("m1", "from 1 until 2", MAINTENANCE)
    hosts = [host(f"n{i}", "x", "1", 4, taints=(window,) if i < nodes else ()) for i in range(4)]
    return Snapshot(TOPOLOGY, NodeTable.of(hosts))


@pytest.mark.parametrize(("count", "reserved", "never"), [(12, False, None), (16, True, None), (20, False, True)])
def test_what_fits_once_maintenance_is_over_is_not_impossible_but_more_than_a_matter_of_other_jobs(
    count: int, reserved: bool, never: bool | None
) -> None:
    snapshot = maintained(1)
    snapshot.use("n3", {"cpu": 4000})
    found = explain(snapshot, ask(count, Constraint(required=RACK)), POLICY)
    assert isinstance(found, Explanation)
    assert (found.is_reserved, found.never and True) == (reserved, never)


def test_fragmentation_is_reported_with_what_contiguous_room_would_hold() -> None:
    found = explained(6, Constraint(required=RACK), cpu=3000)
    rack = found.levels[1]
    assert (rack.pods, rack.in_one_piece) == (2, 4)


def test_the_smallest_changes_are_offered() -> None:
    found = explained(14, Constraint(required=RACK))
    assert texts(found) == [
        f'relax to required "{BLOCK}"',
        "ask for 12 pods instead of 14",
        "free r1-0 (2 pods would have to move)",
        "add 1 node like r1-0 in x/x-1",
    ]


def test_uncordoning_is_offered_where_it_helps() -> None:
    snapshot = cluster()
    for name in ("r1-2", "r1-3"):
        snapshot.use(name, {"cpu": 4000})
    found = explain(snapshot, ask(12, Constraint(required=RACK)), POLICY)
    assert isinstance(found, Explanation)
    assert "uncordon r2-3" in texts(found)


def test_dropping_slices_is_offered_where_only_they_stand_in_the_way() -> None:
    found = explained(12, Constraint(required=RACK, slices=(Layer(HOSTNAME, 4),)))
    assert "drop the slice constraint" in texts(found)


def test_a_host_cannot_be_made_larger_by_adding_nodes() -> None:
    assert not any(text.startswith("add") for text in texts(explained(5, Constraint(required=HOSTNAME))))


def test_a_wrong_request_is_explained_by_its_reason_alone() -> None:
    found = explained(2, Constraint(required="example.com/row"))
    assert (str(found.reason), found.levels, found.remedies) == (
        "no requested topology level: example.com/row",
        (),
        (),
    )


def test_the_second_pod_set_is_explained_beside_what_the_first_took() -> None:
    wanted = Constraint(required=RACK)
    sets = [PodSet("one", 12, Shape.of({"cpu": 1000}), wanted), PodSet("two", 12, Shape.of({"cpu": 1000}), wanted)]
    found = explain(cluster(), Request.of(sets), POLICY)
    assert isinstance(found, Explanation)
    assert found.workers.name == "two"
    assert found.levels[1].pods == 8


@pytest.mark.parametrize("count", [9, 14, 30])
def test_explaining_changes_nothing(count: int) -> None:
    snapshot = cluster()
    before, usable = columns(snapshot), snapshot.table.usable.tolist()
    request = ask(count, Constraint(required=RACK))
    explain(snapshot, request, POLICY)
    assert (columns(snapshot), snapshot.table.usable.tolist()) == (before, usable)
    assert str(place(snapshot, request, POLICY).reason) == str(place(cluster(), request, POLICY).reason)


def shaped(count: int, shape: Shape, snapshot: Snapshot | None = None) -> Explanation:
    request = Request.of([PodSet("main", count, shape, Constraint(required=RACK))])
    found = explain(snapshot or cluster(), request, POLICY)
    assert isinstance(found, Explanation)
    return found


def test_a_missing_toleration_is_offered() -> None:
    nodes = [host(f"t{i}", "x", "1", 4, taints=(TAINT,)) for i in range(2)]
    found = shaped(4, Shape.of({"cpu": 1000}), Snapshot(TOPOLOGY, NodeTable.of(nodes)))
    assert texts(found) == ["tolerate the taint dedicated=x:NoSchedule"]


def test_a_selector_that_no_node_meets_is_named_with_what_was_meant() -> None:
    found = shaped(4, Shape.of({"cpu": 1000}, {RACK: "x-11"}))
    (cause,) = (cause for cause in found.causes if cause.cause == "nodeSelector")
    assert cause.detail == f"no usable node has {RACK}=x-11; did you mean x-1?"
    assert f"drop nodeSelector {RACK}=x-11" in texts(found)


def test_a_label_that_no_node_has_is_named() -> None:
    found = shaped(4, Shape.of({"cpu": 1000}, {"example.com/rak": "x-1"}))
    (cause,) = (cause for cause in found.causes if cause.cause == "nodeSelector")
    assert cause.detail == f"no node has the label example.com/rak; did you mean {RACK}?"


def test_required_affinity_that_stands_in_the_way_is_offered_to_be_dropped() -> None:
    nowhere = (Term((Requirement("zone", "In", ("a",)),)),)
    assert "drop required node affinity" in texts(shaped(4, Shape.of({"cpu": 1000}, required=nowhere)))


def test_a_resource_that_no_node_has_is_said() -> None:
    found = shaped(1, Shape.of({"cpus": 1000}))
    (cause,) = (cause for cause in found.causes if cause.cause == 'resource "cpus"')
    assert cause.detail == "no node has it; did you mean cpu?"


def test_a_pod_larger_than_every_node_is_said_and_not_called_fragmentation() -> None:
    found = shaped(1, Shape.of({"cpu": 5000}))
    (cause,) = (cause for cause in found.causes if cause.cause == 'resource "cpu"')
    assert cause.detail == "a pod requests 5, the largest node has 4"
    assert all(view.in_one_piece == view.pods for view in found.levels)


def test_every_resource_that_is_short_is_counted() -> None:
    snapshot = cluster()
    for name in ("r1-0", "r1-1"):
        snapshot.use(name, {"cpu": 2000}, pods=1)
        snapshot.use(name, {}, pods=107)
    found = shaped(20, Shape.of({"cpu": 1000}), snapshot)
    assert {(c.cause, c.leaves) for c in found.causes if c.cause.startswith("resource")} == {
        ('resource "cpu"', 2),
        ('resource "pods"', 2),
    }


def test_pods_that_belong_to_their_node_are_neither_freed_nor_counted() -> None:
    snapshot = cluster()
    rows = snapshot.row_of
    agents = np.zeros(len(rows), dtype=np.int64)
    agents[[rows["r1-0"], rows["r1-1"]]] = 2
    snapshot.pin_columns({"cpu": agents * 1000, "pods": agents})
    found = explain(snapshot, ask(14, Constraint(required=RACK)), POLICY)
    assert isinstance(found, Explanation)
    assert not any(text.startswith("free") for text in texts(found))


def test_added_nodes_run_what_belongs_to_every_node() -> None:
    nodes = [host("a", "x", "1", 4)]
    snapshot = Snapshot(TOPOLOGY, NodeTable.of(nodes))
    snapshot.use("a", {"cpu": 1000})
    snapshot.pin_columns({"cpu": np.array([1000]), "pods": np.array([1])})
    found = explain(snapshot, ask(12, Constraint(required=RACK)), POLICY)
    assert isinstance(found, Explanation)
    assert "add 3 nodes like a in x/x-1" in texts(found)
