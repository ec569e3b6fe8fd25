"""NodeResourceTopology as structs: everything is at the top level, there is neither spec nor status.

Version v1alpha1 has the same fields without attributes of the object, and its first form no `available`; see
`versions`. `lenient` reads an object in which some fields have the wrong type: it reports these and reads the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from ..core import Meta, Quantity, Struct
from ..field import Field, shown

T = TypeVar("T")


class TopologyAttribute(Struct):
    name: str | None = None
    value: str | None = None


class ZoneCost(Struct):
    name: str | None = None
    value: int | None = None


class ZoneResource(Struct):
    name: str | None = None
    capacity: Quantity | None = None
    allocatable: Quantity | None = None
    available: Quantity | None = None


class TopologyZone(Struct):
    name: str | None = None
    type: str | None = None
    parent: str | None = None
    costs: list[ZoneCost] | None = None
    attributes: list[TopologyAttribute] | None = None
    resources: list[ZoneResource] | None = None


class WireNodeTopology(Struct):
    metadata: Meta | None = None
    topology_policies: list[str] | None = None
    attributes: list[TopologyAttribute] | None = None
    zones: list[TopologyZone] | None = None


def decoded(topology: Field) -> WireNodeTopology:
    """The object as a struct. What has the wrong type is reported and left out."""
    try:
        return msgspec.convert(topology.value, WireNodeTopology)
    except msgspec.ValidationError:
        return _lenient(topology)


def _lenient(topology: Field) -> WireNodeTopology:
    meta = topology.at("metadata")
    return WireNodeTopology(
        Meta(meta.at("name").text(), annotations=meta.at("annotations").strings()),
        [one.text() for one in topology.at("topologyPolicies").items()],
        _each(topology.at("attributes"), _attribute),
        _each(topology.at("zones"), _zone) if topology.at("zones").given else None,
    )


def _each(items: Field, read: Callable[[Field], T]) -> list[T]:
    return [read(one) for one in items.items()]


def _attribute(field: Field) -> TopologyAttribute:
    return TopologyAttribute(field.at("name").text(), field.at("value").text())


def _zone(field: Field) -> TopologyZone:
    return TopologyZone(
        field.at("name").text(),
        field.at("type").text(),
        field.at("parent").text(),
        _each(field.at("costs"), _cost),
        _each(field.at("attributes"), _attribute),
        _each(field.at("resources"), _resource),
    )


def _cost(field: Field) -> ZoneCost:
    value = field.at("value")
    whole = isinstance(value.value, int) and not isinstance(value.value, bool)
    if value.given and not whole:
        value.wrong(f"is {shown(value.value)}, not a distance", "use a whole number such as 10")
    return ZoneCost(field.at("name").text(), value.value if whole else None)


def _resource(field: Field) -> ZoneResource:
    """The amounts are passed on as they are; whoever reads them reports what is no quantity."""
    given = (field.at(key).value for key in ("capacity", "allocatable", "available"))
    return ZoneResource(field.at("name").text(), *given)
