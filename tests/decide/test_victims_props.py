"""Victims are chosen by the rules, and none too many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.decide.decision import Admit, Decision, Preempt, Wait
from closeknit.decide.nominate import Nomination, nominate
from closeknit.engine.place import place
from closeknit.engine.policy import Policy
from closeknit.model.quota import FlavorResource
from closeknit.model.request import PodSet
from closeknit.model.workload import Workload
from closeknit.queue.pending_workload import PendingWorkload, pending_workload
from closeknit.state.ledger import Holding

from .clusters import Cluster, Story, clusters
from .permission import Asked, Court, Held

EXAMPLES = settings(max_examples=60)
each_way = pytest.mark.parametrize("fair", [False, True], ids=["classical", "fair"])


# Permission


def plans(decisions: Iterable[Decision]) -> dict[str, tuple[str, Asked]]:
    """By workload: its queue, and what it asked for in this cycle."""
    found: dict[str, tuple[str, Asked]] = {}
    for one in decisions:
        if isinstance(one, Admit | Wait) and one.plan is not None:
            found[one.workload.key] = (one.workload.queue, one.plan.usage)
    return found


def summed(pairs: Iterable[tuple[str, Asked]], start: Held | None = None, sign: int = 1) -> Held:
    total = {queue: dict(held) for queue, held in (start or {}).items()}
    for queue, amounts in pairs:
        of_queue = total.setdefault(queue, {})
        for fr, amount in amounts.items():
            of_queue[fr] = of_queue.get(fr, 0) + sign * amount
    return total


def objections(cluster: Cluster, held: Held, decisions: list[Decision]) -> Iterator[str]:
    """What speaks against the preemptions of one cycle.

    A replan within the cycle sees what earlier entries were promised, or their victims gone, or both, so a victim may
    be taken if that is allowed by what queues held at first or by any of these views. But the victim's queue has to
    borrow by what it holds, and not only by what was promised to it.
    """
    asked = plans(decisions)
    admitted = [asked[one.workload.key] for one in decisions if isinstance(one, Admit)]
    orders = [one for one in decisions if isinstance(one, Preempt)]
    chosen = {one.workload.key: one.victims for one in decisions if isinstance(one, Wait)}
    for one in orders:
        wants = asked[one.by.key][1]
        promised = summed((plan for key, plan in asked.items() if key != one.by.key), held)
        others = {each.key: each for by, victims in chosen.items() if by != one.by.key for each in victims}
        gone = [held_by(each) for each in others.values()]
        views = [held, promised, summed(gone, held, -1), summed(gone, promised, -1)]
        freed = summed(map(held_by, chosen[one.by.key]))
        found = [Court(cluster, view, wants).objection(one, freed) for view in views]
        if all(found):
            yield f"{one.by.key} takes {one.victim.key}: {found[0]}"
        really = [Court(cluster, view, wants).borrows(f"q:{one.queue}") for view in (held, summed(admitted, held))]
        if one.queue != one.by_queue and not any(really):
            yield f"{one.by.key} takes {one.victim.key}, but its queue holds only its own quota"


def held_by(one: Workload) -> tuple[str, Asked]:
    assert one.status.admission is not None
    total: dict[FlavorResource, int] = {}
    for each in one.status.admission.pod_sets:
        for resource, amount in each.usage.items():
            fr = FlavorResource(each.flavors[resource], resource)
            total[fr] = total.get(fr, 0) + amount
    return one.queue, total


@each_way
@pytest.mark.parametrize("victims_stop", [True, False], ids=["victims-stop", "victims-stay"])
@EXAMPLES
@given(data=st.data())
def test_no_protected_workload_is_preempted(fair: bool, victims_stop: bool, data: st.DataObject) -> None:
    cluster = data.draw(clusters(fair=fair, one_tree=True))
    story = Story(cluster, victims_stop)
    while (decisions := story.step()) is not None:
        assert list(objections(cluster, story.before, decisions)) == []


# Minimality


def nominations(story: Story) -> Iterator[tuple[PendingWorkload, Nomination]]:
    """For every pending workload: what it would get, and its victims."""
    world = story.scheduler.world
    for one in story.known.values():
        if not one.reserved:
            head = pending_workload(one, one.queue, world.settings, world.gates)
            yield head, nominate(world, head, 99)


class Trial:
    """Whether a plan would fit with some holdings gone: quota by the reference, places by the engine."""

    def __init__(self, story: Story, head: PendingWorkload, found: Nomination) -> None:
        self.story, self.head, self.plan = story, head, found.plan
        self.world = story.scheduler.world

    def held_without(self, gone: list[Holding]) -> Held:
        keys = {one.key for one in gone}
        return summed((one.queue, one.usage) for one in self.world.ledger.holdings.values() if one.key not in keys)

    def fits(self, gone: list[Holding]) -> bool:
        held, reference = self.held_without(gone), self.story.cluster.reference
        for fr, amount in self.plan.usage.items():
            if amount > max(0, reference.available(f"q:{self.head.queue}", fr, held)):
                return False
        return self._has_room(gone)

    def borrows(self, gone: list[Holding]) -> bool:
        own, reference = self.held_without(gone).get(self.head.queue, {}), self.story.cluster.reference
        return any(
            own.get(fr, 0) + amount > reference.written(f"q:{self.head.queue}", fr).nominal
            for fr, amount in self.plan.usage.items()
        )

    def _has_room(self, gone: list[Holding]) -> bool:
        wanted: dict[str, list[PodSet]] = {}
        for one in self.plan.pod_sets:
            flavor = next(iter(one.flavors.values())).flavor
            if one.topology is not None:
                wanted.setdefault(flavor, []).append(replace(one.demand.pod_set, count=one.demand.count))
        mark = self.world.checkpoint()
        for holding in gone:
            self.world.take_away(holding)
        policy, fits = Policy(self.world.gates), True
        for flavor, pod_sets in wanted.items():
            snapshot = self.world.snapshot(flavor)
            assert snapshot is not None
            request = self.head.workload.request.keeping({one.name: one for one in pod_sets})
            fits = fits and place(snapshot, request, policy).fits
        self.world.rollback(mark)
        return fits


@each_way
@EXAMPLES
@given(data=st.data(), cycles=st.integers(1, 8))
def test_with_its_victims_gone_a_preemptor_fits_and_with_any_one_of_them_back_it_does_not(
    fair: bool, data: st.DataObject, cycles: int
) -> None:
    """Where reclaiming rules out borrowing, a workload of the own queue may be preempted just for that."""
    cluster = data.draw(clusters(fair=fair, single=True, one_tree=True))
    story = Story(cluster, victims_stop=False)
    for _ in range(cycles):
        story.step()
    story.put(*(one for _, arriving in cluster.waves for one in arriving if one.key not in story.known), at=story.at)
    for head, found in nominations(story):
        victims = [victim.holding for victim in found.victims]
        if not victims:
            continue
        trial = Trial(story, head, found)
        assert trial.fits(victims)
        reclaims = not fair and cluster.queue(head.queue).preemption.reclaim != "Never"
        for one in victims:
            others = [other for other in victims if other is not one]
            must_not_borrow = reclaims and one.queue == head.queue
            assert not trial.fits(others) or (must_not_borrow and trial.borrows(others))
