"""Reading the jobs that a command is asked about."""

from __future__ import annotations

from collections.abc import Iterator

import click

from ..cluster.files import documents
from ..dialects.kueue.jobs import Job, requests
from ..model.gates import Gates
from ..model.mistake import InputError, Mistake, refuse


def read_jobs(paths: tuple[str, ...], gates: Gates) -> list[Job]:
    """Every job in these files, in order; mistakes are raised together."""
    parsed = requests((pair for path in paths for pair in documents(path)), gates)
    for warning in parsed.warnings:
        click.echo(f"warning: {warning}", err=True)
    jobs = parsed.jobs
    mistakes = [mistake for job in jobs for mistake in _torn_groups(job)]
    if mistakes:
        raise InputError(mistakes)
    if not jobs:
        raise refuse(
            "there is no job to place",
            "give a Job, JobSet, group of Pods or Workload",
            where=", ".join(paths),
        )
    return jobs


def _torn_groups(job: Job) -> Iterator[Mistake]:
    """Groups that would lose pods: a leader is one pod, and a group is one leader with its workers."""
    for group in job.request.groups:
        counts = [one.count for one in group.pod_sets if one.count]
        if len(counts) > 2 or (len(counts) == 2 and min(counts) > 1):
            yield Mistake(
                f"its pod sets have {', '.join(map(str, counts))} pods",
                "a group is a leader of one pod with its workers: give it two pod sets, one of them with count 1",
                where=job.where,
                what=f"{job.kind} {job.name}",
                field=f"group {group.name}",
            )
