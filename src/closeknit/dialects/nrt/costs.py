"""Distances between zones. None of them decides whether a pod runs, so what is odd about them is a warning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...model.mistake import Mistake
from ...model.numa import UNKNOWN_COST, Zone
from ...numa.zone_names import zone_id
from ..field import Field
from .wire import TopologyZone

LARGEST = 2**31 - 1


def read_costs(zone: TopologyZone) -> dict[int, int]:
    """The distances by zone id; of two to the same zone the last counts, and what names no zone is left out."""
    costs = {}
    for one in zone.costs or ():
        number = zone_id(one.name or "")
        if number is not None and one.value is not None:
            costs[number] = max(-LARGEST, min(one.value, LARGEST))
    return costs


def check_costs(topology: Field, zones: Sequence[Zone], places: Mapping[int, int]) -> None:
    """Warn of distances that are missing, negative or differ there and back. No distances at all are fine."""
    if not any(zone.costs for zone in zones):
        return
    for zone in zones:
        path = f"zones[{places[zone.id]}].costs"
        for other in zones:
            _check(topology, path, zone, other)


def _check(topology: Field, path: str, zone: Zone, other: Zone) -> None:
    there, back = zone.costs.get(other.id), other.costs.get(zone.id)
    if there is None:
        text = f"has no distance to node-{other.id}"
        topology.report.warn(Mistake(text, f"add it; it counts as {UNKNOWN_COST}", field=path))
    elif there < 0:
        topology.report.warn(Mistake(f"is {there} to node-{other.id}", "a distance is at least 10", field=path))
    elif back is not None and there < back:
        text = f"is {there} to node-{other.id}, but {back} from it"
        topology.report.warn(Mistake(text, "distances are usually the same there and back", field=path))
