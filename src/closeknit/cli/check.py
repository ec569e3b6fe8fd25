"""`closeknit check`: validate manifests as an API server and `closeknit place` would, without a cluster."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import click

from ..cluster.files import STDIN, documents, identity, shown, stdin_kept
from ..cluster.files import files as files_of
from ..cluster.located import located
from ..dialects.field import Field
from ..dialects.gang_reading import GangReading
from ..dialects.gangs import KINDS as GROUP_KINDS
from ..dialects.gangs import node_labels, read_gangs
from ..dialects.kai.admin import checks as kai_checks
from ..dialects.kai.admin import known_topologies
from ..dialects.kueue.admin import CHECKS, TOPOLOGY, topology_of
from ..dialects.kueue.jobs import GivenJob, Reading, read
from ..dialects.kueue.jobs.kinds.pod_groups import group_name
from ..dialects.nrt.admin import CHECKS as TOPOLOGY_CHECKS
from ..model.gates import Gates
from ..model.mistake import InputError, Mistake, refuse
from ..model.request import PodSet
from ..model.resources import show
from ..model.topology import Topology
from ..observe.levels import levels_from_text, read_topology
from ..observe.nodes import holds_pools, read_nodes
from .escaped_stream import unescaped
from .jobs import group_mistakes_of, level_mistakes
from .old_versions import telling
from .options import gate_options, gates_of
from .output import OUTPUT, emit

WRONG = 2
COLORS = {"ok": "green", "wrong": "red", "skipped": "yellow"}

Objects = list[tuple[str, dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result for one object, or for a file that could not be read. `why`: reason for skipping the object."""

    where: str
    what: str
    state: str
    mistakes: tuple[Mistake, ...] = ()
    warnings: tuple[Mistake, ...] = ()
    jobs: tuple[GivenJob, ...] = ()
    why: str = ""


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="FILE...")
@click.option("--topology", metavar="FILE", help="Check jobs against this Topology; FILE#name picks one of several.")
@click.option("--levels", metavar="KEY,KEY,...", help="Node labels, coarse to fine, used instead of a Topology.")
@gate_options
@OUTPUT
def command(
    files: tuple[str, ...],
    topology: str | None,
    levels: str | None,
    feature_gates: str,
    profile: str,
    output: str | None,
) -> int:
    """Validate manifests without placing anything.

    FILE is a YAML or JSON manifest, a directory of manifests, or - for standard input. Every kind of job that
    `closeknit place` accepts is checked, and so are the kinds of kueue.x-k8s.io, Nodes and pools,
    NodeResourceTopologies, and groups of pods (KAI, scheduling.k8s.io, Volcano, Grove), which are checked together;
    other kinds are skipped. Each object is validated by itself, by the rules of the API server: unknown fields, types,
    allowed values, required fields. References to other objects, such as a namespace that must exist, are not checked.
    Topology requests are checked against --topology, or against the Topology among the files if there is exactly one.
    The exit code is 2 if anything is wrong.

    \b
      closeknit check train.yaml topology.yaml
      ok       train.yaml: Job train: 8 pods
      wrong    train.yaml: Job tune
          spec.template.metadata.annotations[kueue.x-k8s.io/podset-slice-size]:
          10 pods do not divide into slices of 4; use 8 or 12 pods
      ok       topology.yaml: Topology default
      3 objects: 2 ok, 1 wrong
    """
    gates = gates_of(feature_gates, profile)
    told = _told(files, topology, levels)
    every = [file for path in files for file in files_of(path)]
    with stdin_kept() if STDIN in every else nullcontext():
        pools = {file: verdict for file in every if (verdict := _pools(file)) is not None}
        objects, unread = _gather([file for file in every if file not in pools])
        laid = told or _only_topology(objects)
        groups = _groups(objects)
        checks = CHECKS | kai_checks(known_topologies(objects)) | TOPOLOGY_CHECKS
        checks |= dict.fromkeys(GROUP_KINDS, _read_as_group)
        readings = read(telling(objects), gates, checks)
        verdicts = [_warned(_verdict(reading, gates, laid), groups.warnings) for reading in readings]
        of_groups = {mistake.what.rpartition(" of ")[2] for mistake in groups.mistakes}
        verdicts = _merged(verdicts, [*unread, *groups.mistakes])
        verdicts = [_located(one, objects) if one.what in of_groups else one for one in verdicts]
    verdicts = [*_refused(verdicts, objects, gates), *pools.values()]
    if output in ("json", "yaml"):
        emit({"objects": [_plain(verdict) for verdict in verdicts], "summary": _counts(verdicts)}, output)
    else:
        for verdict in verdicts:
            _tell(verdict, wide=output == "wide")
        click.echo(_summary(verdicts))
    return WRONG if _counts(verdicts)["wrong"] else 0


