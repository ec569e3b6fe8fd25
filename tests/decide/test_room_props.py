"""Whatever comes and goes, what is left of every node is what its objects leave of it.

The expected numbers are recomputed after every step, node by node and pod by pod, from the objects alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from closeknit.decide.world import World
from closeknit.model.assignment import Assignment
from closeknit.model.daemon_set import DaemonSet
from closeknit.model.flavor import Flavor
from closeknit.model.gates import Gates
from closeknit.model.node import Node
from closeknit.model.shape import Shape, Taint, Toleration
from closeknit.model.topology import HOSTNAME, NODE, Topology
from closeknit.model.workload import Admission, PodSetAssignment, Workload
from closeknit.state.mirror import OtherPod, Usage
from closeknit.state.placed import PlacedPod

from .frozen import frozen
from .objects import part, queue, workload

RACK = "rack"
LEVELS = {"x": (RACK, HOSTNAME), "all": (RACK, HOSTNAME), "racks": (RACK,)}
FLAVORS = {
    "x": Flavor("x", {"pool": "x"}, topology="by-host"),
    "all": Flavor("all", topology="by-host"),
    "racks": Flavor("racks", topology="by-rack"),
}
TAKES = {"main": 1, "side": 2}
"""By pod set: cpu of a pod."""

nodes = st.sampled_from(["n1", "n2", "n3"])
racks = st.sampled_from(["r1", "r1", "r2"])
pods = st.sampled_from(["p1", "p2", "p3"])
placed_pods = st.sampled_from(["q1", "q2", "q3", "q4"])
owners = st.sampled_from(["", "uid-d1", "uid-d2"])
daemons = st.sampled_from(["d1", "d2"])
names = st.sampled_from(["v", "w"])
flavors = st.sampled_from(sorted(FLAVORS))
yes = st.booleans()
mostly, rarely = st.sampled_from([True, True, True, True, False]), st.sampled_from([False, False, False, False, True])
hosts = st.lists(nodes, min_size=1, max_size=3)


@dataclass
class Held:
    """What a workload holds, and what it held before if this is only assumed."""

    workload: Workload
    flavor: str
    assumed: bool = False
    before: Held | None = None


class Room(RuleBasedStateMachine):
    """Nodes and flavors; what is on the nodes comes below."""

    shares = True
    """Whether a rack counts what flavors by host hold in it."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(Gates.profile(changes={"OneLedgerForOverlappingFlavors": self.shares}))
        self.groups: list[str] = []
        """The node of every pod of a group that is held by node, at one cpu a pod."""
        self.world.put_topology(Topology("by-host", LEVELS["all"]))
        self.world.put_topology(Topology("by-rack", LEVELS["racks"]))
        self.world.put_cluster_queue(queue("a", dict.fromkeys(FLAVORS, 99)))
        self.flavors: set[str] = set()
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, OtherPod] = {}
        self.placed: dict[str, PlacedPod] = {}
        self.daemons: dict[str, tuple[int, bool, bool]] = {}
        self.held: dict[str, Held] = {}
        for flavor in FLAVORS:
            self.put_flavor(flavor)
        for name in ("n1", "n2", "n3"):
            self.put_node(name, "r1", True, True, False, True, False)

    @rule(name=flavors)
    def put_flavor(self, name: str) -> None:
        self.flavors.add(name)
        self.world.put_flavor(FLAVORS[name])

    @rule(name=flavors)
    def drop_flavor(self, name: str) -> None:
        self.flavors.discard(name)
        self.world.drop_flavor(name)

    @rule(name=nodes, rack=racks, x=yes, gpu=yes, tainted=yes, ready=mostly, cordoned=rarely)
    def put_node(self, name: str, rack: str, x: bool, gpu: bool, tainted: bool, ready: bool, cordoned: bool) -> None:
        labels = {HOSTNAME: f"{name}.host", RACK: rack, "pool": "x" if x else "y", "gpu": "yes" if gpu else "no"}
        taints = [Taint("dedicated", "", "NoSchedule")] if tainted else []
        if cordoned:
            taints.append(Taint("node.kubernetes.io/unschedulable", "", "NoSchedule"))
        self.nodes[name] = Node(name, labels, {"cpu": 20, "pods": 30}, tuple(taints), ready, cordoned)
        self.world.put_node(self.nodes[name])

    @rule(name=nodes)
    def take_the_rack_off(self, name: str) -> None:
        self.nodes[name] = Node(name, {HOSTNAME: f"{name}.host"}, {"cpu": 20, "pods": 30})
        self.world.put_node(self.nodes[name])

    @rule(name=nodes)
    def drop_node(self, name: str) -> None:
        self.nodes.pop(name, None)
        self.world.drop_node(name)

    @invariant()
    def every_leaf_has_what_its_objects_leave(self) -> None:
        assert self.world.views.keys() == self.flavors
        for flavor in self.flavors:
            snapshot = self.world.views[flavor].snapshot
            leaves = {name: leaf for leaf, name in enumerate(snapshot.tree.names)}
            free, remaining = self.expected(flavor)
            for name, leaf in leaves.items():
                for resource in ("cpu", "pods"):
                    at = snapshot.index[resource]
                    assert snapshot.free[at, leaf] == free.get(name, Counter())[resource], (flavor, name, resource)
                    if name in remaining:
                        assert snapshot.remaining[at, leaf] == remaining[name][resource], (flavor, name, resource)
            assert free.keys() <= leaves.keys()

    def expected(self, flavor: str) -> tuple[dict[tuple[str, ...], Counter[str]], dict[tuple[str, ...], Counter[str]]]:
        """By leaf: what other pods leave, and what is left of that after workloads and pods that drain."""
        free: dict[tuple[str, ...], Counter[str]] = {}
        leaving: dict[tuple[str, ...], Counter[str]] = {}
        draining = dict(self.draining())
        for name, node in self.nodes.items():
            if any(level not in node.labels for level in LEVELS[flavor]):
                continue
            if any(node.labels.get(key) != value for key, value in FLAVORS[flavor].labels.items()):
                continue
            leaf: tuple[str, ...] = (node.labels[RACK if flavor == "racks" else HOSTNAME],)
            here, gone = free.setdefault(leaf, Counter()), leaving.setdefault(leaf, Counter())
            if not node.ready or node.unschedulable:
                continue
            here.update({"cpu": 20, "pods": 30})
            for cpu in [pod.requests["cpu"] for pod in self.pods.values() if pod.node == name]:
                here.subtract({"cpu": cpu, "pods": 1})
            for cpu in self.due(node):
                here.subtract({"cpu": cpu, "pods": 1})
            for pod in draining.values():
                if pod.node == name:
                    gone.update({"cpu": pod.requests["cpu"], "pods": 1})
        remaining = {leaf: Counter(amounts) for leaf, amounts in free.items()}
        for leaf, left in remaining.items():
            left.subtract(leaving[leaf])
            for cpu, count in [*self.held_on(flavor, leaf), *self.held_inside(flavor, leaf)]:
                left.subtract({"cpu": cpu * count, "pods": count})
        return free, remaining

    def due(self, node: Node) -> Iterator[int]:
        """The cpu of every daemon that the node still waits for."""
        for key, (cpu, only_gpu, tolerates) in self.daemons.items():
            runs = any(pod.owner == f"uid-{key}" and pod.node == node.name for pod in self.pods.values())
            kept_off = any(taint.key == "dedicated" for taint in node.taints) and not tolerates
            if not runs and not kept_off and not (only_gpu and node.labels.get("gpu") != "yes"):
                yield cpu

    def held_on(self, flavor: str, leaf: tuple[str, ...]) -> Iterator[tuple[int, int]]:
        """What workloads hold on a leaf: cpu of a pod, and how many."""
        for one in self.held.values():
            by_host = one.flavor != "racks"
            if one.flavor in self.flavors and (one.flavor == flavor or (by_host and flavor != "racks")):
                for name, count in assigned(one).items():
                    if name[1:] == leaf:
                        yield TAKES[name[0]], count

    def held_inside(self, flavor: str, leaf: tuple[str, ...]) -> Iterator[tuple[int, int]]:
        """What is held on the nodes of a leaf by name and, where the leaf is a rack, on their hosts."""
        for name, node in self.nodes.items():
            is_usable = node.ready and not node.unschedulable
            if flavor != "racks" and node.labels[HOSTNAME] == leaf[0]:
                yield from ((1, count) for count in [self.groups.count(name)] if count)
            if flavor == "racks" and self.shares and node.labels.get(RACK) == leaf[0] and is_usable:
                yield from ((1, count) for count in [self.groups.count(name)] if count)
                yield from self.held_on("all", (node.labels[HOSTNAME],))

    @invariant()
    def every_node_has_what_is_taken_on_it_in_any_tree(self) -> None:
        columns = self.world.columns
        for name, node in self.nodes.items():
            row = columns.row_of[name]
            held = [*self.held_on("all", (node.labels[HOSTNAME],)), (1, self.groups.count(name))]
            assert columns.admitted[columns.index["cpu"], row] == sum(cpu * count for cpu, count in held)
            assert columns.admitted[columns.index["pods"], row] == sum(count for _, count in held)

    def draining(self) -> Iterator[tuple[str, PlacedPod]]:
        """Pods that no holding covers; in the order of their names, as many as are assigned are covered."""
        covered: Counter[tuple[str, ...]] = Counter()
        for key, pod in sorted(self.placed.items()):
            held = self.held.get(pod.workload.removeprefix("default/"))
            node = self.nodes.get(pod.node)
            if held is not None and held.flavor in self.flavors and node is not None:
                level = RACK if held.flavor == "racks" else HOSTNAME
                slot = pod.workload, pod.pod_set, node.labels.get(level, "")
                goes = pod.terminating and not held.workload.evicted
                if not goes and covered[slot] < assigned(held)[slot[1:]]:
                    covered[slot] += 1
                    continue
            yield key, pod


