"""The free capacity of a running cluster: for each flavor with a topology, its tree of domains.

Capacity is counted as the scheduler counts it: an admitted workload takes its capacity whether or not its pods run yet.
If no flavor has a topology, or other levels are requested, bound pods are counted instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from ..cluster import kinds
from ..dialects import core
from ..model.mistake import not_there, refuse
from ..model.nearest import did_you_mean
from ..model.topology import Topology
from ..observe.cluster_cache import ClusterCache
from ..observe.pod_kinds import KindCache
from ..state.mirror import Mirror, OtherPod
from ..state.snapshot import Snapshot
from ..state.table import NodeTable
from .inputs import suggested
from .selector import select

ENDED = ("Succeeded", "Failed")
READ = (
    kinds.TOPOLOGY,
    kinds.RESOURCE_FLAVOR,
    kinds.COHORT,
    kinds.CLUSTER_QUEUE,
    kinds.LOCAL_QUEUE,
    kinds.LIMIT_RANGE,
    kinds.RUNTIME_CLASS,
    kinds.MAINTENANCE,
    kinds.NODE,
    kinds.NODE_TOPOLOGY,
    kinds.DAEMON_SET,
    kinds.WORKLOAD,
    kinds.POD,
)
"""The kinds on which free capacity depends, in an order that avoids repeated work."""


class FlavorRoom(NamedTuple):
    """The tree of one flavor; `flavor` is empty for a tree of all nodes."""

    flavor: str
    snapshot: Snapshot


class Wanted(NamedTuple):
    """What to show: one flavor, or the levels and node labels given on the command line."""

    flavor: str = ""
    topology: Topology | None = None
    labels: Mapping[str, str] = {}


class FlavorRooms:
    """Builds the requested trees; levels that were not given are suggested once and then kept."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted, self._topology = wanted, wanted.topology

    def of(self, cache: ClusterCache) -> list[FlavorRoom]:
        flavor, world = self.wanted.flavor, cache.world
        if flavor and flavor not in world.views:
            have = sorted(world.views)
            remedy = did_you_mean(flavor, have) + (f"existing: {', '.join(have)}" if have else "the cluster has none")
            raise not_there(f'no ResourceFlavor named "{flavor}" with a topology', remedy, what="--flavor")
        if not world.nodes:
            raise refuse("the cluster has no nodes", "apply some, or start a host with nodes: closeknit up --help")
        if self._topology is not None or self.wanted.labels:
            return [self._all(cache)]
        found = [FlavorRoom(name, world.views[name].snapshot) for name in sorted(world.views) if flavor in ("", name)]
        return [room for room in found if len(room.snapshot.rows)] or [self._all(cache)]

    def _all(self, cache: ClusterCache) -> FlavorRoom:
        """One tree of all nodes, or of those with the labels; every bound pod counts."""
        if self._topology is None:
            self._topology = suggested(select(NodeTable.of(cache.world.nodes.values()), self.wanted.labels))
        mirror = Mirror()
        view = mirror.add_flavor("", self._topology, self.wanted.labels)
        for node in cache.world.nodes.values():
            mirror.put_node(node)
        mirror.pods = _pods(cache)
        return FlavorRoom("", view.snapshot)


def _pods(cache: ClusterCache) -> dict[str, OtherPod]:
    found: dict[str, OtherPod] = {}
    known = KindCache("AllPodFilters" in cache.gates)
    for (namespace, name), raw in cache.raw[kinds.POD].items():
        spec = raw.get("spec") or {}
        if spec.get("nodeName") and (raw.get("status") or {}).get("phase") not in ENDED:
            requests = core.requests(msgspec.convert(spec, core.PodSpec))
            found[f"{namespace}/{name}"] = OtherPod(spec["nodeName"], requests, kind=known.of(raw))
    return found


def titles(found: Sequence[FlavorRoom]) -> list[str]:
    """A heading for each tree if there are several."""
    if len(found) == 1:
        return [""]
    return [f"ResourceFlavor {room.flavor} (Topology {room.snapshot.topology.name})" for room in found]
