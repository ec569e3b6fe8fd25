"""A plan that is used again is the plan that would be made now."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis.stateful import run_state_machine_as_test

from closeknit.decide import cycle as cycle_module
from closeknit.decide.decision import Admit, Decision, Preempt
from closeknit.decide.nominate import Nomination, nominate, planned
from closeknit.decide.status import carried_out
from closeknit.decide.world import World
from closeknit.queue.pending_workload import PendingWorkload
from closeknit.queue.wake import WakeEvent

from .clusters import Cluster, Story, clusters
from .test_events_props import Events

victims_may_stay = pytest.mark.parametrize("victims_stop", [True, False], ids=["victims-stop", "victims-stay"])


class Again(Story):
    """Conditions of pending workloads are not written, and all of them are woken before every cycle."""

    def cycle(self, at: float = 0.0) -> list[Decision]:
        decisions = self.scheduler.cycle(at)
        for decision in decisions:
            if isinstance(decision, Admit | Preempt):
                one, _ = carried_out(self.scheduler.world, decision, at)[0]
                self.put(one, at=at)
        if self.victims_stop:
            self._stop([one for one in self.known.values() if one.evicted and one.reserved], at)
        self.scheduler.wake_queues(WakeEvent.FLAVOR_CHANGED, (), at)
        return decisions


def same(one: Nomination) -> tuple[object, ...]:
    return one.plan, [(victim.holding.key, victim.holding.usage, victim.cause) for victim in one.victims], one.wanted


def checked(world: World, entry: PendingWorkload, cycle: int) -> Nomination:
    found = planned(world, entry, cycle)
    assert same(found) == same(nominate(world, entry, cycle))
    return found


@pytest.fixture(autouse=True)
def every_plan_is_checked() -> Iterator[None]:
    with patch.object(cycle_module, "planned", checked):
        yield


@victims_may_stay
@settings(max_examples=60)
@given(cluster=clusters())
def test_in_any_cluster(victims_stop: bool, cluster: Cluster) -> None:
    story = Again(cluster, victims_stop)
    while story.step() is not None:
        pass


@victims_may_stay
@settings(max_examples=30)
@given(cluster=clusters(overlap=True))
def test_where_flavors_share_nodes(victims_stop: bool, cluster: Cluster) -> None:
    story = Again(cluster, victims_stop)
    while story.step() is not None:
        pass


def test_whatever_happens_to_queues_nodes_and_jobs() -> None:
    run_state_machine_as_test(Events, settings=settings(max_examples=40, stateful_step_count=25))
