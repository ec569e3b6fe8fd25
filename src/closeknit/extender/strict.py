"""Zones as the kubelets themselves decide: every node is in a state, and a decision asks each distinct state once.

A column holds the number of each node's state (`node_states`); kubelets are asked by numbers (`numa.admissions`), many
at a time. Pods that are pending are added to the states of the nodes that they were offered, for one decision.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from ..model.numa import NodeZones
from ..model.numa_settings import NumaSettings
from ..numa.counting import Costs
from ..state.numa.zone_states import NO_ZONES
from .applicant import Applicant
from .node_states import NodeStates
from .refusals import words
from .zones import HIGHEST, NODE_NOT_FOUND, Answers, BoolArray, IntArray, Pending

MOST_PENDING = 16
"""Pods that are pending and still looked at; older ones do not count."""


class StrictZones:
    def __init__(self, settings: NumaSettings | None = None) -> None:
        self.nodes = NodeStates(settings)
        self.admissions = self.nodes.admissions

    @property
    def rows(self) -> Mapping[str, int]:
        return self.nodes.rows

    def __len__(self) -> int:
        return self.nodes.size

    @property
    def unreported(self) -> int:
        return self.nodes.unreported

    @property
    def charged(self) -> int:
        return self.nodes.accounts.unaccounted(self.nodes.now)

    # What is observed

    def pass_time(self, now: float) -> None:
        self.nodes.now = max(self.nodes.now, now)

    def refresh(self) -> None:
        self.nodes.refresh()

    def put_node(self, name: str, offered: Iterable[str], labels: Mapping[str, str]) -> None:
        self.nodes.put_node(name, labels)

    def drop_node(self, name: str) -> None:
        self.nodes.drop_node(name)

    def put_report(self, report: NodeZones, written_at: float = 0.0) -> None:
        self.nodes.put_report(report, written_at)

    def drop_report(self, name: str) -> None:
        self.nodes.drop_report(name)

    def charge(self, name: str, applicant: Applicant) -> None:
        self.nodes.put_pod(name, applicant)

    def release(self, name: str, uid: str) -> None:
        self.nodes.drop_pod(name, uid)

    # Decisions

    def refusal(self, name: str, applicant: Applicant) -> str:
        if name not in self.nodes:
            return NODE_NOT_FOUND
        found = self.answers(np.array([self.rows[name]]), applicant)
        reason: str = found.reasons[int(found.codes[0])]
        return reason

    def answers(self, rows: IntArray, applicant: Applicant, pending: Sequence[Pending] = ()) -> Answers:
        numbers, wanted = self._beside(rows, applicant, pending)
        admitted = (numbers == NO_ZONES) | (self._counts(numbers, applicant, wanted) >= wanted)
        codes, reasons = np.zeros(len(rows), dtype=np.int64), {"": 0}
        refused = numbers[~admitted] * (MOST_PENDING + 2) + wanted[~admitted]
        kinds, inverse = np.unique(refused, return_inverse=True)
        said = words(self.admissions, *np.divmod(kinds, MOST_PENDING + 2), applicant)
        codes[~admitted] = np.array([reasons.setdefault(one, len(reasons)) for one in said], dtype=np.int64)[inverse]
        return Answers(codes, list(reasons))

    def _counts(self, numbers: IntArray, applicant: Applicant, wanted: IntArray) -> IntArray:
        reported = numbers != NO_ZONES
        found = np.zeros(len(numbers), dtype=np.int64)
        found[reported] = self.admissions.counts(numbers[reported], applicant.demand, wanted[reported])
        return found

    def _beside(self, rows: IntArray, applicant: Applicant, pending: Sequence[Pending]) -> tuple[IntArray, IntArray]:
        """The states with the pods that are pending, and how many like this one have to be admitted there.

        Equal pods before it are counted with it; each distinct state admits the others one after another.
        """
        numbers, wanted = self.nodes.numbers(rows), np.ones(len(rows), dtype=np.int64)
        some = [one for one in pending[-MOST_PENDING:] if one.applicant.demand.holds_zones]
        while some and some[-1].applicant.demand == applicant.demand:
            wanted += some.pop().among(rows)
        for one in some:
            there = one.among(rows) & (numbers != NO_ZONES)
            numbers[there] = self._filled(numbers[there], one.applicant)
        return numbers, wanted

    def _filled(self, numbers: IntArray, applicant: Applicant) -> IntArray:
        kinds, inverse = np.unique(numbers, return_inverse=True)
        after = [self.admissions.fill(kind, applicant.demand, 1)[0] for kind in kinds.tolist()]
        return np.array(after, dtype=np.int64)[inverse]

    def scores(self, rows: IntArray, applicant: Applicant) -> IntArray:
        numbers = self.nodes.numbers(rows)
        reported = numbers != NO_ZONES
        scores = np.full(len(rows), 0 if applicant.demand.is_pinned else HIGHEST, dtype=np.int64)
        scores[reported] = _scores(self.admissions.cost(numbers[reported], applicant.demand))
        return scores

    def admits_without(self, name: str, applicant: Applicant, victims: Collection[Applicant]) -> bool:
        if name not in self.nodes:
            return False
        number = int(self.nodes.numbers(np.array([self.rows[name]]))[0])
        if number == NO_ZONES:
            return True
        for one in victims:
            for zones in self.nodes.zones_of(name, one.uid):
                number = self.admissions.charge(number, zones, -1)
        return bool(self.admissions.counts(np.array([number]), applicant.demand, np.array([1]))[0])


BANDS = np.array([HIGHEST, 8, 5, 2, 2])
"""By the number of zones that the pod would use; 0 for more of them."""


def _scores(costs: Costs) -> IntArray:
    """Fewest zones first, then the smallest distance, then whole zones kept free: 10 to 0."""
    band = np.where(costs.zones < len(BANDS), BANDS[np.clip(costs.zones, 0, len(BANDS) - 1)], 0)
    scores = np.where(costs.zones > 0, band + _closest(costs) + (costs.broken == 0), band)
    return np.where(costs.zones < 0, 0, scores)


def _closest(costs: Costs) -> BoolArray:
    """Whether no other node has as many zones closer together."""
    least = np.full(max(0, int(costs.zones.max(initial=0))) + 1, np.inf)
    counts = np.maximum(0, costs.zones)
    np.minimum.at(least, counts, np.where(costs.zones < 0, np.inf, costs.distance))
    found: BoolArray = (counts == 1) | (costs.distance <= least[counts])
    return found
