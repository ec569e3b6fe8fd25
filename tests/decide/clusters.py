"""Small random clusters with queues, cohorts and workloads, tight enough that rules meet.

Three pools of nodes lie side by side: a flavor of each has a topology of its own, or none. With `overlap` one more
flavor covers all hosts. Creation times and uids are all different, so that nothing is left to chance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from hypothesis import strategies as st

from closeknit.decide.scheduler import Scheduler
from closeknit.model.cluster_queue import (
    BorrowWithinCohort,
    ClusterQueue,
    Fungibility,
    LocalQueue,
    Preemption,
)
from closeknit.model.flavor import Flavor
from closeknit.model.gates import Gates
from closeknit.model.node import Node
from closeknit.model.quota import Cohort, FlavorQuotas, Quota, ResourceGroup
from closeknit.model.request import Constraint, Layer
from closeknit.model.settings import FAIR, Settings
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.model.workload import Part, Workload
from engine.clusters import BLOCK, RACK
from quota.reference import Reference

from .objects import ANYWHERE, DEFAULT, GPU, part
from .play import Play

MEM = "mem"
BY_HOST = Topology("by-host", (BLOCK, RACK, HOSTNAME))
BY_RACK = Topology("by-rack", (BLOCK, RACK))
FLAVORS = (
    Flavor("plain"),
    Flavor("host", {"pool": "host"}, topology=BY_HOST.name),
    Flavor("rack", {"pool": "rack"}, topology=BY_RACK.name),
)
EVERYWHERE = Flavor("all", topology=BY_HOST.name)
TOPOLOGIES = {one.name: one for one in (BY_HOST, BY_RACK)}
TREES: tuple[tuple[tuple[str, str], ...], ...] = (
    (),
    (("r", ""),),
    (("r", ""), ("m", "r")),
    (("r", ""), ("m", "r"), ("n", "r")),
    (("r", ""), ("m", "r"), ("d", "m")),
    (("r", ""), ("m", "r"), ("n", "r"), ("d", "m")),
)
"""Cohorts with their parents."""


@dataclass(frozen=True)
class Cluster:
    """Objects, and workloads in waves: each wave says who arrives, and how many of those known finish before."""

    nodes: tuple[Node, ...]
    flavors: tuple[Flavor, ...]
    cohorts: tuple[Cohort, ...]
    queues: tuple[ClusterQueue, ...]
    waves: tuple[tuple[int, tuple[Workload, ...]], ...]
    fair: bool = False
    gates: Gates = field(default_factory=Gates.profile)

    @cached_property
    def reference(self) -> Reference:
        return Reference(self.queues, self.cohorts)

    @property
    def workloads(self) -> tuple[Workload, ...]:
        return tuple(one for _, arriving in self.waves for one in arriving)

    def scheduler(self) -> Scheduler:
        """Everything but the workloads."""
        built = Scheduler(self.gates, Settings(FAIR if self.fair else ()))
        built.world.namespaces[DEFAULT] = {}
        for topology in TOPOLOGIES.values():
            built.world.put_topology(topology)
        for flavor in self.flavors:
            built.world.put_flavor(flavor)
        for node in self.nodes:
            built.world.put_node(node)
        for cohort in self.cohorts:
            built.world.put_cohort(cohort)
        for queue in self.queues:
            built.put_cluster_queue(queue)
            built.put_local_queue(LocalQueue(DEFAULT, queue.name, queue.name))
        return built

    def begin(self, victims_stop: bool) -> Play:
        return Play(self.scheduler(), victims_stop)

    def topology_of(self, flavor: str) -> Topology | None:
        name = next(one.topology for one in self.flavors if one.name == flavor)
        return TOPOLOGIES.get(name)

    def queue(self, name: str) -> ClusterQueue:
        return next(one for one in self.queues if one.name == name)


@st.composite
def nodes(draw: st.DrawFn) -> tuple[Node, ...]:
    made = []
    for number in range(draw(st.integers(1, 6))):
        name, pool = f"n{number}", draw(st.sampled_from(["host", "rack"]))
        block, rack = draw(st.sampled_from("xy")), draw(st.sampled_from("12"))
        labels = {BLOCK: block, RACK: f"{block}{rack}", HOSTNAME: name, "pool": pool}
        room = {GPU: draw(st.integers(1, 4)), MEM: draw(st.sampled_from([9, 3])), "pods": draw(st.sampled_from([9, 2]))}
        made.append(Node(name, labels, room))
    return tuple(made)


limits = st.sampled_from([None, None, 0, 1, 3])


@st.composite
def resource_groups(
    draw: st.DrawFn, flavors: tuple[Flavor, ...], resources: tuple[str, ...], member: bool, lends_more: bool
) -> tuple[ResourceGroup, ...]:
    """`member` of a cohort may have limits; only a cohort may lend more than is its own."""
    made = []
    for flavor in flavors:
        amounts = {}
        for resource in resources:
            nominal = draw(st.integers(0, 5))
            lending = draw(limits) if member else None
            if lending is not None and not lends_more:
                lending = min(lending, nominal)
            amounts[resource] = Quota(nominal, draw(limits) if member else None, lending)
        made.append(FlavorQuotas(flavor.name, amounts))
    return (ResourceGroup(resources, tuple(made)),)


@st.composite
def preemptions(draw: st.DrawFn) -> Preemption:
    within = draw(st.sampled_from(["Never", "LowerPriority", "LowerOrNewerEqualPriority"]))
    reclaim = draw(st.sampled_from(["Never", "LowerPriority", "Any", "Any"]))
    borrow = BorrowWithinCohort()
    if reclaim != "Never" and draw(st.booleans()):
        borrow = BorrowWithinCohort("LowerPriority", draw(st.sampled_from([None, 0, 1])))
    return Preemption(within, reclaim, borrow)  # type: ignore[arg-type]


@st.composite
def fungibilities(draw: st.DrawFn) -> Fungibility:
    borrow = draw(st.sampled_from(["MayStopSearch", "TryNextFlavor"]))
    preempt = draw(st.sampled_from(["TryNextFlavor", "MayStopSearch"]))
    preference = None
    if (borrow, preempt) == ("TryNextFlavor", "TryNextFlavor"):
        preference = draw(st.sampled_from([None, "BorrowingOverPreemption", "PreemptionOverBorrowing"]))
    return Fungibility(borrow, preempt, preference)  # type: ignore[arg-type]


@st.composite
def queues(
    draw: st.DrawFn, name: str, cohorts: tuple[str, ...], flavors: tuple[Flavor, ...], resources: tuple[str, ...]
) -> ClusterQueue:
    cohort = draw(st.sampled_from(cohorts)) if cohorts and draw(st.integers(0, 7)) else ""
    chosen = tuple(draw(st.permutations(flavors)))[: draw(st.integers(1, 2))]
    return ClusterQueue(
        name,
        draw(resource_groups(chosen, resources, member=bool(cohort), lends_more=False)),
        cohort,
        draw(st.sampled_from(["BestEffortFIFO", "BestEffortFIFO", "StrictFIFO"])),  # type: ignore[arg-type]
        ANYWHERE,
        draw(fungibilities()),
        draw(preemptions()),
        weight=draw(st.sampled_from([1.0, 2.0, 0.0])),
    )


@st.composite
def constraints(draw: st.DrawFn) -> Constraint:
    level = draw(st.sampled_from([BLOCK, RACK]))
    kind = draw(st.sampled_from(["required", "preferred", "unconstrained", "slices"]))
    match kind:
        case "required":
            return Constraint(required=level)
        case "preferred":
            return Constraint(preferred=level)
        case "slices":
            return Constraint(required=BLOCK, slices=(Layer(RACK, draw(st.integers(1, 2))),))
    return Constraint(unconstrained=True)


@st.composite
def parts(draw: st.DrawFn, placed: bool, resources: tuple[str, ...], single: bool) -> tuple[Part, ...]:
    """One pod set, two by themselves, or a leader with its workers."""
    constraint = draw(constraints()) if placed else None
    asks = {resource: draw(st.sampled_from([1, 1, 2, 0] if resource == MEM else [1, 1, 2])) for resource in resources}
    kind = draw(st.sampled_from(["one", "one", "group"] if single else ["one", "one", "two", "group"]))
    count = draw(st.integers(1, 5))
    least = draw(st.integers(1, count)) if draw(st.integers(0, 3)) == 0 else None
    if kind == "one":
        return (part("main", count, asks, constraint, min_count=least),)
    if kind == "two":
        other = draw(constraints()) if placed else None
        return part("one", count, asks, constraint, min_count=least), part("two", draw(st.integers(1, 3)), 1, other)
    return (
        part("leader", 1, {GPU: 1}, constraint, group="g"),
        part("workers", max(2, count), asks, constraint, group="g"),
    )


@st.composite
def workloads(draw: st.DrawFn, number: int, queue: ClusterQueue, cluster_flavors: tuple[Flavor, ...], single: bool) -> Workload:
    topologies = [next(one.topology for one in cluster_flavors if one.name == name) for name in queue.flavors]
    placed = any(topologies) and draw(st.integers(0, 5)) > 0
    resources = queue.groups[0].covered
    uid = f"{(number * 7) % 11:02d}-{number}"
    return Workload(
        DEFAULT,
        f"w{number}",
        draw(parts(placed, resources, single)),
        queue.name,
        uid,
        draw(st.integers(0, 2)),
        float((number * 5) % 13),
    )


@st.composite
def clusters(
    draw: st.DrawFn, overlap: bool = False, single: bool = False, fair: bool | None = None, waves: int = 3
) -> Cluster:
    """`single`: workloads have one pod set or one group."""
    flavors = (*FLAVORS, EVERYWHERE) if overlap else FLAVORS
    resources = draw(st.sampled_from([(GPU,), (GPU,), (GPU, MEM)]))
    tree = draw(st.sampled_from(TREES))
    cohorts = []
    for name, parent in tree:
        written = draw(st.booleans())
        given = draw(resource_groups(flavors[: draw(st.integers(1, 3))], resources, bool(parent), True)) if written else ()
        cohorts.append(Cohort(name, parent, given, draw(st.sampled_from([1.0, 3.0]))))
    names = tuple(name for name, _ in tree)
    made = tuple(draw(queues(f"q{number}", names, flavors, resources)) for number in range(draw(st.integers(1, 4))))
    arriving = []
    number = 0
    for _ in range(waves):
        wave = []
        for _ in range(draw(st.integers(1, 4))):
            wave.append(draw(workloads(number, draw(st.sampled_from(made)), flavors, single)))
            number += 1
        arriving.append((draw(st.integers(0, 2)), tuple(wave)))
    is_fair = draw(st.booleans()) if fair is None else fair
    return Cluster(draw(nodes()), flavors, tuple(cohorts), made, tuple(arriving), is_fair)
