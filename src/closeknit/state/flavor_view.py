"""A flavor's view of the cluster: its topology over the nodes that carry its labels.

The tree is laid over the cluster's columns when it is first read, and again when one of its nodes moves in it. What is
taken shows in other flavors as `Mirror` decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..model.node import Node
from ..model.topology import Topology
from .columns import NodeColumns
from .snapshot import Snapshot, labelled
from .table import BoolArray, IntArray, NodeTable

if TYPE_CHECKING:
    from .mirror import Mirror


class FlavorView:
    """`labels` are those of the flavor: only nodes that carry them take part."""

    def __init__(self, mirror: Mirror, flavor: str, topology: Topology, labels: Mapping[str, str]) -> None:
        self.flavor, self.topology, self.labels = flavor, topology, dict(labels)
        self._mirror = mirror
        self.generation = 0
        """Moves with every change to the nodes or their usage, except what a cycle tries and rolls back."""
        self.laid: Snapshot | None = None

    @property
    def snapshot(self) -> Snapshot:
        """The current snapshot, built if there is none."""
        return self._mirror.lay(self) if self.laid is None else self.laid

    def takes(self, node: Node) -> bool:
        """Whether a node is in this flavor's tree."""
        if any(node.labels.get(key) != value for key, value in self.labels.items()):
            return False
        return all(key in node.labels for key in self.topology.levels)

    def among(self, table: NodeTable) -> BoolArray:
        """Which nodes carry the flavor's labels."""
        return labelled(table, self.labels)

    def may_share_nodes(self, other: FlavorView) -> bool:
        """Whether a node may carry the labels of both flavors."""
        return all(self.labels.get(key, value) == value for key, value in other.labels.items())

    def keeps(self, columns: NodeColumns, row: int, node: Node) -> bool:
        """Whether the tree stays as it is if this node replaces the one at `row`."""
        if self.laid is None:
            return True
        inside = bool(self.laid.leaf_of_row[row] >= 0)
        if not inside or not self.takes(node):
            return not inside and not self.takes(node)
        return all(columns.table.label(row, key) == node.labels[key] for key in self.topology.levels)

    def has(self, row: int) -> bool:
        """Whether a node is in the tree; a tree that is not laid may have it."""
        return self.laid is None or bool(self.laid.leaf_of_row[row] >= 0)

    def moved(self, rows: IntArray) -> None:
        """Usage on these nodes has changed."""
        self.generation += self.laid is None or (self.laid.sees and self.laid.has_any(rows))
