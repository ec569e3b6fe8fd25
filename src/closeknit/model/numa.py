"""A node's NUMA zones as its NodeResourceTopology reports them, and the kubelet's Topology Manager above them.

The values keep what was reported, even where it contradicts itself; the mistakes that the reader found are carried
along, so that whoever relies on the zones can name them. Amounts are in the units of the model: cpu in milli-units,
the rest in whole units. Zones keep the order of the report, because some rules break ties by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from .mistake import Mistake
from .resources import Resources

TopologyPolicy = Literal["none", "best-effort", "restricted", "single-numa-node"]
TopologyScope = Literal["container", "pod"]

SINGLE: TopologyPolicy = "single-numa-node"
MAX_ZONE_ID = 63
"""Zone ids are bits of a 64-bit mask."""
MAX_ZONES = 8
"""The zones that a kubelet accepts unless its configuration allows more."""
UNKNOWN_COST = 255
"""The distance between zones of which none is reported."""

AmountsByZone = Mapping[int, Resources]
"""What a pod has of its own, by zone id."""


@dataclass(frozen=True, slots=True)
class TopologyManager:
    """How a kubelet aligns resources. `options` are those reported, by name; any other is unknown, not off."""

    policy: TopologyPolicy = "none"
    scope: TopologyScope = "container"
    max_zones: int = MAX_ZONES
    options: tuple[tuple[str, str], ...] = ()

    def option(self, name: str) -> str | None:
        """The value of an option such as prefer-closest-numa-nodes; None if it was not reported."""
        return dict(self.options).get(name)


class ZoneAmounts(NamedTuple):
    """What a zone has of one resource: in all, for pods, and not pinned to a container yet."""

    capacity: int
    allocatable: int
    available: int


@dataclass(frozen=True, slots=True)
class Zone:
    """`costs` are distances from this zone, by zone id."""

    id: int
    resources: Mapping[str, ZoneAmounts]
    costs: Mapping[int, int] = field(default_factory=dict)

    def cost(self, other: int) -> int:
        return self.costs.get(other, UNKNOWN_COST)


class ReportedPlacement(NamedTuple):
    """Which container runs in which zone, as encoded on the wire: metadata of the node, a vector by zone id."""

    metadata: str
    vectors: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class NodeZones:
    """`ignored` are resources of zones that are not NUMA cells or have no valid name; no container aligns to these.

    `fingerprint` identifies the pods that the report accounts for; empty if there is none. `exclusive_only` tells that
    only pods with exclusive resources enter it; `in_annotation` that it is the older form, which covers all pods.
    """

    node: str
    zones: tuple[Zone, ...] = ()
    manager: TopologyManager = TopologyManager()
    fingerprint: str = ""
    exclusive_only: bool = False
    in_annotation: bool = False
    placement: ReportedPlacement | None = None
    ignored: frozenset[str] = frozenset()
    mistakes: tuple[Mistake, ...] = field(default=(), compare=False)

    @property
    def names(self) -> frozenset[str]:
        """The resources that any zone lists."""
        return self.ignored.union(*(zone.resources for zone in self.zones))
