"""NUMA zones as the level below the host, in the outline of a tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..model.numa import AmountsByZone
from ..model.resources import CPU, rough
from ..numa.demand import MILLI
from ..numa.zone_names import zone_name
from ..numa.zone_state import ZoneState
from ..state.numa.zone_states import NO_ZONES, ZoneStates
from ..state.snapshot import Snapshot
from ..state.table import IntArray
from .bars import FREE, USED, bar

LEVEL = "numa"


class ZonesOfLeaves(NamedTuple):
    """What the zones of each leaf have free; `rows` are the nodes of the leaves."""

    zones: ZoneStates
    rows: IntArray

    @classmethod
    def in_tree(cls, snapshot: Snapshot) -> ZonesOfLeaves | None:
        """None where zones are known of no node, or leaves are not nodes."""
        if snapshot.zones is None or not snapshot.tree.one_node_a_leaf:
            return None
        return cls(snapshot.zones, snapshot.rows)

    def of(self, leaf: int) -> dict[int, dict[str, tuple[int, int]]]:
        """By zone and resource what is free, and how much pods may have; nothing where zones are not known."""
        now, empty = (int(self.zones.on(self.rows[leaf : leaf + 1], view)[0]) for view in ("now", "empty"))
        if now == NO_ZONES:
            return {}
        free, most = self.zones.admissions.free(now), self.zones.admissions.free(empty)
        return {
            zone: {name: (max(0, left), most[zone].get(name, 0)) for name, left in sorted(own.items())}
            for zone, own in sorted(free.items())
        }


def most_of(state: ZoneState) -> AmountsByZone:
    """What pods may have in each zone."""
    layout = state.layout
    found: dict[int, dict[str, int]] = {zone: {} for zone in layout.zones}
    for zone, _, most in layout.cpus:
        found[zone][CPU] = most * MILLI
    for zone, sizes in layout.memory:
        found[zone].update(sizes)
    for name, counts in layout.devices:
        for zone, most in counts:
            found[zone][name] = most
    return found


def zone_rows(zones: Mapping[int, Mapping[str, tuple[int, int]]], resource: str) -> Iterator[tuple[str, str]]:
    """A name for each zone, and its bar and numbers for a resource."""
    for zone, own in zones.items():
        free, most = own.get(resource, (0, 0))
        drawn = bar([(USED, most - free), (FREE, free)])
        text = f"{drawn}  {rough(resource, free):>8} of {rough(resource, most)} {resource} free"
        yield str(zone_name(zone)), text if most else f"{'':16}  {'':>8}    no {resource}"


def zones_of_leaf_json(zones: Mapping[int, Mapping[str, tuple[int, int]]]) -> list[dict[str, Any]]:
    return [
        {
            "zone": zone_name(zone),
            "resources": {
                name: {"allocatable": most, "used": most - free, "free": free} for name, (free, most) in own.items()
            },
        }
        for zone, own in zones.items()
    ]
