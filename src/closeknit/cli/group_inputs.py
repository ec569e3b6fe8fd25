"""Reads groups of pods for `place`, `explain`, `what-if` and `tree`, with the nodes that they are placed on.

Groups come from the given files. Nodes, running pods and topologies come from the options and from the same files. A
mistake in any of them is refused before anything is placed, in the words that `closeknit check` uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from ..cluster.files import STDIN, documents, identity, shown
from ..cluster.files import files as files_of
from ..cluster.located import located
from ..cluster.mistakes import SHOWN, Mistakes
from ..dialects.gangs import KINDS, Shares
from ..dialects.nrt.keys import KIND as NODE_TOPOLOGY
from ..dialects.volcano.keys import BATCH_GROUP, SCHEDULING_GROUP
from ..model.gang import Gang
from ..model.gates import Gates
from ..model.mistake import Mistake, refuse
from ..observe.group_world import GroupWorld, charge_bound, read_groups
from ..observe.nodes import TREES, FileNodes, holds_pools
from ..observe.pods import grouped_pods
from .inputs import read_columns
from .options import gates_of

Found = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class GivenFiles:
    """The objects of the files on the command line, and which of them a group dialect reads."""

    paths: tuple[str, ...]
    objects: tuple[Found, ...]
    shares: Shares

    @property
    def wheres(self) -> set[str]:
        return {where for where, _ in self.objects}

    def files_with(self, *kinds: str) -> list[str]:
        """The files that hold an object of one of these kinds."""
        holding = {where for where, raw in self.objects if raw["kind"] in kinds}
        return [file for path in self.paths for file in files_of(path) if shown(file) in holding]

    def place_of(self, gang: Gang) -> int:
        """The position of a gang's object among all objects."""
        names = {gang.owner, f"{gang.kind} {gang.name}", f"{gang.kind} {gang.key}"}
        found = (at for at, (where, raw) in enumerate(self.objects) if where == gang.where and identity(raw) in names)
        return next(found, len(self.objects))


@dataclass(frozen=True, slots=True)
class LoadedGroups:
    """`gangs` are those of the given files, in their order."""

    world: GroupWorld
    gangs: list[Gang]
    gates: Gates
    nodes: FileNodes


def given_files(paths: Sequence[str]) -> GivenFiles:
    objects = tuple(pair for path in paths for pair in documents(path))
    return GivenFiles(tuple(paths), objects, Shares(objects))


def has_groups(paths: Sequence[str]) -> bool:
    """Whether these files hold groups of pods; standard input is not looked at, since it can be read only once."""
    if STDIN in paths:
        return False
    return Shares(pair for path in paths for pair in documents(path)).has_groups


def nodes_of_cluster(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of `load_groups` for the manifests of a whole cluster: their nodes, pods and topologies."""
    kinds: dict[str, set[str]] = {"Node": set(), NODE_TOPOLOGY: set(), "Pod": set()}
    for file in (file for path in options["cluster"] for file in files_of(path)):
        if holds_pools(file):
            kinds["Node"].add(file)
            continue
        for _, raw in documents(file):
            if raw["kind"] in kinds:
                kinds[raw["kind"]].add(file)
    given = ("feature_gates", "profile", "topology", "selector", "config")
    of_nodes = {name: options[name] for name in given if name in options}
    pods = [*options.get("pods", ()), *sorted(kinds["Pod"])]
    nodes = sorted(kinds["Node"] | kinds[NODE_TOPOLOGY])
    return {**of_nodes, "nodes": nodes, "pods": pods, "context": options["cluster"]}


def load_groups(given: GivenFiles, cluster: Mapping[str, Any]) -> LoadedGroups:
    """The groups of the files, on the nodes that the options and the files describe; raises all mistakes."""
    gates = gates_of(**cluster)
    options = dict(cluster)
    options["nodes"] = [*cluster["nodes"], *given.files_with("Node", NODE_TOPOLOGY)]
    columns, nodes = read_columns(gates, **options)
    members = grouped_pods(cluster["pods"])
    counted = {_key(raw) for _, raw in members}
    warnings = charge_bound(columns, given.objects, counted)
    own = [one for one in given.objects if one[1]["kind"] != "Pod" or _key(one[1]) not in counted]
    objects = [*own, *members, *trees_beside(given, nodes, cluster)]
    reading = read_groups(objects, columns.table)
    _check(reading.mistakes, given, objects)
    warnings += [one for one in reading.warnings if one.where in given.wheres]
    gangs = sorted((one for one in reading.gangs if one.where in given.wheres), key=given.place_of)
    world = GroupWorld(columns, reading)
    tell_warnings([*warnings, *world.lay(gangs), *_notices(gangs)], objects)
    return LoadedGroups(world, gangs, gates, nodes)


def _key(raw: Mapping[str, Any]) -> str:
    metadata = raw.get("metadata") or {}
    return f"{metadata.get('namespace') or 'default'}/{metadata.get('name') or ''}"


def trees_beside(given: GivenFiles, nodes: FileNodes, cluster: Mapping[str, Any]) -> list[Found]:
    """The topologies that are not in the given files: those beside the nodes, and those that options name."""
    return [one for one in (*nodes.trees, *_trees_of(cluster)) if one[0] not in given.wheres]


def _trees_of(cluster: Mapping[str, Any]) -> Iterator[Found]:
    """The topologies of the file that --topology names, and those beside the nodes of a whole cluster."""
    files = [file for path in cluster.get("context", ()) for file in files_of(path) if file not in cluster["nodes"]]
    if cluster.get("topology") is not None:
        files.append(cluster["topology"].partition("#")[0])
    yield from (one for file in files for one in documents(file) if one[1]["kind"] in TREES)


def _check(wrong: Sequence[Mistake], given: GivenFiles, objects: Sequence[Found]) -> None:
    """Raise the mistakes: not those of pods elsewhere, nor those of HyperNodes where no group is Volcano's."""
    has_volcano = any(_api_group(raw) in (SCHEDULING_GROUP, BATCH_GROUP) for _, raw in given.objects)
    mistakes = Mistakes()
    for one in located(wrong, objects):
        is_ours = one.where.partition(":")[0] in given.wheres
        is_tree = one.what.startswith("HyperNode ")
        if is_ours or (has_volcano if is_tree else not one.what.startswith("Pod ")):
            mistakes.add(one)
    mistakes.check()


def _api_group(raw: Mapping[str, Any]) -> str:
    return str(raw["apiVersion"]).rpartition("/")[0]


def _notices(gangs: Sequence[Gang]) -> Iterator[Mistake]:
    for gang in gangs:
        for notice in gang.notices:
            yield Mistake(notice, where=gang.where, what=gang.title)


def tell_warnings(warnings: Sequence[Mistake], objects: Sequence[Found]) -> None:
    """Print the first warnings, each with its position, and how many more there are."""
    for warning in located(warnings[:SHOWN], objects):
        click.echo(f"warning: {warning}", err=True)
    if len(warnings) > SHOWN:
        click.echo(f"warning: and {len(warnings) - SHOWN} more", err=True)


def check_any(gangs: Sequence[Gang], given: GivenFiles) -> None:
    """Raise if the files have no group to place."""
    if not gangs:
        kinds = ", ".join(sorted({kind for _, kind in KINDS} - set(TREES)))
        where = ", ".join(map(shown, given.paths))
        raise refuse("no group to place: no pods belong to one", f"add the groups that the pods name: {kinds}", where)
