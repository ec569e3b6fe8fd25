"""The tree of domains over sorted rows: every domain of every level is a slice of the level below it.

Leaves are numbered in ascending order of their full path, and so are the domains of every level above. Level l's
domain d has the children first[l][d] .. first[l][d + 1] of level l + 1, so sums over children are one
`add.reduceat`. Paths and names are looked up only at the end, when an assignment is built.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..model.topology import Path, Topology
from .table import MISSING, BoolArray, IntArray, NodeTable


@dataclass
class Tree:
    """`first[l]` has one entry more than level l has domains; `parent[l]` has each domain's parent (empty for level 0).

    `nodes` is the node rows' own `first`: leaf d holds the rows nodes[d] .. nodes[d + 1].
    """

    topology: Topology
    first: list[IntArray]
    parent: list[IntArray]
    nodes: IntArray
    values: list[list[str]]

    @property
    def leaves(self) -> int:
        return len(self.nodes) - 1

    def size(self, level: int) -> int:
        return len(self.values[level])

    def __post_init__(self) -> None:
        self.one_node_a_leaf = self.leaves == int(self.nodes[-1])
        self.cache: dict[str, object] = {}
        """What the engine keeps for this tree."""

    @cached_property
    def names(self) -> list[Path]:
        """The name of each leaf in an assignment: the hostname where that is lowest, else the path."""
        lowest = self.topology.lowest
        if self.topology.ends_at_host:
            return [(value,) for value in self.values[lowest]]
        return [self.path(lowest, leaf) for leaf in range(self.leaves)]

    @cached_property
    def leaf_of(self) -> dict[Path, int]:
        return {name: leaf for leaf, name in enumerate(self.names)}

    def ancestor(self, leaf: int, level: int) -> int:
        """The domain of a level that contains a leaf."""
        domain = leaf
        for below in range(self.topology.lowest, level, -1):
            domain = int(self.parent[below][domain])
        return domain

    def ancestors(self, leaves: IntArray, level: int) -> IntArray:
        """The same for many leaves at once."""
        for below in range(self.topology.lowest, level, -1):
            leaves = self.parent[below][leaves]
        return leaves

    def common_level(self, leaves: IntArray) -> int:
        """The lowest level at which one domain contains all of these leaves; -1 if none does."""
        if not len(leaves):
            return -1
        low, high = int(leaves.min()), int(leaves.max())
        for level in range(self.topology.lowest, -1, -1):
            if self.ancestor(low, level) == self.ancestor(high, level):
                return level
        return -1

    def path(self, level: int, domain: int) -> Path:
        path = [self.values[level][domain]]
        for below in range(level, 0, -1):
            domain = int(self.parent[below][domain])
            path.append(self.values[below - 1][domain])
        return tuple(reversed(path))

    def leaf_range(self, level: int, domain: int) -> tuple[int, int]:
        """The leaves below a domain, as a half-open range."""
        low, high = domain, domain + 1
        for first in self.first[level:]:
            low, high = int(first[low]), int(first[high])
        return low, high


def gather(first: IntArray, parents: IntArray) -> tuple[IntArray, IntArray]:
    """The children of some parents, concatenated, and where each parent's children begin.

    gather(first=[0, 2, 5, 6], parents=[0, 2]) == ([0, 1, 5], [0, 2])
    """
    begin = first[parents]
    sizes = first[parents + 1] - begin
    ends = np.cumsum(sizes)
    starts = ends - sizes
    return np.repeat(begin - starts, sizes) + np.arange(int(ends[-1]) if len(ends) else 0), starts


def sort_rows(topology: Topology, table: NodeTable, among: BoolArray | None = None) -> tuple[IntArray, Tree]:
    """The rows of `table` that have a label for every level, in path order, and the tree over them.

    `among` restricts them to some of the rows. Nodes that share a hostname, where the host is the lowest level, form
    one leaf, ordered by the first of them by name.
    """
    columns = [table.labels.get(key) for key in topology.levels]
    if not len(table) or any(column is None for column in columns):
        return np.empty(0, dtype=np.int64), _empty(topology)
    present = [column for column in columns if column is not None]
    inside = [column.codes != MISSING for column in present] + ([] if among is None else [among])
    rows = np.flatnonzero(np.logical_and.reduce(inside)).astype(np.int64)
    if not len(rows):
        return rows, _empty(topology)
    rows = np.array(sorted(rows.tolist(), key=table.names.__getitem__), dtype=np.int64)
    ranks = [column.ranks()[column.codes[rows]] for column in present]
    if topology.ends_at_host:
        _, at, inverse = np.unique(ranks[-1], return_index=True, return_inverse=True)
        if len(at) < len(rows):
            ranks = [rank[at][inverse] for rank in ranks]
    order = np.lexsort(tuple(reversed(ranks)))
    sorted_ranks = [rank[order] for rank in ranks]
    rows = rows[order]
    return rows, _tree(topology, table, rows, sorted_ranks)


def flat(topology: Topology, names: list[str]) -> Tree:
    """The tree without levels above single nodes: leaf i is the node with name i."""
    return Tree(topology, [], [np.empty(0, dtype=np.int64)], np.arange(len(names) + 1), [names])


def _tree(topology: Topology, table: NodeTable, rows: IntArray, ranks: list[IntArray]) -> Tree:
    """Domains begin where a rank of their own level or of one above changes."""
    changed = np.zeros(len(rows), dtype=np.bool_)
    changed[0] = True
    starts: list[IntArray] = []
    for rank in ranks:
        changed[1:] |= rank[1:] != rank[:-1]
        starts.append(np.flatnonzero(changed).astype(np.int64))
    values = []
    for key, start in zip(topology.levels, starts, strict=True):
        column = table.labels[key]
        values.append([column.values[code] for code in column.codes[rows[start]].tolist()])
    first, parent = [], [np.empty(0, dtype=np.int64)]
    for upper, lower in itertools.pairwise(starts):
        first.append(np.append(np.searchsorted(lower, upper), len(lower)))
        parent.append(np.searchsorted(upper, lower, side="right") - 1)
    return Tree(topology, first, parent, np.append(starts[-1], len(rows)), values)


def _empty(topology: Topology) -> Tree:
    nothing = np.empty(0, dtype=np.int64)
    depth = len(topology.levels)
    first = [np.zeros(1, dtype=np.int64) for _ in range(depth - 1)]
    return Tree(topology, first, [nothing] * depth, np.zeros(1, dtype=np.int64), [[] for _ in range(depth)])
