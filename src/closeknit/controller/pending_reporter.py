"""The pending reporter: writes into the status of pending workloads why they are pending.

Why a workload is pending changes with everything else in the cluster, and each report is a write. So a report waits a
moment, in which the workload may well be admitted, and then carries the latest message. The next one waits longer,
unless the reason has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from ..cluster.port import Change
from ..decide.decision import Wait
from ..decide.status import carried_out
from ..observe.cluster_cache import ClusterCache
from ..write.events import Recorder
from ..write.in_flight import Flight
from ..write.token_bucket import Rate, TokenBucket
from .reconciler import Reconciler, Step

REMEMBERED = 50_000


class ReportPolicy(NamedTuple):
    """`first`: seconds before a report is written. `again`: seconds between two reports with the same reason.

    `pace`: how many reports per second are written for all workloads together.
    """

    first: float = 0.0
    again: float = 0.0
    pace: Rate = Rate()


class PendingReporter(Reconciler[str]):
    """Keyed by workload."""

    def __init__(self, cache: ClusterCache, recorder: Recorder, policy: ReportPolicy | None = None) -> None:
        super().__init__(cache, recorder)
        self.policy = policy or ReportPolicy()
        self.bucket = TokenBucket(self.policy.pace)
        self._latest: dict[str, Wait] = {}
        self._last: dict[str, tuple[float, str]] = {}
        """The time and the reason of each workload's last report."""

    def report(self, wait: Wait, now: float) -> None:
        key = wait.workload.key
        at, reason = self._last.get(key, (0.0, ""))
        is_same = reason == wait.reason and not _was_overwritten(wait)
        self._latest[key] = wait
        self.queue.add_after(key, max(now + self.policy.first, at + self.policy.again if is_same else 0.0))

    def due(self) -> float | None:
        at = super().due()
        return None if at is None else max(at, self.bucket.available_at)

    def step(self, now: float) -> Sequence[Flight[str]]:
        return super().step(now) if self.bucket.take(now) else ()

    def keys_for(self, change: Change) -> Iterable[str]:
        return ()

    def reconcile(self, key: str, now: float) -> Iterator[Step]:
        workload, wait = self.cache.workloads.get(key), self._latest.get(key)
        if workload is None or wait is None or workload.reserved or workload.finished or not workload.active:
            self._latest.pop(key, None)
            self._last.pop(key, None)
            return
        if len(self._last) > REMEMBERED:
            self._last.clear()
        self._last[key] = now, wait.reason
        for after, events in carried_out(self.cache.world, replace(wait, workload=workload), now):
            yield from self.status(workload, after, events, now)


def _was_overwritten(wait: Wait) -> bool:
    """Whether the condition has another reason now, as after the workload was admitted and evicted again."""
    condition = wait.workload.status.conditions.get("QuotaReserved")
    return condition is not None and condition.reason != wait.reason
