"""When a job gets a workload, starts, stops and finishes."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.lifecycle.action import Action, Finalize, MakeWorkload, Remove, Rewrite, Start, Stop
from closeknit.lifecycle.job import JobView, job_life
from closeknit.model.gates import Gates
from closeknit.model.workload import Check, Workload
from lifecycle.shapes import (
    ADMISSION,
    NOW,
    admitted,
    changed,
    events,
    evicted,
    pending,
    reserved,
    said,
    with_conditions,
    with_status,
)

KUEUE = Gates.profile("kueue")


def life(workload: Workload | None = None, suspended: bool = True, **facts: Any) -> list[Action]:
    return job_life(JobView(facts.pop("gates", KUEUE), suspended, workload=workload, **facts), NOW)


def test_a_suspended_job_gets_a_workload() -> None:
    assert life() == [MakeWorkload()]


def test_a_job_that_runs_without_a_workload_is_stopped() -> None:
    assert life(suspended=False) == [Stop(None, "Missing Workload; unable to restore pod templates")]


def test_a_job_starts_when_its_workload_is_admitted() -> None:
    assert life(admitted()) == [Start(admitted())]


@pytest.mark.parametrize("workload", [pending(), reserved()])
def test_a_job_waits_while_its_workload_does(workload: Workload) -> None:
    assert life(workload) == []


def test_messages_of_pending_checks_are_recorded_on_the_waiting_job() -> None:
    checks = (Check("a", message="in 5 min"), Check("b", "Ready", "done"), Check("c"), Check("d", message="in 9 min"))
    waits = with_status(reserved(), checks=checks)
    assert events(life(waits)) == [("UpdatedAdmissionCheck", "a: in 5 min; d: in 9 min")]
    assert changed(life(waits)) == waits
    assert life(with_status(pending(), checks=checks)) == []


@pytest.mark.parametrize("workload", [pending(), reserved()])
def test_a_job_that_runs_without_admission_is_stopped(workload: Workload) -> None:
    assert life(workload, suspended=False) == [Stop(workload, "Not admitted by cluster queue")]


def test_a_job_that_runs_with_admission_is_left_alone() -> None:
    assert life(admitted(), suspended=False, active=True) == []


def test_an_evicted_job_is_stopped_keeps_its_quota_while_pods_run_and_then_gives_it_back() -> None:
    gone = evicted("Preempted")
    assert life(gone, suspended=False, active=True) == [Stop(gone, "because of Preempted")]
    assert life(gone, active=True) == []
    after = changed(life(gone))
    assert said(after, "QuotaReserved") == (False, "PendingEvaluation", "because of Preempted")
    assert said(after, "Admitted")[:2] == (False, "NoReservation")
    assert said(after, "Requeued")[:2] == (True, "Preempted")
    assert after.status.admission is None
    assert after.status.executed == 100


@pytest.mark.parametrize(
    ("reason", "again"),
    [
        ("Preempted", True),
        ("NodeFailures", True),
        ("PodsReadyTimeout", False),
        ("AdmissionCheck", False),
        ("ClusterQueueStopped", False),
        ("Deactivated", False),
    ],
)
def test_only_evictions_that_the_workload_did_not_cause_requeue_it_at_once(reason: str, again: bool) -> None:
    assert said(changed(life(evicted(reason))), "Requeued")[:2] == (again, reason)


def test_a_pod_by_itself_is_not_put_back_unless_the_gate_is_off() -> None:
    alone = evicted("NodeFailures", owned_by_pod=True)
    off = Gates.profile("kueue", {"SkipReassignmentForPodOwnedWorkloads": False})
    assert said(changed(life(alone)), "Requeued")[0] is False
    assert said(changed(life(alone, gates=off)), "Requeued")[0] is True


@pytest.mark.parametrize(("success", "reason"), [(True, "Succeeded"), (False, "Failed")])
def test_a_job_that_ended_finishes_its_workload(success: bool, reason: str) -> None:
    actions = life(admitted(), suspended=False, ended=(success, "done"))
    assert said(changed(actions), "Finished") == (True, reason, "done")
    assert events(actions) == [("FinishedWorkload", "Workload 'ns/wl' is declared finished")]


def test_a_job_that_ended_without_a_workload_needs_none() -> None:
    assert life(suspended=False, ended=(True, "")) == []


def test_a_job_that_ended_keeps_no_workload_that_says_something_else() -> None:
    other = admitted()
    assert life(suspended=False, ended=(True, ""), others=(other,)) == [Remove(other)]
    actions = life(pending(), ended=(True, ""), others=(other,))
    assert said(changed(actions), "Finished")[:2] == (True, "Succeeded")
    assert actions[1:] == [Remove(other)]


def test_a_finished_workload_is_finalized_once() -> None:
    done = with_conditions(admitted(), Finished=(True, "Succeeded", 900.0))
    assert life(done, suspended=False) == [Finalize(done)]
    assert life(done, suspended=False, held=False) == []


def test_a_workload_that_says_something_else_is_written_over_while_nothing_depends_on_it() -> None:
    assert life(pending(), stale=True) == [Rewrite(pending())]


def test_workloads_that_say_something_else_are_removed_but_a_running_job_is_stopped_first() -> None:
    other = admitted()
    assert life(suspended=False, others=(other,)) == [
        Stop(other, "No matching Workload; restoring pod templates according to existent Workload")
    ]
    assert life(others=(other,)) == [Remove(other)]
    assert life(pending(), others=(other,)) == [Remove(other)]


@pytest.mark.parametrize("workload", [admitted(), evicted("Preempted")])
def test_a_job_stops_before_its_deleted_workload_is_finalized(workload: Workload) -> None:
    assert life(workload, suspended=False, active=True, deleting=True) == [Stop(workload, "Workload is deleted")]
    assert life(workload, active=True, deleting=True) == []
    assert life(workload, deleting=True) == [Finalize(workload)]
    assert life(workload, deleting=True, held=False) == []


def test_a_workload_that_is_deleted_is_neither_written_over_nor_started() -> None:
    assert life(pending(), deleting=True, stale=True) == [Finalize(pending())]


def test_a_job_that_is_being_deleted_counts_as_stopped() -> None:
    after = changed(life(evicted("Preempted"), suspended=False, going=True))
    assert said(after, "QuotaReserved")[0] is False
    assert life(admitted(), suspended=False, going=True) == []


def test_a_job_that_names_a_workload_waits_for_it() -> None:
    assert life(prebuilt=True) == []
    assert life(suspended=False, prebuilt=True) == [Stop(None, "Missing Workload; unable to restore pod templates")]


def test_a_prebuilt_workload_about_something_else_ends_once_the_job_stands_still() -> None:
    other = admitted()
    text = "No matching Workload; restoring pod templates according to existent Workload"
    assert life(other, suspended=False, prebuilt=True, differs=True) == [Stop(other, text)]
    after = changed(life(other, prebuilt=True, differs=True))
    assert said(after, "Finished") == (
        True,
        "OutOfSync",
        "The prebuilt workload is out of sync with its user job",
    )
    assert life(after, prebuilt=True, differs=True, held=False) == []


def test_a_job_on_hold_releases_its_quota_and_is_requeued_afterwards() -> None:
    assert life(admitted(), suspended=False, on_hold="not valid") == [Stop(admitted(), "not valid")]
    held = changed(life(admitted(), on_hold="not valid"))
    assert said(held, "QuotaReserved") == (False, "OnHold", "not valid")
    assert held.status.admission is None
    assert life(held, on_hold="not valid") == []
    after = changed(life(held))
    assert said(after, "QuotaReserved")[:2] == (False, "PendingEvaluation")


@pytest.mark.parametrize("reason", ["Preempted", "Deactivated", "DeactivatedDueToAdmissionCheck"])
def test_the_time_that_a_workload_ran_is_added_up(reason: str) -> None:
    assert changed(life(evicted(reason, active=reason == "Preempted"))).status.executed == 100


@pytest.mark.parametrize("active", [True, False])
def test_a_workload_that_exceeded_its_time_starts_from_zero_later(active: bool) -> None:
    gone = evicted("DeactivatedDueToMaximumExecutionTimeExceeded", active=active)
    assert changed(life(gone)).status.executed == 0


def test_pods_that_are_done_give_quota_back_and_never_take_it_again() -> None:
    runs = with_status(admitted(), reclaimable={"main": 2})
    assert changed(life(runs, suspended=False, reclaimable={"main": 3})).status.reclaimable == {"main": 3}
    assert life(runs, suspended=False, reclaimable={"main": 1}) == []
    assert life(runs, suspended=False, reclaimable={}) == []


def test_what_was_given_back_is_forgotten_with_the_reservation() -> None:
    gone = with_status(evicted("Preempted"), reclaimable={"main": 2})
    assert changed(life(gone)).status.reclaimable == {}


def test_readiness_is_tracked_only_where_it_is_used() -> None:
    assert life(admitted(), suspended=False, ready=True) == []
    after = changed(life(admitted(), suspended=False, ready=True, waits_for_pods=True))
    assert said(after, "PodsReady")[:2] == (True, "Started")
    assert after.status.admission is ADMISSION


def test_a_workload_that_is_not_admitted_has_no_ready_pods() -> None:
    after = changed(life(pending(), waits_for_pods=True))
    assert said(after, "PodsReady") == (False, "WaitForStart", "Not all pods are ready or succeeded")
    assert life(after, waits_for_pods=True) == []
