"""The decision log: one record per decision with its time, workload, outcome, place or reason, and cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ..cluster.port import Raw
from ..decide.decision import Admit, Decision, Evict, Preempt, Replace, Retry, Wait
from ..decide.world import World
from ..model.assignment import Assignment
from ..model.number import number_of
from ..model.workload import Admission, PodSetAssignment, Workload
from ..observe.cluster_cache import ClusterCache

REMEMBERED = 10_000


class Record(NamedTuple):
    """`at` in seconds since 1970, `cost` in microseconds; `job`, such as Job/train, is kept for when the job is gone.

    `level` is the lowest level at which one domain holds all pods; `domains` are the lowest domains they are in.
    """

    at: float
    workload: str
    outcome: str
    queue: str
    level: str
    domains: tuple[str, ...]
    reason: str
    cost: int
    job: str = ""


def record_of(decision: Decision, now: float, seconds: float) -> Record | None:
    cost = round(seconds * 1e6)
    match decision:
        case Admit():
            level, domains = _where(decision.admission)
            outcome = "Moved" if decision.workload.admitted else "Admitted"
            if decision.after is not None and not decision.after.admitted:
                outcome = "Reserved"
            given = "" if domains and _is_whole(decision) else _given(decision)
            return Record(now, decision.workload.key, outcome, decision.admission.queue, level, domains, given, cost)
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
    """The lowest level of the assignment, and its domains at that level, in order."""
    placed = [one.topology for one in admission.pod_sets if one.topology is not None]
    if not placed:
        return "", ()
    return placed[0].levels[-1], tuple(dict.fromkeys(_paths(placed)))


def _is_whole(decision: Admit) -> bool:
    return all(one.count >= _wanted(decision.workload, one) for one in decision.admission.pod_sets)


def _given(decision: Admit) -> str:
    """The pods admitted per pod set, and their flavors: "5 of 20 pods of spot"."""
    sets = decision.admission.pod_sets
    texts = [_pods(decision.workload, one) for one in sets]
    named = (f"{one.name}: {text}" for one, text in zip(sets, texts, strict=True))
    return texts[0] if len(texts) == 1 else ", ".join(named)


def _pods(workload: Workload, one: PodSetAssignment) -> str:
    wanted = _wanted(workload, one)
    number = f"{one.count} of {number_of(wanted, 'pod')}" if one.count < wanted else number_of(one.count, "pod")
    flavors = ", ".join(dict.fromkeys(one.flavors.values()))
    return f"{number} of {flavors}" if flavors else number


def _wanted(workload: Workload, one: PodSetAssignment) -> int:
    pod_set = workload.pod_set(one.name)
    return one.count if pod_set is None else pod_set.count


def _paths(placed: Iterable[Assignment]) -> Iterable[str]:
    for one in placed:
        for path in one.values:
            yield "/".join(path)


def eviction(before: Workload, after: Workload, now: float) -> Record | None:
    """The record of an eviction that no cycle decided: a draining queue, a check, a time limit, lost nodes."""
    if before.evicted or not after.evicted:
        return None
    why = after.status.conditions["Evicted"]
    queue = before.status.admission.queue if before.status.admission is not None else ""
    return Record(now, after.key, "Evicted", queue, "", (), f"{why.reason}: {why.message}", 0)


class DecisionLog:
    """Keeps records without repeating itself: a pending workload is tried many times with the same result.

    It adds what a decision does not carry: the workload's job, its queue and the level of its domains.
    """

    def __init__(self, keep: Callable[[Record], None], cache: ClusterCache | None = None) -> None:
        self._keep, self._known = keep, cache
        self._last: dict[str, tuple[str, str]] = {}

    def write(self, record: Record) -> None:
        if self._is_repeated(record):
            return
        self._keep(self._whole(record))
        self._last[record.workload] = record.outcome, record.reason
        if len(self._last) > REMEMBERED:
            self._last = {}

    def _is_repeated(self, record: Record) -> bool:
        """Whether this repeats the last record: an eviction is recorded when decided, and seen again when written."""
        outcome, reason = self._last.get(record.workload, ("", ""))
        same = record.outcome == "Evicted" or (record.outcome == "Waits" and record.reason == reason)
        return same and record.outcome == outcome

    def _whole(self, record: Record) -> Record:
        known = self._known
        workload = None if known is None else known.workloads.get(record.workload)
        if known is None or workload is None:
            return record
        queue = record.queue or known.scheduler.pending.queue_of(workload)
        level = together(known.scheduler.world, record.domains, record.level)
        return record._replace(queue=queue, level=level, job=_job(known.raw_workload(record.workload) or {}))


def together(world: World, domains: Sequence[str], lowest: str) -> str:
    """The lowest level at which one domain holds all of them; "" if none does, `lowest` if no topology has them."""
    paths = [tuple(one.split("/")) for one in domains]
    for flavor in world.views:
        snapshot = world.snapshot(flavor)
        leaves = [] if snapshot is None else [snapshot.tree.leaf_of.get(path) for path in paths]
        if snapshot is None or not leaves or None in leaves:
            continue
        found = snapshot.tree.common_level(np.array(leaves, dtype=np.int64))
        return snapshot.topology.levels[found] if found >= 0 else ""
    return lowest


def _job(workload: Raw) -> str:
    """The controlling owner, else the first owner: a pod group's Workload is owned by every pod."""
    owners = (workload.get("metadata") or {}).get("ownerReferences") or [{}]
    owner = next((one for one in owners if one.get("controller")), owners[0])
    return f"{owner['kind']}/{owner['name']}" if owner else ""
