"""The wake table: every event has a rule, and with our gate it wakes only the workloads that it can help."""

from __future__ import annotations

import pytest

from closeknit.model.cluster_queue import LocalQueue
from closeknit.model.gates import Gates
from closeknit.model.settings import Settings
from closeknit.queue.lines import Lines
from closeknit.queue.wake import RULES, Event, Reach, Stage, Why
from decide.objects import DEFAULT, queue, workload

FREED = {
    Event.WORKLOAD_FINISHED,
    Event.WORKLOAD_DELETED,
    Event.WORKLOAD_DEACTIVATED,
    Event.WORKLOAD_EVICTED,
    Event.WORKLOAD_SHRANK,
    Event.PODS_RECLAIMED,
    Event.PRIORITY_CHANGED,
}
CHANGED = {
    Event.LIMITS_CHANGED,
    Event.QUEUE_CHANGED,
    Event.COHORT_CHANGED,
    Event.CHECK_CHANGED,
    Event.FLAVOR_CHANGED,
    Event.TOPOLOGY_CHANGED,
}
ROOM = {Event.NODE_CHANGED, Event.OTHER_POD_GONE}
ELSEWHERE = {Event.ROOM_FREED}
CLEARED = {Event.RESERVATION_ENDED}

HELPED_BY = {
    Stage.QUOTA: FREED | CHANGED | CLEARED,
    Stage.ROOM: FREED | CHANGED | ROOM | ELSEWHERE | CLEARED,
    Stage.PLACE: CHANGED | ROOM,
    Stage.MAXIMUM: CHANGED,
    Stage.FLAVOR: CHANGED,
    Stage.NAMESPACE: CHANGED | {Event.NAMESPACE_CHANGED},
    Stage.UNKNOWN: set(Event),
}
"""Freed quota helps workloads that wait for quota or room; room on nodes helps those that found none; changes of quota,
flavors and topologies may help any workload; one that waits for an unknown cause is woken by everything."""

REACH = {
    **dict.fromkeys(FREED | ELSEWHERE | {Event.QUEUE_CHANGED, Event.COHORT_CHANGED}, Reach.TREE),
    **dict.fromkeys(
        ROOM | CLEARED | {Event.FLAVOR_CHANGED, Event.TOPOLOGY_CHANGED, Event.NAMESPACE_CHANGED, Event.LIMITS_CHANGED},
        Reach.EVERYWHERE,
    ),
    Event.CHECK_CHANGED: Reach.QUEUE,
}


def parked(stage: Stage, by_reason: bool = True) -> Lines:
    """Two queues with one workload each, parked at this stage; one of them alone, one with its class."""
    made = Lines(Settings(), Gates.profile("closeknit", {"WakeByReason": by_reason}))
    for name, why in (("a", Why.OTHER), ("b", Why.NO_FIT)):
        made.put_queue(queue(name))
        made.put_local_queue(LocalQueue(DEFAULT, name, name))
        made.put(workload(f"in-{name}", name), 0.0)
        (one,) = made.heads(lambda each, name=name: each == name)  # type: ignore[misc]
        made.requeue(one, why, stage, 0.0)
    assert not list(made.ready())
    return made


def test_every_event_has_a_rule_and_every_stage_is_in_the_table() -> None:
    assert set(RULES) == set(Event) == set(REACH)
    assert set(HELPED_BY) == set(Stage)


@pytest.mark.parametrize("stage", list(Stage))
@pytest.mark.parametrize("event", list(Event))
def test_an_event_wakes_the_workloads_that_it_can_help(event: Event, stage: Stage) -> None:
    made = parked(stage)
    woken = made.wake(event, ["a", "b"], lambda _: True, 0.0)
    assert woken == (2 if event in HELPED_BY[stage] else 0)


@pytest.mark.parametrize("stage", list(Stage))
@pytest.mark.parametrize("event", list(Event))
def test_without_our_gate_it_wakes_every_workload_that_it_reaches(event: Event, stage: Stage) -> None:
    assert parked(stage, by_reason=False).wake(event, ["a", "b"], lambda _: True, 0.0) == 2


@pytest.mark.parametrize("event", list(Event))
def test_an_event_goes_as_far_as_it_reaches(event: Event) -> None:
    made = parked(Stage.UNKNOWN)
    made.wake(event, ["a"], lambda _: True, 0.0)
    woken = {line.name for line in made.ready()}
    assert woken == ({"a", "b"} if REACH[event] is Reach.EVERYWHERE else {"a"})


def test_a_queue_that_does_not_exist_is_ignored() -> None:
    assert parked(Stage.UNKNOWN).wake(Event.WORKLOAD_FINISHED, ["gone"], lambda _: True, 0.0) == 0
