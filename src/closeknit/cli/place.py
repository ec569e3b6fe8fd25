"""`closeknit place`: show where the pods of a job, or of a tree of groups, would go."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from ..dialects.kueue.jobs import GivenJob
from ..engine.groups.place import GroupResult, commit
from ..engine.place import Result, place
from ..engine.policy import Policy
from ..model.gang import Gang
from ..model.launch import FORMATS, hosts
from ..model.mistake import refuse
from ..report.census import Census
from ..report.group_diagnosis import refusal
from ..report.group_picture import group_picture
from ..report.group_plan import group_plan, plan_json
from ..report.group_svg import draw_groups
from ..report.plan import as_json, order_of, picture, plan, pods_on_leaves, refusal_json, take_all
from ..report.svg import draw
from ..state.snapshot import Snapshot
from ..state.table import IntArray
from .cluster import CONFIG
from .exit_codes import NOT_NOW, YES
from .group_subjects import GroupOptions, gang_identity, group_options, placed_gang, refused_gang
from .inputs import file_options
from .jobs import identity_of
from .output import emit, write
from .placed_subjects import Placeables, load_placeables

HINT = "`closeknit explain` with the same arguments shows why, and what would help."


@click.command()
@click.argument("jobs", nargs=-1, required=True, type=click.Path(), metavar="FILE...")
@file_options
@group_options
@CONFIG
@click.option(
    "-o",
    "--output",
    type=click.Choice(["json", "yaml", "wide", *FORMATS]),
    help="json, yaml: the plan as data; wide: every domain; hostfile, rankfile: for Open MPI; torchrun: node ranks.",
)
@click.option("--svg", type=click.Path(dir_okay=False), help="Also draw the placement into this SVG file.")
def command(
    jobs: tuple[str, ...], output: str | None, svg: str | None, order: str | None, steps: int | None, **cluster: Any
) -> int:
    """Show where the pods of a job, or of a tree of groups, would go.

    FILE contains Jobs, JobSets, groups of Pods or Workloads with Kueue's topology annotations, or groups of pods of
    KAI, Kubernetes (scheduling.k8s.io), Volcano or Grove, with their topologies. Jobs and pods that name KAI's
    scheduler or have its annotations are grouped first, as `closeknit group` shows. Several are placed in order, each
    into the capacity that the earlier ones left. The exit code is 3 if one does not fit.

    Nodes are those of --nodes and those among the files. Pods that run already take their room, and groups stay in the
    domains where their pods run.

    \b
      closeknit place train.yaml --nodes nodes.yaml
      closeknit place podgroup.yaml pods.yaml topology.yaml --nodes nodes.yaml --order spread
      kubectl get nodes -o json | closeknit place train.yaml --nodes - -o hostfile
    """
    found = load_placeables(jobs, cluster)
    _check_format(found, output)
    placing = _Placing(found, Policy.of(found.gates), GroupOptions.of(order, steps, cluster["config"]), output)
    for subject in found.subjects:
        placing.add(found.ruled(subject))
    if output in ("json", "yaml"):
        emit(placing.answers[0] if len(placing.answers) == 1 else placing.answers, output)
    if svg:
        Path(svg).write_text(placing.svg(), encoding="utf-8")
        click.echo(f"wrote {svg}", err=True)
    return YES if placing.fits else NOT_NOW


def _check_format(found: Placeables, output: str | None) -> None:
    if output not in FORMATS:
        return
    if found.nodes is not None and not found.nodes.topology.ends_at_host:
        raise refuse(
            f"a {output} names hosts, but the topology ends at {found.nodes.topology.levels[-1]}",
            "use levels that end with kubernetes.io/hostname",
        )
    if len(found.subjects) > 1:
        raise refuse(f"a {output} is for one job, but {len(found.subjects)} were given", "give one, or use -o json")


@dataclass
class _Placing:
    """Places subjects one after another; each takes its room in all trees before the next."""

    found: Placeables
    policy: Policy
    options: GroupOptions
    output: str | None
    answers: list[Any] = field(default_factory=list)
    fits: bool = True
    _drawn: list[tuple[str, IntArray]] = field(default_factory=list)
    _drawn_groups: list[tuple[str, IntArray]] = field(default_factory=list)

    def add(self, subject: GivenJob | Gang) -> None:
        if isinstance(subject, Gang):
            self._add_gang(subject)
        else:
            self._add_job(subject)

    def _add_job(self, job: GivenJob) -> None:
        assert self.found.nodes is not None
        snapshot = self.found.nodes.snapshot
        result = place(snapshot, job.request, self.policy)
        self.fits &= result.fits
        self.answers.append(_answer(snapshot, job, result, self.policy, self.output))
        before = pods_on_leaves(snapshot)
        if result.fits:
            take_all(snapshot, result)
        self._drawn.append((f"{job.kind} {job.name}", pods_on_leaves(snapshot) - before))

    def _add_gang(self, gang: Gang) -> None:
        assert self.found.groups is not None
        world = self.found.groups.world
        result = placed_gang(world, gang, self.policy, self.options)
        self.fits &= result.fits
        self.answers.append(self._group_answer(gang, result))
        if result.fits:
            made = group_plan(gang, world.columns, world.trees, result)
            for one in (group for top in made.top for group in top.walk()):
                if one.pods:
                    self._drawn_groups.append((one.group.name or gang.name, made.on_rows(one.pods)))
            commit(world.columns, result)

    def _group_answer(self, gang: Gang, result: GroupResult) -> Any:
        assert self.found.groups is not None
        world, output = self.found.groups.world, self.output
        if not result.fits:
            if output in ("json", "yaml"):
                return refused_gang(gang, result)
            click.echo(refusal(gang, result), err=output in FORMATS)
            click.echo(HINT, err=True)
            return None
        made = group_plan(gang, world.columns, world.trees, result)
        if output in ("json", "yaml"):
            return {**plan_json(made), "job": gang_identity(gang)}
        if output in FORMATS:
            names = world.columns.table.names
            ranks = [names[row] for one in made.every for row in one.rows.repeat(one.counts).tolist()]
            write(FORMATS[output](ranks))
        else:
            write(group_picture(made, everything=output == "wide"))
        return None

    def svg(self) -> str:
        """The picture: over the topology of the jobs, or over the one that the first group names."""
        if self.found.groups is not None and self._drawn_groups:
            return draw_groups(self.found.groups.world.columns, self.found.groups.world.trees, self._drawn_groups)
        assert self.found.nodes is not None
        census = Census.of(self.found.nodes.snapshot)
        return draw(census, census.main_resource(), jobs=self._drawn)


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
        click.echo(HINT, err=True)
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
