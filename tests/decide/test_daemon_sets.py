"""Pods of DaemonSets count on the nodes that they will come to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from closeknit.decide.world import World
from closeknit.model.daemon_set import DaemonSet
from closeknit.model.flavor import Flavor
from closeknit.model.gates import Gates
from closeknit.model.node import Node
from closeknit.model.shape import Requirement, Shape, Taint, Term, Toleration
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.state.mirror import OtherPod

RACK = "rack"
GATE = "CountDaemonSets"


def node(name: str, taints: tuple[Taint, ...] = (), cpu: int = 10, **labels: str) -> Node:
    return Node(name, {HOSTNAME: name, RACK: "r1", **labels}, {"cpu": cpu, "pods": 9}, taints)


def world(*nodes: Node, levels: tuple[str, ...] = (RACK, HOSTNAME), on: bool = True) -> World:
    made = World(Gates.profile(changes={GATE: on}))
    made.put_topology(Topology("t", levels))
    made.put_flavor(Flavor("all", topology="t"))
    for one in nodes:
        made.put_node(one)
    free(made)
    return made


def free(made: World, flavor: str = "all") -> dict[str, tuple[int, int]]:
    """By the last value of a leaf's name: cpu and places among pods that are left."""
    snapshot = made.snapshot(flavor)
    assert snapshot is not None
    rows = [snapshot.remaining[snapshot.index[name]].tolist() for name in ("cpu", "pods")]
    return {name[-1]: (rows[0][leaf], rows[1][leaf]) for leaf, name in enumerate(snapshot.tree.names)}


def daemon(uid: str = "d", cpu: int = 2, host_network: bool = False, **more: Any) -> DaemonSet:
    return DaemonSet.of(uid, Shape.of({"cpu": cpu}, **more), host_network)


def test_its_pod_is_taken_from_every_node_before_it_is_bound() -> None:
    made = world(node("a"), node("b"))
    made.put_daemon_set("ns/d", daemon())
    assert free(made) == {"a": (8, 8), "b": (8, 8)}


def test_several_add_up() -> None:
    made = world(node("a"))
    made.put_daemon_set("ns/d", daemon())
    made.put_daemon_set("ns/e", daemon("e", cpu=3))
    assert free(made) == {"a": (5, 7)}


def test_with_the_gate_off_only_bound_pods_count() -> None:
    made = world(node("a"), on=False)
    made.put_daemon_set("ns/d", daemon())
    assert free(made) == {"a": (10, 9)}
    made.put_pod("ns/d-1", OtherPod("a", {"cpu": 2}, "d"))
    assert free(made) == {"a": (8, 8)}


@pytest.mark.parametrize(
    "template",
    [
        {"selector": {"gpu": "yes"}},
        {"required": (Term((Requirement("gpu", "Exists"),)),)},
        {"required": (Term(fields=(Requirement("metadata.name", "In", ("a",)),)),)},
    ],
    ids=["selector", "affinity", "name"],
)
def test_it_comes_only_to_nodes_that_its_template_admits(template: Mapping[str, Any]) -> None:
    made = world(node("a", gpu="yes"), node("b"))
    made.put_daemon_set("ns/d", daemon(**template))
    assert free(made) == {"a": (8, 8), "b": (10, 9)}


ADDED = [
    ("not-ready", "NoExecute", True, True),
    ("not-ready", "NoSchedule", False, False),
    ("unreachable", "NoExecute", True, True),
    ("disk-pressure", "NoSchedule", True, True),
    ("memory-pressure", "NoSchedule", True, True),
    ("pid-pressure", "NoSchedule", True, True),
    ("unschedulable", "NoSchedule", True, True),
    ("network-unavailable", "NoSchedule", False, True),
    ("out-of-service", "NoExecute", False, False),
]


@pytest.mark.parametrize(("key", "effect", "plain", "on_host_network"), ADDED)
def test_it_tolerates_what_its_controller_adds(key: str, effect: str, plain: bool, on_host_network: bool) -> None:
    for host_network, comes in ((False, plain), (True, on_host_network)):
        made = world(node("a", (Taint(f"node.kubernetes.io/{key}", "", effect),)))
        made.put_daemon_set("ns/d", daemon(host_network=host_network))
        assert free(made) == {"a": (8, 8) if comes else (10, 9)}


