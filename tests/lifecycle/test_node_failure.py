"""When a node counts as lost, for which workloads, and what follows: the whole matrix of gates, and each rule alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from closeknit.decide.scheduler import needs_second_pass
from closeknit.lifecycle.action import Action, EndPod, Requeue, StatusChange
from closeknit.lifecycle.node_failure import Affected, NodeView, node_failure
from closeknit.model.assignment import Assignment
from closeknit.model.event import Event
from closeknit.model.flavor import Flavor
from closeknit.model.gates import Gates
from closeknit.model.node import Node
from closeknit.model.pod import Pod
from closeknit.model.request import Group, PodSet, Request
from closeknit.model.shape import Shape, Taint, Toleration
from closeknit.model.topology import HOSTNAME
from closeknit.model.workload import (
    Admission,
    Check,
    Condition,
    PodSetAssignment,
    PodSetUpdate,
    Status,
    Workload,
    WorkloadPodSet,
)

NOW = 1000.0
REPLACE = "TASFailedNodeReplacement"
FAIL_FAST = "TASFailedNodeReplacementFailFast"
BY_PODS = "TASReplaceNodeOnPodTermination"
TAINTS = "TASReplaceNodeOnNodeTaints"
FIXED_TIME = "TASReplaceNodeDueToNotReadyOverFixedTime"
KUEUE, OURS = Gates.profile("kueue"), Gates.profile()

NO_EXECUTE, NO_SCHEDULE = Taint("gpu", "broken", "NoExecute"), Taint("gpu", "broken", "NoSchedule")
FOR_EVER = Toleration("gpu", "Exists")
FIVE_MINUTES = Toleration("gpu", "Exists", effect="NoExecute", seconds=300)


def ready(*taints: Taint, name: str = "n", **labels: str) -> Node:
    return Node(name, labels, {}, taints, ready_since=0.0)


def unready(seconds: float) -> Node:
    return Node("n", {}, {}, ready=False, ready_since=NOW - seconds)


SILENT = Node("n", {}, {}, ready=False, ready_since=None)


def on_hosts(*hosts: str) -> Assignment:
    return Assignment.of((HOSTNAME,), (((host,), 1) for host in hosts))


def workload(
    *hosts: str,
    tolerations: tuple[Toleration, ...] = (),
    unhealthy: tuple[str, ...] = (),
    checks: tuple[Check, ...] = (),
    holds: Iterable[str] = ("QuotaReserved", "Admitted"),
) -> Workload:
    """One pod on each host, in the flavor `gpus`."""
    request = Request.of([PodSet("main", len(hosts), Shape.of({}, tolerations=tolerations))])
    given = PodSetAssignment("main", {"cpu": "gpus"}, {}, len(hosts), on_hosts(*hosts))
    status = Status(admission=Admission("q", (given,)), unhealthy=unhealthy, checks=checks)
    for kind in holds:
        status = status.condition(kind, True, "", "", 0.0)
    return Workload("ns", "w", request, (WorkloadPodSet("main", {}),), status=status)


def pod(**more: Any) -> Pod:
    """Running on node n."""
    return Pod("ns", **{"name": "p", "node": "n", "phase": "Running", "workload": "w", **more})


RUNS, STOPS, FAILED = pod(), pod(deleting=True), pod(phase="Failed")
WAITS = pod(node="", phase="Pending", selector={HOSTNAME: "n"})


def look(node: Node | None, one: Workload, *pods: Pod, gates: Gates = KUEUE, **more: Any) -> list[Action]:
    return node_failure(NodeView("n", node, [Affected(one, pods)], gates, **more), NOW)


def listed(node: Node | None, one: Workload, *pods: Pod, **more: Any) -> tuple[str, ...] | None:
    """The failed nodes of the workload afterwards; None if nothing was written."""
    changes = [action for action in look(node, one, *pods, **more) if isinstance(action, StatusChange)]
    assert len(changes) < 2
    return changes[0].after.status.unhealthy if changes else None


def ended(actions: list[Action]) -> list[str]:
    return [action.pod.name for action in actions if isinstance(action, EndPod)]


# The matrix

COLUMNS = [(by_pods, taints, fixed) for by_pods in (False, True) for taints in (False, True) for fixed in (False, True)]
"""Whether OnPodTermination, OnNodeTaints and FixedTime are on: off off off, off off on, … on on on."""

TOLERATING = {"for ever": workload("n", tolerations=(FOR_EVER,)), "a while": workload("n", tolerations=(FIVE_MINUTES,))}

MATRIX: list[tuple[str, Node | None, Workload, Pod | None, str]] = [
    ("gone, pod runs", None, workload("n"), RUNS, "L L L L  L L L L"),
    (
        "never said whether ready",
        replace(ready(), ready=False, ready_since=None),
        workload("n"),
        RUNS,
        "L L L L  L L L L",
    ),
    ("unready 10 s, pod runs", unready(10), workload("n"), RUNS, "W W W W  . . . ."),
    ("unready 40 s, pod runs", unready(40), workload("n"), RUNS, "L L L L  . L . L"),
    ("unready 30 s, pod runs", unready(30), workload("n"), RUNS, "L L L L  . L . L"),
    ("unready 10 s, pod stops", unready(10), workload("n"), STOPS, "W W W W  L L L L"),
    ("unready 40 s, pod stops", unready(40), workload("n"), STOPS, "L L L L  L L L L"),
    ("unready 10 s, pod failed", unready(10), workload("n"), FAILED, "W W W W  L L L L"),
    ("unready 10 s, no pod", unready(10), workload("n"), None, "W W W W  L L L L"),
    ("ready, pod runs", ready(), workload("n"), RUNS, ". . . .  . . . ."),
    ("ready, no pod", ready(), workload("n"), None, ". . . .  . . . ."),
    ("NoExecute, pod runs", ready(NO_EXECUTE), workload("n"), RUNS, ". . L L  . . . ."),
    ("NoExecute, pod stops", ready(NO_EXECUTE), workload("n"), STOPS, ". . L L  . . L L"),
    ("NoExecute, pod failed", ready(NO_EXECUTE), workload("n"), FAILED, ". . L L  . . L L"),
    ("NoSchedule, pod runs", ready(NO_SCHEDULE), workload("n"), RUNS, ". . L L  . . . ."),
    ("NoSchedule, no pod", ready(NO_SCHEDULE), workload("n"), None, ". . L L  . . L L"),
    ("tolerated for 300 s, pod runs", ready(NO_EXECUTE), TOLERATING["a while"], RUNS, ". . . .  . . . ."),
    ("tolerated for 300 s, pod stops", ready(NO_EXECUTE), TOLERATING["a while"], STOPS, ". . L L  . . L L"),
    ("tolerated, pod stops", ready(NO_EXECUTE), TOLERATING["for ever"], STOPS, ". . . .  . . . ."),
    ("tolerated, but unready 10 s, pod stops", unready(10), TOLERATING["for ever"], STOPS, "W W W W  L L L L"),
]
"""L: lost, W: reconciled again when it has been unready for 30 s, a dot: nothing."""


def gates_of(replaces: bool, fail_fast: bool, column: tuple[bool, bool, bool]) -> Gates:
    states = zip((REPLACE, FAIL_FAST, BY_PODS, TAINTS, FIXED_TIME), (replaces, fail_fast, *column), strict=True)
    return Gates(frozenset({"TopologyAwareScheduling", *(name for name, on in states if on)}))


@pytest.mark.parametrize(("replaces", "fail_fast"), list(product((False, True), repeat=2)))
@pytest.mark.parametrize(("node", "one", "there", "cells"), [row[1:] for row in MATRIX], ids=[row[0] for row in MATRIX])
def test_all_gates(
    node: Node | None, one: Workload, there: Pod | None, cells: str, replaces: bool, fail_fast: bool
) -> None:
    for column, cell in zip(COLUMNS, cells.split(), strict=True):
        actions = look(node, one, *filter(None, [there]), gates=gates_of(replaces, fail_fast, column))
        if cell == "." or not replaces:
            assert actions == [], column
        elif cell == "W":
            assert actions == [Requeue(NOW + 20.0)], column
        else:
            lost = replace(one, status=replace(one.status, unhealthy=("n",)))
            assert actions == [StatusChange(one, lost)], column


@pytest.mark.parametrize(("replaces", "fail_fast"), list(product((False, True), repeat=2)))
@pytest.mark.parametrize("column", COLUMNS)
def test_a_second_failed_node_evicts_whatever_the_other_gates_say(
    column: tuple[bool, bool, bool], replaces: bool, fail_fast: bool
) -> None:
    gates = gates_of(replaces, fail_fast, column)
    actions = look(None, workload("m", "n", unhealthy=("m",)), RUNS, gates=gates)
    assert [one.after.evicted for one in actions if isinstance(one, StatusChange)] == ([True] if replaces else [])


# How many


class TestSeveral:
    MESSAGE = "Workload eviction triggered due to multiple TAS assigned node failures, including: m, n"

    def test_an_eviction_says_why_and_which(self) -> None:
        one = workload("m", "n", unhealthy=("m",), checks=(Check("c", "Ready", "ok", 5.0),))
        (change,) = look(None, one)
        assert isinstance(change, StatusChange)
        status = change.after.status
        assert status.conditions["Evicted"] == Condition(True, "NodeFailures", self.MESSAGE, NOW)
        assert (status.unhealthy, status.evictions) == ((), {("NodeFailures", ""): 1})
        reset = Check("c", "Pending", "Reset to Pending after eviction. Previously: Ready", NOW)
        assert status.checks == (reset,)
        assert status.admission == one.status.admission
        assert change.events == (Event("ns/w", "Normal", "EvictedDueToNodeFailures", self.MESSAGE),)

    def test_nothing_else_is_done_to_an_evicted_workload(self) -> None:
        actions = look(unready(40), workload("m", "n", unhealthy=("m",)), WAITS)
        assert [type(one) for one in actions] == [StatusChange]

    def test_the_same_node_again_is_nothing_new(self) -> None:
        assert look(None, workload("m", "n", unhealthy=("n",)), RUNS) == []
        assert look(None, workload("m", "n", unhealthy=("m", "n")), RUNS, gates=OURS) == []

    def test_without_our_gate_two_that_are_listed_already_are_two_too_many(self) -> None:
        (change,) = look(None, workload("m", "n", unhealthy=("m", "n")))
        assert isinstance(change, StatusChange)
        assert change.after.status.conditions["Evicted"].message == self.MESSAGE

    def test_with_our_gate_eight_are_listed_for_replacement(self) -> None:
        seven = tuple("abcdefg")
        assert listed(None, workload("m", "n", unhealthy=("m",)), gates=OURS) == ("m", "n")
        assert listed(None, workload(*seven, "n", unhealthy=seven), gates=OURS) == (*seven, "n")

    def test_the_ninth_evicts(self) -> None:
        eight = tuple("abcdefgh")
        (change,) = look(None, workload(*eight, "n", unhealthy=eight), gates=OURS)
        assert isinstance(change, StatusChange)
        assert change.after.evicted
        message = change.after.status.conditions["Evicted"].message
        assert message.endswith("failures, including: a, b, c, d, e, f, g, h, n")

    def test_the_scheduler_has_to_look_for_another(self) -> None:
        (change,) = look(None, workload("m", "n"), RUNS)
        assert isinstance(change, StatusChange)
        assert not needs_second_pass(change.before)
        assert needs_second_pass(change.after)


class TestRecovery:
    @pytest.mark.parametrize(
        ("node", "pods"),
        [
            (ready(), []),
            (ready(NO_SCHEDULE), [RUNS]),
            (unready(10), [RUNS]),
            (ready(Taint("gpu", "", "PreferNoSchedule")), []),
        ],
        ids=["ready", "tainted but pods run", "unready but pods run", "a soft taint"],
    )
    def test_a_node_that_does_its_work_is_taken_off_the_list(self, node: Node, pods: list[Pod]) -> None:
        assert listed(node, workload("m", "n", unhealthy=("n",)), *pods) == ()

    def test_others_stay_on_it(self) -> None:
        assert listed(ready(), workload("l", "m", "n", unhealthy=("m", "n", "l")), gates=OURS) == ("m", "l")

    def test_a_workload_that_moved_away_does_not_wait_for_it(self) -> None:
        assert listed(unready(40), workload("m", unhealthy=("n",))) == ()

    def test_a_workload_that_did_not_list_it_is_not_written(self) -> None:
        assert listed(ready(), workload("m", "n", unhealthy=("m",))) is None

    def test_after_30_seconds_it_stays_listed_though_pods_seem_to_run(self) -> None:
        gates = Gates.profile("kueue", {FIXED_TIME: True})
        assert look(unready(40), workload("n", unhealthy=("n",)), RUNS, gates=gates) == []


# Whom it concerns


class TestAffected:
    @pytest.mark.parametrize("kind", ["Evicted", "Finished"])
    def test_a_workload_that_is_ending_is_left_alone(self, kind: str) -> None:
        one = workload("n", holds=("QuotaReserved", "Admitted", kind))
        assert look(None, one, WAITS) == []
        assert look(unready(40), one, WAITS) == []

    def test_quota_without_admission_is_no_place(self) -> None:
        assert look(None, workload("n", holds=["QuotaReserved"]), RUNS) == []

    def test_a_rack_of_that_name_is_no_host(self) -> None:
        one = workload("n")
        assert one.status.admission is not None
        (given,) = one.status.admission.pod_sets
        racks = replace(given, topology=Assignment.of(("rack",), [(("n",), 1)]))
        assert look(None, replace(one, status=replace(one.status, admission=Admission("q", (racks,))))) == []

    def test_each_workload_is_judged_by_its_own_pods(self) -> None:
        first, second = workload("n"), replace(workload("n"), name="v")
        view = NodeView("n", unready(10), [Affected(first, [RUNS]), Affected(second, [STOPS])], KUEUE)
        assert [one.after.name for one in node_failure(view, NOW) if isinstance(one, StatusChange)] == ["v"]

    def test_a_node_is_known_to_assignments_by_its_hostname(self) -> None:
        node = ready(NO_SCHEDULE, **{HOSTNAME: "host"})
        assert listed(node, workload("host"), RUNS) is None
        assert listed(node, workload("host"), pod(node="host")) == ("host",)
        assert listed(node, workload("n")) is None
        assert listed(None, workload("host"), known_as="host") == ("host",)

    def test_a_node_that_turned_unready_in_the_future_is_waited_for(self) -> None:
        gates = Gates.profile("kueue", {BY_PODS: False})
        assert look(unready(-5), workload("n"), gates=gates) == [Requeue(NOW + 35.0)]

    def test_for_how_long_it_may_be_unready_can_be_set(self) -> None:
        gates = Gates.profile("kueue", {BY_PODS: False})
        assert look(unready(2), workload("n"), gates=gates, delay=3.0) == [Requeue(NOW + 1.0)]
        assert listed(unready(3), workload("n"), gates=gates, delay=3.0) == ("n",)
        fixed = Gates.profile("kueue", {FIXED_TIME: True})
        assert listed(unready(2), workload("n"), RUNS, gates=fixed, delay=3.0) is None
        assert listed(unready(3), workload("n"), RUNS, gates=fixed, delay=3.0) == ("n",)


class TestPodsThatKeepANode:
    @pytest.mark.parametrize("phase", ["Running", "Pending", "Unknown", ""])
    def test_one_that_is_bound_and_goes_on(self, phase: str) -> None:
        assert listed(unready(10), workload("n"), FAILED, pod(phase="Succeeded"), pod(phase=phase)) is None

    @pytest.mark.parametrize(
        "other",
        [pod(node="m"), WAITS, pod(node="", phase="Pending", gated=True), pod(phase="Succeeded")],
        ids=["elsewhere", "not bound", "gated", "ended"],
    )
    def test_others_do_not(self, other: Pod) -> None:
        assert listed(unready(10), workload("n"), other) == ("n",)


# Tolerations


class TestTolerations:
    def tainted(self, one: Workload, *taints: Taint, flavor: tuple[Toleration, ...] = ()) -> bool:
        flavors = {"gpus": Flavor("gpus", tolerations=flavor), "other": Flavor("other", tolerations=(FOR_EVER,))}
        return listed(ready(*(taints or (NO_SCHEDULE,))), one, flavors=flavors) is not None

    def test_of_the_template(self) -> None:
        assert self.tainted(workload("n"))
        assert not self.tainted(workload("n", tolerations=(FOR_EVER,)))

    def test_of_the_flavor_that_was_given(self) -> None:
        assert not self.tainted(workload("n"), flavor=(FOR_EVER,))

    @pytest.mark.parametrize(
        ("state", "name", "lost"), [("Ready", "main", False), ("Pending", "main", True), ("Ready", "x", True)]
    )
    def test_of_checks_that_are_ready(self, state: Any, name: str, lost: bool) -> None:
        check = Check("c", state, updates=(PodSetUpdate(name, tolerations=(FOR_EVER,)),))
        assert self.tainted(workload("n", checks=(check,))) is lost

    def test_every_hard_taint_has_to_be_tolerated(self) -> None:
        assert self.tainted(workload("n", tolerations=(FOR_EVER,)), NO_SCHEDULE, Taint("disk", "", "NoExecute"))

    def test_one_without_end_is_enough(self) -> None:
        both = workload("n", tolerations=(FIVE_MINUTES, FOR_EVER))
        assert not self.tainted(both, NO_EXECUTE)
        assert self.tainted(workload("n", tolerations=(FIVE_MINUTES,)), NO_EXECUTE)

    @pytest.mark.parametrize("operator", ["Gt", "Lt"])
    def test_comparisons_are_not_heeded(self, operator: str) -> None:
        compares = Toleration("tier", operator, "5")
        assert self.tainted(workload("n", tolerations=(compares,)), Taint("tier", "9", "NoSchedule"))
        assert self.tainted(workload("n", tolerations=(compares,)), Taint("tier", "1", "NoSchedule"))

    def test_only_pod_sets_on_the_node_are_asked(self) -> None:
        group = Group((PodSet("brave", 1, Shape.of({}, tolerations=(FOR_EVER,))),))
        here, there = (PodSetAssignment("brave", {}, {}, 1, on_hosts(host)) for host in ("n", "m"))
        for brave, main, lost in (
            (here, on_hosts("m"), False),
            (there, on_hosts("n"), True),
            (here, on_hosts("n"), True),
        ):
            one = workload("x")
            given = PodSetAssignment("main", {}, {}, 1, main)
            status = replace(one.status, admission=Admission("q", (given, brave)))
            both = Request((*one.request.groups, group))
            assert self.tainted(replace(one, request=both, status=status)) is lost

    def test_a_pod_set_that_the_workload_does_not_have_tolerates_nothing_of_its_own(self) -> None:
        assert self.tainted(replace(workload("n", tolerations=(FOR_EVER,)), request=Request(())))


# Pods that can never start


class TestStrays:
    def test_a_pod_that_waits_for_a_lost_node_is_ended(self) -> None:
        change, end = look(ready(NO_SCHEDULE), workload("n"), WAITS)
        assert isinstance(change, StatusChange)
        message = "Pod terminated by Kueue NodeController due to node taint"
        told = Event("ns/p", "Normal", "PodTerminatedByKueue", message)
        assert end == EndPod(WAITS, "TerminatedByKueue", "UnschedulableOnAssignedNode", message, (told,))

    def test_also_while_others_keep_the_node(self) -> None:
        running = pod(name="other")
        assert ended(look(unready(10), workload("n"), running, WAITS)) == ["p"]
        assert listed(unready(10), workload("n"), running, WAITS) is None

    @pytest.mark.parametrize("node", [unready(10), ready(NO_SCHEDULE)])
    def test_with_our_gate_it_waits_while_others_keep_the_node(self, node: Node) -> None:
        assert ended(look(node, workload("n"), pod(name="other"), WAITS, gates=OURS)) == []
        assert ended(look(node, workload("n"), pod(name="other", phase="Failed"), WAITS, gates=OURS)) == ["p"]

    @pytest.mark.parametrize("node", [ready(), ready(NO_SCHEDULE), unready(40)])
    def test_pods_of_a_workload_that_moved_away_are_failed_whatever_the_node_is_like(self, node: Node) -> None:
        assert ended(look(node, workload("m"), WAITS)) == ["p"]

    def test_pods_of_a_workload_without_admission_too(self) -> None:
        one = workload("n", holds=())
        bare = replace(one, status=replace(one.status, admission=None))
        assert ended(look(ready(), bare, WAITS)) == ["p"]

    @pytest.mark.parametrize(
        "other",
        [
            replace(WAITS, selector={HOSTNAME: "m"}),
            replace(WAITS, selector={}),
            replace(WAITS, node="n"),
            replace(WAITS, phase="Running"),
            replace(WAITS, phase="Failed"),
            replace(WAITS, gated=True),
        ],
        ids=["another host", "any host", "bound", "running", "failed", "gated"],
    )
    def test_others_are_left_alone(self, other: Pod) -> None:
        assert ended(look(unready(40), workload("m"), other)) == []

    def test_no_pod_is_failed_on_a_node_that_works_or_is_gone(self) -> None:
        assert look(ready(), workload("n"), WAITS) == []
        assert ended(look(None, workload("n"), WAITS)) == []
        assert ended(look(None, workload("m"), WAITS)) == []

    @pytest.mark.parametrize("node", [unready(40), ready(NO_SCHEDULE)])
    def test_nor_where_pods_have_no_say(self, node: Node) -> None:
        gates = Gates.profile("kueue", {BY_PODS: False})
        actions = look(node, workload("n"), WAITS, gates=gates)
        assert (len(actions), ended(actions)) == (1, [])
