"""What is placed below a part so far: pods by shape, and the domains of a level that they use.

A search asks for it before every choice inside the part, so it is kept up to date instead of being summed up again.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from ...model.shape import Shape
from ...state.node_tree import NodeTree
from ...state.table import IntArray
from .fill import Share
from .parts import Batch, GroupPart


class DomainUse:
    """`rows[d]` is how many rows of domain d of a level have pods; a row counts once for each batch."""

    def __init__(self, tree: NodeTree, level: int) -> None:
        self.tree, self.level = tree, level
        self.rows: IntArray = np.zeros(len(tree.values[level]), dtype=np.int64)

    def add(self, rows: IntArray, sign: int) -> None:
        if len(rows):
            places = self.tree.place[rows]
            np.add.at(self.rows, self.tree.domain[self.level][places[places >= 0]], sign)


class Below:
    """`use` has the rows of the preferred level with pods of the part, running ones included; None without a level."""

    def __init__(self, part: GroupPart) -> None:
        self.part, self.pods = part, 0
        self.by_shape: Counter[Shape] = Counter()
        bounds = part.bounds
        self.use: DomainUse | None = None
        if bounds is not None and bounds.preferred is not None:
            self.use = DomainUse(bounds.tree, bounds.preferred)
            self.use.add(part.running, 1)

    def add(self, batch: Batch, share: Share, sign: int) -> None:
        """Add the pods of a batch, or with sign -1 take them away again."""
        pods = sign * int(share[1].sum())
        self.pods += pods
        self.by_shape[batch.shape] += pods
        if self.use is not None:
            self.use.add(share[0], sign)

    def left(self) -> dict[Shape, int]:
        """The pods that the minimum of the part still has to place, by shape."""
        left = ((shape, count - self.by_shape[shape]) for shape, count in self.part.wants.items())
        return {shape: count for shape, count in left if count > 0}
