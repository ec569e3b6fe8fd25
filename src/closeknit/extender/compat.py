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
from ..numa.placement_vector import ContainerName
from ..state.numa.eviction import EvictionRefusal, evicted
from ..state.numa.over_reserve import charged
from .applicant import Applicant
from .zones import HIGHEST, NODE_NOT_FOUND, Answers, IntArray, Pending

REASONS = tuple(one.reason or "" for one in Alignment)


class CompatZones:
    def __init__(self, arguments: MatchArguments | None = None) -> None:
        self.arguments = arguments or MatchArguments()
        self._table = ZoneTable()
        self._offered: dict[str, frozenset[str]] = {}
        self._reports: dict[str, NodeZones] = {}
        self._charged: dict[str, dict[str, Applicant]] = {}

    @property
    def rows(self) -> Mapping[str, int]:
        return self._table.rows

    def __len__(self) -> int:
        return len(self._table)

    @property
    def unreported(self) -> int:
        return len(self._offered.keys() - self._reports.keys())

    def put_node(self, name: str, offered: Iterable[str], labels: Mapping[str, str]) -> None:
        self._offered[name] = frozenset(offered)
        self._table.put_node(name, self._offered[name])

    def drop_node(self, name: str) -> None:
        self._offered.pop(name, None)
        self._table.drop_node(name)

    def put_report(self, report: NodeZones) -> None:
        self._reports[report.node] = report
        self._charged.pop(report.node, None)
        self._table.put_zones(report)

    def drop_report(self, name: str) -> None:
        self._reports.pop(name, None)
        self._charged.pop(name, None)
        self._table.drop_zones(name)

    def refusal(self, name: str, applicant: Applicant) -> str:
        row = self.rows.get(name)
        return NODE_NOT_FOUND if row is None else align(self._table, applicant.pod.needs).at(row).reason or ""

    def charge(self, name: str, applicant: Applicant) -> None:
        if name in self._reports:
            self._charged.setdefault(name, {})[applicant.uid] = applicant
            self._recharge(name)

    def release(self, name: str, uid: str) -> None:
        if self._charged.get(name, {}).pop(uid, None) is not None:
            self._recharge(name)

    def _recharge(self, name: str) -> None:
        self._table.put_zones(_charged(self._reports[name], self._charged.get(name, {}).values()))

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

    def admits_without(
        self, name: str, applicant: Applicant, victims: Collection[Applicant], placement: Mapping[ContainerName, int]
    ) -> bool:
        report = self._reports.get(name)
        if report is None or name not in self._offered:
            return report is None
        gone = {one.uid for one in victims}
        held = self._charged.get(name, {})
        left = evicted(report, [one.pod for one in victims if one.uid not in held], placement)
        base = report if isinstance(left, EvictionRefusal) else left
        alone = ZoneTable()
        alone.put_node(name, self._offered[name])
        row = alone.put_zones(_charged(base, (one for uid, one in held.items() if uid not in gone)))
        return align(alone, applicant.pod.needs).at(row) is Alignment.FITS


def _charged(report: NodeZones, applicants: Iterable[Applicant]) -> NodeZones:
    return charged(report, (one.pod.needs.effective for one in applicants))
