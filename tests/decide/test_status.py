"""What a decision does to the status of workloads, and which events it records, to the letter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from closeknit.decide.decision import Admit, Evict, Preempt, Replace, Retry, Wait
from closeknit.decide.scheduler import Scheduler
from closeknit.decide.status import carried_out, evicted, is_ready, required_checks
from closeknit.model.cluster_queue import AdmissionCheck, CheckRule, Preemption
from closeknit.model.event import Event
from closeknit.model.gates import Gates
from closeknit.model.workload import (
    LONG_AGO,
    Admission,
    Check,
    Condition,
    PodSetAssignment,
    PodSetUpdate,
    Status,
    Workload,
)
from closeknit.queue.wake import RequeueReason

from .objects import queue, running, scheduler, workload


def admitted(one: Workload, built: Scheduler | None = None, at: float = 60.0) -> tuple[Workload, list[Event]]:
    built = built or scheduler([queue("a")])
    built.put(one, 0.0)
    (decision,) = built.cycle(at)
    assert isinstance(decision, Admit)
    return carried_out(built.world, decision, at)[0]


def checked(*names: str, flavors: tuple[str, ...] = ()) -> Scheduler:
    built = scheduler([queue("a", checks=tuple(CheckRule(name, flavors) for name in names))])
    for name in names:
        built.world.put_check(AdmissionCheck(name, "example.com/x", True))
    return built


class TestAdmission:
    def test_quota_is_reserved_and_the_workload_admitted_in_one(self) -> None:
        after, events = admitted(workload("w", created=10.0, generation=2))
        assert after.status.conditions == {
            "QuotaReserved": Condition(True, "QuotaReserved", "Quota reserved in ClusterQueue a", 60.0, 2),
            "Admitted": Condition(True, "Admitted", "The workload is admitted", 60.0, 2),
        }
        assert events == [
            Event(
                "default/w",
                "Normal",
                "QuotaReserved",
                "Quota reserved in ClusterQueue a, wait time since queued was 50s",
            ),
            Event("default/w", "Normal", "Admitted", "Admitted by ClusterQueue a, wait time since reservation was 0s"),
        ]

    def test_the_admission_says_what_was_given(self) -> None:
        after, _ = admitted(workload("w", count=3, requests=2))
        given = PodSetAssignment("main", {"gpu": "default"}, {"gpu": 6}, 3)
        assert after.status.admission == Admission("a", (given,))

    def test_waiting_counts_from_when_it_was_queued_again(self) -> None:
        one = workload("w", created=10.0)
        again = replace(one, status=one.status.condition("Requeued", True, "Preempted", "", 40.0))
        _, events = admitted(again)
        assert events[0].message.endswith("wait time since queued was 20s")

    def test_a_workload_without_a_creation_time_has_waited_for_ever(self) -> None:
        _, events = admitted(workload("w", created=LONG_AGO))
        assert events[0].message.endswith("wait time since queued was 9223372037s")

    def test_checks_that_are_not_listed_yet_leave_admitted_unsaid(self) -> None:
        after, _ = admitted(workload("w"), checked("c"))
        assert after.reserved
        assert "Admitted" not in after.status.conditions

    def test_with_checks_to_come_quota_is_reserved_only(self) -> None:
        one = workload("w")
        listed = replace(one, status=replace(one.status, checks=(Check("c", "Pending"),)))
        after, events = admitted(listed, checked("c"))
        assert after.reserved
        assert after.status.conditions["Admitted"] == Condition(
            False, "UnsatisfiedAdmissionChecks", "The workload has not all checks ready", 60.0
        )
        assert [one.reason for one in events] == ["QuotaReserved"]

    def test_with_all_checks_ready_it_is_admitted(self) -> None:
        one = workload("w")
        ready = replace(one, status=replace(one.status, checks=(Check("c", "Ready"),)))
        assert admitted(ready, checked("c"))[0].admitted

    @pytest.mark.parametrize("kind", ["Evicted", "Preempted"])
    def test_what_was_said_of_an_earlier_eviction_is_over(self, kind: str) -> None:
        one = workload("w")
        before = replace(one, status=one.status.condition(kind, True, "Preempted", "for x", 5.0))
        after, _ = admitted(before)
        assert after.status.conditions[kind] == Condition(False, "QuotaReserved", "Previously: for x", 60.0)

    def test_nothing_is_said_about_an_eviction_that_never_was(self) -> None:
        after, _ = admitted(workload("w"))
        assert "Evicted" not in after.status.conditions


class TestChecks:
    GIVEN = Status(admission=Admission("a", (PodSetAssignment("main", {"gpu": "spot"}, {"gpu": 1}, 1),)))

    def needed(self, *rules: CheckRule) -> list[str]:
        return required_checks(queue("a", checks=rules), self.GIVEN)

    def test_a_check_without_flavors_is_needed_always(self) -> None:
        assert self.needed(CheckRule("c")) == ["c"]

    def test_one_for_some_flavors_if_one_of_them_was_given(self) -> None:
        assert self.needed(CheckRule("c", ("fixed", "spot")), CheckRule("d", ("fixed",))) == ["c"]

    @pytest.mark.parametrize(
        ("checks", "ready"),
        [
            ((), False),
            ((Check("c", "Pending"),), False),
            ((Check("c", "Ready"),), True),
            ((Check("c", "Ready"), Check("old", "Pending")), False),
            ((Check("other", "Ready"),), False),
        ],
        ids=["not listed yet", "pending", "ready", "another is not", "another is"],
    )
    def test_all_that_are_needed_are_listed_and_all_that_are_listed_are_ready(
        self, checks: tuple[Check, ...], ready: bool
    ) -> None:
        status = replace(self.GIVEN, checks=checks)
        assert is_ready(queue("a", checks=(CheckRule("c"),)), status) is ready

    def test_a_place_that_is_still_to_come_is_not_ready(self) -> None:
        given = PodSetAssignment("main", {"gpu": "spot"}, {"gpu": 1}, 1, delayed="Pending")
        assert not is_ready(queue("a"), Status(admission=Admission("a", (given,))))
        assert is_ready(queue("a"), Status(admission=Admission("a", (replace(given, delayed="Ready"),))))

    def test_nothing_is_ready_without_an_admission(self) -> None:
        assert not is_ready(queue("a"), Status())


class TestEviction:
    def out(self, *checks: Check, **status: Any) -> Status:
        one = running(workload("w"))
        after, _ = evicted(replace(one, status=replace(one.status, checks=checks, **status)), "X", "why", 9.0)
        return after.status

    def test_it_keeps_what_it_holds_until_it_has_stopped(self) -> None:
        after = self.out()
        assert after.holds("QuotaReserved")
        assert after.admission is not None
        assert after.conditions["Evicted"] == Condition(True, "X", "why", 9.0)

    def test_the_event_names_reason_and_cause(self) -> None:
        one = running(workload("w"))
        _, (event,) = evicted(one, "Preempted", "why", 9.0)
        assert event == Event("default/w", "Normal", "EvictedDueToPreempted", "why")
        _, (event,) = evicted(one, "PodsReadyTimeout", "why", 9.0, "WaitForStart")
        assert event.reason == "EvictedDueToPodsReadyTimeoutDueToWaitForStart"

    def test_evictions_are_counted_by_reason_and_cause(self) -> None:
        after = self.out(evictions={("X", ""): 2, ("Y", "Z"): 1})
        assert after.evictions == {("X", ""): 3, ("Y", "Z"): 1}

    def test_checks_start_over(self) -> None:
        updates = (PodSetUpdate("main"),)
        ready, retry, pending = self.out(
            Check("a", "Ready", "ok", 1.0, updates, retries=3),
            Check("b", "Retry", "no", 1.0, requeue_after=60, retries=3),
            Check("c", "Pending", "as it was", 1.0, retries=2),
        ).checks
        assert ready == Check("a", "Pending", "Reset to Pending after eviction. Previously: Ready", 9.0)
        assert retry == Check(
            "b", "Pending", "Reset to Pending after eviction. Previously: Retry", 9.0, requeue_after=60, retries=4
        )
        assert pending == Check("c", "Pending", "as it was", 1.0, retries=2)

    def test_failed_nodes_and_open_gates_are_forgotten(self) -> None:
        after = self.out(unhealthy=("n1",), open_gates=frozenset({"g"}))
        assert (after.unhealthy, after.open_gates) == ((), frozenset())


def test_a_preemption_tells_victim_and_preemptor() -> None:
    built = scheduler([queue("a", 4, preemption=Preemption("LowerPriority"))])
    built.put(running(workload("old", count=4, uid="o")), 0.0)
    built.put(workload("new", count=4, priority=3, uid="n"), 0.0)
    order, _ = built.cycle(9.0)
    assert isinstance(order, Preempt)
    (victim, told), (by, heard) = carried_out(built.world, order, 9.0)
    assert victim.status.conditions["Evicted"] == Condition(True, "Preempted", order.message, 9.0)
    assert victim.status.conditions["Preempted"] == Condition(True, "InClusterQueue", order.message, 9.0)
    assert victim.status.evictions == {("Preempted", ""): 1}
    ranks = "preemptor effective priority: 3 (base: 3, boost: 0); preemptee effective priority: 0 (base: 0, boost: 0)"
    assert told == [
        Event("default/old", "Normal", "EvictedDueToPreempted", order.message),
        Event("default/old", "Normal", "Preempted", f"{order.message}; {ranks}"),
    ]
    assert by.key == "default/new"
    assert heard == [
        Event(
            "default/new",
            "Normal",
            "PreemptedWorkload",
            f"Preempted workload default/old (UID: o) in ClusterQueue a; {ranks}",
        )
    ]


class TestWaiting:
    def waits(self, gates: dict[str, bool] | None = None, **more: Any) -> tuple[Workload, list[Event]]:
        built = scheduler([queue("a")], gates=Gates.profile("closeknit", gates or {}))
        decision = Wait(
            workload("w", count=3, generation=4), RequeueReason.NO_FIT, "WaitingForQuota", "too little", **more
        )
        return carried_out(built.world, decision, 9.0)[0]

    def test_reason_and_message_are_in_the_condition_and_in_a_warning(self) -> None:
        after, events = self.waits()
        assert after.status.conditions == {
            "QuotaReserved": Condition(False, "WaitingForQuota", "too little", 9.0, 4),
            "Admitted": Condition(False, "NoReservation", "The workload has no reservation", 9.0, 4),
        }
        assert events == [Event("default/w", "Warning", "WaitingForQuota", "too little")]

    def test_what_it_asks_for_is_written_down(self) -> None:
        assert self.waits()[0].status.requests == (("main", {"gpu": 3}),)

    def test_without_the_gate_every_reason_is_pending(self) -> None:
        after, events = self.waits({"UnadmittedWorkloadsObservability": False})
        assert after.status.conditions["QuotaReserved"].reason == "Pending"
        assert events[0].reason == "Pending"

    def test_a_closed_gate_is_reported(self) -> None:
        after, _ = self.waits(gated=True)
        found = after.status.conditions["BlockedOnPreemptionGates"]
        assert found == Condition(True, "PreemptionGated", "too little", 9.0, 4)


def test_a_slice_that_was_replaced_is_finished() -> None:
    old, new = running(workload("old")), workload("new", uid="n", job_uid="j")
    ((after, events),) = carried_out(scheduler([queue("a")]).world, Replace(old, new), 9.0)
    text = "Replaced to accommodate a workload (UID: n, JobUID: j) due to workload slice aggregation"
    assert after.status.conditions["Finished"] == Condition(True, "WorkloadSliceReplaced", text, 9.0)
    assert events == [Event("default/old", "Normal", "WorkloadSliceReplaced", text)]


def test_an_eviction_for_a_failed_node() -> None:
    one = running(workload("w"))
    ((after, events),) = carried_out(scheduler([queue("a")]).world, Evict(one, "no node", "found none"), 9.0)
    assert after.status.conditions["Evicted"] == Condition(True, "NodeFailures", "no node", 9.0)
    assert events == [Event("default/w", "Normal", "EvictedDueToNodeFailures", "no node")]


def test_a_failed_second_pass_changes_nothing_but_is_reported() -> None:
    one = running(workload("w"))
    ((after, events),) = carried_out(scheduler([queue("a")]).world, Retry(one, "no room"), 9.0)
    assert after is one
    assert events == [Event("default/w", "Warning", "SecondPassFailed", "no room")]
