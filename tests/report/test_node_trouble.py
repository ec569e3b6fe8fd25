"""Nodes in trouble under a workload: since when, how many pods, and what happens next by the gates in force."""

from __future__ import annotations

from dataclasses import replace

from closeknit.model.gates import Gates
from closeknit.model.node import Node
from closeknit.model.shape import Taint, Toleration
from closeknit.model.topology import HOSTNAME
from closeknit.model.workload import Workload
from closeknit.report.lines import clock
from closeknit.report.node_trouble import NodeFailureRules, Trouble, trouble_data, trouble_lines, troubles
from decide.objects import part, running, workload

LOST_AT = 5000.0
UNREACHABLE = Taint("node.kubernetes.io/unreachable", "", "NoExecute")


def node(name: str, ready: bool = True, *taints: Taint) -> Node:
    return Node(name, {HOSTNAME: name}, {}, taints, ready, ready_since=LOST_AT)


def train(*tolerations: Toleration, **more: object) -> Workload:
    given = part("main", 5, tolerations=tolerations)
    return running(workload("train", "a", 5, 1, given, **more), hosts={"n1": 3, "n2": 2})


def only(one: Workload, *nodes: Node, **changes: bool) -> Trouble:
    (found,) = troubles(one, nodes, NodeFailureRules(Gates.profile("closeknit", changes)))
    return found


def test_nothing_is_said_while_all_nodes_are_well() -> None:
    assert troubles(train(), [node("n1"), node("n2")], NodeFailureRules(Gates.profile())) == []


def test_pods_bear_an_unreachable_node_for_five_minutes_and_are_then_placed_again() -> None:
    found = only(train(), node("n1", False, UNREACHABLE), node("n2"))
    assert (found.node, found.state, found.pods, found.since, found.at) == ("n1", "NotReady", 3, LOST_AT, LOST_AT + 300)
    assert found.then == (
        "after the pods' 300 s toleration expires and they are evicted, these pods get another host; "
        "if none has room, the workload is evicted and requeued"
    )
    assert list(trouble_lines([found], LOST_AT + 40)) == [
        f"node n1 with 3 of its pods is NotReady since {clock(LOST_AT)}, 40 s ago",
        f"  next at {clock(LOST_AT + 300)} (in 4 min 20 s): {found.then}",
    ]


def test_tolerations_of_the_pods_decide_how_long_they_stay() -> None:
    bears = Toleration(UNREACHABLE.key, "Exists", seconds=20)
    assert only(train(bears), node("n1", False, UNREACHABLE), node("n2")).at == LOST_AT + 20
    found = only(train(Toleration(UNREACHABLE.key, "Exists")), node("n1", False, UNREACHABLE), node("n2"))
    assert found.at is None
    assert found.then.startswith("nothing, unless it recovers or its pods, which tolerate it forever, are deleted")


def test_by_a_fixed_time_the_node_is_replaced_after_thirty_seconds() -> None:
    lost = node("n1", False, UNREACHABLE)
    fixed = only(train(), lost, node("n2"), TASReplaceNodeDueToNotReadyOverFixedTime=True)
    assert (fixed.at, fixed.then[:40]) == (LOST_AT + 30, "after it has been unready for 30 s, thes")
    assert only(train(), lost, node("n2"), TASReplaceNodeOnPodTermination=False).at == LOST_AT + 30


def test_a_node_that_is_gone_is_replaced_at_once() -> None:
    found = only(train(), node("n2"))
    assert (found.state, found.since, found.at) == ("gone", None, None)
    assert found.then.startswith("in a second or two, these pods get another host")


def test_without_failing_fast_a_replacement_is_tried_again() -> None:
    found = only(train(), node("n2"), TASFailedNodeReplacementFailFast=False)
    assert found.then.endswith("if none has room, it is retried, at most every 30 s")


def test_more_lost_nodes_than_are_replaced_at_once_cost_the_workload_its_admission() -> None:
    gates = Gates.profile("kueue")
    first, _ = troubles(train(), [node("n1", False), node("n2", False)], NodeFailureRules(gates))
    assert first.then.endswith("it has lost more nodes than can be replaced at once")


def test_without_replacement_pods_are_evicted_and_nothing_moves() -> None:
    found = only(train(), node("n1", False, UNREACHABLE), node("n2"), TASFailedNodeReplacement=False)
    assert found.at == LOST_AT + 300
    assert (
        found.then
        == "its pods are evicted, and new ones are created with the same assignment (TASFailedNodeReplacement is off)"
    )


def test_pods_that_topology_did_not_place_go_elsewhere() -> None:
    plain = running(workload("plain", "a", 2))
    (found,) = troubles(plain, [node("n1", False)], NodeFailureRules(Gates.profile()), {"n1": 2})
    assert (found.pods, found.then) == (
        2,
        "its pods are evicted, and new ones go to other nodes (it was not placed by topology)",
    )


def test_a_lone_pod_ends_with_its_workload() -> None:
    alone = replace(train(), owned_by_pod=True)
    assert "the workload ends with its only pod" in only(alone, node("n1", False), node("n2")).then


def test_the_same_as_data() -> None:
    (data,) = trouble_data([only(train(), node("n1", False), node("n2"))])
    assert (data["node"], data["pods"], data["at"]) == ("n1", 3, LOST_AT + 300)
