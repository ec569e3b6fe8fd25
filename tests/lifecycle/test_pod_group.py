"""A group of pods waits, starts, is sent away and ends as one."""

from __future__ import annotations

from typing import Any

from closeknit.lifecycle.action import Action, Finalize, Start, Stop
from closeknit.lifecycle.pod_group import GroupView, group_life
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


def test_failed_pods_have_to_be_replaced_and_it_is_told_when_they_are() -> None:
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
