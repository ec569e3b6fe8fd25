"""Small random clusters with queues, cohorts and workloads, tight enough that rules meet.

Two pools of nodes lie side by side: one flavor places pods on hosts, one on racks, one does not place them at all.
With `overlap` one more flavor covers all hosts. Creation times and uids are all different, so that nothing is left to
chance. What is drawn comes from lists of whole values, simple ones first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import product
from typing import Any, Literal

from hypothesis import strategies as st

from closeknit.decide.decision import Decision
from closeknit.decide.scheduler import Scheduler
from closeknit.model.cluster_queue import BorrowWithinCohort, ClusterQueue, Fungibility, LocalQueue, Preemption
from closeknit.model.flavor import Flavor
from closeknit.model.gates import Gates
from closeknit.model.node import Node
from closeknit.model.quota import Cohort, FlavorQuotas, Quota, ResourceGroup
from closeknit.model.request import Constraint, Layer
from closeknit.model.settings import FAIR, Settings
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.model.workload import Workload
from engine.clusters import BLOCK, BOOLEANS, RACK, numbers, pick
from quota.reference import Reference

from .objects import ANYWHERE, DEFAULT, GPU, Given, asked, part
from .play import Play

MEM = "mem"
BY_HOST = Topology("by-host", (BLOCK, RACK, HOSTNAME))
BY_RACK = Topology("by-rack", (BLOCK, RACK))
TOPOLOGIES = {one.name: one for one in (BY_HOST, BY_RACK)}
PLAIN = Flavor("plain")
HOSTS = Flavor("hosts", {"pool": "hosts"}, topology=BY_HOST.name)
RACKS = Flavor("racks", {"pool": "racks"}, topology=BY_RACK.name)
EVERY_HOST = Flavor("every-host", topology=BY_HOST.name)

USED = [(PLAIN,), (HOSTS,), (RACKS,), (HOSTS, PLAIN), (PLAIN, HOSTS), (HOSTS, RACKS)]
OVERLAPPING = [(EVERY_HOST, HOSTS), (HOSTS, EVERY_HOST), (EVERY_HOST, HOSTS, PLAIN)]

TREES: list[tuple[tuple[str, str], ...]] = [
    (("r", ""),),
    (("r", ""), ("m", "r")),
    (("r", ""), ("m", "r"), ("n", "r")),
    (("r", ""), ("m", "r"), ("d", "m")),
    (("r", ""), ("m", "r"), ("n", "r"), ("d", "m")),
    (),
]
"""Cohorts with their parents."""

ALONE = [Quota(nominal) for nominal in (4, 3, 6, 2, 0)]
MEMBER = [
    *ALONE * 2,
    *(Quota(*three) for three in [(4, 4, None), (4, None, 2), (4, 0, None), (4, None, 0), (2, 3, 1), (3, 3, 1)]),
    *(Quota(*three) for three in [(6, 0, 3), (0, 4, None), (0, None, 0), (5, 2, 5)]),
]
OF_COHORT = [*MEMBER, Quota(0, 3, 4), Quota(2, None, 5)]
"""Only a cohort may lend more than is its own."""

STRATEGIES: tuple[Literal["BestEffortFIFO", "StrictFIFO"], ...] = (*("BestEffortFIFO",) * 4, "StrictFIFO")
WITHIN: list[Literal["LowerPriority", "LowerOrNewerEqualPriority", "Never"]]
WITHIN = ["LowerPriority", "LowerOrNewerEqualPriority", "Never"]
RECLAIM: list[Literal["Any", "LowerPriority"]] = ["Any", "LowerPriority"]
BORROW = [BorrowWithinCohort(), BorrowWithinCohort("LowerPriority"), BorrowWithinCohort("LowerPriority", 1)]
PREEMPTIONS = [
    *(Preemption(within, reclaim, borrow) for within, reclaim, borrow in product(WITHIN, RECLAIM, BORROW)),
    *(Preemption(within, "Never") for within in WITHIN),
]
FUNGIBILITIES = [
    Fungibility(),
    Fungibility("TryNextFlavor", "TryNextFlavor"),
    Fungibility("MayStopSearch", "MayStopSearch"),
    Fungibility("TryNextFlavor", "MayStopSearch"),
    Fungibility("TryNextFlavor", "TryNextFlavor", "BorrowingOverPreemption"),
    Fungibility("TryNextFlavor", "TryNextFlavor", "PreemptionOverBorrowing"),
]
CONSTRAINTS = [
    Constraint(required=BLOCK),
    Constraint(required=RACK),
    Constraint(preferred=RACK),
    Constraint(unconstrained=True),
    Constraint(preferred=BLOCK),
    Constraint(required=BLOCK, slices=(Layer(RACK, 2),)),
]
COUNTS: list[tuple[int, int | None]] = [(1, None), (1, None), (2, None), (3, None), (4, 2)]
"""How many pods, and how few will do."""


def _parts(constraints: list[Constraint | None], resources: tuple[str, ...]) -> list[tuple[Given, ...]]:
    """One pod set, a leader with its workers, or two by themselves."""
    asks = [{GPU: 1}, {GPU: 2}] if resources == (GPU,) else [{GPU: 1, MEM: 1}, {GPU: 1}, {GPU: 2, MEM: 1}]
    one = [
        (part("main", count, ask, constraint, min_count=least),)
        for constraint, ask, (count, least) in product(constraints, asks, COUNTS)
    ]
    group = [
        (part("leader", 1, {GPU: 1}, constraint, "g"), part("workers", count, asks[0], constraint, "g"))
        for constraint, count in product(constraints, (2, 3))
    ]
    two = [
        (part("one", count, asks[0], constraint, min_count=least), part("two", 1, asks[0], constraint))
        for constraint, (count, least) in product(constraints, COUNTS)
    ]
    return [*one, *group, *two]


PARTS = {
    (placed, resources): _parts([*CONSTRAINTS] if placed else [None], resources)
    for placed, resources in product((False, True), ((GPU,), (GPU, MEM)))
}


@dataclass(frozen=True, repr=False)
class Cluster:
    """Objects, and workloads in waves: how many of the known ones finish first, and which ones arrive."""

    nodes: tuple[Node, ...]
    flavors: tuple[Flavor, ...]
    cohorts: tuple[Cohort, ...]
    queues: tuple[ClusterQueue, ...]
    waves: tuple[tuple[int, tuple[Workload, ...]], ...]
    fair: bool = False
    gates: Gates = field(default_factory=Gates.profile)

    def __repr__(self) -> str:
        """Short enough to read when a property fails."""
        lines = [f"fair={self.fair}"]
        lines += [f"node {one.name} {dict(one.labels)} {dict(one.allocatable)}" for one in self.nodes]
        lines += [f"{one.name} < {one.parent or '-'} {_quotas(one.groups)} weight {one.weight}" for one in self.cohorts]
        for each in self.queues:
            rules = f"{each.strategy} {tuple(each.preemption)} {tuple(each.fungibility)} weight {each.weight}"
            lines.append(f"{each.name} < {each.cohort or '-'} {_quotas(each.groups)} {rules}")
        for leaving, arriving in self.waves:
            lines.append(f"wave: {leaving} finish")
            lines += [f"  {_workload(one)}" for one in arriving]
        return "\n".join(["", *lines])

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))

    @cached_property
    def reference(self) -> Reference:
        return Reference(self.queues, self.cohorts)

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

    def queue(self, name: str) -> ClusterQueue:
        return next(one for one in self.queues if one.name == name)

    def topology(self, flavor: str) -> Topology | None:
        return TOPOLOGIES.get(next(one.topology for one in self.flavors if one.name == flavor))


def _quotas(groups: tuple[ResourceGroup, ...]) -> str:
    return ", ".join(
        f"{flavor.flavor} {name} {tuple(quota)}"
        for group in groups
        for flavor in group.flavors
        for name, quota in flavor.resources.items()
    )


def _workload(one: Workload) -> str:
    parts = "; ".join(
        f"{part.name} {pod_set.count} (least {part.min_count}) x {dict(part.requests)} {pod_set.constraint}"
        for part in one.parts
        if (pod_set := one.pod_set(part.name)) is not None
    )
    return f"{one.name} in {one.queue}, uid {one.uid}, priority {one.priority}, made {one.created}: {parts}"


class Story(Play):
    """A cluster played wave by wave; `before` is what queues held when the last cycle began."""

    def __init__(self, cluster: Cluster, victims_stop: bool, cycles: int = 6) -> None:
        super().__init__(cluster.scheduler(), victims_stop)
        self.cluster, self.at = cluster, 100.0
        self.before = self.used()
        self._left = list(cluster.waves)
        self._most, self._ran = cycles, cycles

    def step(self) -> list[Decision] | None:
        """The decisions of one more cycle; None when the story is over."""
        while self._ran == self._most or not self.scheduler.is_ready:
            if not self._left:
                return None
            self._next_wave()
        self._ran += 1
        self.before = self.used()
        return self.cycle(self.at)

    def _next_wave(self) -> None:
        self.at, self._ran = self.at + 10, 0
        leaving, arriving = self._left.pop(0)
        for key in sorted(self.known)[:leaving]:
            self.finish(key, self.at)
        self.put(*arriving, at=self.at)


@st.composite
def clusters(
    draw: st.DrawFn,
    overlap: bool = False,
    fair: bool | None = None,
    waves: int = 3,
    single: bool = False,
    one_tree: bool = False,
) -> Cluster:
    """`single`: no workload has two pod sets by themselves; `one_tree`: every queue is under one root."""
    used = pick(draw, OVERLAPPING if overlap else USED)
    resources = pick(draw, [(GPU,), (GPU,), (GPU, MEM)])
    tree = pick(draw, TREES[:-1] if one_tree else TREES)
    cohorts = tuple(_cohorts(draw, name, parent, used, resources) for name, parent in tree)
    names = [*(name for name, _ in tree)] * 3 + ([] if one_tree else [""])
    size = pick(draw, [2, 3, 4, 3, 1])
    queues = tuple(_queues(draw, f"q{number}", names, used, resources) for number in range(size))
    arriving: list[tuple[int, tuple[Workload, ...]]] = []
    number = 0
    for wave in range(waves):
        new = []
        busiest = pick(draw, queues)
        for _ in range(pick(draw, [3, 4, 5, 6])):
            new.append(_workloads(draw, number, wave, [busiest, *queues], single))
            number += 1
        arriving.append((draw(numbers(0, 2)) if wave else 0, tuple(new)))
    is_fair = draw(BOOLEANS) if fair is None else fair
    pools = [one.labels["pool"] for one in used if one.labels] or ["none"]
    return Cluster(_nodes(draw, pools), used, cohorts, queues, tuple(arriving), is_fair)


def _groups(
    draw: st.DrawFn, flavors: tuple[Flavor, ...], resources: tuple[str, ...], choices: list[Quota]
) -> tuple[ResourceGroup, ...]:
    quotas = (FlavorQuotas(one.name, {name: pick(draw, choices) for name in resources}) for one in flavors)
    return (ResourceGroup(resources, tuple(quotas)),)


def _cohorts(
    draw: st.DrawFn, name: str, parent: str, flavors: tuple[Flavor, ...], resources: tuple[str, ...]
) -> Cohort:
    choices = OF_COHORT if parent else ALONE
    given = _groups(draw, flavors, resources, choices) if draw(BOOLEANS) else ()
    return Cohort(name, parent, given, pick(draw, [1.0, 3.0]))


def _queues(
    draw: st.DrawFn, name: str, cohorts: list[str], used: tuple[Flavor, ...], resources: tuple[str, ...]
) -> ClusterQueue:
    cohort = pick(draw, cohorts)
    flavors = pick(draw, [used, used[::-1], used[:1]])
    return ClusterQueue(
        name,
        _groups(draw, flavors, resources, MEMBER if cohort else ALONE),
        cohort,
        pick(draw, STRATEGIES),
        ANYWHERE,
        pick(draw, FUNGIBILITIES),
        pick(draw, PREEMPTIONS),
        weight=pick(draw, [1.0, 2.0, 0.0]),
    )


@cache
def _choices(placed: bool, covered: tuple[str, ...], few: int, single: bool) -> list[tuple[Given, ...]]:
    """Parts of at most so many pods."""
    choices = [one for one in PARTS[placed, covered] if sum(each.pod_set.count for each in one) <= few]
    return [one for one in choices if not single or len(one) == 1 or one[0].group]


def _workloads(draw: st.DrawFn, number: int, wave: int, queues: list[ClusterQueue], single: bool) -> Workload:
    queue = pick(draw, queues)
    placed = queue.flavors != [PLAIN.name] and (PLAIN.name not in queue.flavors or draw(BOOLEANS))
    chosen = pick(draw, _choices(placed, queue.groups[0].covered, 2 if wave == 0 else 9, single))
    priority = pick(draw, [wave, wave, 0, 2])
    uid, created = f"{number * 7 % 19:02d}", float(number * 5 % 19)
    return Workload(DEFAULT, f"w{number:02d}", *asked(*chosen), queue.name, uid, priority, created)


def _nodes(draw: st.DrawFn, pools: list[str]) -> tuple[Node, ...]:
    made = []
    for number in range(pick(draw, [2, 4, 6])):
        name = f"n{number}"
        block, rack = pick(draw, [("x", "1"), ("x", "2"), ("y", "1")])
        labels = {BLOCK: block, RACK: f"{block}{rack}", HOSTNAME: name, "pool": pools[number % len(pools)]}
        gpus, places = pick(draw, [(2, 9), (4, 9), (3, 9), (4, 2)])
        made.append(Node(name, labels, {GPU: gpus, MEM: 5, "pods": places}))
    return tuple(made)