def test_a_taint_keeps_it_off_unless_its_template_tolerates_it() -> None:
    made = world(node("a", (Taint("dedicated", "x", "NoSchedule"),)))
    made.put_daemon_set("ns/d", daemon())
    assert free(made) == {"a": (10, 9)}
    made.put_daemon_set("ns/d", daemon(tolerations=(Toleration("dedicated", "Exists"),)))
    assert free(made) == {"a": (8, 8)}


class TestBoundPods:
    def test_a_pod_that_is_bound_counts_in_its_place_as_it_is(self) -> None:
        made = world(node("a"), node("b"))
        made.put_daemon_set("ns/d", daemon())
        made.put_pod("ns/d-1", OtherPod("a", {"cpu": 5}, "d"))
        assert free(made) == {"a": (5, 8), "b": (8, 8)}

    def test_when_it_is_gone_another_is_expected(self) -> None:
        made = world(node("a"))
        made.put_daemon_set("ns/d", daemon())
        made.put_pod("ns/d-1", OtherPod("a", {"cpu": 5}, "d"))
        made.put_pod("ns/d-2", OtherPod("a", {"cpu": 5}, "d"))
        made.drop_pod("ns/d-1")
        assert free(made) == {"a": (5, 8)}
        made.drop_pod("ns/d-2")
        assert free(made) == {"a": (8, 8)}

    def test_pods_may_be_known_before_their_daemon_set(self) -> None:
        made = world(node("a"), node("b"))
        made.put_pod("ns/d-1", OtherPod("a", {"cpu": 2}, "d"))
        made.put_daemon_set("ns/d", daemon())
        assert free(made) == {"a": (8, 8), "b": (8, 8)}

    def test_a_pod_that_moves_leaves_one_expected_behind(self) -> None:
        made = world(node("a"), node("b"))
        made.put_daemon_set("ns/d", daemon())
        made.put_pod("ns/d-1", OtherPod("a", {"cpu": 4}, "d"))
        made.put_pod("ns/d-1", OtherPod("b", {"cpu": 4}, "d"))
        assert free(made) == {"a": (8, 8), "b": (6, 8)}

    def test_pods_of_others_take_no_expected_place(self) -> None:
        made = world(node("a"))
        made.put_daemon_set("ns/d", daemon())
        made.put_pod("ns/x-1", OtherPod("a", {"cpu": 1}, "x"))
        made.put_pod("ns/bare", OtherPod("a", {"cpu": 1}))
        assert free(made) == {"a": (6, 6)}

    def test_a_recreated_daemon_set_expects_pods_of_its_own(self) -> None:
        made = world(node("a"))
        made.put_daemon_set("ns/d", daemon())
        made.put_pod("ns/d-1", OtherPod("a", {"cpu": 2}, "d"))
        made.put_daemon_set("ns/d", daemon("another uid"))
        assert free(made) == {"a": (6, 7)}


