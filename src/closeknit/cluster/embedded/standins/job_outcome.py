"""The outcome of a Job, decided by its policies, its limits, its deadline, or enough successes."""

from __future__ import annotations

from typing import NamedTuple

from ....dialects.timestamps import parse
from ...port import Raw
from . import index_list
from .children import condition, number
from .job_failure import restarts
from .observed_job import ObservedJob

UNLIMITED = 2**31 - 1
USUAL_LIMIT = 6


class JobOutcome(NamedTuple):
    """How a job ends, and why.

    The interim condition is set when the outcome is decided, the final one when all pods are gone.
    """

    succeeds: bool
    reason: str
    message: str

    @property
    def interim(self) -> str:
        return "SuccessCriteriaMet" if self.succeeds else "FailureTarget"

    @property
    def final(self) -> str:
        return "Complete" if self.succeeds else "Failed"


REACHED = JobOutcome(True, "CompletionsReached", "Reached expected number of succeeded pods")
TOO_MANY_FAILED = JobOutcome(False, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
TOO_LATE = JobOutcome(False, "DeadlineExceeded", "Job was active longer than specified deadline")
INDEXES_FAILED = JobOutcome(False, "FailedIndexes", "Job has failed indexes")
TOO_MANY_INDEXES = JobOutcome(
    False, "MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes"
)


def decide(look: ObservedJob) -> JobOutcome | None:
    return _decided_before(look.job) or _failure(look) or _success(look)


def deadline(look: ObservedJob) -> float | None:
    """The time of activeDeadlineSeconds; None if the job has no deadline, or does not run."""
    seconds, start = look.spec.get("activeDeadlineSeconds"), look.status.get("startTime")
    if seconds is None or look.spec.get("suspend"):
        return None
    return (look.now if start is None else parse(start)) + float(seconds)


def _decided_before(job: Raw) -> JobOutcome | None:
    for succeeds in (True, False):
        found = condition(job, JobOutcome(succeeds, "", "").interim)
        if found is not None and found["status"] == "True":
            return JobOutcome(succeeds, found["reason"], found.get("message", ""))
    return None


def _failure(look: ObservedJob) -> JobOutcome | None:
    spec = look.spec
    for one in look.verdicts.values():
        if one.action == "FailJob":
            return JobOutcome(False, "PodFailurePolicy", one.message)
    limit = number(spec.get("backoffLimit"), USUAL_LIMIT if look.per_index is None else UNLIMITED)
    if look.failed and look.failures > limit:
        return TOO_MANY_FAILED
    if (spec["template"].get("spec") or {}).get("restartPolicy") == "OnFailure":
        retried = sum(restarts(one) for one in look.active)
        if retried and retried >= limit:
            return TOO_MANY_FAILED
    end = deadline(look)
    if end is not None and end <= look.now:
        return TOO_LATE
    most = spec.get("maxFailedIndexes")
    if most is not None and len(look.lost) > most:
        return TOO_MANY_INDEXES
    return None


def _success(look: ObservedJob) -> JobOutcome | None:
    for place, rule in enumerate((look.spec.get("successPolicy") or {}).get("rules") or ()):
        if _meets(look.done, rule):
            return JobOutcome(True, "SuccessPolicy", f"Matched rules at index {place}")
    if look.completions is None:
        return REACHED if look.successes and not look.active else None
    if look.lost:
        decided = len(look.done | look.lost) >= look.completions
        return INDEXES_FAILED if decided and not look.active else None
    return REACHED if look.successes >= look.completions else None


def _meets(done: set[int], rule: Raw) -> bool:
    named = rule.get("succeededIndexes")
    among = done if named is None else done & index_list.read(named)
    count = rule.get("succeededCount")
    if count is not None:
        return len(among) >= int(count)
    return named is not None and among == index_list.read(named)
