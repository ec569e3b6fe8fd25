"""Reading the jobs that a command is asked about."""

from __future__ import annotations

from ..cluster.files import documents
from ..dialects.kueue.jobs import Job, requests
from ..model.gates import Gates
from ..model.mistake import refuse


def read_jobs(paths: tuple[str, ...], gates: Gates) -> list[Job]:
    """Every job in these files, in order; mistakes are raised together."""
    jobs = requests((pair for path in paths for pair in documents(path)), gates).jobs
    if not jobs:
        raise refuse(
            "there is no job to place",
            "give a Job, JobSet, group of Pods or Workload",
            where=", ".join(paths),
        )
    return jobs
