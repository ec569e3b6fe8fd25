"""Decisions as people look them up later: when, who, what came of it, where or why, and what it cost to find out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ..decide.decision import Admit, Decision, Evict, Preempt, Replace, Retry, Wait
from ..model.assignment import Assignment
from ..model.workload import Admission, Workload

REMEMBERED = 10_000


class Record(NamedTuple):
    """`at` in seconds since 1970, `cost` in microseconds."""

    at: float
    workload: str
    outcome: str
    queue: str
    level: str
    domains: tuple[str, ...]
    reason: str
    cost: int


def record_of(decision: Decision, now: float, seconds: float) -> Record | None:
    cost = round(seconds * 1e6)
    match decision:
        case Admit():
            level, domains = _where(decision.admission)
            outcome = "Moved" if decision.workload.admitted else "Admitted"
            if decision.after is not None and not decision.after.admitted:
                outcome = "Reserved"
            return Record(now, decision.workload.key, outcome, decision.admission.queue, level, domains, "", cost)
        case Preempt():
            return Record(now, decision.victim.key, "Preempted", decision.queue, "", (), f"by {decision.by.key}", cost)
        case Evict():
            queue = decision.workload.status.admission.queue if decision.workload.status.admission else ""
            return Record(now, decision.workload.key, "Evicted", queue, "", (), decision.message, cost)
        case Wait():
            return Record(now, decision.workload.key, "Waits", "", "", (), decision.message, cost)
        case Retry():
            return Record(now, decision.workload.key, "Retries", "", "", (), decision.message, cost)
        case Replace():
            return Record(now, decision.old.key, "Replaced", "", "", (), f"by {decision.by.key}", cost)


def _where(admission: Admission) -> tuple[str, tuple[str, ...]]:
    """The lowest level of its places, and the domains of it, in order."""
    placed = [one.topology for one in admission.pod_sets if one.topology is not None]
    if not placed:
        return "", ()
    return placed[0].levels[-1], tuple(dict.fromkeys(_paths(placed)))


def _paths(placed: Iterable[Assignment]) -> Iterable[str]:
    for one in placed:
        for path in one.values:
            yield "/".join(path)


def eviction(before: Workload, after: Workload, now: float) -> Record | None:
    """A workload that has to go though no cycle said so: a queue that drains, a check, a time limit, lost nodes."""
    if before.evicted or not after.evicted:
        return None
    why = after.status.conditions["Evicted"]
    queue = before.status.admission.queue if before.status.admission is not None else ""
    return Record(now, after.key, "Evicted", queue, "", (), f"{why.reason}: {why.message}", 0)


class Diary:
    """Keeps records, but not the same again and again: a workload that waits is looked at many times."""

    def __init__(self, keep: Callable[[Record], None]) -> None:
        self._keep = keep
        self._last: dict[str, tuple[str, str]] = {}

    def write(self, record: Record) -> None:
        said = record.outcome, record.reason
        if record.outcome == "Waits" and self._last.get(record.workload) == said:
            return
        self._keep(record)
        self._last[record.workload] = said
        if len(self._last) > REMEMBERED:
            self._last = {}
