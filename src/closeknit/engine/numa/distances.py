"""Mean distances between the zones of a node, for every combination of zones of one size.

Nodes of one model have the same distances, so a matrix of them is kept once and nodes refer to it. The mean is over all
ordered pairs, a zone with itself included, in 32-bit floats as upstream computes it; what is compared for equality must
be rounded alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...model.numa import UNKNOWN_COST, Zone

TOO_FAR = np.float32(UNKNOWN_COST + 1)
"""Zones with this mean distance or a larger one are not taken together upstream, nor one that is so far from itself."""

Floats = NDArray[np.float32]
Positions = NDArray[np.int64]


class MeanDistances(NamedTuple):
    """`by_layout` has a row per combination and a column per layout; `best` is the least of each column, or 255."""

    by_layout: Floats
    best: Floats


@lru_cache(maxsize=256)
def positions(zones: int, count: int) -> Positions:
    """All combinations of `count` zones, in lexicographic order: positions(3, 2) == [[0, 1], [0, 2], [1, 2]]."""
    return np.array(list(combinations(range(zones), count)), dtype=np.int64).reshape(-1, count)


def mean(total: NDArray[np.int64], count: int) -> Floats:
    means: Floats = total.astype(np.float32) / np.float32(count * count)
    return means


def best_of(means: Floats) -> Floats:
    """The least mean distance of each column, at most that of zones whose distance is unknown."""
    best: Floats = means.min(axis=0, initial=np.float32(UNKNOWN_COST))
    return best


def total_distances(costs: NDArray[np.int64], chosen: Positions) -> NDArray[np.int64]:
    """The sum over ordered pairs of each combination, for each matrix: a row per combination."""
    total = np.zeros((len(chosen), len(costs)), dtype=np.int64)
    for left in chosen.T:
        for right in chosen.T:
            total += costs[:, left, right].T
    return total


class ZoneDistances:
    """The distances of every layout of nodes with this many zones; means are computed when first asked for."""

    def __init__(self, zones: int) -> None:
        self.zones = zones
        self._known: dict[tuple[int, ...], int] = {}
        self._costs: NDArray[np.int64] | None = None
        self._means: dict[int, MeanDistances] = {}

    def layout(self, zones: Sequence[Zone]) -> int:
        """The number of the layout that these zones have."""
        matrix = tuple(zone.cost(other.id) for zone in zones for other in zones)
        number = self._known.get(matrix)
        if number is None:
            number = self._known[matrix] = len(self._known)
            self._costs, self._means = None, {}
        return number

    def __len__(self) -> int:
        return len(self._known)

    def keep(self, layouts: Sequence[int]) -> None:
        """Forget all layouts but these, which get the numbers 0, 1 and so on."""
        matrices = list(self._known)
        self._known = {matrices[number]: at for at, number in enumerate(layouts)}
        self._costs, self._means = None, {}

    @property
    def costs(self) -> NDArray[np.int64]:
        """The matrices of all layouts."""
        if self._costs is None:
            matrices = np.array(list(self._known), dtype=np.int64)
            self._costs = matrices.reshape(len(self._known), self.zones, self.zones)
        return self._costs

    def means(self, count: int) -> MeanDistances:
        """The mean distances of all combinations of `count` zones."""
        found = self._means.get(count)
        if found is None:
            means = mean(total_distances(self.costs, positions(self.zones, count)), count)
            found = self._means[count] = MeanDistances(means, best_of(means))
        return found
