"""The failure policy of a JobSet: after the failure of a Job it fails or is restarted as a whole."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ....port import Raw
from ..children import condition, number
from .job_set_jobs import replicated_of

FAIL, RESTART, RESTART_ANYWAY = "FailJobSet", "RestartJobSet", "RestartJobSetAndIgnoreMaxRestarts"


class FailurePolicyAction(NamedTuple):
    """`counts`: whether a restart counts against maxRestarts. `action` is its name in events."""

    restarts: bool
    reason: str
    message: str
    counts: bool = False
    action: str = ""


def verdict(spec: Raw, status: Raw, jobs: Sequence[Raw]) -> FailurePolicyAction | None:
    """The action of the failure policy; None if no job failed."""
    failures = [(job, end) for job in jobs if (end := condition(job, "Failed")) and end["status"] == "True"]
    failures.sort(key=lambda one: (one[1]["lastTransitionTime"], one[0]["metadata"]["name"]))
    if not failures:
        return None
    policy = spec.get("failurePolicy")
    if policy is None:
        return FailurePolicyAction(
            False, "FailedJobs", _about("jobset failed due to one or more job failures", failures[0][0])
        )
    for rule in policy.get("rules") or ():
        for job, end in failures:
            if _matches(rule, job, end):
                return _done(policy, status, rule["action"], f"FailurePolicy_{rule['name']}", job)
    return _done(policy, status, RESTART, "DefaultFailurePolicy", failures[0][0])


def _matches(rule: Raw, job: Raw, end: Raw) -> bool:
    targets, reasons = rule.get("targetReplicatedJobs"), rule.get("onJobFailureReasons")
    patterns = rule.get("onJobFailureMessagePatterns")
    return (
        (not targets or replicated_of(job) in targets)
        and (not reasons or end.get("reason") in reasons)
        and (not patterns or any(_finds(one, end.get("message") or "") for one in patterns))
    )


def _finds(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return False


def _done(policy: Raw, status: Raw, action: str, reason: str, job: Raw) -> FailurePolicyAction:
    text = _about(f"applying {action} failure policy action", job)
    if action == FAIL:
        return FailurePolicyAction(False, f"{FAIL}FailurePolicyAction", text)
    if action == RESTART_ANYWAY:
        return FailurePolicyAction(True, reason, text, action=f"{action}FailurePolicyAction")
    if number(status.get("restartsCountTowardsMax"), 0) >= number(policy.get("maxRestarts"), 0):
        text = _about("jobset failed due to reaching max number of restarts", job)
        return FailurePolicyAction(False, "ReachedMaxRestarts", text)
    return FailurePolicyAction(True, reason, text, counts=True, action=f"{action}FailurePolicyAction")


def _about(text: str, job: Raw) -> str:
    return f"{text} (first failed job: {job['metadata']['name']})"
