"""Small clusters and short requests for tests of trees of groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from closeknit.engine.groups.place import GroupResult, place_groups
from closeknit.engine.policy import Policy
from closeknit.model.node import Node
from closeknit.model.request import Constraint, Group, PodSet, Request
from closeknit.model.shape import Shape
from closeknit.model.topology import Topology
from closeknit.state.node_tree import NodeTree, node_columns, tree_over
from closeknit.state.snapshot import Snapshot
from closeknit.state.table import NodeTable

GPU = "nvidia.com/gpu"
SEED = {
    "A": {"A1": {"NA1": 2, "NA2": 2, "NA3": 2}, "A2": {"NA4": 4}, "A3": {"NA5": 2, "NA6": 2, "NA7": 2}},
    "B": {"B1": {"NB1": 4, "NB2": 4}, "B2": {"NB3": 2}},
    "C": {"C1": {"NC1": 2, "NC2": 4}},
}
"""Zones, racks and nodes with their GPUs: the tree of KAI's design document."""


class Small:
    """Columns and trees; `place` returns the nodes of each pod set, or the text of the reason."""

    def __init__(self, nodes: Iterable[Node], *topologies: Topology) -> None:
        self.columns: Snapshot = node_columns(NodeTable.of(nodes))
        self.trees: dict[str, NodeTree] = {one.name: tree_over(self.columns.table, one) for one in topologies}

    def result(self, *groups: Group, **options: Any) -> GroupResult:
        return place_groups(self.columns, self.trees, Request(groups), Policy(), **options)

    def place(self, *groups: Group, **options: Any) -> dict[str, list[str]] | str:
        found = self.result(*groups, **options)
        if found.reason is not None:
            return str(found.reason)
        return {name: placed.nodes(self.columns) for name, placed in found.placed.items()}


def seed_tree() -> Small:
    nodes = [
        Node(name, {"zone": zone, "rack": rack}, {"cpu": 64000, GPU: gpus, "pods": 110})
        for zone, racks in SEED.items()
        for rack, found in racks.items()
        for name, gpus in found.items()
    ]
    return Small(nodes, Topology("net", ("zone", "rack")))


def racks(*sizes: int, cpu: int = 1000, labels: Mapping[str, str] | None = None) -> Small:
    """Racks r0, r1, … with this many nodes of one pod each."""
    nodes = [
        Node(f"r{rack}-n{at:02}", {"rack": f"r{rack}", **(labels or {})}, {"cpu": cpu, "pods": 110})
        for rack, size in enumerate(sizes)
        for at in range(size)
    ]
    return Small(nodes, Topology("net", ("rack",)))


def pods(name: str, count: int, cpu: int = 1000, running: tuple[str, ...] = (), gpus: int = 0) -> PodSet:
    return PodSet(name, count, Shape.of({"cpu": cpu, **({GPU: gpus} if gpus else {})}), running=running)


def within(required: str | None = None, preferred: str | None = None) -> Constraint:
    return Constraint(required, preferred, topology="net")


def leaf(name: str, count: int, constraint: Constraint | None = None, minimum: int | None = None, **more: Any) -> Group:
    return Group((pods(name, count, **more),), name, constraint, min_pods=minimum)
