"""What the domains of a tree hold: pods of a shape, and free amounts; repaired where the columns changed.

Both are sums over the nodes of a domain. They bound what a domain can hold from above: pods of several shapes compete
for the same nodes, and rules between pods may exclude more.
"""

from __future__ import annotations

import numpy as np

from ...state.node_tree import NodeTree
from ...state.snapshot import Snapshot
from ...state.table import IntArray
from ..fit import Fit


class DomainCounts:
    """`pods` has how many pods of the shape each position of the tree holds, `at[l]` each domain of level l."""

    def __init__(self, tree: NodeTree, fit: Fit) -> None:
        self.tree, self.fit = tree, fit
        self.version = -1
        self.pods: IntArray = np.zeros(0, dtype=np.int64)
        self.at: list[IntArray] = []

    def refresh(self) -> None:
        """Follow the fit's column, which is up to date."""
        version = self.fit.snapshot.version
        if self.version == version:
            return
        rows = self.fit.changed_since(self.version)
        if rows is None:
            self._build()
        else:
            self._repair(rows)
        self.version = version

    def follow(self, rows: IntArray, counts: IntArray, before: int) -> None:
        """Follow pods of the shape that were placed on these rows."""
        if self.version == before:
            places, more = self.tree.places(rows, -counts)
            self.pods[places] += more
            add_at(self.tree, self.at, places, more)
            self.version = self.fit.version

    def _build(self) -> None:
        self.pods = self.fit.pods[self.tree.rows]
        self.at = [add_up(self.pods, begins[:-1]) for begins in self.tree.begins]

    def _repair(self, rows: IntArray) -> None:
        places = self.tree.place[rows]
        if not self.tree.has_all_rows:
            rows, places = rows[places >= 0], places[places >= 0]
        now = self.fit.pods[rows]
        more = now - self.pods[places]
        self.pods[places] = now
        add_at(self.tree, self.at, places, more)


class DomainFree:
    """Free amounts of each domain, one row per resource; a node that is overcommitted counts as full."""

    def __init__(self, tree: NodeTree, columns: Snapshot) -> None:
        self.tree, self.columns = tree, columns
        self.version = -1
        self.nodes: IntArray = np.zeros((0, 0), dtype=np.int64)
        self.at: list[IntArray] = []
        self._totals: list[IntArray] = []
        self._totals_version = -1

    def totals(self, level: int) -> IntArray:
        """What the usable nodes of each domain of a level have when nothing runs on them."""
        if not self._totals or self._totals_version < self.columns.nodes_changed:
            rows = self.columns.first_rows(self.tree.rows)
            whole = self.columns.allocatable[:, rows] * self.columns.table.usable[rows]
            self._totals = [add_up(whole, begins[:-1]) for begins in self.tree.begins]
            self._totals_version = self.columns.version
        return self._totals[level]

    def follow(self, rows: IntArray, taken: IntArray, before: int) -> None:
        """Follow pods that were placed on these rows and take this much, of what was free."""
        if self.version == before:
            places, more = self.tree.places(rows, -taken)
            self.nodes[:, places] += more
            add_at(self.tree, self.at, places, more)
            self.version = self.columns.version

    def refresh(self) -> None:
        version = self.columns.version
        if self.version == version:
            return
        rows = self.columns.changed_since(self.version) if self.version >= 0 else None
        if rows is None:
            self.nodes = np.maximum(self.columns.remaining[:, self.tree.rows], 0)
            self.at = [add_up(self.nodes, begins[:-1]) for begins in self.tree.begins]
        else:
            self._repair(rows)
        self.version = version

    def _repair(self, rows: IntArray) -> None:
        places = self.tree.place[rows]
        if not self.tree.has_all_rows:
            rows, places = rows[places >= 0], places[places >= 0]
        now = np.maximum(self.columns.remaining[:, rows], 0)
        more = now - self.nodes[:, places]
        self.nodes[:, places] = now
        add_at(self.tree, self.at, places, more)


def add_up(values: IntArray, begins: IntArray) -> IntArray:
    """Sums of the last axis over the ranges that start at `begins`, none of which is empty."""
    if not len(begins):
        return np.zeros((*values.shape[:-1], 0), dtype=np.int64)
    sums: IntArray = np.add.reduceat(values, begins, axis=-1)
    return sums


def add_at(tree: NodeTree, sums: list[IntArray], places: IntArray, more: IntArray) -> None:
    """Add what some nodes have more now to the sums of the domains around them. The last axis is that of the nodes."""
    if not len(places) or not sums:
        return
    lowest = tree.domain[-1][places]
    if len(lowest) == 1 or (lowest == lowest[0]).all():
        first, more = int(places[0]), np.add.reduce(more, axis=-1)
        for domain, at in zip(tree.domain, sums, strict=True):
            at[..., domain[first]] += more
        return
    for domain, at in zip(tree.domain, sums, strict=True):
        np.add.at(at.T, domain[places], more.T)
