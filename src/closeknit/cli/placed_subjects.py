"""What `place` and `explain` are asked about: Kueue's jobs and groups of pods of the other dialects, in file order.

Jobs are placed on a snapshot with one topology, groups on node columns with many. If the files have both, the snapshot
is laid over the same columns, so what one of them takes is gone for the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import click

from ..cluster.files import STDIN, identity, stdin_kept
from ..dialects.kueue.jobs import GivenJob
from ..dialects.nrt.keys import KIND as NODE_TOPOLOGY
from ..model.claims import Volumes
from ..model.gang import Gang
from ..model.gates import Gates
from ..observe.nodes import FileNodes
from ..state.snapshot import Snapshot
from .file_rules import FileRules, namespaces_in, read_volumes
from .group_inputs import GivenFiles, LoadedGroups, check_any, given_files, load_groups
from .inputs import LoadedNodes, check_stdin
from .jobs import jobs_of, load_jobs
from .options import gates_of


@dataclass(frozen=True, slots=True)
class Placeables:
    """`nodes` are for jobs and `groups` for gangs; None where there are none of them."""

    subjects: list[GivenJob | Gang]
    gates: Gates
    nodes: LoadedNodes | None = None
    groups: LoadedGroups | None = None
    volumes: Volumes = field(default_factory=Volumes)

    @property
    def columns(self) -> Snapshot:
        if self.nodes is not None:
            return self.nodes.snapshot
        assert self.groups is not None
        return self.groups.world.columns

    @property
    def files(self) -> FileNodes:
        if self.nodes is not None:
            return self.nodes.nodes
        assert self.groups is not None
        return self.groups.nodes

    def ruled(self, subject: GivenJob | Gang) -> GivenJob | Gang:
        """A subject as it is to be placed now: with what volumes and the pods that run ask."""
        if "AllPodFilters" not in self.gates:
            return subject
        return FileRules(self.volumes, self.columns.neighbours).of(subject)

    def warn_of_domains(self) -> None:
        """Jobs that are placed in domains of several nodes take no room that groups could see."""
        if self.nodes is not None and self.groups is not None and not self.nodes.snapshot.tree.one_node_a_leaf:
            text = "jobs are placed in domains of several nodes, so groups after them may be planned onto the same room"
            click.echo(f"warning: {text}; use levels that end with kubernetes.io/hostname", err=True)


def load_placeables(paths: Sequence[str], cluster: Mapping[str, Any]) -> Placeables:
    """Everything that the files ask to place, with the nodes for it; raises all mistakes."""
    check_stdin(jobs=paths, **cluster)
    with stdin_kept() if STDIN in paths else nullcontext():
        return _load(paths, gates_of(**cluster), cluster)


def _load(paths: Sequence[str], gates: Gates, cluster: Mapping[str, Any]) -> Placeables:
    given = given_files(paths)
    found = _placeables(given, paths, gates, cluster)
    found.columns.neighbours.namespaces = namespaces_in(given.objects)
    beside = [one for one in found.files.volumes if one[0] not in given.wheres]
    return replace(found, volumes=read_volumes([*given.objects, *beside]))


def _placeables(given: GivenFiles, paths: Sequence[str], gates: Gates, cluster: Mapping[str, Any]) -> Placeables:
    options = {name: value for name, value in cluster.items() if name != "context"}
    options["nodes"] = [*cluster["nodes"], *given.files_with("Node", NODE_TOPOLOGY)]
    if not given.shares.has_groups:
        nodes, jobs = load_jobs(jobs_of(given.objects, paths, gates), gates, options)
        return Placeables([*jobs], gates, nodes)
    groups = load_groups(given, cluster)
    found = jobs_beside(given, gates)
    if not found:
        check_any(groups.gangs, given)
        return Placeables([*groups.gangs], gates, None, groups)
    options |= {"read": groups.nodes, "over": groups.world.columns.columns}
    nodes, jobs = load_jobs(found, gates, options)
    both = Placeables(_in_order(given, groups.gangs, jobs), gates, nodes, groups)
    both.warn_of_domains()
    return both


def jobs_beside(given: GivenFiles, gates: Gates) -> list[GivenJob]:
    """The jobs of Kueue among files with groups; pods that run already are no jobs to place."""
    return jobs_of([one for one in given.shares.others if not _is_bound(one[1])], (), gates)


def _is_bound(raw: Mapping[str, Any]) -> bool:
    return raw["kind"] == "Pod" and bool((raw.get("spec") or {}).get("nodeName"))


def _in_order(given: GivenFiles, gangs: Sequence[Gang], jobs: Sequence[GivenJob]) -> list[GivenJob | Gang]:
    places = {(where, identity(raw)): at for at, (where, raw) in reversed(list(enumerate(given.objects)))}

    def place_of(one: GivenJob | Gang) -> int:
        if isinstance(one, Gang):
            return given.place_of(one)
        names = (f"{one.kind} {one.name}", f"{one.kind} {one.namespace}/{one.name}")
        return min((places[one.where, name] for name in names if (one.where, name) in places), default=len(places))

    return sorted([*gangs, *jobs], key=place_of)
