"""Maintenance of `closeknit.dev`: nodes that are reserved for work on them between two times.

    apiVersion: closeknit.dev/v1alpha1
    kind: Maintenance
    metadata: {name: rack-7}
    spec:
      domains: [{nodeLabels: {example.com/rack: r7}}]
      from: "2026-11-18T22:00:00Z"
      until: "2026-11-19T02:00:00Z"
      drain: true

Times count in whole seconds. A domain is named by labels instead of by its nodes, so that a node that joins it later is
included.
"""

from __future__ import annotations

from msgspec import field

from ..model.maintenance import Maintenance
from . import timestamps
from .kueue.objects.wire import Raw, Wire, WireMeta, convert, reader

GROUP, VERSION, KIND = "closeknit.dev", "v1alpha1", "Maintenance"


class WireDomain(Wire, frozen=True):
    node_labels: dict[str, str] = field(default_factory=dict)


class MaintenanceSpec(Wire, frozen=True):
    domains: tuple[WireDomain, ...] = ()
    begin: str = field(name="from", default="")
    until: str = ""
    drain: bool = False


class WireMaintenance(Wire, frozen=True):
    metadata: WireMeta = WireMeta()
    spec: MaintenanceSpec = MaintenanceSpec()


@reader
def maintenance(raw: Raw) -> Maintenance:
    wire = convert(raw, WireMaintenance)
    spec = wire.spec
    begins, ends = (float(int(timestamps.parse(one))) for one in (spec.begin, spec.until))
    domains = tuple(tuple(sorted(one.node_labels.items())) for one in spec.domains if one.node_labels)
    times = f"from {timestamps.show(begins)} until {timestamps.show(ends)}"
    return Maintenance(wire.metadata.name, domains, begins, ends, spec.drain, times)
