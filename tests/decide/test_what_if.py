"""Stories played to the end: small clusters with an outcome that can be worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from closeknit.decide.activity import PROVISIONING
from closeknit.decide.scheduler import Scheduler
from closeknit.decide.what_if import StepKind, Story, WhatIfOptions, play
from closeknit.model.assignment import Assignment
from closeknit.model.cluster_queue import AdmissionCheck, CheckRule, Fungibility, LocalQueue, Preemption
from closeknit.model.flavor import Flavor
from closeknit.model.node import Node
from closeknit.model.quota import Quota
from closeknit.model.request import Constraint
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.model.workload import Admission, Check, Condition, PodSetAssignment, Status, Workload
from closeknit.state.mirror import OtherPod

from .objects import DEFAULT, GPU, Quotas, queue, scheduler, workload

NOW = 1000.0
BY_PRIORITY = Preemption(within_queue="LowerPriority")
RACK = "example.com/rack"


def told(built: Scheduler, *workloads: Workload, **options: Any) -> Story:
    return play(built, workloads, NOW, WhatIfOptions(**options))


def happened(story: Story) -> list[str]:
    """Every step in a few words: `low preempted by high`."""
    return [
        f"{step.workload.name} {step.kind.value.lower()}" + (f" by {step.by.name}" if step.by else "")
        for step in story.steps
    ]


def running(name: str, size: int, where: str = "a", since: float = 0.0, **more: Any) -> Workload:
    """A workload that was admitted before the story begins."""
    one = workload(name, where, size, **more)
    given = PodSetAssignment("main", {GPU: DEFAULT}, {GPU: size}, size)
    return replace(one, status=Status({**admitted(since)}, Admission(where, (given,))))


def admitted(since: float = 0.0) -> dict[str, Condition]:
    return {kind: Condition(True, kind, "", since) for kind in ("QuotaReserved", "Admitted")}


def test_a_workload_that_fits_is_admitted_and_the_others_report_the_schedulers_message() -> None:
    first, second = workload("first", count=6, created=1.0), workload("second", count=6, created=2.0)
    story = told(scheduler([queue("a", 10)]), second, first)
    assert happened(story) == ["first admitted"]
    assert story.waits[second.key].message == (
        "couldn't assign flavors to pod set main: insufficient unused quota for gpu in flavor default, 2 more needed"
    )


def test_a_victim_stops_at_once_and_waits_again() -> None:
    low, high = running("low", 6), workload("high", count=8, priority=5)
    story = told(scheduler([queue("a", 10, preemption=BY_PRIORITY)]), low, high)
    assert happened(story) == ["low preempted by high", "high admitted"]
    assert story.steps[0].reason == "InClusterQueue"
    assert not story.workloads[low.key].reserved
    assert low.key in story.waits


def test_a_victim_may_find_another_place() -> None:
    rule = Fungibility(when_can_preempt="MayStopSearch")
    built = scheduler(
        [queue("a", {DEFAULT: 6, "spot": 6}, preemption=BY_PRIORITY, fungibility=rule)],
        flavors=[Flavor(DEFAULT), Flavor("spot")],
    )
    story = told(built, running("low", 6), workload("high", count=6, priority=5))
    assert happened(story) == ["low preempted by high", "high admitted", "low admitted"]
    admission = story.workloads["default/low"].status.admission
    assert admission is not None
    assert admission.pod_sets[0].flavors == {GPU: "spot"}


def test_what_runs_goes_on_running() -> None:
    story = told(scheduler([queue("a", 10)]), running("old", 10), workload("new", count=1))
    assert happened(story) == []
    assert story.workloads["default/old"].admitted


def test_a_strict_queue_waits_for_its_first_and_the_story_ends_all_the_same() -> None:
    built = scheduler([queue("a", 10, strategy="StrictFIFO"), queue("b", 10)])
    big, small = workload("big", count=11, created=1.0), workload("small", count=1, created=2.0)
    others = [workload(f"other-{number}", "b", count=2 + number, created=float(number)) for number in range(3)]
    story = told(built, big, small, *others)
    assert happened(story) == ["other-0 admitted", "other-1 admitted", "other-2 admitted"]
    assert set(story.waits) == {big.key}


# Admission checks


def checked(**more: Any) -> Scheduler:
    built = scheduler([queue("a", 10, checks=(CheckRule("paperwork"),), **more)])
    built.world.put_check(AdmissionCheck("paperwork", "example.com/clerk", True))
    return built


def test_checks_turn_ready() -> None:
    story = told(checked(), workload("one", count=6))
    assert happened(story) == ["one admitted"]
    assert [check.state for check in story.workloads["default/one"].status.checks] == ["Ready"]


def test_checks_that_stay_pending_hold_a_workload_up_while_it_holds_its_quota() -> None:
    story = told(checked(), workload("one", count=6, created=1.0), workload("two", count=6), checks_ready=False)
    assert happened(story) == ["two quotareserved"]
    assert [check.name for check in story.workloads["default/two"].status.checks] == ["paperwork"]
    assert "default/one" in story.waits


def test_a_workload_that_waited_for_its_checks_is_admitted_now() -> None:
    one = running("one", 6)
    conditions = {"QuotaReserved": one.status.conditions["QuotaReserved"]}
    status = replace(one.status, conditions=conditions, checks=(Check("paperwork", "Pending"),))
    story = told(checked(), replace(one, status=status))
    assert happened(story) == ["one admitted"]


@pytest.mark.parametrize("state", ["Rejected", "Retry"])
def test_a_check_that_was_refused_does_not_turn_ready_and_its_workload_gives_back_its_quota(state: Any) -> None:
    one = running("one", 6)
    conditions = {"QuotaReserved": one.status.conditions["QuotaReserved"]}
    status = replace(one.status, conditions=conditions, checks=(Check("paperwork", state, "no stamp"),))
    story = told(checked(), replace(one, status=status))
    assert happened(story) == ["one evicted"]
    assert story.steps[0].message == f'Evicted due to AdmissionChecks in {state} state: "paperwork" (no stamp)'
    assert not story.workloads[one.key].reserved


def test_a_workload_is_queued_again_after_its_backoff() -> None:
    one = workload("one", count=6)
    status = one.status.condition("Requeued", False, "PodsReadyTimeout", "too slow", 0.0)
    waits = replace(one, status=replace(status, requeue_at=NOW + 1))
    assert happened(told(checked(), waits)) == []
    over = replace(one, status=replace(status, requeue_at=NOW))
    assert happened(told(checked(), over)) == ["one admitted"]


# Places


def racks(checks: tuple[CheckRule, ...] = (), size: int = 4, **more: Any) -> Scheduler:
    """Two racks of one node, 4 gpus each."""
    flavor = Flavor(DEFAULT, {"pool": "gpu"}, topology="dc")
    built = scheduler([queue("a", 20, checks=checks, **more)], (), [flavor], [Topology("dc", (RACK, HOSTNAME))])
    for name in ("n1", "n2"):
        labels = {HOSTNAME: name, RACK: f"r-{name}", "pool": "gpu"}
        built.world.put_node(Node(name, labels, {GPU: size, "pods": 10}))
    return built


def placed(one: Workload) -> dict[str, int]:
    """Pods by host."""
    admission = one.status.admission
    assert admission is not None
    topology = admission.pod_sets[0].topology
    return {} if topology is None else {path[-1]: count for path, count in topology.domains}


def on(one: Workload, hosts: dict[str, int]) -> Workload:
    """A running workload with places."""
    assert one.status.admission is not None
    given = one.status.admission.pod_sets[0]
    where = Assignment.of((HOSTNAME,), (((name,), count) for name, count in hosts.items()))
    admission = replace(one.status.admission, pod_sets=(replace(given, topology=where),))
    return replace(one, status=replace(one.status, admission=admission))


def test_places_that_wait_for_a_check_are_found_once_it_is_ready() -> None:
    built = racks((CheckRule("nodes"),))
    built.world.put_check(AdmissionCheck("nodes", PROVISIONING, True))
    story = told(built, workload("one", count=3, constraint=Constraint(required=RACK)))
    assert happened(story) == ["one quotareserved", "one admitted"]
    assert placed(story.workloads["default/one"]) == {"n1": 3}


def test_without_room_it_keeps_its_quota_and_is_evaluated_once() -> None:
    built = racks((CheckRule("nodes"),))
    built.world.put_check(AdmissionCheck("nodes", PROVISIONING, True))
    story = told(built, workload("one", count=5, constraint=Constraint(required=RACK)))
    assert happened(story) == ["one quotareserved"]
    assert "allows to fit only 4 out of 5 pod(s)" in story.retries["default/one"].message


def test_other_pods_of_a_victim_leave_their_nodes() -> None:
    """They are not counted through the workload, so their room is free only because they go too."""
    built = racks(preemption=BY_PRIORITY)
    for name in ("n1", "n2"):
        built.world.put_pod(f"default/pod-{name}", OtherPod(name, {GPU: 4}))
    low = on(running("low", 4), {"n1": 4})
    high = workload("high", count=4, priority=5, constraint=Constraint(required=RACK))
    assert happened(told(built, low, high)) == []
    again = racks(preemption=BY_PRIORITY)
    again.world.put_pod("default/pod-n1", OtherPod("n1", {GPU: 1}))
    again.world.put_pod("default/pod-n2", OtherPod("n2", {GPU: 4}))
    low = on(running("low", 3), {"n1": 3})
    high = workload("high", count=3, priority=5, constraint=Constraint(required=RACK))
    full = workload("full", count=4, priority=4, constraint=Constraint(required=RACK))
    story = told(again, low, high, full, pods_of={low.key: ["default/pod-n2"]})
    assert happened(story) == ["low preempted by high", "high admitted", "full admitted"]
    assert placed(story.workloads["default/full"]) == {"n2": 4}


def test_pods_of_a_failed_node_move() -> None:
    one = on(running("one", 3), {"n1": 3})
    built = racks()
    built.world.drop_node("n1")
    story = told(built, replace(one, status=replace(one.status, unhealthy=("n1",))))
    assert happened(story) == ["one moved"]
    assert placed(story.workloads["default/one"]) == {"n2": 3}


def test_without_another_node_they_are_evicted() -> None:
    built = racks()
    built.world.drop_node("n1")
    built.world.put_pod("default/other", OtherPod("n2", {GPU: 4}))
    one = on(running("one", 3), {"n1": 3})
    story = told(built, replace(one, status=replace(one.status, unhealthy=("n1",))))
    assert happened(story) == ["one evicted"]
    assert story.steps[0].reason == "NodeFailures"
    assert not story.workloads["default/one"].reserved


# Who has to give back what it holds


def test_an_eviction_in_progress_is_completed() -> None:
    one = running("one", 6, priority=0)
    leaving = replace(one, status=one.status.condition("Evicted", True, "Preempted", "make room", 10.0))
    other = workload("other", count=8, priority=1)
    story = told(scheduler([queue("a", 10)]), leaving, other)
    assert happened(story) == ["one evicted", "other admitted"]


@pytest.mark.parametrize(
    ("policy", "is_admitted", "evicted"),
    [("HoldAndDrain", True, True), ("Hold", True, False), ("Hold", False, True), ("None", True, False)],
)
def test_a_stopped_queue_gives_back_what_its_policy_says(policy: Any, is_admitted: bool, evicted: bool) -> None:
    one = running("one", 6)
    if not is_admitted:
        reserved = {"QuotaReserved": one.status.conditions["QuotaReserved"]}
        one = replace(one, status=replace(one.status, conditions=reserved, checks=(Check("c", "Rejected"),)))
    by_cluster_queue = told(scheduler([queue("a", 10, stop=policy)]), one)
    built = scheduler([queue("a", 10)])
    built.put_local_queue(LocalQueue(DEFAULT, "a", "a", policy))
    by_local_queue = told(built, one)
    for story, kind in ((by_cluster_queue, "ClusterQueue"), (by_local_queue, "LocalQueue")):
        reasons = [step.reason for step in story.steps if step.kind is StepKind.EVICTED]
        assert reasons == ([f"{kind}Stopped"] if evicted else [])
        assert story.workloads[one.key].reserved != evicted


def test_a_workload_that_was_switched_off_gives_back_what_it_holds() -> None:
    story = told(scheduler([queue("a", 10)]), replace(running("one", 6), active=False), workload("two", count=10))
    assert happened(story) == ["one evicted", "two admitted"]


def test_the_pod_of_a_preempted_workload_of_one_pod_is_gone_for_good() -> None:
    built = scheduler([queue("a", {DEFAULT: 6, "spot": 6}, preemption=BY_PRIORITY, fungibility=_AT_ONCE)], flavors=_TWO)
    low = running("low", 6, owned_by_pod=True)
    story = told(built, low, workload("high", count=6, priority=5))
    assert happened(story) == ["low preempted by high", "high admitted"]


_AT_ONCE = Fungibility(when_can_preempt="MayStopSearch")
_TWO = [Flavor(DEFAULT), Flavor("spot")]


def test_a_larger_slice_of_an_elastic_job_takes_over_from_the_smaller() -> None:
    """Together they would need 6 of 5; only what is more is asked for."""
    story = told(scheduler([queue("a", 5)]), running("small", 2), workload("large", count=4, replaces="default/small"))
    assert happened(story) == ["large admitted", "small replaced by large"]
    assert story.workloads["default/small"].finished


# For ever


def back_and_forth() -> tuple[Scheduler, Workload, Workload]:
    """A workload that fails in its first flavor, so that its victim is back before it tries the second."""
    dc = Topology("dc", (RACK, HOSTNAME))
    flavors = [Flavor("hosts", {"pool": "hosts"}, topology="dc"), Flavor("small", {"pool": "small"}, topology="dc")]
    both = Preemption("LowerPriority", "Any")
    quotas = {"small": {GPU: 4, "mem": 4}, "hosts": {GPU: 4, "mem": 4}}
    borrower: Quotas = {"hosts": {GPU: 4, "mem": Quota(0, 4)}, "small": {GPU: 4, "mem": 4}}
    queues = [queue("a", quotas, "r", preemption=both), queue("b", borrower, "r", preemption=both)]
    built = scheduler(queues, (), flavors, [dc])
    for name, pool, size in (("n0", "hosts", 4), ("n1", "small", 2)):
        built.world.put_node(Node(name, {HOSTNAME: name, RACK: "r1", "pool": pool}, {GPU: size, "mem": 5, "pods": 9}))
    anywhere = Constraint(preferred=RACK)
    preemptor = workload("preemptor", "a", 2, {GPU: 2, "mem": 1}, constraint=anywhere, priority=2, created=16.0)
    victim = workload("victim", "b", 1, {GPU: 1, "mem": 1}, constraint=anywhere, priority=2, created=2.0)
    return built, preemptor, victim


def test_a_preemption_that_comes_back_again_and_again_is_cut_and_said() -> None:
    story = told(*back_and_forth())
    assert happened(story) == [
        "victim admitted",
        "victim preempted by preemptor",
        "victim admitted",
        "victim cut by preemptor",
    ]
    assert set(story.cut) == {"default/preemptor"}
    assert story.workloads["default/victim"].admitted


def test_the_rest_of_the_line_goes_on_after_a_cut() -> None:
    built, preemptor, victim = back_and_forth()
    later = workload("later", "a", 1, {GPU: 1, "mem": 1}, constraint=Constraint(preferred=RACK), created=20.0)
    assert "later admitted" in happened(told(built, preemptor, victim, later))


def test_a_watcher_sees_every_cycle() -> None:
    seen: list[int] = []
    story = told(
        scheduler([queue("a", 10)]), workload("one"), workload("two"), watch=lambda one: seen.append(one.cycles)
    )
    assert seen == list(range(1, story.cycles + 1))
