"""What becomes of a workload between decisions: one test a rule, and the order of rules where it matters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from closeknit.lifecycle.action import Action, Deactivate, Remove, Requeue, StatusChange
from closeknit.lifecycle.workload import WorkloadView, workload_life
from closeknit.model.cluster_queue import CheckRule
from closeknit.model.gates import Gates
from closeknit.model.settings import PodsReady, Settings
from closeknit.model.workload import Check, PodSetAssignment, Workload
from lifecycle.shapes import (
    ADMISSION,
    LOCAL,
    NOW,
    admitted,
    changed,
    events,
    evicted,
    pending,
    queue,
    reserved,
    said,
    with_conditions,
    with_status,
)

OURS, KUEUE = Gates.profile(), Gates.profile("kueue")
COARSE = Gates.profile("kueue", {"UnadmittedWorkloadsObservability": False})


def life(workload: Workload, gates: Gates = KUEUE, now: float = NOW, **around: Any) -> list[Action]:
    settings = around.pop("settings", Settings())
    around = {"local_queue": LOCAL, "cluster_queue": queue(), **around}
    return workload_life(WorkloadView(workload, gates, settings, **around), now)


def test_a_queued_workload_is_left_alone() -> None:
    assert life(pending()) == []


def test_a_workload_that_runs_is_left_alone() -> None:
    assert life(admitted()) == []


# Finishing


def test_a_finished_workload_is_kept_for_ever_if_no_time_is_set() -> None:
    assert life(with_conditions(admitted(), Finished=(True, "Succeeded", 100.0))) == []


def test_a_finished_workload_is_removed_when_its_time_is_over() -> None:
    done = with_conditions(admitted(), Finished=(True, "Succeeded", 990.0))
    settings = Settings(keep_finished=60.0)
    assert life(done, settings=settings) == [Requeue(1050.0)]
    assert life(done, now=1050.0, settings=settings) == [Remove(done)]


def test_a_workload_that_was_left_behind_is_over() -> None:
    actions = life(admitted(), orphaned=True)
    assert said(changed(actions), "Finished") == (True, "OwnerNotFound", "The workload's owner no longer exists")
    assert events(actions) == [("FinishedWorkload", "Workload 'ns/wl' is declared finished")]
    assert life(changed(actions), orphaned=True) == []


# Deactivation


def test_a_workload_that_is_to_be_deactivated_is() -> None:
    doomed = with_conditions(admitted(), DeactivationTarget=(True, "AdmissionCheck", 900.0))
    assert life(doomed) == [Deactivate(doomed)]


def test_a_workload_that_is_not_active_is_evicted_and_keeps_its_quota() -> None:
    actions = life(with_status(admitted(active=False), requeues=4, requeue_at=2000.0))
    after = changed(actions)
    assert said(after, "Evicted") == (True, "Deactivated", "The workload is deactivated")
    assert events(actions) == [("EvictedDueToDeactivated", "The workload is deactivated")]
    assert after.status.admission is ADMISSION
    assert (after.status.requeues, after.status.requeue_at) == (0, None)
    assert after.status.evictions == {("Deactivated", ""): 1}


def test_the_cause_of_a_deactivation_is_reported_and_then_cleared() -> None:
    doomed = with_conditions(admitted(active=False), DeactivationTarget=(True, "RequeuingLimitExceeded", 900.0))
    actions = life(doomed)
    after = changed(actions)
    text = "The workload is deactivated due to because of RequeuingLimitExceeded"
    assert said(after, "Evicted") == (True, "DeactivatedDueToRequeuingLimitExceeded", text)
    assert events(actions) == [("EvictedDueToDeactivatedDueToRequeuingLimitExceeded", text)]
    assert "DeactivationTarget" not in after.status.conditions


def test_a_workload_that_only_waits_is_out_of_line_when_it_is_deactivated() -> None:
    after = changed(life(pending(active=False)))
    assert said(after, "Requeued")[:2] == (False, "Deactivated")
    assert said(after, "QuotaReserved")[:2] == (False, "Deactivated")


def test_a_deactivation_after_an_eviction_forgets_why_and_when_it_was_to_come_back() -> None:
    gone = with_status(evicted("PodsReadyTimeout", active=False), requeues=2, requeue_at=2000.0)
    after = changed(life(with_conditions(gone, DeactivationTarget=(True, "AdmissionCheck", 960.0))))
    assert said(after, "Evicted")[1] == "PodsReadyTimeout"
    assert "DeactivationTarget" not in after.status.conditions
    assert (after.status.requeues, after.status.requeue_at) == (0, None)
    assert life(after) == []


def test_a_reactivated_workload_is_requeued() -> None:
    idle = with_conditions(pending(), Evicted=(True, "Deactivated", 900.0), Requeued=(False, "Deactivated", 900.0))
    assert said(changed(life(idle)), "Requeued")[:2] == (True, "Reactivated")


def test_after_a_deactivation_with_a_cause_only_our_profile_lets_it_back() -> None:
    idle = with_conditions(pending(), Requeued=(False, "DeactivatedDueToAdmissionCheck", 900.0))
    assert life(idle) == []
    assert said(changed(life(idle, OURS)), "Requeued")[:2] == (True, "Reactivated")


# Coming back


@pytest.mark.parametrize("reason", ["PodsReadyTimeout", "AdmissionCheck"])
def test_backoff_ends_at_its_time(reason: str) -> None:
    waiting = with_status(with_conditions(pending(), Requeued=(False, reason, 900.0)), requeue_at=1060.0)
    assert life(waiting) == [Requeue(1060.0, reason)]
    after = changed(life(waiting, now=1060.0))
    assert said(after, "Requeued")[:2] == (True, "BackoffFinished")
    assert after.status.requeue_at is None


def test_a_workload_comes_back_when_its_queues_run_again() -> None:
    by_cluster_queue = with_conditions(pending(), Requeued=(False, "ClusterQueueStopped", 900.0))
    by_local_queue = with_conditions(pending(), Requeued=(False, "LocalQueueStopped", 900.0))
    assert said(changed(life(by_cluster_queue)), "Requeued")[:2] == (True, "ClusterQueueRestarted")
    assert said(changed(life(by_local_queue)), "Requeued")[:2] == (True, "LocalQueueRestarted")


def test_a_workload_stays_out_while_its_queue_is_stopped() -> None:
    waiting = with_conditions(
        pending(), Requeued=(False, "ClusterQueueStopped", 900.0), QuotaReserved=(False, "OnHold", 900.0)
    )
    assert life(waiting, cluster_queue=queue(stop="Hold"), is_active=False) == []


# Checks


def test_before_admission_only_checks_of_all_flavors_are_listed() -> None:
    rules = queue(CheckRule("b"), CheckRule("a", ("f", "g")), CheckRule("c", ("f",)))
    after = changed(life(pending(), cluster_queue=rules))
    assert [(check.name, check.state, check.since) for check in after.status.checks] == [
        ("a", "Pending", NOW),
        ("b", "Pending", NOW),
    ]


def test_with_an_admission_the_checks_are_those_of_its_flavors() -> None:
    rules = queue(CheckRule("a", ("g",)), CheckRule("b"), CheckRule("c", ("f",)))
    known = Check("b", "Ready", "fine", 1.0)
    workload = with_status(reserved(), checks=(Check("a"), known))
    after = changed(life(workload, cluster_queue=rules))
    assert after.status.checks == (known, Check("c", since=NOW))


def test_a_check_that_rejects_ends_the_workload() -> None:
    workload = with_status(reserved(), checks=(Check("a", "Rejected", "no room"),))
    actions = life(workload, cluster_queue=queue(CheckRule("a")))
    assert said(changed(actions), "DeactivationTarget") == (
        True,
        "AdmissionCheck",
        "Admission check(s): a, were rejected",
    )
    assert events(actions) == [
        ("AdmissionCheckRejected", 'Deactivated due to AdmissionCheck in Rejected state: "a" (no room)')
    ]


def test_checks_that_want_it_later_send_it_back_until_the_last_of_their_times() -> None:
    checks = (
        Check("a", "Retry", "busy", 990.0, requeue_after=30),
        Check("b", "Retry", "full", 995.0, requeue_after=60, retries=2),
        Check("c", "Ready", "fine", 5.0),
    )
    workload = with_status(admitted(), checks=checks, requeue_at=1010.0)
    actions = life(workload, cluster_queue=queue(CheckRule("a"), CheckRule("b"), CheckRule("c")))
    after = changed(actions)
    text = 'Evicted due to AdmissionChecks in Retry state: "a" (busy); "b" (full)'
    assert said(after, "Evicted") == (True, "AdmissionCheck", text)
    assert after.status.requeue_at == 1055.0
    assert [(one.state, one.message, one.retries) for one in after.status.checks] == [
        ("Pending", "Reset to Pending after eviction. Previously: Retry", 1),
        ("Pending", "Reset to Pending after eviction. Previously: Retry", 3),
        ("Pending", "Reset to Pending after eviction. Previously: Ready", 0),
    ]


def test_a_check_may_want_it_later_while_it_holds_nothing() -> None:
    """It leaves the queue at once, and its checks start over: nothing else would ever requeue it."""
    asked = with_status(pending(), checks=(Check("a", "Retry", "busy", 990.0, requeue_after=30),))
    around: dict[str, Any] = {"cluster_queue": queue(CheckRule("a"))}
    after = changed(life(asked, **around))
    text = 'Evicted due to AdmissionCheck in Retry state: "a" (busy)'
    assert said(after, "Requeued") == (False, "AdmissionCheck", text)
    assert (after.status.checks[0].state, after.status.requeue_at) == ("Pending", 1020.0)
    assert life(after, **around) == [Requeue(1020.0, "AdmissionCheck")]


def test_a_check_that_speaks_after_an_eviction_is_heard() -> None:
    around: dict[str, Any] = {"cluster_queue": queue(CheckRule("a"))}
    drained = with_conditions(pending(), Evicted=(True, "ClusterQueueStopped", 950.0))
    again = with_status(drained, checks=(Check("a", "Retry", "", 990.0, requeue_after=30),))
    assert changed(life(again, **around)).status.checks[0].state == "Pending"
    never = with_status(drained, checks=(Check("a", "Rejected", "", 990.0),))
    assert said(changed(life(never, **around)), "DeactivationTarget")[:2] == (True, "AdmissionCheck")


def test_the_time_to_come_back_only_moves_later() -> None:
    workload = with_status(reserved(), checks=(Check("a", "Retry", "", 990.0, requeue_after=5),), requeue_at=5000.0)
    assert changed(life(workload, cluster_queue=queue(CheckRule("a")))).status.requeue_at == 5000.0


def test_a_workload_is_admitted_when_its_last_check_is_ready() -> None:
    ready = with_status(reserved(), checks=(Check("a", "Ready"),))
    actions = life(ready, cluster_queue=queue(CheckRule("a")))
    assert said(changed(actions), "Admitted") == (True, "Admitted", "The workload is admitted")
    assert events(actions) == [("Admitted", "Admitted by ClusterQueue cq, wait time since reservation was 100s")]


def test_a_workload_with_unready_checks_is_not_admitted() -> None:
    waiting = with_status(reserved(), checks=(Check("a"),))
    after = changed(life(waiting, cluster_queue=queue(CheckRule("a"))))
    assert said(after, "Admitted")[:2] == (False, "UnsatisfiedAdmissionChecks")
    assert life(after, cluster_queue=queue(CheckRule("a"))) == []
    assert (
        said(changed(life(waiting, COARSE, cluster_queue=queue(CheckRule("a")))), "Admitted")[1] == "UnsatisfiedChecks"
    )


def test_a_place_that_is_still_to_be_found_keeps_a_workload_from_being_admitted() -> None:
    delayed = PodSetAssignment("main", {"cpu": "f"}, {"cpu": 3000}, 3, delayed="Pending")
    waiting = with_status(reserved(), checks=(Check("a", "Ready"),), admission=replace(ADMISSION, pod_sets=(delayed,)))
    after = changed(life(waiting, cluster_queue=queue(CheckRule("a"))))
    assert said(after, "Admitted")[:2] == (False, "PendingDelayedTopologyRequests")


def test_a_check_that_is_added_later_does_not_take_an_admission_back() -> None:
    late = queue(CheckRule("late"))
    after = changed(life(admitted(), cluster_queue=late))
    assert [(one.name, one.state) for one in after.status.checks] == [("late", "Pending")]
    assert said(after, "Admitted")[0] is True
    assert life(after, cluster_queue=late) == []


# Queues that stop


@pytest.mark.parametrize("stop", ["Hold", "HoldAndDrain"])
def test_a_stopped_queue_takes_mere_reservations_back(stop: str) -> None:
    waiting = with_status(reserved(), checks=(Check("a"),))
    after = changed(life(waiting, cluster_queue=queue(CheckRule("a"), stop=stop), is_active=False))
    assert said(after, "QuotaReserved") == (False, "Suspended", "ClusterQueue cq is stopped")
    assert said(after, "Admitted")[:2] == (False, "NoReservation")
    assert after.status.admission is None


def test_a_queue_that_holds_lets_the_admitted_run_and_one_that_drains_does_not() -> None:
    assert life(admitted(), cluster_queue=queue(stop="Hold"), is_active=False) == []
    after = changed(life(admitted(), cluster_queue=queue(stop="HoldAndDrain"), is_active=False))
    assert said(after, "Evicted") == (True, "ClusterQueueStopped", "The ClusterQueue is stopped")


def test_a_local_queue_drains_its_own() -> None:
    after = changed(life(admitted(), local_queue=replace(LOCAL, stop="HoldAndDrain")))
    assert said(after, "Evicted") == (True, "LocalQueueStopped", "The LocalQueue is stopped")
    cancelled = changed(life(reserved(), local_queue=replace(LOCAL, stop="Hold")))
    assert said(cancelled, "QuotaReserved") == (False, "Suspended", "LocalQueue lq is stopped")


def test_a_queue_that_is_gone_takes_reservations_with_it() -> None:
    for around in ({"cluster_queue": None}, {"cluster_queue": queue(terminating=True)}):
        after = changed(life(reserved(), is_active=False, **around))
        assert said(after, "QuotaReserved") == (False, "Misconfigured", "ClusterQueue cq is terminating or missing")


# Time that is over


def test_a_workload_may_run_for_its_time_with_what_it_ran_before() -> None:
    workload = with_status(admitted(max_seconds=150), executed=20)
    assert life(workload) == [Requeue(1030.0, "MaximumExecutionTimeExceeded")]


def test_a_workload_that_ran_too_long_is_to_be_deactivated() -> None:
    actions = life(with_status(admitted(max_seconds=100), executed=7))
    after = changed(actions)
    assert said(after, "DeactivationTarget") == (
        True,
        "MaximumExecutionTimeExceeded",
        "exceeding the maximum execution time",
    )
    assert after.status.executed == 0
    assert events(actions) == [("MaximumExecutionTimeExceeded", "The maximum execution time (100s) exceeded")]


def test_pods_that_are_not_ready_in_time_send_a_workload_back() -> None:
    settings = Settings(pods_ready=PodsReady(timeout=100.0))
    assert said(changed(life(admitted(), settings=settings)), "Evicted")[1] == "PodsReadyTimeout"
    assert life(admitted(), settings=Settings()) == []


# Why it waits, when no scheduler looks at it


@pytest.mark.parametrize(
    ("around", "reason", "message"),
    [
        ({"local_queue": None, "cluster_queue": None}, "Misconfigured", "LocalQueue lq doesn't exist"),
        ({"local_queue": replace(LOCAL, stop="Hold")}, "Suspended", "LocalQueue lq is inactive"),
        ({"cluster_queue": None}, "Misconfigured", "ClusterQueue cq doesn't exist"),
        ({"is_active": False}, "Suspended", "ClusterQueue cq is inactive"),
    ],
)
def test_a_workload_without_a_queue_reports_why(around: dict[str, Any], reason: str, message: str) -> None:
    after = changed(life(pending(), **around))
    assert said(after, "QuotaReserved") == (False, reason, message)
    assert life(after, **around) == []
    assert said(changed(life(pending(), COARSE, **around)), "QuotaReserved")[1] == "Inadmissible"


def test_a_workload_of_a_late_queue_reports_the_reason_of_its_parked_class() -> None:
    lost = changed(life(pending(), local_queue=None, cluster_queue=None))
    after = changed(life(lost, bypassed="WaitingForQuota"))
    assert said(after, "QuotaReserved") == (
        False,
        "WaitingForQuota",
        "Bypassed scheduling evaluation because an equivalent workload recently failed",
    )
    assert life(after, bypassed="WaitingForQuota") == []


def test_a_queue_that_is_not_there_is_an_event_and_one_that_is_stopped_is_not() -> None:
    def told(**around: Any) -> list[tuple[str, str, str]]:
        (change,) = life(pending(), **around)
        assert isinstance(change, StatusChange)
        return [(one.type, one.reason, one.message) for one in change.events]

    assert told(local_queue=None, cluster_queue=None) == [("Warning", "Misconfigured", "LocalQueue lq doesn't exist")]
    assert told(cluster_queue=None) == [("Warning", "Misconfigured", "ClusterQueue cq doesn't exist")]
    assert told(local_queue=replace(LOCAL, stop="Hold")) == []


@pytest.mark.parametrize(
    ("gates", "said_before", "reason"),
    [(Gates.profile(), "Suspended", "PendingEvaluation"), (COARSE, "Inadmissible", "Pending")],
)
def test_a_group_that_lacks_pods_reports_a_stopped_queue_only_while_it_is_stopped(
    gates: Gates, said_before: str, reason: str
) -> None:
    lacking = with_conditions(
        pending(),
        QuotaReserved=(False, said_before, 900.0),
        WaitingForReplacementPods=(True, "ClusterQueueStopped", 900.0),
    )
    after = changed(life(lacking, gates))
    assert said(after, "QuotaReserved") == (False, reason, "because of ClusterQueueStopped")
    assert life(after, gates) == []


def test_a_workload_of_a_parked_class_reports_the_shared_reason_until_it_is_evaluated() -> None:
    after = changed(life(pending(), Gates.profile(), bypassed="WaitingForQuota"))
    text = "Bypassed scheduling evaluation because an equivalent workload recently failed"
    assert said(after, "QuotaReserved") == (False, "WaitingForQuota", text)
    assert life(after, Gates.profile(), bypassed="WaitingForQuota") == []
    looked_at = with_conditions(pending(), QuotaReserved=(False, "ExceedsMaxQuota", 900.0))
    assert life(looked_at, Gates.profile(), bypassed="WaitingForQuota") == []


@pytest.mark.parametrize("before", ["PendingEvaluation", "Suspended", "Deactivated"])
def test_in_the_kueue_profile_only_a_requeued_workload_reports_that_it_was_bypassed(before: str) -> None:
    gates = Gates.profile("kueue")
    assert life(pending(), gates, bypassed="WaitingForQuota") == []
    back = with_conditions(pending(), QuotaReserved=(False, before, 900.0))
    assert said(changed(life(back, gates, bypassed="WaitingForQuota")), "QuotaReserved")[1] == "WaitingForQuota"
    assert life(back, COARSE, bypassed="WaitingForQuota") == []


def test_a_gate_on_admission_is_shown_and_its_opening_too() -> None:
    gates = Gates.profile("kueue", {"AdmissionGatedBy": True})
    actions = life(pending(gated_by="a.b/c"), gates)
    after = changed(actions)
    assert said(after, "QuotaReserved")[:2] == (False, "AdmissionGated")
    assert [reason for reason, _ in events(actions)] == ["AdmissionGated"]
    assert life(after, gates) == []
    opened = life(replace(after, gated_by=""), gates)
    assert said(changed(opened), "QuotaReserved")[:2] == (False, "PendingEvaluation")
    assert [reason for reason, _ in events(opened)] == ["AdmissionGateCleared"]


def test_an_evicted_workload_is_left_to_its_job() -> None:
    for reason in ("Preempted", "NodeFailures", "ClusterQueueStopped"):
        gone = with_status(evicted(reason, max_seconds=1), checks=(Check("a", "Rejected"),))
        assert life(gone, cluster_queue=queue(stop="HoldAndDrain"), is_active=False) == []
