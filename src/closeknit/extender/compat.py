"""Zones as NodeResourceTopologyMatch sees them: its filter, words and scores, over all nodes at once.

What was bound since a report is charged to every zone that lists the resource, as its cache OverReserve does, because
the kubelet chooses the zone. A pod that is pending is taken off the columns where it was offered, for one decision.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from ..engine.numa.outcome import Alignment
from ..engine.numa.topology_match import Taken, align, score
from ..engine.numa.zone_table import ZoneTable
from ..model.numa import NodeZones
from ..model.numa_arguments import MatchArguments
from ..state.numa.eviction import EvictionRefusal, evicted
from ..state.numa.over_reserve import charged
from .applicant import Applicant
from .occupancy import Occupancy
from .zones import HIGHEST, NODE_NOT_FOUND, Answers, IntArray, Pending

REASONS = tuple(one.reason or "" for one in Alignment)


class CompatZones:
    def __init__(self, arguments: MatchArguments | None = None) -> None:
        self.arguments = arguments or MatchArguments()
        self._table = ZoneTable()
        self._offered: dict[str, frozenset[str]] = {}
        self._nodes: dict[str, Occupancy] = {}

    @property
    def rows(self) -> Mapping[str, int]:
        return self._table.rows

    def __len__(self) -> int:
        return len(self._table)

    @property
    def unreported(self) -> int:
        return sum(1 for name in self._offered if not self._has_report(name))

    @property
    def charged(self) -> int:
        return sum(len(one.charged) for one in self._nodes.values())

    def pass_time(self, now: float) -> None:
        """Nothing here changes by time alone."""

    def refresh(self) -> None:
        """The columns are up to date."""

    def _has_report(self, name: str) -> bool:
        return name in self._nodes and self._nodes[name].report is not None

    def put_node(self, name: str, offered: Iterable[str], labels: Mapping[str, str]) -> None:
        self._offered[name] = frozenset(offered)
        self._table.put_node(name, self._offered[name])

    def drop_node(self, name: str) -> None:
        self._offered.pop(name, None)
        self._table.drop_node(name)

    def put_report(self, report: NodeZones, written_at: float = 0.0) -> None:
        self._nodes.setdefault(report.node, Occupancy()).take(report, written_at)
        self._recharge(report.node)

    def drop_report(self, name: str) -> None:
        if name in self._nodes:
            self._nodes[name].drop()
            self._forget_if_empty(name)
        self._table.drop_zones(name)

    def refusal(self, name: str, applicant: Applicant) -> str:
        row = self.rows.get(name)
        return NODE_NOT_FOUND if row is None else align(self._table, applicant.pod.needs).at(row).reason or ""

    def charge(self, name: str, applicant: Applicant) -> None:
        self._nodes.setdefault(name, Occupancy()).add(applicant)
        self._recharge(name)

    def release(self, name: str, uid: str) -> None:
        if name in self._nodes:
            self._nodes[name].remove(uid)
            self._recharge(name)
            self._forget_if_empty(name)

    def _recharge(self, name: str) -> None:
        node = self._nodes[name]
        if node.report is not None:
            self._table.put_zones(_charged(node.report, node.charged))

    def _forget_if_empty(self, name: str) -> None:
        if not self._nodes[name].pods and not self._has_report(name):
            del self._nodes[name]

    def answers(self, rows: IntArray, applicant: Applicant, pending: Sequence[Pending] = ()) -> Answers:
        codes = align(self._table, applicant.pod.needs, self._taken(pending)).values[rows]
        return Answers(codes.astype(np.int64), REASONS)

    def _taken(self, pending: Sequence[Pending]) -> Taken:
        """What pods that are pending would take, by resource and row."""
        every = np.arange(len(self._table), dtype=np.int64)
        taken: Taken = {}
        for one in pending:
            offered = one.among(every)
            for name, amount in one.applicant.pod.needs.effective.items():
                if amount:
                    held = taken.setdefault(name, np.zeros(len(every), dtype=np.int64))
                    held += offered * min(amount, 2**40 * 1000)
        return taken

    def scores(self, rows: IntArray, applicant: Applicant) -> IntArray:
        values = score(self._table, applicant.pod.needs, self.arguments).values[rows]
        return np.clip(values // 10, 0, HIGHEST)

    def admits_without(self, name: str, applicant: Applicant, victims: Collection[Applicant]) -> bool:
        node = self._nodes.get(name, Occupancy())
        if node.report is None or name not in self._offered:
            return node.report is None
        gone, held = {one.uid for one in victims}, {one.uid for one in node.charged}
        left = evicted(node.report, [one.pod for one in victims if one.uid not in held], node.placement())
        base = node.report if isinstance(left, EvictionRefusal) else left
        alone = ZoneTable()
        alone.put_node(name, self._offered[name])
        row = alone.put_zones(_charged(base, (one for one in node.charged if one.uid not in gone)))
        return align(alone, applicant.pod.needs).at(row) is Alignment.FITS


def _charged(report: NodeZones, applicants: Iterable[Applicant]) -> NodeZones:
    return charged(report, (one.pod.needs.effective for one in applicants))
