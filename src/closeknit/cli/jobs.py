"""Reading the jobs that a command is asked about, and holding them against the topology."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

import click

from ..cluster.files import documents
from ..dialects.kueue import keys
from ..dialects.kueue.jobs import Job, requests
from ..engine.slicing import search
from ..model.gates import Gates
from ..model.mistake import InputError, Mistake, refuse
from ..model.reason import Reason, Why
from ..model.request import PodSet
from ..model.topology import Topology

FIELDS = {
    Why.NO_LEVEL: (keys.REQUIRED, keys.PREFERRED),
    Why.LEVEL_NOT_SPECIFIED: (keys.UNCONSTRAINED,),
    Why.NO_SLICE_LEVEL: (keys.SLICE_LEVEL, keys.LAYERS),
    Why.SLICE_WITHOUT_SIZE: (keys.SLICE_SIZE,),
    Why.SLICE_ABOVE_POD_SET: (keys.SLICE_LEVEL, keys.LAYERS),
}
"""Where a user looks for what a reason complains of; all others are about layers."""


def read_jobs(paths: tuple[str, ...], gates: Gates, topology: Topology) -> list[Job]:
    """Every job in these files, in order; mistakes are raised together."""
    parsed = requests((pair for path in paths for pair in documents(path)), gates)
    for warning in parsed.warnings:
        click.echo(f"warning: {warning}", err=True)
    if not parsed.jobs:
        raise refuse(
            "there is no job to place", "give a Job, JobSet, group of Pods or Workload", where=", ".join(paths)
        )
    mistakes = [mistake for job in parsed.jobs for mistake in (*_torn_groups(job), *_levels(job, gates, topology))]
    if mistakes:
        raise InputError(mistakes)
    return parsed.jobs


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


def _levels(job: Job, gates: Gates, topology: Topology) -> Iterator[Mistake]:
    """Constraints that make no sense on this topology."""
    for one in job.request.pod_sets:
        found = search(topology, one.constraint, gates)
        if isinstance(found, Reason):
            yield Mistake(
                str(found),
                _remedy(found, topology),
                where=job.where,
                what=f"{job.kind} {job.name}",
                field=f"pod set {one.name}: {_field(found, one)}",
            )


def _field(found: Reason, one: PodSet) -> str:
    """The annotation, or the field of a Workload that says the same, that was given."""
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
        near = difflib.get_close_matches(found.values["level"], topology.levels, n=1)
        return f"did you mean {near[0]}? {levels}" if near else levels
    return f"coarse to fine, {levels}"
