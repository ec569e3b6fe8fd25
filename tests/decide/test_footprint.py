"""Flavors over the same hosts: what a cycle takes or frees in one of them shows in the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from closeknit.decide.decision import Admit, Decision, Evict, Preempt, Wait
from closeknit.decide.scheduler import Scheduler
from closeknit.decide.world import World
from closeknit.model.assignment import Assignment
from closeknit.model.cluster_queue import Preemption
from closeknit.model.flavor import Flavor
from closeknit.model.gates import Gates
from closeknit.model.node import Node
from closeknit.model.request import Constraint
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.model.workload import Admission, PodSetAssignment, Workload
from closeknit.state.mirror import Usage

from .frozen import frozen
from .objects import GPU, part, queue, running, scheduler, shape, workload

RACK = "rack"
BY_HOST, BY_RACK = Topology("by-host", (RACK, HOSTNAME)), Topology("by-rack", (RACK,))
X = Flavor("x", {"pool": "x"}, topology="by-host")
Y = Flavor("y", {"pool": "y"}, topology="by-host")
ALL = Flavor("all", topology="by-host")
RACKS = Flavor("racks", topology="by-rack")
NODES = (
    Node("h1", {HOSTNAME: "h1", RACK: "r1", "pool": "x"}, {GPU: 4, "pods": 9}),
    Node("h2", {HOSTNAME: "h2", RACK: "r1", "pool": "y"}, {GPU: 4, "pods": 9}),
)
HERE = Constraint(required=HOSTNAME)
GATE = "OneLedgerForOverlappingFlavors"


def gates(on: bool) -> Gates:
    return Gates.profile(changes={GATE: on})


def world(on: bool = True) -> World:
    made = World(gates(on))
    for topology in (BY_HOST, BY_RACK):
        made.put_topology(topology)
    for flavor in (X, Y, ALL, RACKS):
        made.put_flavor(flavor)
    for one in NODES:
        made.put_node(one)
    made.put_cluster_queue(queue("a", {"x": 99, "y": 99, "all": 99, "racks": 99}))
    return made


def left(made: World, flavor: str) -> list[int]:
    snapshot = made.snapshot(flavor)
    assert snapshot is not None
    found: list[int] = snapshot.remaining[snapshot.index[GPU]].tolist()
    return found


def everywhere(made: World) -> tuple[list[int], ...]:
    return tuple(left(made, flavor) for flavor in ("x", "y", "all", "racks"))


def place(flavor: str, host: str, pods: int) -> Usage:
    return Usage(Assignment.of((HOSTNAME,), [((host,), pods)]), shape(1), flavor)


class TestTrials:
    def test_what_is_added_shows_in_every_flavor_that_has_the_host(self) -> None:
        made = world()
        before, mark = frozen(made), made.checkpoint()
        made.add("a", {}, [place("x", "h1", 3)])
        assert everywhere(made) == ([1], [4], [1, 4], [5])
        made.add("a", {}, [place("all", "h2", 2)])
        assert everywhere(made) == ([1], [2], [1, 2], [3])
        made.subtract("a", {}, [place("x", "h1", 3)])
        assert everywhere(made) == ([4], [2], [4, 2], [6])
        made.rollback(mark)
        assert frozen(made) == before

    def test_with_the_gate_off_it_shows_in_its_own(self) -> None:
        made = world(on=False)
        mark = made.checkpoint()
        made.add("a", {}, [place("x", "h1", 3)])
        assert everywhere(made) == ([1], [4], [4, 4], [8])
        made.rollback(mark)

    def test_a_workload_taken_away_is_gone_from_all_of_them_and_back_in_all(self) -> None:
        made = world()
        made.confirm(running(workload("w", count=3), "all", hosts={"h1": 2, "h2": 1}))
        holding = made.ledger.get("default/w")
        assert holding is not None
        before, mark = frozen(made), made.checkpoint()
        assert everywhere(made) == ([2], [3], [2, 3], [5])
        made.take_away(holding)
        assert everywhere(made) == ([4], [4], [4, 4], [8])
        made.put_back(holding)
        assert everywhere(made) == ([2], [3], [2, 3], [5])
        made.take_away(holding)
        made.rollback(mark)
        assert frozen(made) == before

    def test_places_by_rack_show_in_their_own_flavor_alone(self) -> None:
        made = world()
        mark = made.checkpoint()
        made.add("a", {}, [Usage(Assignment.of((RACK,), [(("r1",), 3)]), shape(1), "racks")])
        assert everywhere(made) == ([4], [4], [4, 4], [5])
        made.rollback(mark)

    def test_flavors_that_come_and_change_are_seen(self) -> None:
        made = world()
        made.confirm(running(workload("w", count=2), "x", hosts={"h1": 2}))
        holding = made.ledger.get("default/w")
        assert holding is not None
        made.put_flavor(replace(Y, labels={}))
        assert left(made, "y") == [2, 4]
        mark = made.checkpoint()
        made.take_away(holding)
        assert left(made, "y") == left(made, "all") == [4, 4]
        made.rollback(mark)
        made.drop_flavor("all")
        mark = made.checkpoint()
        made.take_away(holding)
        assert left(made, "y") == [4, 4]
        made.rollback(mark)
        assert left(made, "y") == [2, 4]

    def test_a_node_that_joins_moves_the_leaves_of_all(self) -> None:
        made = world()
        made.confirm(running(workload("w", count=2), "x", hosts={"h1": 2}))
        holding = made.ledger.get("default/w")
        assert holding is not None
        mark = made.checkpoint()
        made.take_away(holding)
        made.rollback(mark)
        made.put_node(Node("h0", {HOSTNAME: "h0", RACK: "r0"}, {GPU: 4, "pods": 9}))
        mark = made.checkpoint()
        made.take_away(holding)
        assert (left(made, "x"), left(made, "all")) == ([4], [4, 4, 4])
        made.rollback(mark)
        assert (left(made, "x"), left(made, "all")) == ([2], [4, 2, 4])


def two_queues(on: bool) -> Scheduler:
    """Queue `a` uses flavor x, queue `b` flavor all; both have host h1, and h2 is away."""
    queues = [queue("a", {"x": 99}), queue("b", {"all": 99})]
    built = scheduler(queues, (), (X, ALL), (BY_HOST,), gates(on))
    built.world.put_node(NODES[0])
    return built


def admitted(decisions: list[Decision]) -> list[str]:
    return [one.workload.name for one in decisions if isinstance(one, Admit)]


class TestCycle:
    @pytest.mark.parametrize(("on", "expected"), [(True, ["one"]), (False, ["one", "two"])])
    def test_two_flavors_do_not_both_promise_a_host(self, on: bool, expected: list[str]) -> None:
        built = two_queues(on)
        built.put(workload("one", "a", 3, constraint=HERE), 0.0)
        built.put(workload("two", "b", 3, constraint=HERE, created=1.0), 0.0)
        assert admitted(built.cycle(2.0)) == expected

    def test_the_second_gets_what_the_first_has_left(self) -> None:
        built = two_queues(on=True)
        built.put(workload("one", "a", 3, constraint=HERE), 0.0)
        built.put(workload("two", "b", 1, constraint=HERE, created=1.0), 0.0)
        assert admitted(built.cycle(2.0)) == ["one", "two"]

    def test_a_replan_in_the_cycle_goes_elsewhere(self) -> None:
        built = two_queues(on=True)
        built.world.put_node(NODES[1])
        built.put(workload("one", "a", 3, constraint=HERE), 0.0)
        built.put(workload("two", "b", 3, constraint=HERE, created=1.0), 0.0)
        decisions = built.cycle(2.0)
        hosts = {one.workload.name: one.admission.pod_sets[0].topology for one in decisions if isinstance(one, Admit)}
        assert {name: given.values for name, given in hosts.items() if given} == {"one": (("h1",),), "two": (("h2",),)}


def in_both(count: int) -> tuple[Workload, ...]:
    """A workload with a pod set in either flavor, and what it would be if it ran on h1."""
    parts = (part("in-x", count, constraint=HERE), part("in-all", count, constraint=HERE))
    one = workload("both", "a", 1, 1, *parts, priority=1)
    there = Assignment.of((HOSTNAME,), [(("h1",), count)])
    given = tuple(
        PodSetAssignment(name, {GPU: flavor}, {GPU: count}, count, there)
        for name, flavor in (("in-x", "x"), ("in-all", "all"))
    )
    status = replace(one.status, admission=Admission("a", given))
    status = status.condition("QuotaReserved", True, "QuotaReserved", "", 0.0)
    return one, replace(one, status=status.condition("Admitted", True, "Admitted", "", 0.0))


def one_queue(on: bool, changes: Mapping[str, bool] | None = None) -> Scheduler:
    """All of h1 may be taken in either flavor, and the higher priority goes first."""
    rule = Preemption("LowerPriority")
    chosen = Gates.profile(changes={GATE: on, **(changes or {})})
    built = scheduler([queue("a", {"x": 99, "all": 99}, preemption=rule)], (), (X, ALL), (BY_HOST,), chosen)
    built.world.put_node(NODES[0])
    return built


@pytest.mark.parametrize("by_domain", [False, True])
@pytest.mark.parametrize(("on", "expected"), [(True, ["both"]), (False, [])])
def test_a_victim_makes_room_with_all_that_it_holds_on_the_host(on: bool, expected: list[str], by_domain: bool) -> None:
    """It holds two GPUs of h1 in flavor x and two in flavor all; the newcomer needs three."""
    built = one_queue(on, {"VictimsByDomain": by_domain})
    built.put(in_both(2)[1], 0.0)
    built.put(workload("high", "a", 3, priority=9, constraint=HERE), 1.0)
    decisions = built.cycle(2.0)
    assert [one.victim.name for one in decisions if isinstance(one, Preempt)] == expected
    assert [one.workload.name for one in decisions if isinstance(one, Wait)] == ["high"]


def test_a_failed_node_is_not_replaced_twice_by_the_same_room() -> None:
    """Both pod sets lose h1. Only h3 is left, with room for the pods of one of them."""
    built = one_queue(on=True)
    built.world.drop_node("h1")
    built.world.put_node(Node("h3", {HOSTNAME: "h3", RACK: "r1", "pool": "x"}, {GPU: 3, "pods": 9}))
    one = in_both(2)[1]
    lost = replace(one, status=replace(one.status, unhealthy=("h1",)))
    built.put(lost, 0.0)
    (decision,) = built.cycle(10.0)
    assert isinstance(decision, Evict)
    built.world.put_node(Node("h3", {HOSTNAME: "h3", RACK: "r1", "pool": "x"}, {GPU: 4, "pods": 9}))
    built.put(lost, 11.0)
    built.second_pass["default/both"] = (11.0, 1.0)
    (decision,) = built.cycle(12.0)
    assert isinstance(decision, Admit)
    assert {given.topology.values for given in decision.admission.pod_sets if given.topology} == {(("h3",),)}
