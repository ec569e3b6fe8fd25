"""ResourceFlavor: a kind of node, by labels, taints and tolerations."""

from __future__ import annotations

import msgspec

from ....model.flavor import Flavor
from ....model.shape import Taint
from ... import core
from .wire import Raw, Wire, WireMeta, convert, reader


class FlavorSpec(Wire, frozen=True):
    node_labels: dict[str, str] = msgspec.field(default_factory=dict)
    node_taints: tuple[core.WireTaint, ...] = ()
    tolerations: tuple[core.WireToleration, ...] = ()
    topology_name: str | None = None


class WireFlavor(Wire, frozen=True):
    metadata: WireMeta = WireMeta()
    spec: FlavorSpec = FlavorSpec()


@reader
def flavor(raw: Raw) -> Flavor:
    wire = convert(raw, WireFlavor)
    spec = wire.spec
    return Flavor(
        wire.metadata.name,
        spec.node_labels,
        tuple(Taint(t.key or "", t.value or "", t.effect or "") for t in spec.node_taints),
        core.tolerations(spec.tolerations),
        spec.topology_name or "",
    )
