"""A cycle tries things out on the world itself; afterwards nothing shows that it did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.decide.cycle import run
from closeknit.decide.nominate import nominate
from closeknit.decide.scheduler import Scheduler
from closeknit.model.gates import Gates
from closeknit.queue.pending_workload import PendingWorkload, pending_workload

from .clusters import Cluster, Story, clusters
from .frozen import frozen

EXAMPLES = settings(max_examples=40)


def pending(story: Story) -> Iterator[PendingWorkload]:
    """Every pending workload, as if it were the head of its queue."""
    world = story.scheduler.world
    for one in story.known.values():
        if not one.reserved:
            yield pending_workload(one, one.queue, world.settings, world.gates)


def played(cluster: Cluster, cycles: int) -> tuple[Story, Scheduler]:
    story = Story(cluster, victims_stop=False)
    for _ in range(cycles):
        story.step()
    story.put(*(one for _, arriving in cluster.waves for one in arriving if one.key not in story.known), at=story.at)
    return story, story.scheduler


@EXAMPLES
@given(cluster=clusters(), cycles=st.integers(1, 8))
def test_a_cycle_leaves_the_world_as_it_was_to_the_byte(cluster: Cluster, cycles: int) -> None:
    story, scheduler = played(cluster, cycles)
    heads = {one.queue: one for one in pending(story)}
    before = frozen(scheduler.world)
    run(scheduler.world, list(heads.values()), 99, lambda _: False)
    assert frozen(scheduler.world) == before


@EXAMPLES
@given(cluster=clusters(), cycles=st.integers(1, 8))
def test_a_nomination_leaves_the_world_as_it_was_to_the_byte(cluster: Cluster, cycles: int) -> None:
    story, scheduler = played(cluster, cycles)
    before = frozen(scheduler.world)
    for one in pending(story):
        nominate(scheduler.world, one, 99)
        assert frozen(scheduler.world) == before


@EXAMPLES
@given(cluster=clusters(), cycles=st.integers(1, 8), seed=st.integers(0, 999))
def test_whatever_is_taken_away_and_put_back_is_undone(cluster: Cluster, cycles: int, seed: int) -> None:
    _, scheduler = played(cluster, cycles)
    world, random = scheduler.world, Random(seed)
    before = frozen(world)
    mark = world.checkpoint()
    holdings = list(world.ledger.holdings.values())
    random.shuffle(holdings)
    for one in holdings:
        world.take_away(one)
    for one in random.sample(holdings, len(holdings) // 2):
        world.put_back(one)
        world.add(one.queue, one.usage, one.places)
    world.rollback(mark)
    assert frozen(world) == before


@EXAMPLES
@given(cluster=clusters(), cycles=st.integers(1, 8))
def test_taking_all_workloads_away_empties_queues_and_nodes_and_putting_back_fills_them(
    cluster: Cluster, cycles: int
) -> None:
    _, scheduler = played(cluster, cycles)
    world = scheduler.world
    before, mark = frozen(world), world.checkpoint()
    for one in world.ledger.holdings.values():
        world.take_away(one)
    nodes = [*world.tree.queues.values(), *world.tree.cohorts.values()]
    assert not any(amount for node in nodes for amount in node.usage.values())
    assert not any(mirror.snapshot.admitted.any() for mirror in world.views.values())
    for one in world.ledger.holdings.values():
        world.put_back(one)
    now = frozen(world)
    assert now["usage"] == before["usage"]
    assert [room["remaining"] for room in now["rooms"].values()] == [
        room["remaining"] for room in before["rooms"].values()
    ]
    world.rollback(mark)


@pytest.mark.parametrize("name", ["kueue", "closeknit"])
@settings(max_examples=20)
@given(cluster=clusters(overlap=True), cycles=st.integers(1, 6))
def test_flavors_over_the_same_hosts_leave_no_trace_in_each_other(name: str, cluster: Cluster, cycles: int) -> None:
    story, scheduler = played(replace(cluster, gates=Gates.profile(name)), cycles)
    before = frozen(scheduler.world)
    run(scheduler.world, list({one.queue: one for one in pending(story)}.values()), 99, lambda _: False)
    assert frozen(scheduler.world) == before
