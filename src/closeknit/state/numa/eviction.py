"""What the zones of a node would have if some pods were evicted: the step of a preemption that NUMA adds.

A victim frees what it had of its own, in the zone where it is known to run. Where no zones of containers are known, the
report is used as it is, and the eviction frees nothing there. What does not add up, such as a zone that would have more
than it can ever give to pods, refuses the simulation: then the placement is out of date.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import Enum

from ...model.numa import NodeZones, Zone, ZoneAmounts
from ...numa.placement_vector import ContainerName
from .zoned_pod import ZonedPod

REFUSED = "eviction simulation in NRT is not possible:"


class EvictionRefusal(Enum):
    NOTHING_TO_ADD = "no resources to add, cannot process eviction simulation"
    ABOVE_ALLOCATABLE = "resource release request exceeds NUMA allocatable"

    @property
    def reason(self) -> str:
        return f"{REFUSED}{self.value}"


def evicted(
    zones: NodeZones, victims: Iterable[ZonedPod], placement: Mapping[ContainerName, int] | None
) -> NodeZones | EvictionRefusal:
    """The zones without these pods, or why that cannot be told. Without victims or known containers: as they are."""
    pods = list(victims)
    if not pods or not placement:
        return zones
    freed = _freed(zones, pods, placement)
    if not freed:
        return EvictionRefusal.NOTHING_TO_ADD
    if any(value > _room(zones, zone, name) for (zone, name), value in freed.items()):
        return EvictionRefusal.ABOVE_ALLOCATABLE
    return replace(zones, zones=tuple(_with(zone, freed) for zone in zones.zones))


def _freed(
    zones: NodeZones, victims: Iterable[ZonedPod], placement: Mapping[ContainerName, int]
) -> Counter[tuple[int, str]]:
    """What app containers of the victims have of their own, by zone id and resource."""
    listed, freed = zones.names, Counter[tuple[int, str]]()
    for victim in victims:
        if victim.needs.qos != "Guaranteed" and not victim.needs.asks_devices:
            continue
        for name, container in victim.containers():
            if container.kind == "app" and name in placement:
                for resource, value in victim.needs.exclusive(container, listed).items():
                    freed[placement[name], resource] += value
    return +freed


def _room(zones: NodeZones, number: int, name: str) -> int:
    """How much a zone could get back; 0 if it does not list the resource."""
    held = next((zone.resources.get(name) for zone in zones.zones if zone.id == number), None)
    return 0 if held is None else held.allocatable - held.available


def _with(zone: Zone, freed: Mapping[tuple[int, str], int]) -> Zone:
    more = {
        name: ZoneAmounts(one.capacity, one.allocatable, one.available + freed.get((zone.id, name), 0))
        for name, one in zone.resources.items()
    }
    return replace(zone, resources=more)
