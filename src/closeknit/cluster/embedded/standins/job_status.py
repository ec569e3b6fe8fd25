"""The status of a Job after a reconcile: counts, indexes, and conditions with Kubernetes' messages."""

from __future__ import annotations

from ....dialects.timestamps import parse, stamp
from ...port import Raw
from . import index_list
from .children import condition, holds, is_ready, with_condition
from .job_outcome import JobOutcome
from .observed_job import ObservedJob


def is_finished(job: Raw) -> bool:
    return holds(job, "Complete") or holds(job, "Failed")


def finished_at(job: Raw) -> float:
    """When a job finished."""
    found = condition(job, "Complete" if holds(job, "Complete") else "Failed")
    assert found is not None
    return parse(found["lastTransitionTime"])


def status_of(look: ObservedJob, outcome: JobOutcome | None) -> Raw:
    """The new status, including the pods that this reconcile has created and counted."""
    before, now = look.status, look.now
    conditions: list[Raw] = before.get("conditions") or []
    status: Raw = {}
    if look.spec.get("suspend") and outcome is None:
        conditions = _with(conditions, "Suspended", True, "JobSuspended", "Job suspended", now)
    else:
        if holds(look.job, "Suspended"):
            conditions = _with(conditions, "Suspended", False, "JobResumed", "Job resumed", now)
        start = before.get("startTime") or (None if look.spec.get("suspend") else stamp(now))
        if start is not None:
            status["startTime"] = start
    if outcome is not None:
        conditions = _with(conditions, outcome.interim, True, outcome.reason, outcome.message, now)
        if not look.active and not look.terminating:
            conditions = _with(conditions, outcome.final, True, outcome.reason, outcome.message, now)
            if outcome.succeeds:
                status["completionTime"] = stamp(now)
    if conditions:
        status["conditions"] = conditions
    counts = (("active", len(look.active) + look.made), ("succeeded", look.successes), ("failed", look.failures))
    status.update({part: count for part, count in counts if count})
    if look.done:
        status["completedIndexes"] = index_list.write(look.done)
    if look.per_index is not None:
        status["failedIndexes"] = index_list.write(look.lost)
    ready = sum(is_ready(one) for one in look.active)
    return {**status, "terminating": look.terminating, "uncountedTerminatedPods": {}, "ready": ready}


def _with(conditions: list[Raw], kind: str, status: bool, reason: str, message: str, now: float) -> list[Raw]:
    """Set a condition, unless it already has that status."""
    if any(one["type"] == kind and one["status"] == str(status) for one in conditions):
        return conditions
    return with_condition(conditions, kind, status, reason, message, now, lastProbeTime=stamp(now))
