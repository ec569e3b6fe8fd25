"""When a job gets a workload, starts, stops and finishes."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.lifecycle.action import Action, Finalize, MakeWorkload, Remove, Rewrite, Start, Stop
from closeknit.lifecycle.job import JobView, job_life
from closeknit.model.gates import Gates
from closeknit.model.workload import Workload
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


def test_a_job_whose_workload_is_admitted_starts() -> None:
    assert life(admitted()) == [Start(admitted())]


@pytest.mark.parametrize("workload", [pending(), reserved()])
def test_a_job_waits_while_its_workload_does(workload: Workload) -> None:
    assert life(workload) == []


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
def test_only_who_is_not_to_blame_is_back_in_line_at_once(reason: str, again: bool) -> None:
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


def test_a_finished_workload_is_let_go_once() -> None:
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


def test_pods_that_are_done_give_quota_back_and_never_take_it_again() -> None:
    runs = with_status(admitted(), reclaimable={"main": 2})
    assert changed(life(runs, suspended=False, reclaimable={"main": 3})).status.reclaimable == {"main": 3}
    assert life(runs, suspended=False, reclaimable={"main": 1}) == []
    assert life(runs, suspended=False, reclaimable={}) == []


def test_what_was_given_back_is_forgotten_with_the_reservation() -> None:
    gone = with_status(evicted("Preempted"), reclaimable={"main": 2})
    assert changed(life(gone)).status.reclaimable == {}


def test_readiness_is_kept_only_where_somebody_waits_for_it() -> None:
    assert life(admitted(), suspended=False, ready=True) == []
    after = changed(life(admitted(), suspended=False, ready=True, waits_for_pods=True))
    assert said(after, "PodsReady")[:2] == (True, "Started")
    assert after.status.admission is ADMISSION


def test_a_workload_that_is_not_admitted_has_no_ready_pods() -> None:
    after = changed(life(pending(), waits_for_pods=True))
    assert said(after, "PodsReady") == (False, "WaitForStart", "Not all pods are ready or succeeded")
    assert life(after, waits_for_pods=True) == []
