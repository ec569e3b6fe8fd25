"""Gangs from files on the nodes that they are placed on: one set of node columns, and a tree for each topology.

    objects ──▶ gangs, topologies ──▶ trees ─┐
    nodes ────▶ columns ◀── bound pods       ├──▶ GroupWorld
                   └─────────────────────────┘

Pods that run already take their room on the columns, whether they belong to a gang or not. The groups of those that do
are bound to the domains where they run, which the gangs say themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..dialects.field import Field
from ..dialects.gang_reading import GangReading, Nodes
from ..dialects.gangs import read_gangs
from ..dialects.group_pods import GroupPod, read_pods
from ..model.gang import Gang
from ..model.mistake import Mistake
from ..model.request import Group
from ..model.topology import ListedTopology
from ..state.node_tree import NodeTree, tree_over
from ..state.snapshot import Snapshot
from ..state.table import NodeTable
from .levels import missing_levels
from .nodes import name_some

Found = tuple[str, dict[str, Any]]


@dataclass(slots=True)
class GroupWorld:
    """`trees` are by topology; those that no gang names are built when they are asked for."""

    columns: Snapshot
    reading: GangReading
    trees: dict[str, NodeTree] = field(default_factory=dict)

    def lay(self, gangs: Iterable[Gang]) -> list[Mistake]:
        """Build the trees of the topologies that these gangs name; warnings are of nodes outside of them.

        A level that no node has is refused.
        """
        names = dict.fromkeys(name for gang in gangs for group in gang.request.groups for name in topologies_of(group))
        return [warning for name in names for warning in self._lay(name)]

    def _lay(self, name: str) -> Iterator[Mistake]:
        topology = self.reading.topologies.get(name)
        if topology is not None and name not in self.trees:
            if not isinstance(topology, ListedTopology):
                yield from missing_levels(self.columns.table, topology, f"Topology {name}")
            self.trees[name] = tree_over(self.columns.table, topology)


class TableLabels(Nodes):
    """The labels of each node of a table, by its name; read only where they are asked for."""

    def __init__(self, table: NodeTable) -> None:
        self._table, self._rows = table, {name: row for row, name in enumerate(table.names)}

    def __getitem__(self, name: str) -> Mapping[str, str]:
        return dict(self._table.label_values(self._rows[name]))

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def read_groups(objects: Sequence[Found], table: NodeTable) -> GangReading:
    """The gangs of these objects, checked against these nodes."""
    return read_gangs(objects, TableLabels(table))


def charge_bound(columns: Snapshot, objects: Iterable[Found], known: Collection[str]) -> list[Mistake]:
    """Take the room of the pods among the objects that are bound; `known` are those that are counted already."""
    pods = (Field.root(raw) for _, raw in objects if raw.get("kind") == "Pod")
    bound = [pod for pod in read_pods(pods) if pod.node and pod.key not in known]
    for pod in bound:
        columns.use(pod.node, dict(pod.shape.requests))
        if pod.shape.kind is not None:
            columns.neighbours.use(pod.node, replace(pod.shape.kind, leaves=pod.leaves), 1)
    return list(_elsewhere([pod for pod in bound if pod.node not in columns.row_of]))


def _elsewhere(pods: Sequence[GroupPod]) -> Iterator[Mistake]:
    if pods:
        nodes = list(dict.fromkeys(pod.node for pod in pods))
        text = f"pods on nodes that were not given: {len(pods)} (on {name_some(nodes)})"
        yield Mistake(text, "give all nodes, or leave those pods out")


def topologies_of(group: Group) -> Iterator[str]:
    """The topologies that a group and everything below it name."""
    if group.constraint is not None and group.constraint.topology:
        yield group.constraint.topology
    if group.apart is not None and group.apart.topology:
        yield group.apart.topology
    for member in group.members:
        if isinstance(member, Group):
            yield from topologies_of(member)
        elif member.constraint is not None and member.constraint.topology:
            yield member.constraint.topology
