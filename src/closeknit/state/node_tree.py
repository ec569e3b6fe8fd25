"""A topology over shared node columns: an order of their rows in which every domain of every level is a range.

The columns know nothing of topologies. A tree only says which rows take part and in which order, so several
topologies over the same nodes share all amounts: what is taken shows in every tree at once.

    rows        4  0  1   5  2         position -> row of the columns
    level 0     ── z1 ──  ─ z2 ─       begins[0] = [0, 3, 5]
    level 1     r1  ─ r2  ─ r3 ─       begins[1] = [0, 1, 3, 5]
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from ..model.topology import NODE, ListedTopology, Path, Topology
from .columns import NodeColumns
from .snapshot import Laid, Snapshot
from .table import MISSING, BoolArray, IntArray, NodeTable
from .tree import flat

ROOT = -1
"""The level above the first: one domain that holds the whole tree."""


@dataclass
class NodeTree:
    """`begins[l]` has where each domain of level l begins, in positions, and at the end the number of positions.

    `levels` are those above single nodes. `domain[l]` has the domain of each position, `parent[l]` each domain's
    parent in level l - 1. `real[l]` is False for a stand-in where a listed tree skips the level. `again[l]` is True for
    a domain of a listed tree that is the one above as well: a HyperNode of tier 1 counts at tier 2 where none is there.
    """

    topology: Topology
    levels: tuple[str, ...]
    rows: IntArray
    begins: list[IntArray]
    values: list[list[str]]
    real: list[BoolArray]
    again: list[BoolArray]
    size: int

    def __post_init__(self) -> None:
        self.place: IntArray = np.full(self.size, -1, dtype=np.int64)
        """The position of each row of the columns; -1 for a row that is not in this tree."""
        self.place[self.rows] = np.arange(len(self.rows))
        self.has_all_rows = len(self.rows) == self.size
        counts = [np.diff(begins) for begins in self.begins]
        self.domain = [np.repeat(np.arange(len(count)), count) for count in counts]
        self.parent = [np.zeros(len(counts[0]), dtype=np.int64)] if counts else []
        self.all_real = [bool(real.all()) for real in self.real]
        self.cache: dict[str, object] = {}
        """What the engine keeps for this tree."""
        self.parent += [self.domain[level - 1][self.begins[level][:-1]] for level in range(1, len(counts))]

    def level(self, key: str) -> int | None:
        """The index of a level by its key; None if the tree has no such level."""
        return self.levels.index(key) if key in self.levels else None

    def places(self, rows: IntArray, values: IntArray) -> tuple[IntArray, IntArray]:
        """The positions of rows and their values, whose last axis is that of the rows; without rows of other trees."""
        places = self.place[rows]
        if self.has_all_rows:
            return places, values
        inside = places >= 0
        return places[inside], values[..., inside]

    def range_of(self, level: int, domain: int) -> tuple[int, int]:
        """The positions of a domain, as a half-open range."""
        if level == ROOT:
            return 0, len(self.rows)
        return int(self.begins[level][domain]), int(self.begins[level][domain + 1])

    def ancestors(self, level: int, domains: IntArray, above: int) -> IntArray:
        """The domains of a higher level that contain these."""
        return self.domain[above][self.begins[level][domains]]

    def common(self, low: int, high: int, lowest: int | None = None) -> int:
        """The lowest level, not below `lowest`, at which one domain holds positions low .. high; ROOT if none does."""
        if high <= low:
            return ROOT
        start = len(self.levels) - 1 if lowest is None else lowest
        shared = (level for level in range(start, ROOT, -1) if self.domain[level][low] == self.domain[level][high - 1])
        return next(shared, ROOT)

    def path(self, level: int, domain: int) -> Path:
        """The values from the top down, each once; stand-ins are left out."""
        line = self._line(level, domain)
        return tuple(self.values[above][one] for above, one in line)

    def edges(self, level: int, at: int, other_level: int, other: int) -> int:
        """The edges between two domains; level len(levels) is that of single nodes, by position.

        Two nodes of one rack are 2 apart. The top of the tree is one level above the first.
        """
        one, two = self._line(level, at), self._line(other_level, other)
        common = 0
        for mine, theirs in zip(one, two, strict=False):
            if mine != theirs:
                break
            common += 1
        return len(one) + len(two) - 2 * common

    def _line(self, level: int, at: int) -> list[tuple[int, int]]:
        """The domains from the top down to this one, each once, without stand-ins."""
        single = level == len(self.levels)
        begin = at if single else int(self.begins[level][at])
        line = [(above, int(self.domain[above][begin])) for above in range(min(level + 1, len(self.levels)))]
        line = [(above, one) for above, one in line if self.real[above][one] and not self.again[above][one]]
        return [*line, (level, at)] if single else line

    def apart_from(self, level: int, domains: IntArray, first: int) -> IntArray:
        """How many levels each domain is from sharing a parent with `first`: 0 for itself, 1 for its siblings."""
        far = np.full(len(domains), level + 1, dtype=np.int64)
        for above in range(level, ROOT, -1):
            shared = self.ancestors(level, domains, above) == self.ancestors(level, np.array([first]), above)[0]
            far = np.where(shared, np.minimum(far, level - above), far)
        return far


NODES = Topology("nodes", (NODE,))


def node_columns(table: NodeTable) -> Snapshot:
    """Columns of these nodes, sorted by name, as a tree without levels: what trees of groups are laid over."""
    return Snapshot(NODES, table)


def by_node(columns: NodeColumns) -> Snapshot:
    """The tree without levels over columns: every leaf is one node, leaf i is row i."""
    return Snapshot(NODES, Laid(columns, np.arange(len(columns)), flat(NODES, columns.table.names)))


def tree_of(snapshot: Snapshot) -> NodeTree:
    """The tree of a snapshot with one node per leaf, hosts as its lowest level; its rows are the snapshot's leaves."""
    tree = snapshot.tree
    known = tree.cache.get("node tree")
    if isinstance(known, NodeTree):
        return known
    begins = []
    for level in range(len(tree.topology.levels)):
        starts: IntArray = np.arange(tree.size(level) + 1)
        for first in tree.first[level:]:
            starts = first[starts]
        begins.append(starts)
    real = [np.ones(tree.size(level), dtype=np.bool_) for level in range(len(begins))]
    again = [~column for column in real]
    rows = np.arange(tree.leaves)
    found = NodeTree(tree.topology, tree.topology.levels, rows, begins, tree.values, real, again, tree.leaves)
    tree.cache["node tree"] = found
    return found