def _told(files: Sequence[str], topology: str | None, levels: str | None) -> Topology | None:
    """The topology that the options name."""
    if topology is not None and levels is not None:
        raise refuse("cannot be combined with --topology", "give one of the two", what="--levels")
    if [*files, (topology or "").partition("#")[0]].count(STDIN) > 1:
        raise refuse("standard input can be read only once", "put all but one of them into files", what=STDIN)
    if topology is not None:
        return read_topology(topology)[0]
    return None if levels is None else levels_from_text(levels)


def _only_topology(objects: Objects) -> Topology | None:
    """The Topology among the files; None if there are several, since a job could meet any of them."""
    found = [raw for _, raw in objects if (str(raw["apiVersion"]).partition("/")[0], raw["kind"]) == TOPOLOGY]
    if len(found) > 1:
        click.echo(
            f"note: jobs are checked against none of the {len(found)} Topologies; pick one: --topology", err=True
        )
    return topology_of(Field.root(found[0])) if len(found) == 1 else None


def _gather(files: Sequence[str]) -> tuple[Objects, list[Mistake]]:
    """All objects that can be read, and the mistakes in the rest."""
    objects: Objects = []
    unread: list[Mistake] = []
    for file in files:
        try:
            objects.extend(documents(file))
        except InputError as error:
            unread += error.mistakes
    return objects, unread


def _groups(objects: Objects) -> GangReading:
    """The groups of pods; their tiers and topologies are checked if there are nodes among the files."""
    return read_gangs(objects, node_labels(objects) or None)


def _read_as_group(_object: Field) -> None:
    """Groups are checked together, by `_groups`."""


def _warned(verdict: CheckResult, warnings: Sequence[Mistake]) -> CheckResult:
    """Add the warnings that are about this object."""
    own = [one for one in warnings if (one.where, one.what) == (verdict.where, verdict.what)]
    return replace(verdict, warnings=tuple(dict.fromkeys((*verdict.warnings, *own)))) if own else verdict


def _pools(file: str) -> CheckResult | None:
    """The result for a file of pools in the compact form; None if the file holds no pools."""
    if not holds_pools(file):
        return None
    try:
        nodes = len(read_nodes([file]).table)
    except InputError as error:
        return CheckResult(shown(file), "pools", "wrong", error.mistakes)
    return CheckResult(shown(file), f"pools of {nodes} {'node' if nodes == 1 else 'nodes'}", "ok")


def _verdict(reading: Reading, gates: Gates, topology: Topology | None) -> CheckResult:
    mistakes = (*reading.mistakes, *(replace(one, what=reading.what) for one in _misfits(reading, gates, topology)))
    state = "wrong" if mistakes else "skipped" if reading.skipped else "ok"
    jobs = () if mistakes else reading.jobs
    return CheckResult(reading.where, reading.what, state, mistakes, reading.warnings, jobs, reading.skipped)


def _misfits(reading: Reading, gates: Gates, topology: Topology | None) -> Iterator[Mistake]:
    """What `place` would also reject; the copies of a job are identical, so only the first is checked."""
    for job in reading.jobs[:1]:
        yield from group_mistakes_of(job)
        if topology is not None:
            yield from level_mistakes(job, gates, topology)


def _merged(verdicts: Sequence[CheckResult], unread: Sequence[Mistake]) -> list[CheckResult]:
    """Add the mistakes found while reading the files, each to its object where that is known."""
    said = {(mistake.where, mistake.what, mistake.field) for verdict in verdicts for mistake in verdict.mistakes}
    merged = list(verdicts)
    for mistake in unread:
        if mistake.field and (mistake.where, mistake.what, mistake.field) in said:
            continue
        names = (mistake.what, mistake.what.rpartition(" of ")[2])  # also what was made for an object
        places = (i for i, one in enumerate(merged) if one.where == mistake.where and one.what in names)
        place = next(places, None)
        if place is None:
            merged.append(CheckResult(mistake.where, mistake.what, "wrong", (mistake,)))
        else:
            mistakes = (*merged[place].mistakes, mistake)
            merged[place] = replace(merged[place], state="wrong", mistakes=mistakes, jobs=())
    return merged


def _refused(verdicts: Sequence[CheckResult], objects: Objects, gates: Gates) -> list[CheckResult]:
    """Add what a server would also reject. Objects of the same name keep their order; a pod group is one object."""
    from .server_rules import ServerRules

    rules = ServerRules(gates)
    found: dict[tuple[str, str], list[list[Mistake]]] = {}
    for where, raw in objects:
        group = group_name(raw) if raw["kind"] == "Pod" else ""
        listed = found.setdefault((where, f"Pod group {group}" if group else identity(raw)), [])
        if not group or not listed:
            listed.append([])
        listed[-1] += rules.mistakes(where, raw)
    return [_with(one, found[key].pop(0) if found.get(key := (one.where, one.what)) else ()) for one in verdicts]


