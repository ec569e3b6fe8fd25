"""Counts of a JobSet's Jobs by state, for each replicated job."""

from __future__ import annotations

from typing import NamedTuple

from ....port import Raw
from ..children import holds, number


class Counts(NamedTuple):
    """Counts of the Jobs of one replicated job by state."""

    ready: int = 0
    succeeded: int = 0
    failed: int = 0
    active: int = 0
    suspended: int = 0

    @property
    def started(self) -> int:
        return self.ready + self.succeeded + self.failed


def counted(jobs: list[Raw]) -> Counts:
    ready = succeeded = failed = active = suspended = 0
    for job in jobs:
        spec, status = job["spec"], job.get("status") or {}
        if holds(job, "Complete"):
            succeeded += 1
        elif holds(job, "Failed"):
            failed += 1
        else:
            parallelism = number(spec.get("parallelism"), 1)
            wanted = min(parallelism, number(spec.get("completions"), parallelism))
            ready += number(status.get("ready"), 0) + number(status.get("succeeded"), 0) >= wanted
            active += bool(status.get("active"))
            suspended += bool(spec.get("suspend"))
    return Counts(ready, succeeded, failed, active, suspended)
