"""WorkloadPriorityClass: a named priority. Its value is a top-level field of the object."""

from __future__ import annotations

from ....model.priority_class import PriorityClass
from .wire import Raw, Wire, WireMeta, convert, reader


class WirePriorityClass(Wire, frozen=True):
    metadata: WireMeta = WireMeta()
    value: int = 0
    description: str | None = None


@reader
def priority_class(raw: Raw) -> PriorityClass:
    wire = convert(raw, WirePriorityClass)
    return PriorityClass(wire.metadata.name, wire.value, wire.description or "")