def _with(verdict: CheckResult, refused: Sequence[Mistake]) -> CheckResult:
    """Add rejected fields; a warning about the same field becomes the error, since it has the remedy."""
    warned = {one.field: one for one in verdict.warnings}
    if verdict.state == "skipped":
        refused = [one for one in refused if one.field == "kind"]
    elif verdict.mistakes:
        refused = [one for one in refused if one.field in warned]
    more = [warned.get(one.field, one) for one in refused]
    if not more:
        return verdict
    left = tuple(one for one in verdict.warnings if one not in more)
    return replace(verdict, state="wrong", mistakes=(*verdict.mistakes, *more), warnings=left, jobs=(), why="")


def _tell(verdict: CheckResult, wide: bool) -> None:
    name = ": ".join(part for part in (verdict.where, verdict.what) if part)
    state = click.style(f"{verdict.state:<8}", fg=COLORS[verdict.state])
    more = f": {verdict.why}" if verdict.state == "skipped" else _pods(verdict.jobs)
    click.echo(state, nl=False, file=unescaped(sys.stdout), color=sys.stdout.isatty())
    click.echo(f" {name}{more}")
    for mistake in verdict.mistakes:
        click.echo(f"    {_within(mistake, verdict)}")
    for warning in verdict.warnings:
        click.echo(f"    warning: {_within(warning, verdict)}")
    for line in _details(verdict.jobs) if wide else ():
        click.echo(f"    {line}")


def _within(mistake: Mistake, verdict: CheckResult) -> Mistake:
    """The mistake without the file and object that the line above names; of the position, only the line is shown."""
    line = mistake.where.removeprefix(verdict.where).strip(":").partition(":")[0]
    return replace(
        mistake, where=f"line {line}" if line else "", what="" if mistake.what == verdict.what else mistake.what
    )


def _located(verdict: CheckResult, objects: Objects) -> CheckResult:
    """Add positions to the mistakes in groups, of which one may have thousands of entries."""
    return replace(verdict, mistakes=tuple(located(verdict.mistakes, objects)))


def _pods(jobs: Sequence[GivenJob]) -> str:
    if not jobs:
        return ""
    pods = sum(pod_set.count for job in jobs for pod_set in job.request.pod_sets)
    workloads = f" in {len(jobs)} workloads" if len(jobs) > 1 else ""
    return f": {pods} {'pod' if pods == 1 else 'pods'}{workloads}"


def _details(jobs: Sequence[GivenJob]) -> Iterator[str]:
    for job in jobs:
        yield f"workload {job.namespace}/{job.workload}"
        for pod_set in job.request.pod_sets:
            yield f"  {pod_set.name}: {_asks(pod_set)}"


def _asks(pod_set: PodSet) -> str:
    """4 x cpu 1, memory 200Mi; required example.com/rack"""
    needs = ", ".join(f"{name} {show(name, amount)}" for name, amount in pod_set.shape.requests)
    parts = [f"{pod_set.count} x {needs or 'no requests'}"]
    constraint = pod_set.constraint
    if constraint is not None:
        parts += [f"required {constraint.required}"] if constraint.required else []
        parts += [f"preferred {constraint.preferred}"] if constraint.preferred else []
        parts += [f"slices of {layer.size} in {layer.level}" for layer in constraint.slices]
    return "; ".join(parts)


def _counts(verdicts: Sequence[CheckResult]) -> dict[str, int]:
    counts = Counter(verdict.state for verdict in verdicts)
    return {state: counts[state] for state in COLORS}


def _summary(verdicts: Sequence[CheckResult]) -> str:
    counts = ", ".join(f"{count} {state}" for state, count in _counts(verdicts).items() if count)
    return f"{len(verdicts)} {'object' if len(verdicts) == 1 else 'objects'}: {counts or 'nothing to check'}"


def _plain(verdict: CheckResult) -> dict[str, Any]:
    return {
        "file": verdict.where,
        "object": verdict.what,
        "state": verdict.state,
        "why": verdict.why,
        "mistakes": [_plain_mistake(mistake) for mistake in verdict.mistakes],
        "warnings": [_plain_mistake(warning) for warning in verdict.warnings],
        "workloads": [
            {
                "namespace": job.namespace,
                "name": job.workload,
                "podSets": [{"name": one.name, "count": one.count} for one in job.request.pod_sets],
            }
            for job in verdict.jobs
        ],
    }


def _plain_mistake(mistake: Mistake) -> dict[str, str]:
    return {"object": mistake.what, "field": mistake.field, "text": mistake.text, "remedy": mistake.remedy}