def tree_over(table: NodeTable, topology: Topology, without: Collection[int] = ()) -> NodeTree:
    """The tree of a topology over these nodes; nodes without a domain at some level are left out of it.

    So are the rows `without`, of nodes that were removed.
    """
    levels = tuple(key for key in topology.levels if key != NODE)
    codes, values = _listed(table, topology, levels) if isinstance(topology, ListedTopology) else _labels(table, levels)
    inside = np.logical_and.reduce([column != MISSING for column in codes]) if codes else np.ones(len(table), np.bool_)
    inside[list(without)] = False
    rows = np.flatnonzero(inside).astype(np.int64)
    names = np.empty(len(table), dtype=np.int64)
    names[sorted(range(len(table)), key=table.names.__getitem__)] = np.arange(len(table))
    order = np.lexsort((names[rows], *(codes[at][rows] for at in range(len(codes) - 1, -1, -1))))
    rows = rows[order]
    begins, found, real = [], [], []
    changed = np.zeros(len(rows), dtype=np.bool_)
    changed[:1] = True
    for column, texts in zip(codes, values, strict=True):
        here = column[rows]
        changed[1:] |= here[1:] != here[:-1]
        start = np.flatnonzero(changed)
        begins.append(np.append(start, len(rows)).astype(np.int64))
        found.append([texts[code] or "" for code in here[start].tolist()])
        real.append(np.array([texts[code] is not None for code in here[start].tolist()], dtype=np.bool_))
    is_listed = isinstance(topology, ListedTopology)
    again = [_again(begins, found, level, is_listed) for level in range(len(begins))]
    return NodeTree(topology, levels, rows, begins, found, real, again, len(table))


def _again(begins: list[IntArray], values: list[list[str]], level: int, is_listed: bool) -> BoolArray:
    """Whether each domain of the level is its parent as well; only a listed tree has such domains."""
    found = np.zeros(len(values[level]), dtype=np.bool_)
    if is_listed and level:
        parents = np.searchsorted(begins[level - 1], begins[level][:-1], side="right") - 1
        found[:] = [values[level - 1][above] == own for above, own in zip(parents.tolist(), values[level], strict=True)]
    return found


Codes = tuple[list[IntArray], list[list[str | None]]]
"""For each level a code for each node, in the order of the values, and the values."""


def _labels(table: NodeTable, levels: tuple[str, ...]) -> Codes:
    codes: list[IntArray] = []
    values: list[list[str | None]] = []
    for key in levels:
        column = table.labels.get(key)
        if column is None:
            codes.append(np.full(len(table), MISSING, dtype=np.int64))
            values.append([])
            continue
        ranks = np.append(column.ranks(), MISSING)
        codes.append(ranks[column.codes])
        values.append([*sorted(column.values)])
    return codes, values


def _listed(table: NodeTable, topology: ListedTopology, levels: tuple[str, ...]) -> Codes:
    codes: list[IntArray] = []
    values: list[list[str | None]] = []
    for at in range(len(levels)):
        texts = [topology.paths[name][at] if name in topology.paths else None for name in table.names]
        distinct: list[str | None] = [*sorted({text for text in texts if text is not None}), None]
        index: Mapping[str | None, int] = {text: code for code, text in enumerate(distinct)}
        column = np.array([index[text] for text in texts], dtype=np.int64)
        column[[name not in topology.paths for name in table.names]] = MISSING
        codes.append(column)
        values.append(distinct)
    return codes, values
