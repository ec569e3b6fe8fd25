"""`closeknit explain`: why a job does not fit, and what would make it fit."""

from __future__ import annotations

from typing import Any

import click

from ..dialects.kueue.jobs import Job
from ..engine.explain import Explanation, explain
from ..engine.place import Result
from ..engine.policy import Policy
from ..report.diagnosis import diagnosis, diagnosis_json
from ..report.plan import take_all
from .inputs import cluster_options
from .jobs import identity_of, load_with_jobs
from .output import OUTPUT, emit


@click.command()
@click.argument("jobs", nargs=-1, required=True, type=click.Path(), metavar="JOB.yaml...")
@cluster_options
@OUTPUT
def command(jobs: tuple[str, ...], output: str | None, **cluster: Any) -> None:
    """Why a job does not fit, and what would make it fit.

    Level by level: how many domains hold the whole job, and how much the best one holds. Cause by cause: what
    keeps nodes from serving, in numbers. Then changes that would help; each was tried. Exit code 0 says that
    there is an explanation, also that the job does fit.

    \b
      closeknit explain train.yaml --nodes nodes.yaml --pods pods.json
    """
    loaded, read = load_with_jobs(jobs, cluster)
    policy = Policy(loaded.gates)
    answers = []
    for job in read:
        found = explain(loaded.snapshot, job.request, policy)
        if isinstance(found, Result):
            take_all(loaded.snapshot, found)
        if output in ("json", "yaml"):
            answers.append(_data(job, found))
            continue
        if isinstance(found, Result):
            click.echo(f"{job.kind} {job.name} fits; `closeknit place` shows where")
            continue
        for line in diagnosis(f"{job.kind} {job.name}", found):
            click.echo(line)
    if answers and output is not None:
        emit(answers[0] if len(answers) == 1 else answers, output)


def _data(job: Job, found: Explanation | Result) -> dict[str, Any]:
    identity = identity_of(job)
    if isinstance(found, Result):
        return {"workload": job.workload, "fits": True, "job": identity}
    return {"workload": job.workload, "fits": False, **diagnosis_json(found), "job": identity}
