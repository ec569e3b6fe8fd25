"""A kubelet's admission as its node's report lets us know it.

A NodeResourceTopology tells how much each zone has and how much of it is free, not which CPUs these are, nor which
zones share memory. The lowest CPUs of a zone count as reserved, those above as taken, and cores as having one thread.
What decides and is not reported is named in `unknown`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..model.numa import NodeZones, Zone
from ..model.numa_settings import UNCONFIGURED, NodeNuma, NumaOption
from ..model.resources import CPU, MEMORY
from .admission import KubeletSettings, Machine, NodeAdmission
from .cpus import CpuOptions, CpuPlaces
from .demand import HUGE_PAGES, MILLI
from .masks import mask_of

CLOSEST = NumaOption.CLOSEST
MOST_ZONES = 10
"""The zones of which all sets are tried; a machine with more memory zones is not asked about memory."""


def configured(node: NodeZones, given: NodeNuma) -> NodeZones:
    """The report completed by what is configured for the node; what is reported wins."""
    if given == UNCONFIGURED:
        return node
    options = {**dict(given.options), **dict(node.manager.options)}
    zones = (
        replace(zone, resources={name: one for name, one in zone.resources.items() if name not in given.ignored})
        for zone in node.zones
    )
    return replace(node, zones=tuple(zones), manager=replace(node.manager, options=tuple(sorted(options.items()))))


def reported_admission(node: NodeZones, given: NodeNuma = UNCONFIGURED) -> NodeAdmission:
    """The kubelet of a node, with everything taken that its report says is taken; `given` is what is configured."""
    node = configured(node, given)
    zones = {zone.id: zone for zone in node.zones}
    cpus = {at: zone for at, zone in zones.items() if CPU in zone.resources}
    memory = {at: _memory(zone) for at, zone in zones.items() if _memory(zone)}
    manager = node.manager
    settings = KubeletSettings(
        manager.policy,
        manager.scope,
        manager.option(CLOSEST) == "true",
        pins_cpus=given.pins_cpus is not False and 0 < len(cpus) <= MOST_ZONES,
        pins_memory=given.pins_memory is not False and 0 < len(memory) <= MOST_ZONES,
        cpu_options=CpuOptions(
            full_pcpus_only=manager.option(NumaOption.FULL_CORES) == "true",
            align_by_socket=manager.option(NumaOption.BY_SOCKET) == "true",
        ),
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


def unknown(node: NodeZones, rules: KubeletRules = STATIC) -> list[str]:
    """What may decide about this node's admissions and is not in its report."""
    found = []
    if node.manager.policy != "none" and rules.option(node, CLOSEST) is None and len(node.zones) > 2:
        found.append(f"whether {CLOSEST} is on")
    if rules.pins_memory and any(
        one.available < one.allocatable
        for zone in node.zones
        for name, one in zone.resources.items()
        if _is_memory(name) and name not in rules.ignored
    ):
        found.append("which zones share memory")
    found += [what for option, what in BY_CPU_ID.items() if rules.option(node, option) == "true"]
    return found + [f"{what} of more than {MOST_ZONES} zones" for what in _in_many_zones(node, rules)]


def _in_many_zones(node: NodeZones, rules: KubeletRules) -> Iterator[str]:
    listed = [name for zone in node.zones for name in zone.resources if name not in rules.ignored]
    if rules.pins_memory and sum(1 for zone in node.zones if any(map(_is_memory, zone.resources))) > MOST_ZONES:
        yield "memory"
    names = sorted({name for name in listed if not is_native(name) or (name == CPU and rules.pins_cpus)})
    yield from (name for name in names if listed.count(name) > MOST_ZONES)


def _is_memory(name: str) -> bool:
    return name != CPU and is_affine(name)
