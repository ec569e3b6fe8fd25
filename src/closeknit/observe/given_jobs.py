"""Adds the jobs that a user asks about to a loaded cluster, queued behind everything in it.

A job that exists in the cluster is not added again: its Workload there is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ..dialects.kueue.jobs import GivenJob
from ..model.mistake import InputError, Mistake
from ..model.name import Name
from ..model.workload import Workload
from .loaded import LoadedCluster, stem
from .workloads import workload_of

STEP = 1e-6
"""Seconds between the assumed creation times of the jobs."""


class Asked(NamedTuple):
    """A given job: the key of its Workload, its name, its file, and whether it is new to the cluster."""

    key: str
    name: Name
    where: str
    is_new: bool = True


def add_jobs(state: LoadedCluster, jobs: Sequence[GivenJob], now: float) -> list[Asked]:
    """Queue the given jobs, the first as the oldest; all mistakes in them are raised together."""
    asked: list[Asked] = []
    mistakes: list[Mistake] = []
    copies: dict[str, int] = {}
    there = [_present(state, job) for job in jobs]
    last = max((one.created for one in state.workloads.values()), default=now)
    behind = max(now, last)
    for number, (job, present) in enumerate(zip(jobs, there, strict=True)):
        name = Name(job.kind, job.namespace, job.name)
        if present is not None:
            state.notes.append(
                f"{name} is in the cluster already, so its Workload {present} is shown; "
                "to ask about a second job like it, give it another name"
            )
            asked.append(Asked(present, name, job.where, is_new=False))
            continue
        made = workload_of(job, state.around, state.gates, behind + (number + 1) * STEP)
        if not isinstance(made, Workload):
            mistakes += made
            continue
        made, name = _numbered(made, name, copies)
        state.add(made, name)
        asked.append(Asked(made.key, name, job.where))
    if mistakes:
        raise InputError(mistakes)
    return asked


def _numbered(made: Workload, name: Name, copies: dict[str, int]) -> tuple[Workload, Name]:
    """The second job of the same name is called `train (2)`."""
    number = copies[made.key] = copies.get(made.key, 0) + 1
    if number == 1:
        return made, name
    return replace(made, name=f"{made.name}-{number}"), name._replace(name=f"{name.name} ({number})")


def _present(state: LoadedCluster, job: GivenJob) -> str | None:
    """The job's Workload in the cluster, found by the job's uid or by the Workload's expected name."""
    if job.standing.uid in state.by_uid:
        return state.by_uid[job.standing.uid]
    for name in (job.workload, job.standing.prebuilt):
        if f"{job.namespace}/{name}" in state.workloads:
            return f"{job.namespace}/{name}"
    return state.by_stem.get(stem(f"{job.namespace}/{job.workload}"))
