"""Which pods that were placed here drain: those that their workload holds no place for."""

from __future__ import annotations

from collections.abc import Mapping

from closeknit.model.assignment import Assignment
from closeknit.model.node import Node
from closeknit.model.shape import Shape
from closeknit.model.topology import HOSTNAME
from closeknit.state.mirror import OtherPod, Usage
from closeknit.state.placed import PlacedPod, PlacedPods

SHAPE = Shape.of({"gpu": 1})
NODES = {
    "n1": Node("n1", {HOSTNAME: "h1", "rack": "r1"}, {}),
    "n2": Node("n2", {HOSTNAME: "h2", "rack": "r1"}, {}),
    "bare": Node("bare", {}, {}),
}


def placed(nodes: Mapping[str, Node] = NODES) -> PlacedPods:
    return PlacedPods(nodes.get)


def pod(node: str = "n1", pod_set: str = "main", workload: str = "w", terminating: bool = False) -> PlacedPod:
    return PlacedPod(workload, pod_set, node, {"gpu": 1}, terminating)


def at(hosts: Mapping[str, int], pod_set: str = "main", flavor: str = "f") -> Usage:
    return Usage(Assignment.of((HOSTNAME,), (((name,), n) for name, n in hosts.items())), SHAPE, flavor, pod_set)


def in_rack(count: int) -> Usage:
    return Usage(Assignment.of(("rack",), [(("r1",), count)]), SHAPE, "f", "main")


def test_a_pod_of_a_workload_that_holds_nothing_drains_with_what_it_takes() -> None:
    made = placed()
    assert made.put("p", pod()) == {"p"}
    assert made.draining == {"p": OtherPod("n1", {"gpu": 1})}
    assert made.drop("p") == {"p"}
    assert made.drop("p") == set()
    assert made.draining == {}


def test_a_pod_on_a_host_of_the_assignment_is_covered_by_the_hosts_name() -> None:
    made = placed()
    made.put("p", pod())
    assert made.cover("w", (at({"h1": 1}),), evicted=False) == {"p"}
    assert made.draining == {}
    assert made.put("q", pod("n2")) == {"q"}
    assert made.draining.keys() == {"q"}


def test_more_pods_than_are_assigned_drain_the_last_by_name() -> None:
    made = placed()
    made.put("p2", pod())
    made.cover("w", (at({"h1": 2}),), evicted=False)
    made.put("p3", pod())
    made.put("p1", pod())
    assert made.draining.keys() == {"p3"}
    assert made.drop("p1") == {"p3"}
    assert made.draining == {}


def test_pods_of_one_pod_set_do_not_take_the_places_of_another() -> None:
    made = placed()
    made.put("p1", pod(pod_set="workers"))
    made.cover("w", (at({"h1": 1}, "workers"), at({"h1": 1}, "leader")), evicted=False)
    made.put("p2", pod(pod_set="workers"))
    assert made.draining.keys() == {"p2"}
    assert made.put("p0", pod(pod_set="leader")) == set()


def test_after_a_replacement_pods_on_the_old_host_drain() -> None:
    made = placed()
    made.put("p1", pod("n1"))
    made.put("p2", pod("n2"))
    made.cover("w", (at({"h1": 1, "h2": 1}),), evicted=False)
    assert made.cover("w", (at({"h2": 1, "h3": 1}),), evicted=False) == {"p1"}
    assert made.draining.keys() == {"p1"}


def test_once_the_workload_holds_nothing_all_of_its_pods_drain_and_no_others() -> None:
    made = placed()
    for key, workload in (("p1", "w"), ("p2", "w"), ("q", "v")):
        made.put(key, pod(workload=workload))
        made.cover(workload, (at({"h1": 2}),), evicted=False)
    assert made.cover("w", (), evicted=False) == {"p1", "p2"}
    assert made.draining.keys() == {"p1", "p2"}


def test_a_terminating_pod_is_covered_only_while_its_workload_is_evicted() -> None:
    made = placed()
    made.put("p", pod(terminating=True))
    made.cover("w", (at({"h1": 1}),), evicted=False)
    assert made.draining.keys() == {"p"}
    assert made.cover("w", (at({"h1": 1}),), evicted=True) == {"p"}
    assert made.draining == {}


def test_a_terminating_pod_leaves_its_place_to_another() -> None:
    made = placed()
    made.put("p1", pod())
    made.cover("w", (at({"h1": 1}),), evicted=False)
    made.put("p2", pod())
    assert made.draining.keys() == {"p2"}
    assert made.put("p1", pod(terminating=True)) == {"p1", "p2"}
    assert made.draining.keys() == {"p1"}


def test_where_a_leaf_is_a_rack_all_of_its_nodes_count_together() -> None:
    made = placed()
    for key, node in (("p1", "n1"), ("p2", "n2"), ("p3", "n1")):
        made.put(key, pod(node))
    made.cover("w", (in_rack(2),), evicted=False)
    assert made.draining.keys() == {"p3"}


def test_on_a_node_that_is_not_known_or_lacks_a_level_nothing_is_covered() -> None:
    made = placed()
    made.put("p1", pod("nowhere"))
    made.put("p2", pod("bare"))
    made.cover("w", (at({"nowhere": 1, "bare": 1, "": 1}),), evicted=False)
    assert made.draining.keys() == {"p1", "p2"}


def test_a_node_that_is_added_removed_or_moved_is_recomputed() -> None:
    nodes: dict[str, Node] = {}
    made = placed(nodes)
    made.put("p1", pod("n1"))
    made.put("p2", pod("n2"))
    made.cover("w", (in_rack(1),), evicted=False)
    assert made.draining.keys() == {"p1", "p2"}
    nodes["n2"] = NODES["n2"]
    assert made.refresh("n2") == {"p2"}
    nodes["n1"] = NODES["n1"]
    assert made.refresh("n1") == {"p1", "p2"}
    assert made.draining.keys() == {"p2"}
    nodes["n1"] = Node("n1", {HOSTNAME: "h1", "rack": "r2"}, {})
    assert made.refresh("n1") == {"p1", "p2"}
    assert made.draining.keys() == {"p1"}
    del nodes["n2"]
    assert made.refresh("n2") == {"p2"}
    assert made.refresh("n3") == set()


def test_a_pod_set_that_two_flavors_hold_is_held_once() -> None:
    made = placed()
    made.put("p1", pod())
    made.put("p2", pod())
    made.cover("w", (at({"h1": 1}, flavor="f"), at({"h1": 1}, flavor="g")), evicted=False)
    assert made.draining.keys() == {"p2"}
