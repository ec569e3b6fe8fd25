"""Counts of pending, reserving and admitted workloads per queue and their quota, updated with every change."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from ..model.quota import FlavorResource
from ..model.workload import Workload
from ..quota.demand import held

Amounts = Counter[FlavorResource]


@dataclass(slots=True)
class QueueCount:
    """`reserved` is the quota of all workloads that hold some, `used` that of admitted ones."""

    pending: int = 0
    reserving: int = 0
    admitted: int = 0
    reserved: Amounts = field(default_factory=Counter)
    used: Amounts = field(default_factory=Counter)


class QueueCounts:
    """`queues` by ClusterQueue name, `local` by the LocalQueue's namespace/name, which alone counts pending ones."""

    def __init__(self, reclaim: bool) -> None:
        self.reclaim = reclaim
        self.queues: dict[str, QueueCount] = defaultdict(QueueCount)
        self.local: dict[str, QueueCount] = defaultdict(QueueCount)

    def change(self, before: Workload | None, after: Workload | None, waits: bool, waited: bool) -> None:
        """Update the counts for a changed workload; `waited` and `waits`: whether it was pending, and is now."""
        if before is not None:
            self._add(before, waited, -1)
        if after is not None:
            self._add(after, waits, 1)

    def _add(self, workload: Workload, waits: bool, sign: int) -> None:
        local = self.local[workload.local_queue]
        if waits:
            local.pending += sign
        admission = workload.status.admission
        if admission is None or not workload.reserved or workload.finished:
            return
        usage = held(workload, admission, workload.status, self.reclaim)
        for count in (local, self.queues[admission.queue]):
            count.reserving += sign
            _add(count.reserved, usage, sign)
            if workload.admitted:
                count.admitted += sign
                _add(count.used, usage, sign)


def _add(amounts: Amounts, usage: dict[FlavorResource, int], sign: int) -> None:
    for key, amount in usage.items():
        amounts[key] += sign * amount
