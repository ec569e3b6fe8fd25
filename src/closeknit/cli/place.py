"""`closeknit place`: show where the pods of a job would go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..dialects.kueue.jobs import GivenJob
from ..engine.place import Result, place
from ..engine.policy import Policy
from ..model.launch import FORMATS, hosts
from ..model.mistake import refuse
from ..report.census import Census
from ..report.plan import as_json, order_of, picture, plan, pods_on_leaves, refusal_json, take_all
from ..report.svg import draw
from ..state.snapshot import Snapshot
from .inputs import cluster_options
from .jobs import identity_of, load_with_jobs
from .output import emit, write

DOES_NOT_FIT = 3


@click.command()
@click.argument("jobs", nargs=-1, required=True, type=click.Path(), metavar="JOB.yaml...")
@cluster_options
@click.option(
    "-o",
    "--output",
    type=click.Choice(["json", "yaml", "wide", *FORMATS]),
    help="json, yaml: the plan as data; wide: every domain; hostfile, rankfile: for Open MPI; torchrun: node ranks.",
)
@click.option("--svg", type=click.Path(dir_okay=False), help="Also draw the placement into this SVG file.")
def command(jobs: tuple[str, ...], output: str | None, svg: str | None, **cluster: Any) -> int:
    """Show where the pods of a job would go.

    JOB.yaml contains Jobs, JobSets, groups of Pods or Workloads with Kueue's topology annotations. Several jobs are
    placed in order, each into the capacity that the earlier ones left. The exit code is 3 if one does not fit.

    \b
      closeknit place train.yaml --nodes nodes.yaml
      kubectl get nodes -o json | closeknit place train.yaml --nodes - -o hostfile
    """
    loaded, read = load_with_jobs(jobs, cluster)
    policy = Policy.of(loaded.gates)
    snapshot = loaded.snapshot
    if output in FORMATS and not snapshot.topology.ends_at_host:
        raise refuse(
            f"a {output} names hosts, but the topology ends at {snapshot.topology.levels[-1]}",
            "use levels that end with kubernetes.io/hostname",
        )
    if output in FORMATS and len(read) > 1:
        raise refuse(f"a {output} is for one job, but {len(read)} were given", "give one, or use -o json")
    answers, fits, drawn = [], True, []
    for job in read:
        result = place(snapshot, job.request, policy)
        fits &= result.fits
        answers.append(_answer(snapshot, job, result, policy, output))
        before = pods_on_leaves(snapshot)
        if result.fits:
            take_all(snapshot, result)
        drawn.append((f"{job.kind} {job.name}", pods_on_leaves(snapshot) - before))
    if output in ("json", "yaml"):
        emit(answers[0] if len(answers) == 1 else answers, output)
    if svg:
        census = Census.of(snapshot)
        Path(svg).write_text(draw(census, census.main_resource(), jobs=drawn), encoding="utf-8")
        click.echo(f"wrote {svg}", err=True)
    return 0 if fits else DOES_NOT_FIT


def _answer(snapshot: Snapshot, job: GivenJob, result: Result, policy: Policy, output: str | None) -> Any:
    """The plan as data; for other outputs, print it and return None."""
    if output in ("json", "yaml"):
        identity = identity_of(job)
        if not result.fits:
            return {**refusal_json(job.workload, result, job.request), "job": identity}
        ordered = Result(tuple(order_of(job.request, result)))
        by_prefix = "TASAssignmentsEncodingByHostnamePrefix" in policy.gates
        return {**as_json(plan(snapshot, job.workload, ordered, policy), by_prefix), "job": identity}
    if not result.fits:
        click.echo(f"{job.kind} {job.name} does not fit: {result.reason}", err=output in FORMATS)
        hint = "`closeknit explain` with the same arguments shows why, and what would help."
        click.echo(hint, err=True)
        return None
    ordered = Result(tuple(order_of(job.request, result)))
    if output in FORMATS:
        ranked = [o for o in ordered.outcomes if o.pod_set.name not in job.unranked]
        lines = FORMATS[output](hosts([o.assignment for o in ranked if o.assignment is not None]))
    else:
        made = plan(snapshot, f"{job.kind} {job.name}", ordered, policy)
        lines = picture(made, everything=output == "wide")
    write(lines)
    return None
