"""What NodeResourceTopologyMatch lets onto nodes, one pod after another, in place of what kubelets admit.

For queues of our own in mode compat. Its OverReserve cache charges a pod to every zone that lists what the pod asks
for, since the scheduler does not know which one the kubelet will choose; so a state here is what a report says is
available less all that was charged. No zones are promised, and no host is better than another one.

    node ─▶ what is left ─▶ number ─▶ counts(numbers, demand)      the filter, less one more pod each time
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...model.container import Amounts, sorted_amounts
from ...model.numa import SINGLE, AmountsByZone, NodeZones, TopologyManager, TopologyPolicy, Zone, ZoneAmounts
from ...numa.admission import Verdict
from ...numa.admissions import MOST_PODS, UNLIMITED
from ...numa.admitting import RefusedPod
from ...numa.counting import Costs
from ...numa.demand import PodDemand
from ...numa.layout import KubeletRules
from ...numa.pod_needs import PodNeeds
from ...numa.zone_state import ZonedAmounts
from ...state.table import IntArray
from .outcome import Alignment
from .topology_match import align
from .zone_table import ZoneTable

MOST_STATES = 100_000
MOST_ANSWERS = 1_000_000


@dataclass(frozen=True, slots=True)
class ZonesLeft:
    """What is left in the zones of a node, by id in the order of the report; below 0 where too much was charged."""

    manager: TopologyManager
    zones: tuple[tuple[int, Amounts], ...]

    @classmethod
    def of(cls, node: NodeZones) -> ZonesLeft:
        held = ((zone.id, {name: one.available for name, one in zone.resources.items()}) for zone in node.zones)
        return cls(node.manager, tuple((at, sorted_amounts(amounts)) for at, amounts in held))

    def charged(self, amounts: ZonedAmounts, sign: int) -> ZonesLeft:
        taken = amounts.by_zone
        left = (
            (at, {name: size - sign * taken.get(at, {}).get(name, 0) for name, size in own}) for at, own in self.zones
        )
        return replace(self, zones=tuple((at, sorted_amounts(own)) for at, own in left))

    def report(self, node: str) -> NodeZones:
        """As a report, which has nothing below 0."""
        zones = (Zone(at, {name: ZoneAmounts(*[max(0, size)] * 3) for name, size in own}) for at, own in self.zones)
        return NodeZones(node, tuple(zones), self.manager)


class FilterAdmissions:
    """`keep` forgets all states but some: the holder of the numbers calls it when there are too many (`is_crowded`)."""

    policies: frozenset[TopologyPolicy] = frozenset()
    """No policy counts but single-numa-node, so that hosts are not tried with a stricter one."""

    def __init__(self) -> None:
        self._states: dict[int, ZonesLeft] = {}
        self._numbers: dict[ZonesLeft, int] = {}
        self._next = 0
        self._counts: dict[tuple[int, PodDemand], tuple[int, int]] = {}
        """Pods by state and demand, and up to how many were asked about."""

    @property
    def is_crowded(self) -> bool:
        return len(self._states) > MOST_STATES

    def keep(self, numbers: IntArray) -> None:
        kept = set(numbers.tolist())
        self._states = {number: state for number, state in self._states.items() if number in kept}
        self._numbers = {state: number for number, state in self._states.items()}
        self._counts.clear()

    def state(self, number: int) -> ZonesLeft:
        return self._states[number]

    def reported(self, node: NodeZones, _rules: KubeletRules) -> int:
        return self._number(ZonesLeft.of(node))

    def least_of(self, numbers: Sequence[int]) -> int:
        """What is left in all of these states of one node."""
        states = [self._states[number] for number in numbers]
        zones = (
            (at, tuple((name, min(dict(dict(one.zones)[at])[name] for one in states)) for name, _ in own))
            for at, own in states[0].zones
            if all(at in dict(one.zones) for one in states)
        )
        return numbers[0] if len(set(numbers)) == 1 else self._number(replace(states[0], zones=tuple(zones)))

    def free(self, number: int) -> AmountsByZone:
        return {at: dict(own) for at, own in self._states[number].zones}

    def charge(self, number: int, amounts: ZonedAmounts, sign: int = 1) -> int:
        return self._number(self._states[number].charged(amounts, sign))

    def fill(self, number: int, demand: PodDemand, pods: int) -> tuple[int, tuple[ZonedAmounts, ...]]:
        """Charge pods to every zone, whether the filter would let them in or not: they were placed."""
        each = ZonedAmounts.of({at: _needs(demand).effective for at, _ in self._states[number].zones})
        for _ in range(pods):
            number = self.charge(number, each)
        return number, (each,) * pods

    def admit(self, number: int, demand: PodDemand, pods: int = 1) -> tuple[int, tuple[ZonedAmounts, ...]] | RefusedPod:
        admitted = int(self.counts(np.array([number]), demand, np.array([pods]))[0])
        if admitted >= pods:
            return self.fill(number, demand, pods)
        state = self._states[self.fill(number, demand, admitted)[0]]
        reason = _aligned([state], _needs(demand), 0)[0].reason or ""
        return RefusedPod(Verdict((), reason, "no single zone has room for it"), admitted)

    def counts(self, numbers: IntArray, demand: PodDemand, at_most: IntArray | None = None) -> IntArray:
        """How many pods the filter lets onto a node in each state, if each is charged to every zone."""
        most = np.minimum(MOST_PODS, np.full(len(numbers), MOST_PODS) if at_most is None else at_most)
        distinct, back = np.unique(numbers, return_inverse=True)
        wanted = np.zeros(len(distinct), np.int64)
        np.maximum.at(wanted, back, most)
        self._answer(distinct.tolist(), wanted.tolist(), demand)
        counts = np.array([self._counts[number, demand][0] for number in distinct.tolist()], np.int64)[back]
        return counts if at_most is None else np.minimum(counts, np.maximum(at_most, 0))

    def cost(self, numbers: IntArray, _demand: PodDemand) -> Costs:
        """Nothing anywhere."""
        nothing = np.zeros(len(numbers), np.int64)
        return Costs(nothing, nothing.astype(np.float64), nothing)

    def _answer(self, numbers: Sequence[int], wanted: Sequence[int], demand: PodDemand) -> None:
        """Count for the states that were not asked about up to so many pods."""
        if len(self._counts) > MOST_ANSWERS:
            self._counts.clear()
        unknown = [
            (number, most)
            for number, most in zip(numbers, wanted, strict=True)
            if (number, demand) not in self._counts or _is_short(self._counts[number, demand], most)
        ]
        if not unknown:
            return
        found = _passed([self._states[number] for number, _ in unknown], _needs(demand), [most for _, most in unknown])
        for (number, most), count in zip(unknown, found, strict=True):
            self._counts[number, demand] = count, most

    def _number(self, state: ZonesLeft) -> int:
        found = self._numbers.get(state)
        if found is None:
            found, self._next = self._next, self._next + 1
            self._states[found], self._numbers[state] = state, found
        return found


def _is_short(known: tuple[int, int], most: int) -> bool:
    count, asked = known
    return count != UNLIMITED and count >= asked and asked < most


def _needs(demand: PodDemand) -> PodNeeds:
    return PodNeeds(demand.containers, demand.qos, demand.overhead)


def _passed(states: Sequence[ZonesLeft], needs: PodNeeds, most: Sequence[int]) -> list[int]:
    """How many pods pass on each state; all states are asked about one more pod at a time."""
    counts, limits = np.zeros(len(states), np.int64), np.array(most)
    free = np.array([one.manager.policy != SINGLE for one in states])
    if needs.qos == "BestEffort" and not needs.asks_devices:
        free[:] = True
    on = np.flatnonzero(~free & (limits > 0))
    while len(on):
        pods = int(counts[on[0]])
        answers = _aligned([states[at] for at in on.tolist()], needs, pods)
        on = on[np.array([one is Alignment.FITS for one in answers])]
        counts[on] += 1
        on = on[counts[on] < limits[on]]
    counts[free] = UNLIMITED
    return [int(one) for one in counts]


def _aligned(states: Sequence[ZonesLeft], needs: PodNeeds, pods: int) -> list[Alignment]:
    """What the filter says about the next pod, with so many before it charged to every zone."""
    table, offered = ZoneTable(), {name for one in needs.containers for name, _ in one.requests} | set(needs.effective)
    for at, state in enumerate(states):
        table.put_node(str(at), offered)
        table.put_zones(state.report(str(at)))
    taken = {name: np.full(len(table), size * pods) for name, size in needs.effective.items()}
    answers = align(table, needs, taken)
    return [answers.at(table.rows[str(at)]) for at in range(len(states))]
