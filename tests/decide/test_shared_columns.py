"""Groups of pods and Kueue's workloads on the same nodes: what one takes is gone for the other, in every tree."""

from __future__ import annotations

import numpy as np
import pytest

from closeknit.decide.decision import Admit
from closeknit.decide.world import World
from closeknit.engine.groups.parts import Trees
from closeknit.engine.groups.place import commit, place_groups
from closeknit.model.assignment import Assignment
from closeknit.model.flavor import Flavor
from closeknit.model.gates import Gates
from closeknit.model.node import Node
from closeknit.model.request import Constraint, Group, PodSet, Request
from closeknit.model.topology import HOSTNAME, NODE, Topology
from closeknit.state.mirror import Usage

from .objects import GPU, queue, running, scheduler, shape, workload

RACK, FEED = "rack", "feed"
BY_HOST, BY_FEED = Topology("by-host", (RACK, HOSTNAME)), Topology("by-feed", (FEED,))
FLAVOR = Flavor("x", topology="by-host")
FEEDS = {"n1": "left", "n2": "right", "n3": "left", "n4": "right"}


def node(name: str) -> Node:
    """Two racks, and two feeds that cut across them; hostnames differ from the names of nodes."""
    labels = {HOSTNAME: f"{name}.host", RACK: "r1" if name < "n3" else "r2", FEED: FEEDS[name]}
    return Node(name, labels, {GPU: 4, "pods": 9})


@pytest.fixture
def world() -> World:
    made = World(Gates.profile())
    made.put_topology(BY_HOST)
    made.put_topology(BY_FEED)
    made.put_flavor(FLAVOR)
    made.put_cluster_queue(queue("a", {"x": 99}))
    for name in FEEDS:
        made.put_node(node(name))
    return made


def in_one_feed(pods: int) -> Request:
    inside = Constraint(required=FEED, topology="by-feed")
    return Request((Group((PodSet("main", pods, shape(1)),), "gang", inside),))


def trees(world: World) -> Trees:
    tree = world.node_tree("by-feed")
    assert tree is not None
    return {"by-feed": tree}


def free(world: World) -> dict[str, int]:
    snapshot = world.snapshot("x")
    assert snapshot is not None
    left = snapshot.remaining[snapshot.index[GPU]].tolist()
    return {name[0].removesuffix(".host"): amount for name, amount in zip(snapshot.tree.names, left, strict=True)}


def test_a_committed_group_is_gone_from_the_flavors_and_from_the_next_group(world: World) -> None:
    found = place_groups(world.columns, trees(world), in_one_feed(6), world.policy)
    assert found.fits
    names = set(found.placed["main"].nodes(world.columns))
    assert len({FEEDS[name] for name in names}) == 1
    commit(world.columns, found)
    assert {name for name, left in free(world).items() if left < 4} == names
    assert sum(free(world).values()) == 10
    assert place_groups(world.columns, trees(world), in_one_feed(8), world.policy).fits
    assert not place_groups(world.columns, trees(world), in_one_feed(9), world.policy).fits


def test_a_workload_is_gone_from_the_feeds(world: World) -> None:
    world.confirm(running(workload("w", count=2), "x", hosts={"n1.host": 1, "n2.host": 1}))
    assert not place_groups(world.columns, trees(world), in_one_feed(8), world.policy).fits
    assert place_groups(world.columns, trees(world), in_one_feed(7), world.policy).fits


def test_one_checkpoint_undoes_what_was_tried_in_both(world: World) -> None:
    before, mark = world.columns.remaining.copy(), world.checkpoint()
    world.add("a", {}, [Usage(Assignment.of((HOSTNAME,), [(("n1.host",), 3)]), shape(1), "x")])
    world.columns.admit(np.array([world.columns.row_of["n1"]]), np.array([1]), shape(1).charge)
    assert free(world)["n1"] == 0
    world.rollback(mark)
    assert (world.columns.remaining == before).all()
    assert free(world) == dict.fromkeys(FEEDS, 4)


def test_what_is_held_by_node_name_is_kept_when_a_node_joins(world: World) -> None:
    world.mirror.admit("gang", Usage(Assignment.of((NODE,), [(("n3",), 3)]), shape(1)))
    assert free(world)["n3"] == 1
    world.put_node(Node("n0", {HOSTNAME: "n0.host", RACK: "r0", FEED: "left"}, {GPU: 4, "pods": 9}))
    assert free(world) == {"n0": 4, "n1": 4, "n2": 4, "n3": 1, "n4": 4}
    world.mirror.release("gang")
    assert free(world)["n3"] == 4


def test_a_node_that_changes_its_feed_moves_in_that_tree_alone(world: World) -> None:
    snapshot, tree = world.snapshot("x"), world.node_tree("by-feed")
    moved = node("n1")
    world.put_node(Node("n1", {**moved.labels, FEED: "right"}, moved.allocatable))
    assert world.snapshot("x") is snapshot
    again = world.node_tree("by-feed")
    assert again is not tree
    assert again is not None
    assert [again.range_of(0, domain) for domain in range(2)] == [(0, 1), (1, 4)]


def test_a_flavor_by_rack_admits_no_more_than_flavors_by_host_leave() -> None:
    by_rack = Topology("by-rack", (RACK,))
    flavors = (FLAVOR, Flavor("racks", topology="by-rack"))
    for on, expected in ((True, []), (False, ["high"])):
        gates = Gates.profile(changes={"OneLedgerForOverlappingFlavors": on})
        built = scheduler([queue("a", {"x": 99}), queue("b", {"racks": 99})], (), flavors, (BY_HOST, by_rack), gates)
        for name in ("n1", "n2"):
            built.world.put_node(node(name))
        built.put(running(workload("w", "a", count=6), "x", hosts={"n1.host": 4, "n2.host": 2}), 0.0)
        built.put(workload("high", "b", 3, constraint=Constraint(required=RACK)), 1.0)
        decisions = built.cycle(2.0)
        assert [one.workload.name for one in decisions if isinstance(one, Admit)] == expected
