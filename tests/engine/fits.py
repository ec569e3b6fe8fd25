"""Ways to count pods on a node that no sum of resources gives."""

from __future__ import annotations

import numpy as np

from closeknit.engine.capacity import by_resources
from closeknit.model.shape import Shape
from closeknit.state.snapshot import Snapshot
from closeknit.state.table import IntArray


def one_per_empty_node(
    snapshot: Snapshot, shape: Shape, rows: IntArray, free: IntArray, _zones: IntArray | None = None
) -> IntArray:
    """A pod wants its node to itself: one where no other pod is, none anywhere else."""
    at = snapshot.index["pods"]
    is_empty = free[at] >= snapshot.allocatable[at, rows]
    alone: IntArray = np.minimum(by_resources(snapshot, shape, rows, free), 1) * is_empty
    return alone


def two_zones(
    snapshot: Snapshot, shape: Shape, rows: IntArray, free: IntArray, _zones: IntArray | None = None
) -> IntArray:
    """Each half of a node holds whole containers, and those of a pod all lie in one half."""
    zone = free[snapshot.index["cpu"]] // 2
    largest = max((dict(one.requests).get("cpu", 0) for one in shape.containers), default=0)
    fits: IntArray = by_resources(snapshot, shape, rows, free) * (zone >= largest)
    return fits
