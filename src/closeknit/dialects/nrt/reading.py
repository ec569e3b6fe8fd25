"""A NodeResourceTopology as the zones of its node, with every mistake in it.

A mistake affects what it is about and nothing else: a zone without a valid name is left out, an amount that cannot be
read leaves out the resource in that zone, and the rest of the node counts. Nothing raises. Ids may be sparse and in any
order; both are legal. What contradicts itself but can be used, such as unequal distances there and back, is a warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...model.mistake import Mistake
from ...model.numa import MAX_ZONE_ID, NodeZones, ReportedPlacement, Zone, ZoneAmounts
from ...numa.managers import effective_manager
from ...numa.zone_names import zone_id
from ..field import Field
from ..strictness import check_version
from . import keys
from .amounts import read_amounts
from .costs import check_costs, read_costs
from .settings import check_settings
from .versions import to_v1alpha2
from .wire import TopologyAttribute, TopologyZone, decoded

MOST_MISTAKES = 50
"""As many are kept with the zones; the report has all of them."""

Attributes = list[tuple[str, str]]


def read_topology(raw: object, where: str = "") -> NodeZones:
    """The zones that an object of either version reports; its mistakes and warnings are in the result."""
    current = to_v1alpha2(raw) if isinstance(raw, dict) else raw
    name = current.get("metadata", {}) if isinstance(current, dict) else {}
    name = name.get("name") if isinstance(name, dict) else None
    return read_zones(Field.root(current, where, f"{keys.KIND} {name}" if isinstance(name, str) else keys.KIND))


def read_zones(topology: Field) -> NodeZones:
    """The zones; mistakes and warnings also go to the field's report."""
    wire = decoded(topology)
    if wire.zones is None:
        topology.at("zones").wrong("is missing", "list the NUMA zones of the node")
    meta, report = wire.metadata, topology.report
    attributes = _pairs(wire.attributes)
    policies = wire.topology_policies or []
    check_settings(topology, policies, attributes)
    manager = effective_manager(policies, attributes)
    zones, places = _zones(topology, wire.zones or [])
    check_costs(topology, zones, places)
    fingerprint, in_annotation = _fingerprint(attributes, (meta.annotations if meta else None) or {})
    return NodeZones(
        (meta.name if meta else None) or "",
        tuple(zones),
        manager,
        fingerprint,
        _first(attributes, keys.FINGERPRINT_METHOD) == keys.EXCLUSIVE_ONLY,
        in_annotation,
        _placement(attributes, wire.zones or []),
        _ignored(wire.zones or [], places.values()),
        (*report.mistakes, *report.warnings)[:MOST_MISTAKES],
    )


def check_topology(topology: Field) -> None:
    """Report what is wrong with an object of either version."""
    check_version(topology, keys.V1ALPHA2, keys.V1ALPHA1)
    if isinstance(topology.value, dict):
        read_zones(Field(to_v1alpha2(topology.value), "", topology.report))


def _zones(topology: Field, wire: list[TopologyZone]) -> tuple[list[Zone], dict[int, int]]:
    """The NUMA cells in their order, and the position of each in the object, by zone id."""
    zones: list[Zone] = []
    places: dict[int, int] = {}
    for place, one in enumerate(wire):
        number = _cell(topology, place, one, places)
        if number is not None:
            places[number] = place
            zones.append(Zone(number, _resources(topology, place, one), read_costs(one)))
    return zones, places


def _cell(topology: Field, place: int, one: TopologyZone, places: Mapping[int, int]) -> int | None:
    """The id of a zone; None if it is left out."""
    if one.type != keys.ZONE_TYPE:
        return None
    number = zone_id(one.name or "")
    if number is None:
        text, remedy = f'is "{one.name or ""}", not the name of a NUMA zone', "use node-0, node-1 and so on"
    elif number > MAX_ZONE_ID:
        text, remedy = f"has id {number}", f"use an id from 0 to {MAX_ZONE_ID}"
    elif number in places:
        text, remedy = f"is also the zone zones[{places[number]}]", "list each zone once"
    else:
        return number
    _wrong(topology, f"zones[{place}].name", text, f"{remedy}; the zone is ignored")
    return None


def _resources(topology: Field, place: int, one: TopologyZone) -> dict[str, ZoneAmounts]:
    found: dict[str, ZoneAmounts] = {}
    for number, resource in enumerate(one.resources or ()):
        path = f"zones[{place}].resources[{number}]"
        name = resource.name or ""
        if not name:
            _wrong(topology, f"{path}.name", "is missing", "name the resource")
        elif (amounts := read_amounts(topology, path, resource)) is not None:
            if name in found:
                _wrong(topology, f"{path}.name", f"{name} is listed twice", "list each resource once; the last counts")
            found[name] = amounts
    return found


def _pairs(attributes: list[TopologyAttribute] | None) -> Attributes:
    return [(one.name or "", one.value or "") for one in attributes or ()]


def _first(attributes: Attributes, name: str) -> str | None:
    return next((value for key, value in attributes if key == name), None)


def _fingerprint(attributes: Attributes, annotations: Mapping[str, str]) -> tuple[str, bool]:
    """The fingerprint, and whether it is in the annotation; an attribute wins, be it empty."""
    found = _first(attributes, keys.FINGERPRINT)
    if found is not None:
        return found, False
    annotated = annotations.get(keys.FINGERPRINT_ANNOTATION, "")
    return annotated, bool(annotated)


def _placement(attributes: Attributes, wire: list[TopologyZone]) -> ReportedPlacement | None:
    metadata = _first(attributes, keys.PLACEMENT)
    if not metadata:
        return None
    vectors: dict[int, str] = {}
    for one in wire:
        vector = _first(_pairs(one.attributes), keys.PLACEMENT_VECTOR)
        number = zone_id(one.name or "")
        if vector and number is not None:
            vectors.setdefault(number, vector)
    return ReportedPlacement(metadata, vectors)


def _ignored(wire: list[TopologyZone], read: Iterable[int]) -> frozenset[str]:
    used = set(read)
    left = (one for place, one in enumerate(wire) if place not in used)
    return frozenset(resource.name for one in left for resource in one.resources or () if resource.name)


def _wrong(topology: Field, path: str, text: str, remedy: str) -> None:
    topology.report.add([Mistake(text, remedy, field=path)])