class Daemons(Room):
    """DaemonSets, and pods that were not placed here."""

    def __init__(self) -> None:
        super().__init__()
        self.put_daemon_set("d1", 2, True, False)

    @rule(key=pods, node=nodes, cpu=st.integers(0, 2), owner=owners)
    def put_pod(self, key: str, node: str, cpu: int, owner: str) -> None:
        self.pods[key] = OtherPod(node, {"cpu": cpu}, owner)
        self.world.put_pod(key, self.pods[key])

    @rule(key=pods)
    def drop_pod(self, key: str) -> None:
        self.pods.pop(key, None)
        self.world.drop_pod(key)

    @rule(key=daemons, cpu=st.integers(1, 3), only_gpu=yes, tolerates=yes)
    def put_daemon_set(self, key: str, cpu: int, only_gpu: bool, tolerates: bool) -> None:
        self.daemons[key] = (cpu, only_gpu, tolerates)
        shape = Shape.of(
            {"cpu": cpu}, {"gpu": "yes"} if only_gpu else {}, (Toleration("dedicated", "Exists"),) if tolerates else ()
        )
        self.world.put_daemon_set(key, DaemonSet.of(f"uid-{key}", shape))

    @rule(key=daemons)
    def drop_daemon_set(self, key: str) -> None:
        self.daemons.pop(key, None)
        self.world.drop_daemon_set(key)


