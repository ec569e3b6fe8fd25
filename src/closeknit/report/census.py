"""Capacity, usage and free resources of every domain, summed up the tree: the numbers behind trees and pictures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..model.resources import PODS
from ..model.shape import MAINTENANCE, Taint
from ..model.topology import Path
from ..state.snapshot import Snapshot
from ..state.table import IntArray
from ..state.tree import Tree
from .zone_outline import ZonesOfLeaves

GPUS = ("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "google.com/tpu", "aws.amazon.com/neuron")


@dataclass(frozen=True)
class Census:
    """Columns per level and resource; unusable nodes are counted as nodes, but have no capacity.

    Usage on them does not reduce what other nodes have free.
    """

    tree: Tree
    resources: list[str]
    nodes: list[IntArray]
    usable: list[IntArray]
    allocatable: list[IntArray]
    used: list[IntArray]
    windows: tuple[tuple[Taint, list[IntArray]], ...] = ()
    """The maintenance windows, each with the number of its nodes in every domain."""
    zones: ZonesOfLeaves | None = None
    """The NUMA zones of the hosts; None where zones are known of none."""

    @classmethod
    def of(cls, snapshot: Snapshot) -> Census:
        tree, usable = snapshot.tree, snapshot.table.usable[snapshot.rows]
        starts = tree.nodes[:-1]
        allocatable = _sums(snapshot.of_nodes(snapshot.allocatable) * usable, starts)
        bottom = (
            np.diff(tree.nodes)[None, :],
            _sums(usable.astype(np.int64)[None, :], starts),
            allocatable,
            allocatable - np.maximum(snapshot.remaining, 0),
        )
        columns = [summed_up(tree, column) for column in bottom]
        nodes, able, whole, used = columns
        counts = [c[0] for c in nodes], [c[0] for c in able]
        windows, zones = tuple(_windows(snapshot)), ZonesOfLeaves.in_tree(snapshot)
        return cls(tree, snapshot.resources, *counts, whole, used, windows, zones)

    def main_resource(self) -> str:
        """The resource to show first: accelerators if there are any, else cpu."""
        have = [name for name in self.resources if self.total(name) > 0]
        known = [name for name in GPUS if name in have]
        extended = [name for name in have if "/" in name]
        return next(iter([*known, *extended, *(n for n in ("cpu", "memory") if n in have), PODS]))

    def scarcest(self) -> str:
        """The resource of which the largest share is in use; the main resource if nothing is."""
        main = self.main_resource()
        return max([main, *self.resources], key=lambda name: self._share(name))

    def _share(self, resource: str) -> float:
        whole = self.total(resource)
        return int(self.used[0][self.resources.index(resource)].sum()) / whole if whole > 0 else 0.0

    def total(self, resource: str) -> int:
        return int(self.allocatable[0][self.resources.index(resource)].sum())

    def path(self, level: int, domain: int) -> Path:
        return self.tree.path(level, domain)


def _windows(snapshot: Snapshot) -> Iterator[tuple[Taint, list[IntArray]]]:
    table, starts = snapshot.table, snapshot.tree.nodes[:-1]
    for taint in dict.fromkeys(one for taints in table.taints for one in taints if one.effect == MAINTENANCE):
        covered = np.array([taint in taints for taints in table.taints])[table.taint_codes[snapshot.rows]]
        if covered.any():
            counts = summed_up(snapshot.tree, _sums(covered.astype(np.int64)[None, :], starts))
            yield taint, [column[0] for column in counts]


def _sums(columns: IntArray, starts: IntArray) -> IntArray:
    return np.add.reduceat(columns, starts, axis=-1) if len(starts) else columns


def summed_up(tree: Tree, leaves: IntArray) -> list[IntArray]:
    """Sum a column of the leaves for every level, top level first."""
    levels = [leaves]
    for first in reversed(tree.first):
        levels.append(_sums(levels[-1], first[:-1]))
    return levels[::-1]
