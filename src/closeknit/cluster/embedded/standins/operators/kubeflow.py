"""What the Kubeflow operators have in common: labels of pods, and conditions in order of their last change.

A condition that changes moves to the end, so the last one is the state of the job. When the job ends, `Running` becomes
False, and keeps its position, reason and message.
"""

from __future__ import annotations

from collections.abc import Iterable

from .....dialects.timestamps import parse, stamp
from ....kinds import Kind
from ....port import Create, Raw
from ..children import event, holds, phase

PREFIX = "training.kubeflow.org/"
JOB_NAME, OPERATOR, ROLE = PREFIX + "job-name", PREFIX + "operator-name", PREFIX + "job-role"
REPLICA_TYPE, REPLICA_INDEX = PREFIX + "replica-type", PREFIX + "replica-index"
ENDS = ("Succeeded", "Failed")


def is_over(job: Raw) -> bool:
    return any(holds(job, end) for end in ENDS)


def is_ours(job: Raw, controller: str) -> bool:
    """Whether this controller manages the job, by its managedBy field."""
    return (job["spec"].get("runPolicy") or {}).get("managedBy") in (None, "", controller)


def cleans(job: Raw, usual: str) -> str:
    """Which pods are deleted when the job ends: All, Running or None."""
    policy = (job["spec"].get("runPolicy") or {}).get("cleanPodPolicy")
    return str(policy or usual)


def is_suspended(job: Raw) -> bool:
    return bool((job["spec"].get("runPolicy") or {}).get("suspend"))


def replica_status(pods: Iterable[Raw]) -> Raw:
    """The replica status; pending pods are not counted."""
    counts = {"active": 0, "succeeded": 0, "failed": 0}
    parts = {"Running": "active", "Succeeded": "succeeded", "Failed": "failed"}
    for one in pods:
        if part := parts.get(phase(one)):
            counts[part] += 1
    return {part: count for part, count in counts.items() if count}


class History:
    """A builder of a job's conditions, and of the events that go with them."""

    def __init__(self, kind: Kind, job: Raw, now: float, by: str) -> None:
        self.kind, self.job, self.now, self.by = kind, job, now, by
        self.list: list[Raw] = list((job.get("status") or {}).get("conditions") or ())
        self.events: list[Create] = []

    def holds(self, kind: str) -> bool:
        return any(one["type"] == kind and one["status"] == "True" for one in self.list)

    def add(self, kind: str, status: bool, reason: str, message: str) -> bool:
        """Add a condition; False if the same status and reason are already set."""
        before = next((one for one in self.list if one["type"] == kind), None)
        if before is not None and (before["status"], before["reason"]) == (str(status), reason):
            return False
        at = stamp(self.now)
        kept = before is not None and before["status"] == str(status)
        new = {
            "type": kind,
            "status": str(status),
            "reason": reason,
            "message": message,
            "lastUpdateTime": at,
            "lastTransitionTime": before["lastTransitionTime"] if before and kept else at,
        }
        others = [one for one in self.list if one["type"] != kind and not _outdated(one, kind)]
        if kind in ENDS:
            others = [{**one, "status": "False"} if one["type"] == "Running" else one for one in others]
        self.list = [*others, new]
        return True

    def record(self, reason: str, message: str, *, warning: bool = False) -> None:
        self.events.append(event(self.kind, self.job, reason, message, self.now, by=self.by, warning=warning))

    def ended_at(self) -> float:
        end = next(one for one in self.list if one["type"] in ENDS and one["status"] == "True")
        return parse(end["lastTransitionTime"])


def _outdated(condition: Raw, by: str) -> bool:
    """Whether a new condition replaces this one: a job is either Restarting or Running."""
    return (condition["type"], by) in (("Running", "Restarting"), ("Restarting", "Running"))