class Workloads(Room):
    """Workloads that hold places, and pods that were placed."""

    def __init__(self) -> None:
        super().__init__()
        self.confirm("v", "all", ["n1", "n2"], ["n3"], False)
        self.confirm("w", "racks", ["n1", "n1"], ["n1"], False)
        for key, name, node in [("q1", "v", "n1"), ("q2", "w", "n2"), ("q3", "w", "n3")]:
            self.put_placed_pod(key, name, "main", node, False)

    @rule(key=placed_pods, name=names, pod_set=st.sampled_from(sorted(TAKES)), node=nodes, terminating=yes)
    def put_placed_pod(self, key: str, name: str, pod_set: str, node: str, terminating: bool) -> None:
        pod = PlacedPod(f"default/{name}", pod_set, node, {"cpu": TAKES[pod_set]}, terminating)
        self.placed[key] = pod
        self.world.put_placed_pod(key, pod)

    @rule(key=placed_pods)
    def drop_placed_pod(self, key: str) -> None:
        self.placed.pop(key, None)
        self.world.drop_placed_pod(key)

    @rule(name=names, flavor=flavors, main=hosts, side=hosts, evicted=yes)
    def confirm(self, name: str, flavor: str, main: list[str], side: list[str], evicted: bool) -> None:
        one = admitted(name, flavor, main, side, evicted)
        self.held[name] = Held(one, flavor)
        self.world.confirm(one)

    @rule(name=names, evicted=yes)
    def seen_again(self, name: str, evicted: bool) -> None:
        if name in self.held:
            before = self.held[name]
            status = before.workload.status.condition("Evicted", evicted, "", "", 1.0)
            self.held[name] = Held(replace(before.workload, status=status), before.flavor)
            self.world.confirm(self.held[name].workload)

    @rule(name=names, flavor=flavors, main=hosts, side=hosts)
    def assume(self, name: str, flavor: str, main: list[str], side: list[str]) -> None:
        one, before = admitted(name, flavor, main, side, False), self.held.get(name)
        first = before if before is None or before.before is None else before.before
        self.held[name] = Held(one, flavor, assumed=True, before=first)
        self.world.assume(self.world.holding_of(one))

    @rule(name=names)
    def expire(self, name: str) -> None:
        known = self.held.get(name)
        if known is not None and known.assumed:
            if known.before is None:
                del self.held[name]
            else:
                self.held[name] = known.before
        self.world.expire(f"default/{name}")

    @rule(name=names)
    def release(self, name: str) -> None:
        self.held.pop(name, None)
        self.world.release(f"default/{name}")

    @rule(where=st.lists(nodes, max_size=3))
    def hold_a_group(self, where: list[str]) -> None:
        """A group of pods on nodes by name, as trees of groups are placed, in place of the group before."""
        self.groups = where
        self.world.mirror.admit("group", by_name(where))

    @rule()
    def try_without_everybody(self) -> None:
        self.hold_a_group([])
        before, mark = frozen(self.world), self.world.checkpoint()
        for holding in self.world.ledger.holdings.values():
            self.world.take_away(holding)
        self.world.take_away(self.world.leaving)
        for flavor in self.flavors:
            snapshot = self.world.views[flavor].snapshot
            remaining = snapshot.remaining
            if self.shares:
                assert (remaining == snapshot.free).all()
            else:
                assert (remaining >= snapshot.free - snapshot.admitted).all()
        self.world.rollback(mark)
        assert frozen(self.world) == before

    @rule(where=hosts, flavor=flavors, seed=st.integers(0, 99))
    def try_on_several_trees(self, where: list[str], flavor: str, seed: int) -> None:
        """Taken by name, by host and in a flavor, in random order with a rollback in between: all of it is undone."""
        if flavor not in self.flavors:
            return
        before, mark = frozen(self.world), self.world.checkpoint()
        given = admitted("x", flavor, where, where, False)
        for step in Random(seed).choices(range(4), k=6):
            inner = self.world.checkpoint()
            if step == 0:
                self.world.mirror.reserve(by_name(where))
            elif step == 1:
                self.world.add("a", {}, self.world.holding_of(given).places)
            elif step == 2:
                snapshot = self.world.views[flavor].snapshot
                leaves = np.arange(min(2, snapshot.tree.leaves))
                snapshot.assume(leaves, np.ones(len(leaves), dtype=np.int64), Shape.of({"cpu": 1}).charge)
            else:
                self.world.take_away(self.world.leaving)
                self.world.rollback(inner)
            assert not any((one.snapshot.remaining > one.snapshot.free).any() for one in self.world.views.values())
        self.world.rollback(mark)
        assert frozen(self.world) == before