class TestChanges:
    def test_a_changed_daemon_set_counts_as_it_is_now(self) -> None:
        made = world(node("a", gpu="yes"), node("b"))
        made.put_daemon_set("ns/d", daemon())
        made.put_daemon_set("ns/d", daemon(cpu=3, selector={"gpu": "yes"}))
        assert free(made) == {"a": (7, 8), "b": (10, 9)}

    def test_one_that_is_gone_counts_no_more(self) -> None:
        made = world(node("a"))
        made.put_daemon_set("ns/d", daemon())
        made.drop_daemon_set("ns/d")
        made.drop_daemon_set("ns/d")
        assert free(made) == {"a": (10, 9)}

    def test_a_node_that_joins_later_gets_one(self) -> None:
        made = world(node("a"))
        made.put_daemon_set("ns/d", daemon())
        made.put_node(node("b"))
        assert free(made) == {"a": (8, 8), "b": (8, 8)}

    def test_labels_and_taints_that_change_bring_it_or_take_it_away(self) -> None:
        made = world(node("a"))
        made.put_daemon_set("ns/d", daemon(selector={"gpu": "yes"}))
        assert free(made) == {"a": (10, 9)}
        made.put_node(node("a", gpu="yes"))
        assert free(made) == {"a": (8, 8)}
        made.put_node(node("a", (Taint("dedicated", "", "NoSchedule"),), gpu="yes"))
        assert free(made) == {"a": (10, 9)}

    def test_a_node_that_was_cordoned_not_ready_or_away_is_back_with_it(self) -> None:
        made = world(node("a"))
        made.put_daemon_set("ns/d", daemon())
        for other in (replace(node("a"), unschedulable=True), replace(node("a"), ready=False), None):
            if other is None:
                made.drop_node("a")
            else:
                made.put_node(other)
            assert free(made) == {"a": (0, 0)}
            made.put_node(node("a"))
            assert free(made) == {"a": (8, 8)}

    def test_a_pod_that_is_bound_while_its_node_is_away_counts_when_it_is_back(self) -> None:
        made = world(node("a"))
        made.put_daemon_set("ns/d", daemon())
        made.drop_node("a")
        made.put_pod("ns/d-1", OtherPod("a", {"cpu": 1}, "d"))
        made.put_node(node("a"))
        assert free(made) == {"a": (9, 8)}

    def test_a_node_that_returns_to_a_flavor_with_other_labels_is_recomputed(self) -> None:
        made = world(node("a", pool="x", gpu="yes"))
        made.put_flavor(Flavor("x", {"pool": "x"}, topology="t"))
        free(made, "x")
        made.put_daemon_set("ns/d", daemon(selector={"gpu": "yes"}))
        made.put_node(node("a", pool="y", gpu="yes"))
        made.put_node(node("a", pool="x", gpu="no"))
        assert free(made, "x") == free(made) == {"a": (10, 9)}

    def test_a_resource_that_no_node_has_counts_once_one_has_it(self) -> None:
        made = world(node("a"))
        made.put_daemon_set("ns/d", DaemonSet.of("d", Shape.of({"cpu": 2, "gpu": 1})))
        assert free(made) == {"a": (8, 8)}
        made.put_node(replace(node("a"), allocatable={"cpu": 10, "pods": 9, "gpu": 4}))
        snapshot = made.snapshot("all")
        assert snapshot is not None
        assert snapshot.remaining[snapshot.index["gpu"]].tolist() == [3]
        assert free(made) == {"a": (8, 8)}


def test_every_flavor_sees_it_also_one_that_comes_later() -> None:
    made = world(node("a", pool="x"), node("b", pool="y"))
    made.put_daemon_set("ns/d", daemon())
    made.put_flavor(Flavor("x", {"pool": "x"}, topology="t"))
    assert free(made, "x") == {"a": (8, 8)}
    made.put_pod("ns/d-1", OtherPod("a", {"cpu": 1}, "d"))
    assert free(made, "x") == {"a": (9, 8)}
    assert free(made) == {"a": (9, 8), "b": (8, 8)}


def test_a_rack_of_several_nodes_sums_them_up() -> None:
    made = world(node("a"), node("b"), node("c", gpu="no"), levels=(RACK,))
    made.put_daemon_set("ns/d", daemon(required=(Term((Requirement("gpu", "DoesNotExist"),)),)))
    assert free(made) == {"r1": (26, 25)}
    made.put_pod("ns/d-1", OtherPod("b", {"cpu": 1}, "d"))
    assert free(made) == {"r1": (27, 25)}
    made.put_node(replace(node("a"), ready=False))
    assert free(made) == {"r1": (19, 17)}


def test_what_is_expected_cannot_be_moved_off_its_node() -> None:
    made = world(node("a"))
    made.put_daemon_set("ns/d", daemon())
    made.put_pod("ns/bare", OtherPod("a", {"cpu": 1}))
    snapshot = made.snapshot("all")
    assert snapshot is not None
    assert snapshot.other[snapshot.index["cpu"]].tolist() == [3]
    assert snapshot.pinned[snapshot.index["cpu"]].tolist() == [2]
