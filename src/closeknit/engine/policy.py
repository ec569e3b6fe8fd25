"""The policy of a placement: which gates are on, what counts as free, and how pods are counted on a node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ..model.gates import Gates
from ..model.shape import Shape
from ..model.topology import Topology
from ..state.snapshot import Snapshot
from ..state.table import IntArray
from .capacity import by_resources
from .zones import by_zones

FitColumn = Callable[[Snapshot, Shape, IntArray, IntArray, IntArray | None], IntArray]
"""How many pods of a shape each node holds, given the node rows, what each has free (one row per resource), and the
states of its NUMA zones, if zones are known of any node.

The engine only sums the returned column, so any rule for how many pods a node holds can be plugged in. The count of a
row must depend only on its node, what is free there and the shape, because columns are cached and updated only for
rows in the snapshot's log. More free resources must never give fewer pods: the search for victims relies on that.
"""


@dataclass(frozen=True, slots=True)
class Policy:
    """With `empty`, count as if no workload were admitted; other pods and assumed ones still count."""

    gates: Gates = field(default_factory=Gates.profile)
    empty: bool = False
    fit: FitColumn = by_resources

    @classmethod
    def of(cls, gates: Gates) -> Policy:
        """Build the policy for these gates, so that every question counts pods in the same way."""
        return cls(gates, fit=by_zones if "NumaZones" in gates else by_resources)

    def on_empty(self) -> Policy:
        """The same policy, as if no workload were admitted."""
        return replace(self, empty=True)

    def filters(self, topology: Topology) -> bool:
        """Whether taints, selectors and affinity apply."""
        return topology.ends_at_node or "FilterAtEveryLevel" in self.gates

    @property
    def by_affinity(self) -> bool:
        return "TASRespectNodeAffinityPreferred" in self.gates

    def by_sums(self, snapshot: Snapshot) -> bool:
        """Whether only sums decide: over a pod's containers, and over a leaf's nodes."""
        return self.fit is by_resources or (self.fit is by_zones and snapshot.zones is None)

    def counts_nodes(self, snapshot: Snapshot) -> bool:
        """Whether pods must fit on the individual nodes of a leaf; in Kueue they only have to fit into the sum."""
        topology = snapshot.topology
        return not self.by_sums(snapshot) or (self.filters(topology) and not topology.ends_at_node)

    def seen(self, shape: Shape, snapshot: Snapshot | None = None) -> Shape:
        """The part of a shape that the fit uses, so that pods equal in that part share their columns.

        Without a snapshot: the part that it uses on any nodes.
        """
        if shape.rules is not None and "AllPodFilters" not in self.gates:
            shape = shape.ruled(None, shape.kind)
        sums = self.fit is by_resources if snapshot is None else self.by_sums(snapshot)
        return shape.plain if sums else shape
