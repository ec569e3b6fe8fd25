"""The world: objects in, and what follows from them out; trials leave no trace."""

from __future__ import annotations

from dataclasses import replace

import pytest

from closeknit.decide.world import World
from closeknit.model.assignment import Assignment
from closeknit.model.flavor import Flavor
from closeknit.model.gates import Gates
from closeknit.model.node import Node
from closeknit.model.shape import Taint
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.model.workload import Workload
from closeknit.state.ledger import HoldingStage
from closeknit.state.mirror import OtherPod, Usage

from .frozen import frozen
from .objects import GPU, ON_DEFAULT, cohort, queue, running, shape, workload

BY_HOST = Topology("t", (HOSTNAME,))
PLACED = Flavor("placed", {"pool": "x"}, topology="t")
NODE = Node("h1", {HOSTNAME: "h1", "pool": "x"}, {GPU: 8, "pods": 9})


def world(*, placed: bool = True) -> World:
    made = World(Gates.profile())
    made.put_cluster_queue(queue("a", {"default": 9, "placed": 9}, "r"))
    made.put_cluster_queue(queue("b", {"default": 0, "placed": 0}, "r"))
    made.put_flavor(Flavor("default"))
    made.put_node(NODE)
    if placed:
        made.put_topology(BY_HOST)
        made.put_flavor(PLACED)
    return made


def on_h1(name: str, pods: int) -> Workload:
    return running(workload(name, count=pods), "placed", hosts={"h1": pods})


def room(made: World, flavor: str = "placed", host: int = 0) -> int:
    snapshot = made.snapshot(flavor)
    assert snapshot is not None
    return int(snapshot.remaining[snapshot.index[GPU], host])


class TestHoldings:
    def test_what_is_confirmed_counts_in_the_tree_and_on_its_nodes(self) -> None:
        made = world()
        made.confirm(on_h1("w", 3))
        assert made.node_of("a").usage == {("placed", GPU): 3}
        assert made.tree.cohorts["r"].usage == {("placed", GPU): 3}
        assert room(made) == 5

    def test_confirmed_again_it_counts_once_and_as_it_is_now(self) -> None:
        made = world()
        made.confirm(on_h1("w", 3))
        made.confirm(on_h1("w", 3))
        assert (made.node_of("a").usage[("placed", GPU)], room(made)) == (3, 5)  # type: ignore[index]
        made.confirm(on_h1("w", 2))
        assert (made.node_of("a").usage[("placed", GPU)], room(made)) == (2, 6)  # type: ignore[index]

    def test_what_is_released_is_free(self) -> None:
        made = world()
        made.confirm(on_h1("w", 3))
        assert made.release("default/w") is not None
        assert not any(made.node_of("a").usage.values())
        assert room(made) == 8
        assert made.release("default/w") is None

    def test_an_assumption_counts_until_it_expires_and_a_confirmation_does_not_expire(self) -> None:
        made = world()
        made.assume(made.holding_of(on_h1("w", 3), since=5.0))
        assert made.ledger.is_assumed("default/w")
        assert room(made) == 5
        assert made.expire("default/w") is not None
        assert room(made) == 8
        made.confirm(on_h1("w", 3))
        assert made.expire("default/w") is None
        assert room(made) == 5

    def test_a_confirmation_takes_the_place_of_an_assumption(self) -> None:
        made = world()
        made.assume(made.holding_of(on_h1("w", 3)))
        made.confirm(on_h1("w", 3))
        holding = made.ledger.get("default/w")
        assert holding is not None
        assert holding.stage is HoldingStage.CONFIRMED
        assert (made.node_of("a").usage[("placed", GPU)], room(made)) == (3, 5)  # type: ignore[index]

    def test_what_was_held_before_a_confirmation_does_not_come_back(self) -> None:
        made = world()
        made.confirm(on_h1("w", 1))
        made.assume(made.holding_of(on_h1("w", 2)))
        holding = made.ledger.get("default/w")
        assert holding is not None
        made.confirm(holding.workload)
        made.assume(made.holding_of(on_h1("w", 3)))
        made.expire("default/w")
        assert room(made) == 6

    def test_places_that_an_assumption_gives_up_count_until_it_is_confirmed(self) -> None:
        """The write that gives them up may take long, and another admission must not be written before it."""
        made = world()
        made.put_node(replace(NODE, name="h2", labels={**NODE.labels, HOSTNAME: "h2"}))
        made.confirm(running(workload("w", count=4), "placed", hosts={"h1": 3, "h2": 1}))
        made.assume(made.holding_of(running(workload("w", count=4), "placed", hosts={"h1": 1, "h2": 3})))
        assert (room(made), room(made, host=1)) == (5, 5)
        made.put_flavor(replace(PLACED, taints=(Taint("k", "v", "NoSchedule"),)))
        assert (room(made), room(made, host=1)) == (5, 5), "also after the flavor has changed"
        made.confirm(running(workload("w", count=4), "placed", hosts={"h1": 1, "h2": 3}))
        assert (room(made), room(made, host=1)) == (7, 5)

    def test_places_that_an_assumption_gives_up_are_held_again_when_it_expires(self) -> None:
        made = world()
        made.put_node(replace(NODE, name="h2", labels={**NODE.labels, HOSTNAME: "h2"}))
        made.confirm(on_h1("w", 3))
        made.assume(made.holding_of(running(workload("w", count=3), "placed", hosts={"h2": 3})))
        made.expire("default/w")
        assert (room(made), room(made, host=1)) == (5, 8)

    def test_a_queue_that_comes_after_its_workloads_finds_them_in_use(self) -> None:
        made = World(Gates.profile())
        made.put_flavor(Flavor("default"))
        made.confirm(running(workload("w", "late", 3)))
        made.put_cluster_queue(queue("late", 9))
        assert made.node_of("late").usage == {ON_DEFAULT: 3}

    def test_a_changed_queue_or_cohort_keeps_usage(self) -> None:
        made = world()
        made.confirm(running(workload("w", "a", 3)))
        made.put_cluster_queue(queue("a", {"default": 2}, "s"))
        made.put_cohort(cohort("s", "", 5))
        assert made.node_of("a").usage == {ON_DEFAULT: 3}
        assert made.tree.cohorts["s"].usage == {ON_DEFAULT: 3}
        assert made.node_of("a").available(ON_DEFAULT) == 4


