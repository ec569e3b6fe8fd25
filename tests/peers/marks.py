"""Marks in a workload log: which workload got quota, and which lost it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from servers.manifests import is_true

from .worlds import Object

RESERVES, EVICTED = "reserves", "is evicted"
EVENTS = {"QuotaReserved": RESERVES, "Evicted": EVICTED}


class Mark(NamedTuple):
    """An event of a workload; `queue` is its ClusterQueue then. `at` is the second in its condition."""

    queue: str
    job: str
    what: str
    at: str = ""


def marks(job: str, before: Object, after: Object) -> list[Mark]:
    """The marks that follow from the change of a workload."""
    queue = next((one for one in map(queue_of, (after, before)) if one), "")
    return [
        Mark(queue, job, what, when(after, condition))
        for condition, what in EVENTS.items()
        if is_true(after, condition) and not is_true(before, condition)
    ]


def when(workload: Object, condition: str) -> str:
    conditions = (workload.get("status") or {}).get("conditions") or ()
    return next((one.get("lastTransitionTime", "") for one in conditions if one["type"] == condition), "")


def queue_of(workload: Object) -> str:
    admission = (workload.get("status") or {}).get("admission") or {}
    name: str = admission.get("clusterQueue", "")
    return name


def order(marks: Iterable[Mark]) -> dict[str, list[str]]:
    """The workloads that got quota, in order by queue, and those that lost it: a cycle admits one per queue."""
    found = defaultdict[str, list[str]](list)
    for mark in marks:
        found[f"{mark.queue} {mark.what}"].append(mark.job)
    return {key: jobs if key.endswith(RESERVES) else sorted(jobs) for key, jobs in sorted(found.items())}