class Everything(Daemons, Workloads):
    pass


class WithoutTheGate(Workloads):
    """Flavors above the host see only their own usage, as in Kueue."""

    shares = False


def by_name(where: list[str]) -> Usage:
    return Usage(Assignment.of((NODE,), (((name,), 1) for name in where)), Shape.of({"cpu": 1}))


def admitted(name: str, flavor: str, main: list[str], side: list[str], evicted: bool) -> Workload:
    """Pods of two pod sets on the hosts of these nodes, or in the racks that bear the same numbers."""
    one = workload(name, "a", 1, 1, part("main", 3, {"cpu": 1}), part("side", 3, {"cpu": 2}))
    sets = []
    for pod_set, where in (("main", main), ("side", side)):
        paths = [(f"r{node[1:]}",) if flavor == "racks" else (f"{node}.host",) for node in where]
        places = Assignment.of((RACK,) if flavor == "racks" else (HOSTNAME,), ((path, 1) for path in paths))
        sets.append(PodSetAssignment(pod_set, {"cpu": flavor}, {"cpu": 3}, len(where), places))
    status = replace(one.status, admission=Admission("a", tuple(sets)))
    status = status.condition("QuotaReserved", True, "", "", 0.0).condition("Evicted", evicted, "", "", 0.0)
    return replace(one, status=status)


def assigned(one: Held) -> Counter[tuple[str, ...]]:
    """By pod set and leaf: how many pods it holds a place for, and those that an assumption gives up."""
    found = given(one)
    if one.before is not None and one.before.flavor == one.flavor:
        found |= given(one.before)
    return found


def given(one: Held) -> Counter[tuple[str, ...]]:
    """The same without what it held before."""
    found: Counter[tuple[str, ...]] = Counter()
    admission = one.workload.status.admission
    assert admission is not None
    for one_set in admission.pod_sets:
        assert one_set.topology is not None
        for path in one_set.topology.values:
            found[one_set.name, path[0]] += 1
    return found


TestDaemons = Daemons.TestCase
TestWorkloads = Workloads.TestCase
TestEverything = Everything.TestCase
TestWithoutTheGate = WithoutTheGate.TestCase
TestDaemons.settings = TestEverything.settings = settings(max_examples=50, stateful_step_count=30)
TestWithoutTheGate.settings = settings(max_examples=30, stateful_step_count=30)
TestWorkloads.settings = settings(max_examples=80, stateful_step_count=30)
