"""How a decision is to be made: which gates are on, what is taken to be free, and how pods are counted on a node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..model.gates import Gates
from ..model.shape import Shape
from ..model.topology import Topology
from ..state.snapshot import Snapshot
from ..state.table import IntArray
from .capacity import by_resources

FitColumn = Callable[[Snapshot, Shape, IntArray, IntArray], IntArray]
"""Pods of a shape that each of some nodes admits, given the node rows and what each has free (a row per resource).

The engine sums up the column that comes back, so whatever decides how many pods a node admits can stand here. The count
of a row may depend on its node, on what is free there and on the shape, and on nothing else: columns are kept, and
repaired only on rows that the snapshot logs. More that is free must never mean fewer pods: the search for victims
relies on it.
"""


@dataclass(frozen=True, slots=True)
class Policy:
    """`empty` asks what would fit if no workload were admitted; other pods and assumed ones still count."""

    gates: Gates = field(default_factory=Gates.profile)
    empty: bool = False
    fit: FitColumn = by_resources

    @classmethod
    def of(cls, gates: Gates, empty: bool = False) -> Policy:
        """The one place that builds a policy: gates decide how pods are counted, for every question alike."""
        return cls(gates, empty)

    def filters(self, topology: Topology) -> bool:
        """Whether taints, selectors and affinity are looked at."""
        return topology.ends_at_host or "FilterAtEveryLevel" in self.gates

    @property
    def by_affinity(self) -> bool:
        return "TASRespectNodeAffinityPreferred" in self.gates

    @property
    def by_sums(self) -> bool:
        """Whether nothing but sums decides: those of a pod's containers, and those of a leaf's nodes."""
        return self.fit is by_resources

    def counts_nodes(self, topology: Topology) -> bool:
        """Whether pods must fit on the nodes of a leaf one by one; Kueue asks only whether they fit into the sum."""
        return not self.by_sums or (self.filters(topology) and not topology.ends_at_host)

    def seen(self, shape: Shape) -> Shape:
        """As much of a shape as the fit looks at, so that pods that it cannot tell apart share their columns."""
        return shape.plain if self.by_sums else shape
