"""A group of pods waits, starts, is sent away and ends as one."""

from __future__ import annotations

from typing import Any

from closeknit.lifecycle.action import Action, Finalize, Start, Stop
from closeknit.lifecycle.pod_group import GroupView, group_life, is_on_hold, on_hold
from closeknit.model.gates import Gates
from closeknit.model.workload import Workload
from lifecycle.shapes import NOW, admitted, changed, evicted, pending, said, with_conditions

KUEUE = Gates.profile("kueue")


def life(workload: Workload, waiting: int = 0, running: int = 0, **facts: Any) -> list[Action]:
    return group_life(GroupView(KUEUE, workload, waiting, running, **facts), NOW)


def test_a_group_waits_with_its_workload() -> None:
    assert life(pending(), waiting=3) == []


def test_pods_that_wait_are_started_also_when_others_run() -> None:
    assert life(admitted(), waiting=3) == [Start(admitted())]
    assert life(admitted(), waiting=1, running=2) == [Start(admitted())]
    assert life(admitted(), running=3) == []


def test_pods_that_run_without_admission_are_sent_away() -> None:
    assert life(pending(), running=1) == [Stop(pending(), "Not admitted by cluster queue")]


def test_an_evicted_group_is_sent_away_and_gives_back_when_none_runs() -> None:
    gone = evicted("Preempted")
    assert life(gone, running=3, active=True) == [Stop(gone, "because of Preempted")]
    assert life(gone, active=True) == []
    after = changed(life(gone, gaps=3))
    assert said(after, "Requeued")[:2] == (True, "Preempted")
    assert said(after, "WaitingForReplacementPods")[:2] == (True, "Preempted")
    assert after.status.admission is None


def test_failed_pods_have_to_be_replaced_and_that_is_reported_when_they_are() -> None:
    lacking = changed(life(admitted(), running=2, gaps=1))
    assert said(lacking, "WaitingForReplacementPods") == (True, "PodsFailed", "Some Failed pods need replacement")
    assert life(lacking, running=2, gaps=1) == []
    whole = changed(life(lacking, running=3))
    assert said(whole, "WaitingForReplacementPods")[:2] == (False, "PodsFailed")


def test_a_group_that_ended_finishes_its_workload_and_lets_it_go() -> None:
    done = changed(life(admitted(), ended=(True, "Pods succeeded: 3/3.")))
    assert said(done, "Finished") == (True, "Succeeded", "Pods succeeded: 3/3.")
    over = with_conditions(admitted(), Finished=(True, "Succeeded", 900.0))
    assert life(over) == [Finalize(over)]
    assert life(over, held=False) == []


def test_pods_that_succeeded_give_quota_back() -> None:
    assert changed(life(admitted(), running=2, reclaimable={"main": 1})).status.reclaimable == {"main": 1}


def test_a_workload_that_is_deleted_sends_its_pods_away_and_goes_when_none_runs() -> None:
    assert life(admitted(), running=2, waiting=1, deleting=True) == [Stop(admitted(), "The Workload was deleted")]
    assert life(admitted(), waiting=1, active=True, deleting=True) == []
    assert life(admitted(), waiting=1, deleting=True) == [Finalize(admitted())]
    assert life(admitted(), waiting=1, deleting=True, held=False) == []


def test_a_group_that_ended_is_finished_even_if_its_workload_is_deleted() -> None:
    done = changed(life(admitted(), ended=(True, "Pods succeeded: 3/3."), deleting=True))
    assert said(done, "Finished")[:2] == (True, "Succeeded")


def test_a_workload_that_does_not_count_on_the_pods_of_its_group_is_over() -> None:
    over = changed(life(pending(), waiting=3, in_sync=False))
    assert said(over, "Finished")[:2] == (True, "OutOfSync")


def test_a_workload_on_hold_holds_nothing_and_has_no_pods_that_are_ready() -> None:
    ready = with_conditions(admitted(), PodsReady=(True, "Started", 950.0))
    held = on_hold(ready, "scaled to zero", KUEUE, True, NOW)
    assert said(held, "QuotaReserved") == (False, "OnHold", "scaled to zero")
    assert said(held, "Admitted")[:2] == (False, "NoReservation")
    assert said(held, "PodsReady")[:2] == (False, "WaitForStart")
    assert held.status.admission is None
    assert is_on_hold(held)
    assert not is_on_hold(ready)


def test_a_gap_is_reported_once_however_many_pods_are_lost() -> None:
    lacking = changed(life(admitted(), running=2, gaps=1))
    assert life(lacking, running=1, gaps=2) == []
