"""What is placed below a part so far: pods by shape, and the domains of its preferred level that they use.

A search asks for it before every choice inside the part, so it is kept up to date instead of being summed up again.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from ...model.shape import Shape
from ...state.table import IntArray
from .fill import Share
from .parts import Batch, GroupPart


class Below:
    """`used[d]` is how many rows of domain d of the preferred level have pods of the part, running ones included."""

    def __init__(self, part: GroupPart) -> None:
        self.part, self.pods = part, 0
        self.by_shape: Counter[Shape] = Counter()
        bounds = part.bounds
        level = None if bounds is None else bounds.preferred
        self.tree = None if bounds is None or level is None else bounds.tree
        self.level = level or 0
        self.used: IntArray = np.zeros(0 if self.tree is None else len(self.tree.values[self.level]), dtype=np.int64)
        self._use(part.running, 1)

    def add(self, batch: Batch, share: Share, sign: int) -> None:
        """Add the pods of a batch, or with sign -1 take them away again."""
        pods = sign * int(share[1].sum())
        self.pods += pods
        self.by_shape[batch.shape] += pods
        self._use(share[0], sign)

    def _use(self, rows: IntArray, sign: int) -> None:
        if self.tree is not None and len(rows):
            places = self.tree.place[rows]
            np.add.at(self.used, self.tree.domain[self.level][places[places >= 0]], sign)

    def left(self) -> dict[Shape, int]:
        """The pods that the minimum of the part still has to place, by shape."""
        left = ((shape, count - self.by_shape[shape]) for shape, count in self.part.wants.items())
        return {shape: count for shape, count in left if count > 0}
