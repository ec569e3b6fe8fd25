"""The topology manager's merge on many kubelets at a time, over columns of sets of zones.

What the merge of `merge` finds by going through the groups are the sets that are an intersection of one hint of each
resource. The number of combinations that give a set follows from sums over its supersets: the sums of the resources
multiply, and differences undo them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .hint_columns import Hints
from .zone_columns import BoolArray, IntArray
from .zone_plan import ZoneSets

FACTORS = 6
"""Sums that are multiplied before they are reduced to zero and one: 1024 to the sixth fits 64 bits."""
ROWS = 256
"""Rows at a time, so that the sums stay in the processor's cache."""
NO_SET = 64
"""More zones than a set has."""
LAST = 1 << 30
"""A rank behind that of every set."""


def merged(sets: ZoneSets, groups: Sequence[Hints], strictly: bool) -> tuple[IntArray, BoolArray]:
    """The set that the topology manager chooses for each row and whether it is preferred; -1 if it admits none."""
    rows = len(groups[0].least)
    common = np.ones((rows, len(sets.masks)), np.bool_)
    for one in groups:
        common &= (one.good & (sets.sizes == one.least[:, None])) | one.open[:, None]
    open_rows = np.logical_and.reduce([one.open for one in groups])
    common[open_rows] = sets.sizes == sets.sizes.max()
    preferred: BoolArray = common.max(axis=1)
    column: IntArray = np.where(common, sets.fitness, LAST).argmin(axis=1)
    column[~preferred] = -1
    others = np.flatnonzero(~preferred)
    if not strictly:
        for at in range(0, len(others), ROWS):
            part = others[at : at + ROWS]
            column[part] = _not_preferred(sets, [_of_rows(one, part) for one in groups])
    return column, preferred


def _of_rows(one: Hints, rows: IntArray) -> Hints:
    return Hints(one.good[rows], one.least[rows], one.open[rows], one.copies)


def _not_preferred(sets: ZoneSets, groups: Sequence[Hints]) -> IntArray:
    """The best intersection of hints. A resource that nothing serves has the whole machine, as the kubelet has it."""
    rows = np.arange(len(groups[0].least))
    narrowest = [np.where(one.good, sets.sizes, NO_SET).min(axis=1) for one in groups]
    aim = np.max([np.where(one < NO_SET, one, 0) for one in narrowest], axis=0)
    found = intersections(sets, groups)
    best = np.where(found, sets.rank[aim], LAST).argmin(axis=1)
    nothing = ~found[rows, best]
    column: IntArray = sets.column[best]
    column[nothing] = len(sets.masks) - 1
    return column


def intersections(sets: ZoneSets, groups: Sequence[Hints]) -> BoolArray:
    """Rows by masks: which sets are the intersection of one hint of every group."""
    rows, size = len(groups[0].least), sets.rank.shape[1]
    product, factors = np.ones((size, rows), np.int64), 0
    for one in groups:
        own = np.zeros((size, rows), np.int64)
        own[sets.masks] = one.good.T
        own[size - 1, ~one.good.any(axis=1)] = 1
        _over_supersets(own, 1)
        for _ in range(one.copies):
            if factors == FACTORS:
                _over_supersets(product, -1)
                product = (product != 0).astype(np.int64)
                _over_supersets(product, 1)
                factors = 1
            product *= own
            factors += 1
    _over_supersets(product, -1)
    product[0] = 0
    return np.ascontiguousarray((product != 0).T)


def _over_supersets(columns: IntArray, sign: int) -> None:
    """Add to each set, in place, all of its supersets; with sign -1 the reverse. Sets come first."""
    size, rows = columns.shape
    step = 1
    while step < size:
        view = columns.reshape(-1, 2, step * rows)
        view[:, 0] += view[:, 1] if sign > 0 else -view[:, 1]
        step *= 2
