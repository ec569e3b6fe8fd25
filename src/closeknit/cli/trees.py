"""The trees of `closeknit tree` over nodes from files: Topologies and HyperNodes, and distances in them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from ..cluster.files import documents
from ..cluster.located import located
from ..dialects.nrt.keys import KIND as NODE_TOPOLOGY
from ..model.mistake import InputError, Mistake, refuse
from ..model.nearest import did_you_mean
from ..model.number import number_of
from ..model.topology import ListedTopology, Path, Topology
from ..observe.group_world import charge_bound, read_groups
from ..observe.levels import levels_from_text, missing_levels
from ..observe.nodes import FileNodes, read_nodes
from ..report.census import Census
from ..report.node_trees import census_over, drawn
from ..state.distance import NamedSpots, Spot
from ..state.node_tree import tree_over
from ..state.snapshot import Snapshot
from .exit_codes import BAD_INPUT, YES
from .group_inputs import GivenFiles, trees_beside
from .inputs import check_nodes, columns_of, suggested
from .options import gates_of
from .output import emit, write
from .progress import Progress

MOST_NAMES = 5


@dataclass(frozen=True, slots=True)
class GivenTrees:
    """Node columns, and the topologies over them; `mistakes` are of trees that are not used until they are fixed."""

    columns: Snapshot
    topologies: dict[str, Topology]
    mistakes: Sequence[Mistake]

    def censuses(self) -> list[tuple[str, Census]]:
        found = []
        for name, topology in self.topologies.items():
            tree = tree_over(self.columns.table, topology)
            found.append((name, census_over(self.columns, drawn(tree, self.columns))))
        return found

    @property
    def code(self) -> int:
        return BAD_INPUT if self.mistakes else YES


def nodes_of(given: GivenFiles, cluster: Mapping[str, Any]) -> FileNodes:
    nodes = [*cluster["nodes"], *given.files_with("Node", NODE_TOPOLOGY)]
    check_nodes(nodes)
    with Progress("nodes") as tick:
        return read_nodes(nodes, tick)


def read_trees(given: GivenFiles, nodes: FileNodes, cluster: Mapping[str, Any]) -> GivenTrees:
    """The topologies of the files and those that the options name, or else the levels suggested by labels."""
    name = cluster["topology"]
    is_name = name is not None and not os.path.exists(name.partition("#")[0])
    options = {**cluster, "topology": None} if is_name else cluster
    columns = columns_of(nodes, gates_of(**cluster), cluster["pods"], cluster["selector"])
    charge_bound(columns, given.objects, ())
    objects = [*given.objects, *trees_beside(given, nodes, options)]
    reading = read_groups(objects, columns.table)
    found, mistakes = _sound(columns, reading.topologies, located(reading.mistakes, objects))
    if options["levels"] is not None:
        found = {"levels": levels_from_text(options["levels"])}
    elif options["topology"] is not None:
        file, _, chosen = options["topology"].partition("#")
        listed = [chosen] if chosen else [str(raw["metadata"].get("name")) for _, raw in documents(file)]
        found = {key: one for key, one in found.items() if key in listed}
    for mistake in mistakes:
        click.echo(f"error: {mistake}", err=True)
    if not found and not mistakes and not is_name:
        one = suggested(nodes.table)
        found = {one.name: one}
    if is_name:
        if name not in found:
            remedy = f"{did_you_mean(name, found)}the topologies are {', '.join(found) or 'none'}"
            raise refuse(f'no file and no topology "{name}"', remedy, what="--topology")
        found = {name: found[name]}
    return GivenTrees(columns, found, mistakes)


def _sound(
    columns: Snapshot, topologies: Mapping[str, Topology], mistakes: Sequence[Mistake]
) -> tuple[dict[str, Topology], list[Mistake]]:
    """The topologies whose levels nodes have, and all mistakes: also levels that no node has."""
    found, wrong = dict[str, Topology](), list(mistakes)
    for name, topology in topologies.items():
        try:
            if not isinstance(topology, ListedTopology):
                for warning in missing_levels(columns.table, topology, f"Topology {name}"):
                    click.echo(f"warning: {warning}", err=True)
            found[name] = topology
        except InputError as error:
            wrong += error.mistakes
    return found, wrong


def tell_distance(trees: GivenTrees, ends: tuple[str, str], output: str | None) -> int:
    """Print the edges between two nodes or domains, in each topology that has both."""
    names = trees.columns.table.names
    found = {name: NamedSpots(tree_over(trees.columns.table, one), names) for name, one in trees.topologies.items()}
    answers: list[tuple[str, int, Path]] = []
    for name, spots in found.items():
        one, other = (_meant(spots, end, name, found) for end in ends)
        if one is not None and other is not None:
            answers.append((name, spots.edges(one, other), spots.common(one, other)))
    if not answers and not trees.mistakes:
        text = f"no topology has both {ends[0]} and {ends[1]}"
        raise refuse(text, f"the topologies are {', '.join(found)}", what="--distance")
    if output in ("json", "yaml"):
        listed = [{"topology": name, "edges": edges, "common": list(both)} for name, edges, both in answers]
        emit({"from": ends[0], "to": ends[1], "distances": listed}, output)
    else:
        for name, edges, both in answers:
            where = f"both in {'/'.join(both)}" if both else "in different top-level domains"
            write([f"{ends[0]} to {ends[1]}: {number_of(edges, 'edge')} in topology {name}, {where}"])
    return trees.code


def _meant(spots: NamedSpots, name: str, topology: str, every: Mapping[str, NamedSpots]) -> Spot | None:
    """What a name means in a topology; None if only other topologies have it."""
    found = spots.find(name)
    if len(found) > 1:
        paths = ", ".join("/".join(one.path) for one in found[:MOST_NAMES])
        text = f"{name} is the name of {len(found)} domains of topology {topology}"
        raise refuse(text, f"use one of: {paths}", what="--distance")
    if not found and not any(one.find(name) for one in every.values()):
        known = [each for one in every.values() for each in one.names]
        remedy = did_you_mean(name, known).strip() or f"there are {', '.join(known[:MOST_NAMES])}, …"
        raise refuse(f'no node and no domain is named "{name}"', remedy, what="--distance")
    return found[0] if found else None
