"""What kubelets admit, for many nodes at a time: each state of zones is asked about once.

States and demands are numbers here, so that a node is one number in a column, and an answer is looked up by two of
them. Answers are exact: `counting` computes them for many states at once, and the kubelet of `admission` for those
that it leaves open.

    node ─▶ state ─▶ number ─▶ counts(numbers, demand)            how many pods each node admits
                        │
                        └────▶ admit(number, demand, pods)        the state after them, and what each of them got
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..model.numa import AmountsByZone, NodeZones, TopologyPolicy
from .admission import NodeAdmission, Verdict
from .admitting import RefusedPod as RefusedPod
from .counting import Costs, costs_of, counts_of
from .demand import PodDemand
from .layout import KubeletRules
from .zone_columns import BoolArray, IntArray, StateColumns
from .zone_plan import DemandPlan, plan_of
from .zone_state import (
    ZonedAmounts,
    ZoneState,
    amounts,
    difference,
    kubelet_of,
    least,
    state_after,
    state_of_report,
    with_taken,
)

UNLIMITED = 2**31 - 1
"""The count of a node whose zones do not restrict the pods."""
MOST_PODS = 1024
"""The pods of a demand that a node is asked about; no kubelet runs more."""
MOST_STATES = 100_000
MOST_DEMANDS = 256
MOST_ADMITTED = 50_000

_UNKNOWN = -1


@dataclass
class _Answers:
    """About one demand: plans by family, counts by state, and up to how many pods were asked about."""

    plans: dict[int, DemandPlan | None] = field(default_factory=dict)
    counts: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    asked: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))

    def grow(self, size: int) -> None:
        more = max(size, 2 * self.counts.size) - self.counts.size
        self.counts = np.pad(self.counts, (0, more), constant_values=_UNKNOWN)
        self.asked = np.pad(self.asked, (0, more))


class Admissions:
    """`keep` forgets all states but some: the holder of the numbers calls it when there are too many (`is_crowded`)."""

    def __init__(self) -> None:
        self._states: dict[int, ZoneState] = {}
        self._numbers: dict[ZoneState, int] = {}
        self._unused: list[int] = []
        self._columns = StateColumns()
        self._answers: OrderedDict[PodDemand, _Answers] = OrderedDict()
        self._admitted: OrderedDict[tuple[int, PodDemand], tuple[int, ZonedAmounts] | Verdict] = OrderedDict()

    def __len__(self) -> int:
        return len(self._states)

    @property
    def policies(self) -> frozenset[TopologyPolicy]:
        """The policies of all kubelets that were asked about."""
        return frozenset(one.key.settings.policy for one in self._columns.families)

    def number(self, state: ZoneState) -> int:
        """The number of a state; equal states have one."""
        found = self._numbers.get(state)
        if found is None:
            found = self._unused.pop() if self._unused else len(self._states)
            self._states[found] = state
            self._numbers[state] = found
            self._columns.put(found, state)
        return found

    def reported(self, node: NodeZones, rules: KubeletRules) -> int:
        """The state that a report gives."""
        return self.number(state_of_report(node, rules))

    def least_of(self, numbers: Sequence[int]) -> int:
        """What is free in all of these states that are laid out like the first."""
        states = [self._states[number] for number in numbers]
        alike = [one for one in states if one.layout == states[0].layout]
        return numbers[0] if len(alike) == 1 else self.number(least(alike))

    def free(self, number: int) -> AmountsByZone:
        return amounts(self._states[number])

    def state(self, number: int) -> ZoneState:
        return self._states[number]

    @property
    def is_crowded(self) -> bool:
        return len(self._states) > MOST_STATES

    def forget_answers(self) -> None:
        """Forget every count and admission, but no state."""
        self._answers.clear()
        self._admitted.clear()

    def keep(self, numbers: IntArray) -> None:
        """Forget every state but these; its number will mean another one."""
        gone = self._states.keys() - set(numbers.tolist())
        for number in sorted(gone, reverse=True):
            del self._numbers[self._states.pop(number)]
            self._columns.remove(number)
        self._unused += sorted(gone, reverse=True)
        for answers in self._answers.values():
            known = [number for number in gone if number < answers.counts.size]
            answers.counts[known] = _UNKNOWN
        self._admitted.clear()

    def admit(self, number: int, demand: PodDemand, pods: int = 1) -> tuple[int, tuple[ZonedAmounts, ...]] | RefusedPod:
        """Admit equal pods one after another: the state after them and what each got, or why one was refused."""
        given: list[ZonedAmounts] = []
        for _ in range(pods):
            found = self._one_more(number, demand)
            if isinstance(found, Verdict):
                return RefusedPod(found, len(given))
            number, amounts = found
            given.append(amounts)
        return number, tuple(given)

    def fill(self, number: int, demand: PodDemand, pods: int) -> tuple[int, tuple[ZonedAmounts, ...]]:
        """The same with as many pods as are admitted: one that would be refused takes nothing."""
        found = self.admit(number, demand, pods)
        if isinstance(found, RefusedPod):
            found = self.admit(number, demand, found.admitted)
            assert not isinstance(found, RefusedPod)
        return found

    def charge(self, number: int, amounts: ZonedAmounts, sign: int = 1) -> int:
        """The state with amounts charged to its zones, or with sign -1 given back."""
        return self.number(with_taken(self._states[number], amounts, sign))

    def _one_more(self, number: int, demand: PodDemand) -> tuple[int, ZonedAmounts] | Verdict:
        found = self._admitted.get((number, demand))
        if found is None:
            found = self._admitted[number, demand] = self._asked(self._states[number], demand)
            if len(self._admitted) > MOST_ADMITTED:
                self._admitted.popitem(last=False)
        return found

    def _asked(self, state: ZoneState, demand: PodDemand) -> tuple[int, ZonedAmounts] | Verdict:
        """Ask the kubelet itself."""
        kubelet = kubelet_of(state)
        verdict = kubelet.admit("", demand)
        if not verdict.admitted:
            return verdict
        after = state_after(state, kubelet)
        groups = Counter(block.mask for _, blocks in kubelet.memory.blocks[""] for block in blocks)
        return self.number(after), difference(state, after, groups)

    def counts(self, numbers: IntArray, demand: PodDemand, at_most: IntArray | None = None) -> IntArray:
        """How many pods of the demand the kubelet in each state admits one after another, at most `at_most`.

        Kubelets with the policy none, and those that align nothing that the pod asks for, set no limit. More than
        `MOST_PODS` are not counted.
        """
        answers = self._about(demand)
        most = np.minimum(MOST_PODS, MOST_PODS if at_most is None else at_most)
        counts = answers.counts[numbers]
        missing = (counts < 0) | ((counts >= answers.asked[numbers]) & (answers.asked[numbers] < most))
        if missing.any():
            self._count(numbers[missing], demand, answers, np.broadcast_to(most, numbers.shape)[missing])
            counts = answers.counts[numbers]
        return counts if at_most is None else np.minimum(counts, np.maximum(at_most, 0))

    def cost(self, numbers: IntArray, demand: PodDemand) -> Costs:
        """What the first pod of the demand costs in each state; 0 zones where nothing of it is aligned.

        -1 zones where it is refused, or where only the kubelet of `admission` knows.
        """
        answers, distinct, back = self._about(demand), *np.unique(numbers, return_inverse=True)
        zones, distance, broken = (np.zeros(distinct.size) for _ in Costs._fields)
        for family, which in self._by_family(distinct):
            plan = self._plan(family, demand, answers)
            if plan is not None and plan.is_regular and not plan.is_impossible:
                part = costs_of(self._columns.families[family], plan, self._columns.row[distinct[which]])
                zones[which], distance[which], broken[which] = part
        return Costs(zones[back].astype(np.int64), distance[back], broken[back].astype(np.int64))

    def _about(self, demand: PodDemand) -> _Answers:
        answers = self._answers.setdefault(demand, _Answers())
        self._answers.move_to_end(demand)
        if len(self._answers) > MOST_DEMANDS:
            self._answers.popitem(last=False)
        if answers.counts.size < self._columns.row.size:
            answers.grow(self._columns.row.size)
        return answers

    def _plan(self, family: int, demand: PodDemand, answers: _Answers) -> DemandPlan | None:
        if family not in answers.plans:
            answers.plans[family] = plan_of(self._columns.families[family], demand)
        return answers.plans[family]

    def _by_family(self, numbers: IntArray) -> list[tuple[int, BoolArray]]:
        families = self._columns.family[numbers]
        return [(int(one), families == one) for one in np.unique(families)]

    def _count(self, numbers: IntArray, demand: PodDemand, answers: _Answers, most: IntArray) -> None:
        """Count the pods for states that were not asked about up to so many pods."""
        distinct, back = np.unique(numbers, return_inverse=True)
        caps = np.zeros(distinct.size, np.int64)
        np.maximum.at(caps, back, most)
        for family, which in self._by_family(distinct):
            states, limits = distinct[which], caps[which]
            counts = self._family_counts(family, demand, answers, states, limits)
            answers.counts[states] = counts
            answers.asked[states] = np.where(counts == UNLIMITED, UNLIMITED, limits)

    def _family_counts(
        self, family: int, demand: PodDemand, answers: _Answers, states: IntArray, limits: IntArray
    ) -> IntArray:
        table = self._columns.families[family]
        if table.key.settings.policy == "none":
            return np.full(states.size, 0 if demand.policy else UNLIMITED)
        plan = self._plan(family, demand, answers)
        if plan is None:
            return np.full(states.size, UNLIMITED)
        counts = counts_of(table, plan, self._columns.row[states], limits)
        for at in np.flatnonzero(counts < 0).tolist():
            counts[at] = _one_by_one(kubelet_of(self._states[int(states[at])]), demand, int(limits[at]))
        return counts


def _one_by_one(kubelet: NodeAdmission, demand: PodDemand, most: int) -> int:
    """The pods that a kubelet admits, asked one after another."""
    return next((pod for pod in range(most) if not kubelet.admit(str(pod), demand).admitted), most)
