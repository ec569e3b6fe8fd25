"""A kubelet's admission as its node's report lets us know it.

A NodeResourceTopology tells how much each zone has and how much of it is free, not which CPUs these are, nor which
zones share memory. The lowest CPUs of a zone count as reserved, those above as taken, and cores as having one thread.
What decides and is not reported is named in `unknown`.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..model.numa import NodeZones, Zone
from ..model.resources import CPU, MEMORY
from .admission import KubeletSettings, Machine, NodeAdmission
from .cpus import CpuPlaces
from .demand import HUGE_PAGES, MILLI
from .masks import mask_of

CLOSEST = "prefer-closest-numa-nodes"
MOST_ZONES = 10
"""The zones of which all sets are tried; a machine with more memory zones is not asked about memory."""


def reported_admission(node: NodeZones) -> NodeAdmission:
    """The kubelet of a node, with everything taken that its report says is taken."""
    zones = {zone.id: zone for zone in node.zones}
    cpus = {at: zone for at, zone in zones.items() if CPU in zone.resources}
    memory = {at: _memory(zone) for at, zone in zones.items() if _memory(zone)}
    manager = node.manager
    settings = KubeletSettings(
        manager.policy,
        manager.scope,
        manager.option(CLOSEST) == "true",
        pins_cpus=0 < len(cpus) <= MOST_ZONES,
        pins_memory=0 < len(memory) <= MOST_ZONES,
    )
    places, reserved, taken = _cpus(cpus)
    devices = _devices(zones)
    distances = {at: [zone.cost(other) for other in range(max(zones) + 1)] for at, zone in zones.items()}
    sizes = {
        at: {name: zone.resources[name].allocatable for name in memory[at]}
        for at, zone in zones.items()
        if at in memory
    }
    machine = Machine(
        places, sizes, {name: dict(total) for name, (total, _) in devices.items()}, reserved, distances, tuple(zones)
    )
    kubelet = NodeAdmission(machine, settings)
    kubelet.occupy(taken, memory, {name: used for name, (_, used) in devices.items()})
    return kubelet


def unknown(node: NodeZones) -> list[str]:
    """What may decide about this node's admissions and is not in its report."""
    found = []
    if node.manager.policy != "none" and node.manager.option(CLOSEST) is None and len(node.zones) > 2:
        found.append(f"whether {CLOSEST} is on")
    if any(
        one.available < one.allocatable
        for zone in node.zones
        for name, one in zone.resources.items()
        if _is_memory(name)
    ):
        found.append("which zones share memory")
    if len([zone for zone in node.zones if _memory(zone)]) > MOST_ZONES:
        found.append(f"memory of more than {MOST_ZONES} zones")
    return found


def _is_memory(name: str) -> bool:
    return name == MEMORY or name.startswith(HUGE_PAGES)


def _memory(zone: Zone) -> dict[str, int]:
    """Memory and huge pages that are taken in a zone."""
    return {name: max(0, one.allocatable - one.available) for name, one in zone.resources.items() if _is_memory(name)}


def _cpus(zones: Mapping[int, Zone]) -> tuple[CpuPlaces, int, int]:
    """CPUs with numbers of ours, those that are reserved, and those that are taken."""
    places, reserved, taken, first = {}, 0, 0, 0
    for at, zone in sorted(zones.items()):
        capacity, allocatable, available = (amount // MILLI for amount in zone.resources[CPU])
        capacity = max(capacity, allocatable)
        places[at] = mask_of(range(first, first + capacity))
        used = first + capacity - allocatable
        reserved |= mask_of(range(first, used))
        taken |= mask_of(range(used, used + max(0, allocatable - available)))
        first += capacity
    cores = tuple(1 << cpu for cpu in range(first))
    return CpuPlaces(places, cores, tuple(places.values())), reserved, taken


def _devices(zones: Mapping[int, Zone]) -> dict[str, tuple[dict[int, int], dict[int, int]]]:
    """Devices in all and those that are taken, by resource and zone."""
    found: dict[str, tuple[dict[int, int], dict[int, int]]] = {}
    for at, zone in zones.items():
        for name, one in zone.resources.items():
            if name != CPU and not _is_memory(name):
                total, used = found.setdefault(name, ({}, {}))
                total[1 << at] = one.allocatable
                used[1 << at] = max(0, one.allocatable - one.available)
    return found
