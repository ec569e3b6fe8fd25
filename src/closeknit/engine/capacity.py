"""How many pods free resources hold: the scarcest resource decides.

Used only by the default fit of a policy. Other code uses the policy, or the columns and counts of `fit` and `count`.
"""

from __future__ import annotations

import numpy as np

from ..model.shape import Shape
from ..state.snapshot import Charge, Snapshot
from ..state.table import IntArray

MOST = 2**31 - 1
"""No count exceeds this."""

FEW = 256


def by_resources(
    snapshot: Snapshot, shape: Shape, _rows: IntArray, free: IntArray, _zones: IntArray | None = None
) -> IntArray:
    """Count pods by free resources alone: the default fit."""
    return pods_in(snapshot, free, shape.charge)


def pods_in(snapshot: Snapshot, capacity: IntArray, charge: Charge) -> IntArray:
    """Pods that fit, per column of `capacity` (one row per resource).

    pods_in {cpu: 10, pods: 110} of {cpu: 3, pods: 1} == 3
    """
    if capacity.shape[1] <= FEW:
        return _pods_in_few(snapshot, capacity, charge)
    result: IntArray | None = None
    for resource, amount in charge:
        if amount <= 0:
            continue
        at = snapshot.index.get(resource)
        if at is None:
            return np.zeros(capacity.shape[1], dtype=np.int64)
        share = capacity[at] // amount
        result = share if result is None else np.minimum(result, share, out=result)
    if result is None:
        return np.zeros(capacity.shape[1], dtype=np.int64)
    return np.clip(result, 0, MOST, out=result)


def _pods_in_few(snapshot: Snapshot, capacity: IntArray, charge: Charge) -> IntArray:
    """The same in one numpy expression: for a few columns, call overhead costs more than arithmetic."""
    rows, amounts, is_known = snapshot.charge_rows(charge)
    if not is_known or not len(rows):
        return np.zeros(capacity.shape[1], dtype=np.int64)
    scarcest: IntArray = np.minimum.reduce(capacity[rows] // amounts[:, None])
    np.maximum(scarcest, 0, out=scarcest)
    return np.minimum(scarcest, MOST, out=scarcest)
