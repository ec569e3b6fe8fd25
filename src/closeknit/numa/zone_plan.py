"""What a demand asks of a family of states: the steps in which a kubelet admits it, by resource as arrays know them.

In scope container each container is aligned and then gets what it asks for; in scope pod the whole pod is aligned once,
and its containers get what they ask for in those zones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from ..model.container import Kind
from ..model.numa import TopologyPolicy
from ..model.resources import CPU
from .admission import AskedAmounts, asked
from .demand import PodDemand
from .layout import MOST_ZONES
from .masks import subsets
from .merge import Merger
from .zone_columns import BoolArray, FloatArray, IntArray, LayoutFamily


class Ask(NamedTuple):
    """Amounts by slot: CPUs if any, memory, devices. Amounts of zero count where the kubelet counts them.

    `memories` are the memory resources asked for; `absent` tells that no zone lists one of them.
    """

    cpus: Mapping[int, int]
    memory: Mapping[int, int]
    devices: Mapping[int, int]
    memories: int
    absent: bool

    @property
    def all(self) -> dict[int, int]:
        return {**self.cpus, **self.memory, **self.devices}


class DemandStep(NamedTuple):
    """What is aligned at once, and what is then given to each container."""

    hint: Ask
    takes: tuple[tuple[Kind, Ask], ...]


@dataclass(frozen=True)
class DemandPlan:
    """`zones` are the positions that matter, `lists` which of them each slot is in; `steps` go by slots of the plan."""

    policy: TopologyPolicy
    steps: tuple[DemandStep, ...]
    slots: tuple[int, ...]
    zones: tuple[int, ...]
    lists: BoolArray
    merger: Merger

    @cached_property
    def is_impossible(self) -> bool:
        """Whether a container asks for memory that no zone has."""
        return any(take.absent for step in self.steps for _, take in step.takes)

    @cached_property
    def is_regular(self) -> bool:
        """Whether what is aligned covers every resource that is then given to the containers."""
        return all(step.hint.all.keys() >= take.all.keys() for step in self.steps for _, take in step.takes)

    @cached_property
    def reuses(self) -> bool:
        """Whether an init container leaves something to the containers after it."""
        return any(kind == "init" for step in self.steps for kind, _ in step.takes)

    @cached_property
    def needs(self) -> list[tuple[list[tuple[int, int]], list[bool]]]:
        """For each step what it takes by slot, and for each zone, in order, whether it lists all of that."""
        return [
            (list(step.hint.all.items()), np.logical_and.reduce(self.lists[list(step.hint.all)])[self.order].tolist())
            for step in self.steps
        ]

    @cached_property
    def adds_up(self) -> bool:
        """Whether the containers of each step get just what was aligned for them together."""
        return not self.reuses and all(
            size == sum(take.all.get(slot, 0) for _, take in step.takes)
            for step in self.steps
            for slot, size in step.hint.all.items()
        )

    @cached_property
    def order(self) -> IntArray:
        """The zones, the one that is preferred first."""
        ids = range(len(self.zones))
        return np.array(sorted(ids, key=lambda zone: self.merger.fitness(1 << zone)), np.int64)

    def ordered(self, columns: IntArray) -> IntArray:
        """Columns of zones, the one that is preferred first."""
        return columns if (self.order == np.arange(self.order.size)).all() else columns[:, self.order]

    @cached_property
    def sets(self) -> ZoneSets | None:
        """Every set of these zones; None if there are too many."""
        return ZoneSets.of(self) if len(self.zones) <= MOST_ZONES else None

    def sets_of(self, size: int) -> ZoneSets:
        """The sets of so many zones."""
        sets = self.sets
        assert sets is not None
        which = sets.sizes == size
        return replace(
            sets,
            masks=sets.masks[which],
            sizes=sets.sizes[which],
            member=sets.member[:, which],
            within=sets.within[:, which],
            fitness=sets.fitness[which],
        )


@dataclass(frozen=True)
class ZoneSets:
    """Sets of zones in the order in which the kubelet tries them.

    `member` is zones by sets; `within` slots by sets: whether all zones of the set list the resource. `fitness` ranks
    preferred sets, `rank` the others by the number of zones that is aimed at and by the set itself as an index.
    """

    masks: IntArray
    sizes: IntArray
    member: FloatArray
    within: BoolArray
    fitness: IntArray
    rank: IntArray
    column: IntArray

    @classmethod
    def of(cls, plan: DemandPlan) -> ZoneSets:
        merger = plan.merger
        distances = tuple(tuple(merger.distances[zone]) for zone in sorted(merger.distances))
        masks, rank, fitness, column = _ranked(merger.policy, len(plan.zones), distances, merger.closest)
        member = (masks[None, :] >> np.arange(len(plan.zones))[:, None] & 1).astype(np.float64)
        within = (~plan.lists).astype(np.float64) @ member == 0
        return cls(masks, member.sum(axis=0).astype(np.int64), member, within, fitness, rank, column)


@lru_cache(64)
def _ranked(
    policy: TopologyPolicy, zones: int, distances: tuple[tuple[float, ...], ...], closest: bool
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """All sets of so many zones, their ranks, their fitness, and where each set is."""
    merger = Merger(policy, range(zones), dict(enumerate(distances)), closest)
    every = list(subsets(range(zones)))
    rank = np.full((zones + 1, 1 << zones), 1 << 30, np.int64)
    for aim in range(zones + 1):
        rank[aim, sorted(every, key=lambda mask: merger.rank(mask, aim))] = range(len(every))
    fitness = np.empty(len(every), np.int64)
    fitness[sorted(range(len(every)), key=lambda at: merger.fitness(every[at]))] = range(len(every))
    column = np.zeros(1 << zones, np.int64)
    column[every] = range(len(every))
    return np.array(every, np.int64), rank, fitness, column


STRICTNESS: Sequence[TopologyPolicy] = ("none", "best-effort", "restricted", "single-numa-node")


def plan_of(family: LayoutFamily, demand: PodDemand) -> DemandPlan | None:
    """How the kubelets of a family admit the demand; None if it asks for nothing that they align."""
    settings = family.key.settings
    demand = demand.managed_by(settings.manages_pods)
    registered = [name for name in family.slots if "/" in name]
    asks = [asked(settings, registered, demand, one) for one in demand.containers]
    names = {name for one in asks for name, _ in _named(one)}
    whole = asked(settings, registered, demand, None) if settings.scope == "pod" else None
    names |= {name for name, _ in _named(whole)} if whole else set()
    if not any(size for one in (*asks, *((whole,) if whole else ())) for _, size in _named(one)):
        return None
    lists = dict(family.key.lists)
    slots = tuple(family.slots[name] for name in lists if name in names)
    zones = tuple(sorted({family.at[zone] for name in names for zone in lists.get(name, ())}))
    at = {name: number for number, name in enumerate(name for name in lists if name in names)}
    takes = [(one.kind, _ask(ask, at)) for one, ask in zip(demand.containers, asks, strict=True)]
    steps: tuple[DemandStep, ...]
    if whole:
        steps = (DemandStep(_ask(whole, at), tuple(takes)),)
    else:
        steps = tuple(DemandStep(ask, ((kind, ask),)) for kind, ask in takes)
    listed = [[family.key.zones[zone] in lists[name] for zone in zones] for name in at]
    policy = max(settings.policy, demand.policy or settings.policy, key=STRICTNESS.index)
    return DemandPlan(policy, steps, slots, zones, np.array(listed, np.bool_), _merger(family, zones, settings.policy))


def _named(one: AskedAmounts) -> list[tuple[str, int]]:
    return [*([(CPU, one.cpus)] if one.cpus else []), *one.memory.items(), *one.devices.items()]


def _ask(one: AskedAmounts, at: Mapping[str, int]) -> Ask:
    cpus = {at[CPU]: one.cpus} if one.cpus else {}
    memory, devices = ({at[name]: size for name, size in part.items() if name in at} for part in one[1:])
    absent = any(size and name not in at for name, size in one.memory.items())
    return Ask(cpus, memory, devices, len(one.memory), absent)


def _merger(family: LayoutFamily, zones: Sequence[int], policy: TopologyPolicy) -> Merger:
    """The kubelet's order of preference among these zones."""
    key = family.key
    ids = [key.zones[zone] for zone in zones]
    distances = (
        {at: [key.distances[one][other] for other in ids] for at, one in enumerate(ids)} if key.distances else {}
    )
    return Merger(policy, range(len(zones)), distances, key.settings.closest)
