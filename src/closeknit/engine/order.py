"""The two total orders over domains, and how to pick the first under one of them without sorting.

    to choose a level's domain   leader ↓  [affinity ↓]  slices beside the leader  pods beside the leader ↑  path ↑
    everywhere else                        [affinity ↓]  slices                    pods ↑                    path ↑

Slices run ↓ for BestFit and ↑ for LeastFreeCapacity. Pods run ↑ in both: among equals the tighter domain wins. Among
hosts that are equal in all that, the one wins whose NUMA zones serve the pod best, before the path decides.
"""

from __future__ import annotations

import numpy as np

from ..state.table import BoolArray, IntArray
from .tally import CostOf, LevelColumns

Keys = list[IntArray]


def leader_keys(level: LevelColumns, ascending: bool) -> Keys:
    """Sort keys for choosing a domain, most significant first."""
    keys = [] if level.leader is None else [-level.leader]
    if level.score is not None:
        keys.append(-level.score)
    keys.append(level.slices_beside if ascending else -level.slices_beside)
    return keys if level.pods_beside is level.slices_beside else [*keys, level.pods_beside]


def plain_keys(level: LevelColumns, ascending: bool) -> Keys:
    """Sort keys for filling, most significant first."""
    keys = [] if level.score is None else [-level.score]
    keys.append(level.slices if ascending else -level.slices)
    return keys if level.pods is level.slices else [*keys, level.pods]


def ordered(keys: Keys, at: IntArray | None = None, cost: CostOf | None = None) -> IntArray:
    """Positions (into `at`, or into the whole level) in ascending order of the keys; ties keep their order."""
    chosen = keys if at is None else [key[at] for key in keys]
    if cost is not None:
        chosen = [*chosen, cost(np.arange(len(keys[0])) if at is None else at)]
    if len(chosen) == 1:
        return np.argsort(chosen[0], kind="stable")
    return np.lexsort(tuple(reversed(chosen)))


def first(keys: Keys, among: IntArray | BoolArray, cost: CostOf | None = None) -> int:
    """The first domain under the keys among some, given as indices or as a mask; -1 if there are none."""
    at = np.flatnonzero(among) if among.dtype == np.bool_ else among
    for key in keys:
        if len(at) <= 1:
            break
        values = key[at]
        at = at[values == values.min()]
    if len(at) > 1 and cost is not None:
        return int(at[np.argmin(cost(at.astype(np.int64)))])
    return int(at[0]) if len(at) else -1
