"""The wake table: every event has a rule, and with our gate it wakes only the workloads that it can help."""

from __future__ import annotations

import pytest

from closeknit.model.cluster_queue import LocalQueue
from closeknit.model.gates import Gates
from closeknit.model.settings import Settings
from closeknit.queue.pending_queues import PendingQueues
from closeknit.queue.wake import RULES, Reach, RequeueReason, WaitStage, WakeEvent
from decide.objects import DEFAULT, queue, workload

FREED = {
    WakeEvent.WORKLOAD_FINISHED,
    WakeEvent.WORKLOAD_DELETED,
    WakeEvent.WORKLOAD_DEACTIVATED,
    WakeEvent.WORKLOAD_EVICTED,
    WakeEvent.WORKLOAD_SHRANK,
    WakeEvent.PODS_RECLAIMED,
    WakeEvent.PRIORITY_CHANGED,
}
CHANGED = {
    WakeEvent.LIMITS_CHANGED,
    WakeEvent.QUEUE_CHANGED,
    WakeEvent.COHORT_CHANGED,
    WakeEvent.CHECK_CHANGED,
    WakeEvent.FLAVOR_CHANGED,
    WakeEvent.TOPOLOGY_CHANGED,
}
ROOM = {WakeEvent.NODE_CHANGED, WakeEvent.OTHER_POD_GONE, WakeEvent.VOLUME_CHANGED}
ELSEWHERE = {WakeEvent.ROOM_FREED}
CLEARED = {WakeEvent.RESERVATION_ENDED}
EXPOSED = {WakeEvent.QUEUE_BORROWS}

HELPED_BY = {
    WaitStage.QUOTA: FREED | CHANGED | CLEARED | EXPOSED,
    WaitStage.ROOM: FREED | CHANGED | ROOM | ELSEWHERE | CLEARED | EXPOSED,
    WaitStage.PLACE: CHANGED | ROOM,
    WaitStage.MAXIMUM: CHANGED,
    WaitStage.FLAVOR: CHANGED,
    WaitStage.NAMESPACE: CHANGED | {WakeEvent.NAMESPACE_CHANGED},
    WaitStage.FAULT: CHANGED,
    WaitStage.UNKNOWN: set(WakeEvent),
}
"""Freed quota, and quota that a queue has just borrowed, helps workloads that wait for quota or room; room on nodes
helps those that found none; changes of quota, flavors and topologies may help any workload; one that waits for an
unknown cause is woken by everything."""

REACH = {
    **dict.fromkeys(FREED | ELSEWHERE | EXPOSED | {WakeEvent.QUEUE_CHANGED, WakeEvent.COHORT_CHANGED}, Reach.TREE),
    **dict.fromkeys(
        ROOM
        | CLEARED
        | {WakeEvent.FLAVOR_CHANGED, WakeEvent.TOPOLOGY_CHANGED, WakeEvent.NAMESPACE_CHANGED, WakeEvent.LIMITS_CHANGED},
        Reach.EVERYWHERE,
    ),
    WakeEvent.CHECK_CHANGED: Reach.QUEUE,
}


def parked(stage: WaitStage, by_reason: bool = True) -> PendingQueues:
    """Two queues with one workload each, parked at this stage; one of them alone, one with its class."""
    made = PendingQueues(Settings(), Gates.profile("closeknit", {"WakeByReason": by_reason}))
    for name, why in (("a", RequeueReason.OTHER), ("b", RequeueReason.NO_FIT)):
        made.put_queue(queue(name))
        made.put_local_queue(LocalQueue(DEFAULT, name, name))
        made.put(workload(f"in-{name}", name), 0.0)
        (one,) = made.heads(lambda each, name=name: each == name)  # type: ignore[misc]
        made.requeue(one, why, stage, 0.0)
    assert not list(made.ready())
    return made


def test_every_event_has_a_rule_and_every_stage_is_in_the_table() -> None:
    assert set(RULES) == set(WakeEvent) == set(REACH)
    assert set(HELPED_BY) == set(WaitStage)


@pytest.mark.parametrize("stage", list(WaitStage))
@pytest.mark.parametrize("event", list(WakeEvent))
def test_an_event_wakes_the_workloads_that_it_can_help(event: WakeEvent, stage: WaitStage) -> None:
    made = parked(stage)
    woken = made.wake(event, ["a", "b"], lambda _: True, 0.0)
    assert woken == (2 if event in HELPED_BY[stage] else 0)


@pytest.mark.parametrize("stage", list(WaitStage))
@pytest.mark.parametrize("event", list(WakeEvent))
def test_without_our_gate_it_wakes_every_workload_that_it_reaches(event: WakeEvent, stage: WaitStage) -> None:
    assert parked(stage, by_reason=False).wake(event, ["a", "b"], lambda _: True, 0.0) == 2


@pytest.mark.parametrize("event", list(WakeEvent))
def test_an_event_goes_as_far_as_it_reaches(event: WakeEvent) -> None:
    made = parked(WaitStage.UNKNOWN)
    made.wake(event, ["a"], lambda _: True, 0.0)
    woken = {line.name for line in made.ready()}
    assert woken == ({"a", "b"} if REACH[event] is Reach.EVERYWHERE else {"a"})


def test_a_queue_that_does_not_exist_is_ignored() -> None:
    assert parked(WaitStage.UNKNOWN).wake(WakeEvent.WORKLOAD_FINISHED, ["gone"], lambda _: True, 0.0) == 0
