"""Topology: the levels of a cluster, as node labels from coarse to fine."""

from __future__ import annotations

from ....model.topology import Topology
from .wire import Raw, Wire, WireMeta, convert, reader


class WireLevel(Wire, frozen=True):
    node_label: str = ""


class TopologySpec(Wire, frozen=True):
    levels: tuple[WireLevel, ...] = ()


class WireTopology(Wire, frozen=True):
    metadata: WireMeta = WireMeta()
    spec: TopologySpec = TopologySpec()


@reader
def topology(raw: Raw) -> Topology:
    wire = convert(raw, WireTopology)
    return Topology(wire.metadata.name, tuple(level.node_label for level in wire.spec.levels))
