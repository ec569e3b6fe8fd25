"""A scheduler is what its objects make it: neither the order in which they came nor a restart shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.decide.nominate import nominate
from closeknit.decide.plan import Plan
from closeknit.decide.scheduler import Scheduler
from closeknit.model.cluster_queue import LocalQueue
from closeknit.model.gates import Gates
from closeknit.model.settings import FAIR, Settings
from closeknit.queue.pending_workload import pending_workload
from closeknit.queue.wake import WakeEvent
from engine.clusters import columns

from .clusters import TOPOLOGIES, Cluster, Story, clusters
from .objects import DEFAULT
from .play import Play

EXAMPLES = settings(max_examples=50)
victims_may_stay = pytest.mark.parametrize("victims_stop", [True, False], ids=["victims-stop", "victims-stay"])


def shuffled(cluster: Cluster, random: Random, victims_stop: bool) -> Play:
    """All objects and all workloads, in any order."""
    play = Play(Scheduler(cluster.gates, Settings(FAIR if cluster.fair else ())), victims_stop)
    built, world = play.scheduler, play.scheduler.world
    world.namespaces[DEFAULT] = {}
    steps: list[Callable[[], object]] = []
    steps += [lambda one=one: world.put_topology(one) for one in TOPOLOGIES.values()]  # type: ignore[misc]
    steps += [lambda one=one: world.put_flavor(one) for one in cluster.flavors]  # type: ignore[misc]
    steps += [lambda one=one: world.put_node(one) for one in cluster.nodes]  # type: ignore[misc]
    steps += [lambda one=one: world.put_cohort(one) for one in cluster.cohorts]  # type: ignore[misc]
    steps += [lambda one=one: built.put_cluster_queue(one) for one in cluster.queues]  # type: ignore[misc]
    for queue in cluster.queues:
        local = LocalQueue(DEFAULT, queue.name, queue.name)
        steps.append(lambda one=local: built.put_local_queue(one))  # type: ignore[misc]
    for _, arriving in cluster.waves:
        steps += [lambda one=one: play.put(one) for one in arriving]  # type: ignore[misc]
    random.shuffle(steps)
    for step in steps:
        step()
    return play


@victims_may_stay
@EXAMPLES
@given(cluster=clusters(fair=False, waves=2), seeds=st.tuples(st.integers(0, 999), st.integers(0, 999)))
def test_the_order_in_which_things_arrive_before_the_first_cycle_does_not_show(
    victims_stop: bool, cluster: Cluster, seeds: tuple[int, int]
) -> None:
    one, other = (shuffled(cluster, Random(seed), victims_stop) for seed in seeds)
    for at in range(8):
        one.cycle(float(at))
        other.cycle(float(at))
        assert one.known == other.known


@victims_may_stay
@EXAMPLES
@given(cluster=clusters(fair=True, waves=2), seeds=st.tuples(st.integers(0, 999), st.integers(0, 999)))
def test_the_order_of_arrival_does_not_show_under_fair_sharing_either(
    victims_stop: bool, cluster: Cluster, seeds: tuple[int, int]
) -> None:
    one, other = (shuffled(cluster, Random(seed), victims_stop) for seed in seeds)
    for at in range(8):
        one.cycle(float(at))
        other.cycle(float(at))
        assert one.known == other.known


def in_line(scheduler: Scheduler) -> dict[str, list[tuple[object, ...]]]:
    """Who stands in each line or beside it, in the order in which they would be taken."""
    return {
        name: sorted((*one.order, one.key, one.equivalence_key) for one in [*line.ready(), *line.all_parked()])
        for name, line in scheduler.pending.queues.items()
    }


def room(scheduler: Scheduler) -> dict[str, object]:
    return {name: columns(mirror.snapshot) for name, mirror in scheduler.world.views.items()}


def usage(scheduler: Scheduler) -> dict[str, dict[tuple[str, str], int]]:
    tree = scheduler.world.tree
    return {
        repr(node): {fr: amount for fr, amount in node.usage.items() if amount}
        for node in [*tree.queues.values(), *tree.cohorts.values()]
    }


@victims_may_stay
@EXAMPLES
@given(cluster=clusters(), cycles=st.integers(1, 12), seed=st.integers(0, 999))
def test_a_scheduler_rebuilt_from_the_objects_in_any_order_is_the_running_one(
    victims_stop: bool, cluster: Cluster, cycles: int, seed: int
) -> None:
    story = Story(cluster, victims_stop)
    for _ in range(cycles):
        story.step()
    as_they_are = replace(cluster, waves=((0, tuple(story.known.values())),))
    running, rebuilt = story.scheduler, shuffled(as_they_are, Random(seed), victims_stop).scheduler
    assert usage(rebuilt) == usage(running)
    assert room(rebuilt) == room(running)
    assert in_line(rebuilt) == in_line(running)
    assert {key: dict(one.usage) for key, one in rebuilt.world.ledger.holdings.items()} == {
        key: dict(one.usage) for key, one in running.world.ledger.holdings.items()
    }


@pytest.mark.parametrize("by_reason", [True, False], ids=["by-reason", "everybody"])
@EXAMPLES
@given(data=st.data())
def test_when_all_is_quiet_no_parked_workload_would_fit(by_reason: bool, data: st.DataObject) -> None:
    """Nothing polls, so a workload that could be admitted has to be woken by what made it possible.

    By Kueue's rules there are two exceptions. With several flavors, when the walk has seen all of them and took the
    best by quota, and pods have no place in that one, the others are not tried. And without our gate a workload that
    ends wakes its own tree of cohorts, not others that use the same nodes.
    """
    cluster = data.draw(clusters(one_tree=not by_reason))
    gates = Gates.profile("closeknit", {"WakeByReason": by_reason})
    story = Story(replace(cluster, gates=gates), victims_stop=True, cycles=20)
    while story.step() is not None:
        pass
    world = story.scheduler.world
    for line in story.scheduler.pending.queues.values():
        if story.scheduler.is_ready or len(cluster.queue(line.name).flavors) > 1:
            continue
        for one in line.all_parked():
            fresh = pending_workload(one.workload, one.queue, world.settings, world.gates)
            assert not nominate(world, fresh, 999).plan.fits, one.key


@EXAMPLES
@given(cluster=clusters(fair=False))
def test_where_quota_cannot_be_had_no_victims_would_have_been_found(cluster: Cluster) -> None:
    """They are not even sought then: quota alone has shown that there are none.

    Where more than one resource is contested, a queue that borrows any of them could lose a workload that holds only
    those which it does not borrow.
    """
    story = Story(replace(cluster, gates=Gates.profile("closeknit")), victims_stop=True, cycles=20)
    while story.step() is not None:
        world = story.scheduler.world
        for line in story.scheduler.pending.queues.values():
            for one in [*line.ready(), *line.all_parked()]:
                fresh = pending_workload(one.workload, one.queue, world.settings, world.gates)
                plan = nominate(world, fresh, 999).plan
                if plan.lacks_quota and len(plan.contested()) == 1:
                    with patch.object(Plan, "lacks_quota", False):
                        assert not nominate(world, fresh, 999).works, one.key


@EXAMPLES
@given(cluster=clusters())
def test_waking_all_leaves_none_parked_and_loses_none(cluster: Cluster) -> None:
    story = Story(cluster, victims_stop=True)
    while story.step() is not None:
        pass
    story.scheduler.wake(WakeEvent.FLAVOR_CHANGED, cluster.queues[0].name, story.at)
    pending_workload = {one.key for one in story.known.values() if not one.reserved}
    ready = {one.key for line in story.scheduler.pending.queues.values() for one in line.ready()}
    assert ready == pending_workload
