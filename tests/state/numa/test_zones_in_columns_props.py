"""Zones in columns: whatever is tried and rolled back leaves no trace, and cached counts equal counts from scratch."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from closeknit.engine.fit import Fit
from closeknit.engine.policy import Policy
from closeknit.model.assignment import Assignment
from closeknit.model.container import Container
from closeknit.model.gates import Gates
from closeknit.model.node import Node
from closeknit.model.numa import NodeZones, TopologyManager, Zone, ZoneAmounts
from closeknit.model.numa_settings import NumaSettings
from closeknit.model.resources import CPU, MEMORY
from closeknit.model.shape import Shape
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.numa.demand import PodDemand
from closeknit.numa.fingerprint import fingerprint
from closeknit.state.mirror import Mirror, Usage
from closeknit.state.numa.zone_plans import KubeletPod, ZonePlans, holder_of

HOSTS = ("h0", "h1", "h2")
POLICIES = ("single-numa-node", "restricted", "best-effort")
KEYS = ("w1", "w2", "w3")

hosts = st.sampled_from(HOSTS)
keys = st.sampled_from(KEYS)
amounts = st.tuples(st.integers(1, 5), st.sampled_from([10, 60, 130]))
turns = st.lists(
    st.tuples(st.sampled_from(["admit", "assume", "vacate"]), keys, amounts, hosts, st.integers(-2, 2)), max_size=6
)


def shape_of(cpus: int, memory: int) -> Shape:
    asked = {CPU: cpus * 1000, MEMORY: memory}
    return Shape.of(asked, containers=(Container.of(asked, asked),))


def demand_of(shape: Shape) -> PodDemand:
    return PodDemand.of(shape.containers, shape.pod_level)


class ZonesInColumns(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.plans = ZonePlans(NumaSettings())
        self.mirror = Mirror(one_ledger=True)
        self.view = self.mirror.add_flavor("f", Topology("default", ("rack", HOSTNAME)))
        for name in HOSTS:
            labels, room = {HOSTNAME: name, "rack": "r"}, {CPU: 8000, MEMORY: 200, "pods": 20}
            self.mirror.put_node(Node(name, labels, room))
        self.mirror.put_zones(self.plans)
        self.bound: dict[str, str] = {}
        self.births = 0
        self.policy = Policy(Gates.profile())
        self.fits: dict[tuple[Shape, Shape | None], Fit] = {}
        for name, policy in zip(HOSTS, POLICIES, strict=True):
            self.report(name, policy, 4, 100)

    @rule(name=hosts, policy=st.sampled_from(POLICIES), cpus=st.integers(0, 4), memory=st.sampled_from([0, 50, 100]))
    def report(self, name: str, policy: Any, cpus: int, memory: int) -> None:
        zones = tuple(
            Zone(at, {CPU: ZoneAmounts(4000, 4000, cpus * 1000), MEMORY: ZoneAmounts(100, 100, memory)})
            for at in range(2)
        )
        pods = fingerprint(("default", key) for key, node in self.bound.items() if node == name)
        self.plans.now += 1
        self.plans.put_report(NodeZones(name, zones, TopologyManager(policy, "pod"), fingerprint=pods), None)
        self.mirror.rezone((name,))

    @rule(name=hosts)
    def drop_report(self, name: str) -> None:
        self.plans.drop_report(name)
        self.mirror.rezone((name,))

    @rule(name=hosts, key=keys, asked=amounts, zone=st.integers(0, 2))
    def bind(self, name: str, key: str, asked: tuple[int, int], zone: int) -> None:
        """A pod of a workload, or with zone 2 a foreign one whose zone is unknown."""
        self.births += 1
        pod, shape = f"p{self.births}", shape_of(*asked)
        zones = {zone: {CPU: asked[0] * 1000, MEMORY: asked[1]}} if zone < 2 else None
        needs = KubeletPod(demand_of(shape), ("main",), expected=zones)
        self.plans.put_pod(f"default/{pod}", name, needs, holder_of(key, "main") if zone < 2 else "")
        self.bound[pod] = name
        self.mirror.rezone((name,))

    @rule(at=st.integers(0, 99))
    def unbind(self, at: int) -> None:
        if self.bound:
            pod = list(self.bound)[at % len(self.bound)]
            self.plans.drop_pod(f"default/{pod}")
            self.mirror.rezone((self.bound.pop(pod),))

    @rule(key=keys, asked=amounts, name=hosts, count=st.integers(1, 3))
    def admit(self, key: str, asked: tuple[int, int], name: str, count: int) -> None:
        self.mirror.admit(key, self._usage(key, asked, name, count))

    @rule(key=keys)
    def release(self, key: str) -> None:
        self.mirror.release(key)

    @rule(trials=turns, more=turns)
    def try_and_roll_back(self, trials: list[Any], more: list[Any]) -> None:
        """Twice, one within the other."""
        columns, before = self.mirror.columns, self._zones()
        outer = columns.checkpoint()
        for one in trials:
            self._try(*one)
        between, inner = self._zones(), columns.checkpoint()
        for one in more:
            self._try(*one)
        self._counts_are_right()
        columns.rollback(inner)
        assert self._zones() == between
        self._counts_are_right()
        columns.rollback(outer)
        assert self._zones() == before

    @rule(name=hosts, key=keys, asked=amounts, count=st.integers(1, 2))
    def take_away_and_put_back(self, name: str, key: str, asked: tuple[int, int], count: int) -> None:
        """A victim that stays gets the zones back that it had."""
        columns, before = self.mirror.columns, self._zones()
        at, shape = np.array([columns.row_of[name]]), shape_of(*asked)
        mark = columns.checkpoint()
        for sign in (-1, 1):
            columns.admit(at, np.array([sign * count]), shape.charge, None, holder_of(key, "main"))
        if len(before["held"].get((holder_of(key, "main"), int(at[0])), ())) >= count:
            assert self._zones() == before
        columns.rollback(mark)
        assert self._zones() == before

    @invariant()
    def counts_are_right(self) -> None:
        self._counts_are_right()

    @invariant()
    def equals_columns_built_anew(self) -> None:
        kept, other = self._zones(), Mirror(one_ledger=True)
        other.add_flavor("f", Topology("default", ("rack", HOSTNAME)))
        for node in self.mirror.nodes.values():
            other.put_node(node)
        other.put_zones(self.plans)
        for key, usage in self.mirror.usages.items():
            other.usages[key] = usage
        built = other.columns
        assert built.zones is not None
        rows = [built.row_of[name] for name in self.mirror.columns.table.names]
        assert kept["states"] == {view: states[rows].tolist() for view, states in built.zones.states.items()}

    def _usage(self, key: str, asked: tuple[int, int], name: str, count: int) -> Usage:
        assignment = Assignment.of((HOSTNAME,), [((name,), count)])
        return Usage(assignment, shape_of(*asked), "f", "main", key, since=float(KEYS.index(key)))

    def _try(self, what: str, key: str, asked: tuple[int, int], name: str, count: int) -> None:
        columns = self.mirror.columns
        at, shape = np.array([columns.row_of[name]]), shape_of(*asked)
        if what == "vacate":
            columns.vacate_zones(at)
        elif what == "admit":
            columns.admit(at, np.array([count]), shape.charge, None, holder_of(key, "main"))
        else:
            columns.assume(at, np.array([abs(count)]), shape.charge, None, holder_of(key, "main"))

    def _zones(self) -> dict[str, Any]:
        zones = self.mirror.columns.zones
        assert zones is not None
        return {
            "states": {view: states.tolist() for view, states in zones.states.items()},
            "held": {seat: given for seat, given in zones.held.items() if given},
            "lifted": {seat: given for seat, given in zones.lifted.items() if given},
        }

    def _counts_are_right(self) -> None:
        """What is kept for a shape, and repaired where nodes changed, is what is counted for it the first time."""
        snapshot = self.view.snapshot
        wide, small = shape_of(3, 60), shape_of(1, 10)
        for shape, leader in ((wide, None), (small, wide)):
            kept = self.fits.get((shape, leader))
            if kept is None or kept.snapshot is not snapshot:
                kept = self.fits[shape, leader] = Fit(snapshot, shape, leader, self.policy)
            fresh = Fit(snapshot, shape, leader, self.policy)
            kept.refresh()
            fresh.refresh()
            assert kept.pods.tolist() == fresh.pods.tolist()
            assert kept.pods_beside.tolist() == fresh.pods_beside.tolist()


TestZonesInColumns = ZonesInColumns.TestCase
TestZonesInColumns.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)


def test_a_victim_that_stays_leaves_no_trace_although_its_report_shows_too_little() -> None:
    """The report counts the pod by its fingerprint, but shows all as free."""
    case = ZonesInColumns()
    case.bind("h0", "w1", (2, 60), 0)
    case.admit("w1", (2, 60), "h0", 1)
    case.report("h0", "restricted", 4, 100)
    case.take_away_and_put_back("h0", "w1", (2, 60), 1)
