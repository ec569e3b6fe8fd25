"""Reads the jobs of a command from files, and checks them against the topology.

Jobs are read before the cluster, since suggested levels must include those that jobs request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from time import time
from typing import Any

import click

from ..cluster.files import documents, shown
from ..dialects.kueue import keys
from ..dialects.kueue.jobs import READ_KINDS, GivenJob, requests
from ..engine.slicing import search
from ..model.gates import Gates
from ..model.maintenance import Maintenance
from ..model.mistake import InputError, Mistake, refuse
from ..model.nearest import did_you_mean
from ..model.reason import Reason, Why
from ..model.request import AUTO, PodSet
from ..model.shape import Toleration
from ..model.topology import Topology
from ..observe.nodes import name_some
from .inputs import LoadedNodes, check_nodes, load
from .old_versions import telling

FIELDS = {
    Why.NO_LEVEL: (keys.REQUIRED, keys.PREFERRED),
    Why.LEVEL_NOT_SPECIFIED: (keys.UNCONSTRAINED,),
    Why.NO_SLICE_LEVEL: (keys.SLICE_LEVEL, keys.LAYERS),
    Why.SLICE_WITHOUT_SIZE: (keys.SLICE_SIZE,),
    Why.SLICE_ABOVE_POD_SET: (keys.SLICE_LEVEL, keys.LAYERS),
}
"""The annotations in which a user finds the cause of a reason; all other reasons are about layers."""

IN_WORKLOAD = {
    keys.REQUIRED: "required",
    keys.PREFERRED: "preferred",
    keys.UNCONSTRAINED: "unconstrained",
    keys.SLICE_LEVEL: "podSetSliceRequiredTopology",
    keys.SLICE_SIZE: "podSetSliceSize",
    keys.LAYERS: "podsetSliceRequiredTopologyConstraints",
}
"""The annotations' field names in the topologyRequest of a Workload's pod set."""


def load_jobs(jobs: Sequence[GivenJob], gates: Gates, cluster: Mapping[str, Any]) -> tuple[LoadedNodes, list[GivenJob]]:
    """The cluster that these options describe, and the jobs with its flavor's tolerations."""
    check_nodes(cluster["nodes"])
    loaded = load(**cluster, wanted=named_levels(jobs))
    check_jobs(jobs, gates, loaded.topology)
    return loaded, [_clear_of(loaded.windows, tolerating(job, loaded.tolerations)) for job in jobs]


def read_jobs(paths: Sequence[str], gates: Gates) -> list[GivenJob]:
    """Every job in these files, in order; mistakes are raised together."""
    return jobs_of([pair for path in paths for pair in documents(path)], paths, gates)


def jobs_of(objects: Sequence[tuple[str, dict[str, Any]]], paths: Sequence[str], gates: Gates) -> list[GivenJob]:
    """Every job among these objects of these files; mistakes are raised together."""
    parsed = requests(telling(objects), gates)
    for warning in parsed.warnings:
        click.echo(f"warning: {warning}", err=True)
    if not parsed.jobs and paths:
        text = f"no job to place: {name_some(parsed.skipped) or 'the file is empty'}"
        kinds = f"supported kinds: {', '.join(READ_KINDS)}, and groups of pods"
        raise refuse(text, kinds, where=", ".join(map(shown, paths)))
    return parsed.jobs


def named_levels(jobs: Sequence[GivenJob]) -> list[str]:
    """The levels that jobs request by name."""
    constraints = (one for job in jobs for _, found in job.request.walk() for one in found)
    levels = dict.fromkeys(level for one in constraints for level in one.levels)
    return [level for level in levels if level != AUTO]


def check_jobs(jobs: Sequence[GivenJob], gates: Gates, topology: Topology) -> None:
    """Raise all mistakes that make jobs impossible on this topology, together."""
    mistakes = [mistake for job in jobs for mistake in (*group_mistakes_of(job), *level_mistakes(job, gates, topology))]
    if mistakes:
        raise InputError(mistakes)


def tolerating(job: GivenJob, tolerations: tuple[Toleration, ...]) -> GivenJob:
    """The job with its flavor's tolerations added to each pod set."""
    if not tolerations:
        return job
    more = (
        replace(one, shape=replace(one.shape, tolerations=(*one.shape.tolerations, *tolerations)))
        for one in job.request.pod_sets
    )
    return replace(job, request=job.request.changed(more))


def _clear_of(windows: Sequence[Maintenance], job: GivenJob) -> GivenJob:
    """The job with the maintenance windows that it would not reach if it started now."""
    limit, now = job.standing.max_seconds, time()
    found = tuple(one.taint for one in windows if limit is not None and one.admits(now + limit, now))
    if not found:
        return job
    more = (replace(one, shape=replace(one.shape, clear_of=found)) for one in job.request.pod_sets)
    return replace(job, request=job.request.changed(more))


def group_mistakes_of(job: GivenJob) -> Iterator[Mistake]:
    """Groups that would lose pods: a group is one leader pod and its workers."""
    for group in job.request.groups:
        counts = [one.count for one in group.pod_sets if one.count]
        if len(counts) > 2 or (len(counts) == 2 and min(counts) > 1):
            yield Mistake(
                f"its pod sets have {', '.join(map(str, counts))} pods",
                "a group is one leader pod and its workers: give it two pod sets, one of them with count 1",
                where=job.where,
                what=f"{job.kind} {job.name}",
                field=f"group {group.name}",
            )


def level_mistakes(job: GivenJob, gates: Gates, topology: Topology) -> Iterator[Mistake]:
    """Constraints that are invalid on this topology."""
    for one in job.request.pod_sets:
        found = search(topology, one.constraint, gates)
        if isinstance(found, Reason):
            yield Mistake(
                str(found),
                _remedy(found, topology),
                where=job.where,
                what=f"{job.kind} {job.name}",
                field=_field(job, one, _annotation(found, one)),
            )


def _field(job: GivenJob, one: PodSet, annotation: str) -> str:
    """The annotation on a pod set's template, or the equivalent field of a Workload."""
    if job.kind != "Workload":
        return f"pod set {one.name}: {annotation}"
    return f"spec.podSets[{job.order.index(one.name)}].topologyRequest.{IN_WORKLOAD[annotation]}"


def _annotation(found: Reason, one: PodSet) -> str:
    """The annotation that causes the reason."""
    candidates = FIELDS.get(found.why, (keys.LAYERS,))
    wanted = one.constraint
    if wanted is None or len(candidates) == 1:
        return candidates[0]
    if found.why is Why.NO_LEVEL:
        return keys.REQUIRED if wanted.required == found.values["level"] else keys.PREFERRED
    return keys.SLICE_LEVEL if len(wanted.slices) == 1 else keys.LAYERS


def _remedy(found: Reason, topology: Topology) -> str:
    levels = f"the levels are {', '.join(topology.levels)}"
    if found.why in (Why.NO_LEVEL, Why.NO_SLICE_LEVEL, Why.NO_LAYER_LEVEL):
        return did_you_mean(found.values["level"], topology.levels) + levels
    return f"{levels}, coarse to fine"


def identity_of(job: GivenJob) -> dict[str, str]:
    """The object that an answer is about, as data."""
    return {"kind": job.kind, "namespace": job.namespace, "name": job.name, "file": job.where}