class TestMirrors:
    def test_a_flavor_without_topology_has_no_snapshot(self) -> None:
        assert world().snapshot("default") is None

    @pytest.mark.parametrize("first", ["topology", "flavor"])
    def test_topology_and_flavor_may_come_in_either_order(self, first: str) -> None:
        made = world(placed=False)
        if first == "topology":
            made.put_topology(BY_HOST)
            made.put_flavor(PLACED)
        else:
            made.put_flavor(PLACED)
            assert made.snapshot("placed") is None
            made.put_topology(BY_HOST)
        assert room(made) == 8

    def test_nodes_without_its_labels_are_not_a_flavors(self) -> None:
        made = world()
        made.put_node(Node("h2", {HOSTNAME: "h2", "pool": "y"}, {GPU: 8, "pods": 9}))
        snapshot = made.snapshot("placed")
        assert snapshot is not None
        assert snapshot.tree.names == [("h1",)]

    def test_other_pods_take_room_until_they_are_gone(self) -> None:
        made = world()
        made.put_pod("p", OtherPod("h1", {GPU: 2}))
        assert room(made) == 6
        made.drop_pod("p")
        assert room(made) == 8

    def test_a_node_that_is_away_comes_back_with_what_is_in_use_on_it(self) -> None:
        made = world()
        made.confirm(on_h1("w", 3))
        made.drop_node("h1")
        made.put_node(NODE)
        assert room(made) == 5

    def test_a_topology_that_was_gone_comes_back_with_what_is_in_use(self) -> None:
        made = world()
        made.confirm(on_h1("w", 3))
        made.drop_topology("t")
        assert made.snapshot("placed") is None
        made.put_topology(BY_HOST)
        assert room(made) == 5

    def test_so_does_a_flavor(self) -> None:
        made = world()
        made.confirm(on_h1("w", 3))
        made.drop_flavor("placed")
        made.put_flavor(PLACED)
        assert room(made) == 5

    def test_a_flavor_that_comes_after_its_workloads_finds_their_places_in_use(self) -> None:
        made = world(placed=False)
        made.confirm(on_h1("w", 3))
        made.put_topology(BY_HOST)
        made.put_flavor(PLACED)
        assert room(made) == 5


class TestTrials:
    def test_a_workload_that_is_taken_away_frees_quota_and_room_until_the_rollback(self) -> None:
        made = world()
        made.confirm(on_h1("w", 3))
        before = frozen(made)
        holding = made.ledger.get("default/w")
        assert holding is not None
        mark = made.checkpoint()
        made.take_away(holding)
        assert (made.node_of("a").usage[("placed", GPU)], room(made)) == (0, 8)  # type: ignore[index]
        made.put_back(holding)
        assert room(made) == 5
        made.take_away(holding)
        made.rollback(mark)
        assert frozen(made) == before

    def test_what_is_added_takes_quota_and_room_until_the_rollback(self) -> None:
        made = world()
        before = frozen(made)
        mark = made.checkpoint()
        place = Usage(Assignment.of((HOSTNAME,), [(("h1",), 2)]), shape(3), "placed")
        made.add("b", {ON_DEFAULT: 4}, [place])
        assert made.tree.cohorts["r"].usage == {ON_DEFAULT: 4}
        assert room(made) == 2
        made.rollback(mark)
        assert frozen(made) == before

    def test_a_place_that_is_not_in_the_tree_is_skipped(self) -> None:
        made = world()
        mark = made.checkpoint()
        made.add("b", {}, [Usage(Assignment.of((HOSTNAME,), [(("gone",), 2)]), shape(3), "placed")])
        assert room(made) == 8
        made.rollback(mark)
