"""Pods that still run when their workload has lost its place count until they are gone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from closeknit.decide.decision import Admit, Decision, Preempt, Wait
from closeknit.decide.scheduler import Scheduler
from closeknit.decide.world import World
from closeknit.model.cluster_queue import LocalQueue, Preemption
from closeknit.model.flavor import Flavor
from closeknit.model.gates import Gates
from closeknit.model.node import Node
from closeknit.model.request import Constraint
from closeknit.model.settings import FAIR, Settings
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.model.workload import Workload
from closeknit.queue.wake import RequeueReason, WakeEvent
from closeknit.state.placed import PlacedPod

from .frozen import frozen
from .objects import GPU, queue, running, scheduler, workload
from .play import stopped

RACK = "rack"
BY_HOST = Topology("t", (RACK, HOSTNAME))
FLAVOR = Flavor("placed", topology="t")
GATE = "CountDrainingPods"
IN_RACK = Constraint(required=RACK)


def node(name: str, rack: str = "r1") -> Node:
    return Node(name, {HOSTNAME: name, RACK: rack}, {GPU: 4, "pods": 9})


def world(on: bool = True) -> World:
    made = World(Gates.profile(changes={GATE: on}))
    made.put_topology(BY_HOST)
    made.put_flavor(FLAVOR)
    made.put_node(node("h1"))
    made.put_node(node("h2"))
    made.put_cluster_queue(queue("a", {"placed": 99}))
    return made


def left(made: World, flavor: str = "placed") -> list[int]:
    snapshot = made.snapshot(flavor)
    assert snapshot is not None
    found: list[int] = snapshot.remaining[snapshot.index[GPU]].tolist()
    return found


def pod(name: str, host: str, terminating: bool = False) -> PlacedPod:
    return PlacedPod(f"default/{name}", "main", host, {GPU: 1}, terminating)


def on(name: str, **hosts: int) -> Workload:
    return running(workload(name, count=sum(hosts.values())), "placed", hosts=hosts)


class TestWorld:
    def test_pods_that_are_covered_count_once(self) -> None:
        made = world()
        made.put_placed_pod("default/w-0", pod("w", "h1"))
        made.confirm(on("w", h1=2))
        made.put_placed_pod("default/w-1", pod("w", "h1"))
        assert left(made) == [2, 4]

    def test_released_they_count_until_they_are_gone(self) -> None:
        made = world()
        made.confirm(on("w", h1=2))
        for number in range(2):
            made.put_placed_pod(f"default/w-{number}", pod("w", "h1"))
        made.release("default/w")
        assert left(made) == [2, 4]
        made.drop_placed_pod("default/w-0")
        assert left(made) == [3, 4]
        made.drop_placed_pod("default/w-1")
        assert left(made) == [4, 4]

    def test_with_the_gate_off_they_are_not_seen(self) -> None:
        made = world(on=False)
        made.put_placed_pod("default/w-0", pod("w", "h1"))
        assert left(made) == [4, 4]
        made.drop_placed_pod("default/w-0")
        assert left(made) == [4, 4]

    def test_pods_left_behind_by_a_replacement_count_beside_the_new_place(self) -> None:
        made = world()
        made.confirm(on("w", h1=1))
        made.put_placed_pod("default/w-0", pod("w", "h1"))
        made.assume(made.holding_of(on("w", h2=1)))
        assert left(made) == [3, 3]
        made.expire("default/w")
        assert left(made) == [3, 4]
        made.confirm(on("w", h2=1))
        assert left(made) == [3, 3]

    def test_admitted_again_to_the_same_host_its_old_pods_count_beside_the_new_place(self) -> None:
        made = world()
        made.confirm(on("w", h1=1))
        made.put_placed_pod("default/w-0", pod("w", "h1", terminating=True))
        assert left(made) == [2, 4]
        out = on("w", h1=1)
        made.confirm(replace(out, status=out.status.condition("Evicted", True, "Preempted", "", 1.0)))
        assert left(made) == [3, 4]
        made.release("default/w")
        assert left(made) == [3, 4]
        made.assume(made.holding_of(on("w", h1=1)))
        assert left(made) == [2, 4]

    def test_a_new_flavor_sees_them_and_one_that_goes_takes_its_cover_along(self) -> None:
        made = world()
        made.put_placed_pod("default/w-0", pod("w", "h1"))
        made.put_flavor(Flavor("too", topology="t"))
        assert left(made, "too") == [3, 4]
        made.confirm(on("w", h1=1))
        assert left(made, "too") == left(made) == [3, 4]
        made.drop_flavor("placed")
        assert left(made, "too") == [3, 4]
        made.drop_placed_pod("default/w-0")
        assert left(made, "too") == [4, 4]

    def test_what_was_held_before_an_assumption_is_held_as_flavors_are_now(self) -> None:
        made = world()
        made.put_flavor(Flavor("too", topology="t"))
        made.confirm(on("w", h1=1))
        made.assume(made.holding_of(on("w", h2=1)))
        made.drop_flavor("placed")
        made.expire("default/w")
        assert left(made, "too") == [4, 4]

    def test_a_node_that_is_not_usable_holds_nothing_back(self) -> None:
        made = World(Gates.profile())
        made.put_topology(Topology("t", (RACK,)))
        made.put_flavor(FLAVOR)
        made.put_node(node("h1"))
        made.put_node(node("h2"))
        made.put_placed_pod("default/w-0", pod("w", "h1"))
        assert left(made) == [7]
        made.put_node(replace(node("h1"), ready=False))
        assert left(made) == [4]
        made.put_node(node("h1"))
        assert left(made) == [7]

    def test_what_drains_can_be_taken_away_and_put_back_like_a_victim(self) -> None:
        made = world()
        made.put_placed_pod("default/w-0", pod("w", "h1"))
        before, mark = frozen(made), made.checkpoint()
        made.take_away(made.leaving)
        assert left(made) == [4, 4]
        made.put_back(made.leaving)
        assert left(made) == [3, 4]
        made.take_away(made.leaving)
        made.rollback(mark)
        assert frozen(made) == before


def rules(kind: str) -> tuple[Settings, Gates]:
    return Settings(FAIR if kind == "fair" else ()), Gates.profile(changes={"VictimsByDomain": kind == "by domain"})


def two_racks(kind: str = "classical") -> Scheduler:
    """Rack r1 is full of `old`, rack r2 of `low`; `high` wants a whole rack and may preempt both."""
    settings, gates = rules(kind)
    within = Preemption("LowerPriority")
    built = scheduler([queue("a", {"placed": 99}, preemption=within)], (), (FLAVOR,), (BY_HOST,), gates, settings)
    built.world.put_node(node("h1", "r1"))
    built.world.put_node(node("h2", "r2"))
    built.put(replace(on("old", h1=4), priority=1), 0.0)
    built.put(replace(on("low", h2=4), priority=2), 0.0)
    for number in range(4):
        built.world.put_placed_pod(f"default/old-{number}", pod("old", "h1"))
    return built


def names(decisions: list[Decision]) -> list[str]:
    return [one.victim.name for one in decisions if isinstance(one, Preempt)]


def waits(decisions: list[Decision]) -> dict[str, RequeueReason]:
    return {one.workload.name: one.why for one in decisions if isinstance(one, Wait)}


kinds = pytest.mark.parametrize("kind", ["classical", "by domain", "fair"])


class TestCycle:
    """A preemptor waits until its victim's pods are gone, and preempts nothing else meanwhile."""

    def high(self, built: Scheduler) -> Workload:
        one = workload("high", "a", 4, priority=9, constraint=IN_RACK)
        built.put(one, 1.0)
        return one

    @kinds
    def test_victims_that_gave_back_their_quota_and_still_run_are_waited_for(self, kind: str) -> None:
        built = two_racks(kind)
        self.high(built)
        assert names(built.cycle(2.0)) == ["old"]
        old = built.world.ledger.get("default/old")
        assert old is not None
        built.put(stopped(old.workload, 3.0), 3.0)
        built.pending.drop("default/old")
        for number in range(4):
            decisions = built.cycle(4.0)
            assert names(decisions) == []
            assert waits(decisions) == {"high": RequeueReason.PENDING_PREEMPTION}
            built.world.drop_placed_pod(f"default/old-{number}")
        (decision,) = built.cycle(5.0)
        assert isinstance(decision, Admit)
        assert decision.workload.name == "high"

    def test_with_the_gate_off_it_is_admitted_at_once(self) -> None:
        built = scheduler([queue("a", {"placed": 99})], (), (FLAVOR,), (BY_HOST,), Gates.profile(changes={GATE: False}))
        built.world.put_node(node("h1"))
        built.world.put_placed_pod("default/old-0", pod("old", "h1"))
        self.high(built)
        (decision,) = built.cycle(2.0)
        assert isinstance(decision, Admit)

    @kinds
    def test_where_that_is_not_enough_others_go_too_and_no_more_than_needed(self, kind: str) -> None:
        """Pods of `old` drain from half of rack r1; `other` holds the rest of it, `low` all of r2."""
        built = two_racks(kind)
        built.drop("default/old")
        for number in (2, 3):
            built.world.drop_placed_pod(f"default/old-{number}")
        built.put(replace(on("other", h1=2), priority=3), 0.0)
        built.put(replace(on("low", h2=4), priority=4), 0.0)
        self.high(built)
        decisions = built.cycle(2.0)
        assert names(decisions) == ["other"]
        assert waits(decisions) == {"high": RequeueReason.PENDING_PREEMPTION}

    @kinds
    def test_they_are_waited_for_by_a_workload_that_may_not_preempt(self, kind: str) -> None:
        built = two_racks(kind)
        built.drop("default/old")
        built.put(workload("humble", "a", 4, priority=0, constraint=IN_RACK), 1.0)
        decisions = built.cycle(2.0)
        assert names(decisions) == []
        assert waits(decisions) == {"humble": RequeueReason.PENDING_PREEMPTION}

    def test_room_that_is_there_already_is_taken_at_once(self) -> None:
        built = two_racks()
        built.drop("default/old")
        built.drop("default/low")
        self.high(built)
        (decision,) = built.cycle(2.0)
        assert isinstance(decision, Admit)
        places = decision.admission.pod_sets[0].topology
        assert places is not None
        assert places.values == (("h2",),)

    def test_two_that_wait_for_the_same_pods_do_not_count_on_the_same_room(self) -> None:
        built = two_racks()
        built.put_cluster_queue(queue("b", {"placed": 99}))
        built.drop("default/old")
        built.put(workload("one", "a", 4, priority=0, constraint=IN_RACK), 1.0)
        two = workload("two", "b", 4, priority=0, constraint=IN_RACK, created=5.0)
        built.put_local_queue(LocalQueue("default", "b", "b"))
        built.put(two, 1.0)
        decisions = built.cycle(2.0)
        assert names(decisions) == []
        assert set(waits(decisions)) == {"one", "two"}
        for number in range(4):
            built.world.drop_placed_pod(f"default/old-{number}")
        built.wake_queues(WakeEvent.OTHER_POD_GONE, ["a", "b"], 3.0)
        admitted = [one.workload.name for one in built.cycle(4.0) if isinstance(one, Admit)]
        assert admitted == ["one"]
