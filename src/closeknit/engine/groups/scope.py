"""The nodes that a group may use: everything, a domain of a tree, or any set of rows.

A domain is a range of positions of its tree, so bounding a group to a domain of the same tree costs nothing. A domain
of one tree seen from another tree is a set of rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...state.node_tree import NodeTree
from ...state.table import BoolArray, IntArray


@dataclass(slots=True, eq=False)
class Scope:
    """With `tree`, the positions low .. high of it; otherwise `rows`, or every row where that is None."""

    tree: NodeTree | None = None
    low: int = 0
    high: int = 0
    rows: IntArray | None = None

    def all_rows(self, count: int) -> IntArray:
        """Its rows, where the columns have `count` rows."""
        if self.tree is not None:
            return self.tree.rows[self.low : self.high]
        return np.arange(count) if self.rows is None else self.rows

    def inside(self, tree: NodeTree) -> slice | IntArray:
        """Its positions in a tree: a range where it is a domain of that tree or everything, otherwise ascending."""
        if self.tree is tree:
            return slice(self.low, self.high)
        if self.tree is None and self.rows is None:
            return slice(0, len(tree.rows))
        places = tree.place[self.all_rows(tree.size)]
        return np.sort(places[places >= 0])

    def is_in_one(self, tree: NodeTree, level: int) -> bool:
        """Whether it is known to be inside one domain of this level."""
        if self.tree is not tree or self.low >= self.high:
            return False
        return bool(tree.domain[level][self.low] == tree.domain[level][self.high - 1])

    def without(self, tree: NodeTree, level: int, domains: BoolArray) -> Scope:
        """The scope less some domains of a level."""
        rows = self.all_rows(tree.size)
        places = tree.place[rows]
        closed = places >= 0
        closed[closed] = domains[tree.domain[level][places[closed]]]
        return Scope(rows=rows[~closed])


EVERYTHING = Scope()
NOWHERE = Scope(rows=np.empty(0, dtype=np.int64))
