"""How a decision is to be made: which gates are on, what is taken to be free, and how pods are counted on a node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..model.gates import Gates
from ..model.topology import Topology
from ..state.snapshot import Charge, Snapshot
from ..state.table import IntArray
from .capacity import by_resources

FitColumn = Callable[[Snapshot, IntArray, IntArray, Charge], IntArray]
"""Pods that fit, given node rows, what each has free (a row per resource), and what one pod takes.

The engine only sums up the column that comes back, so whatever decides how many pods a node admits can stand here.
"""


@dataclass(frozen=True, slots=True)
class Policy:
    """`empty` asks what would fit if no workload were admitted; other pods and assumed ones still count."""

    gates: Gates = field(default_factory=Gates.profile)
    empty: bool = False
    fit: FitColumn = by_resources

    def filters(self, topology: Topology) -> bool:
        """Whether taints, selectors and affinity are looked at."""
        return topology.ends_at_host or "FilterAtEveryLevel" in self.gates

    @property
    def by_affinity(self) -> bool:
        return "TASRespectNodeAffinityPreferred" in self.gates
