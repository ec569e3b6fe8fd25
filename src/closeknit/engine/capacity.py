"""How many pods free resources hold: the scarcest resource decides."""

from __future__ import annotations

import numpy as np

from ..state.snapshot import Charge, Snapshot
from ..state.table import IntArray

MOST = 2**31 - 1
"""No count exceeds this."""


def fit(snapshot: Snapshot, capacity: IntArray, charge: Charge) -> IntArray:
    """Pods that fit, per column of `capacity` (one row a resource).

    fit of {cpu: 3, pods: 1} in {cpu: 10, pods: 110} == 3
    """
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


def by_resources(snapshot: Snapshot, _rows: IntArray, capacity: IntArray, charge: Charge) -> IntArray:
    """A node holds what its free resources hold."""
    return fit(snapshot, capacity, charge)
