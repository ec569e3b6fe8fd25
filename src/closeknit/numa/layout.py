"""What of a node's zones stays while pods come and go: how much each zone has, how far apart they are, the kubelet.

Machines of one kind have equal layouts, and equal layouts are one object, so that what is derived from a layout is
derived once. What a NodeResourceTopology does not tell comes from rules in our configuration, else the kubelet is
assumed to run its static managers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ..model.container import Amounts
from ..model.numa import NodeZones, Zone
from ..model.numa_settings import NodeNuma, NumaOption
from ..model.resources import CPU
from .admission import KubeletSettings, Machine
from .cpus import CpuPlaces
from .demand import MILLI
from .masks import mask_of
from .resource_kinds import is_affine, is_native

CLOSEST, POD_LEVEL = NumaOption.CLOSEST, NumaOption.POD_LEVEL
MOST_ZONES = 10
"""The zones of which all sets are tried; a resource in more zones than that is not aligned."""
MOST_CPUS = 8192
"""CPUs of a zone: as many as Linux supports on a machine."""
MOST_LAYOUTS = 4096


@dataclass(frozen=True)
class KubeletRules:
    """What our configuration says about a kubelet. `ignored` are resources that it does not align."""

    pins_cpus: bool = True
    pins_memory: bool = True
    options: tuple[tuple[str, str], ...] = ()
    ignored: frozenset[str] = frozenset()

    def option(self, node: NodeZones, name: str) -> str | None:
        """An option of the kubelet: as its node reports it, else as configured."""
        reported = node.manager.option(name)
        return dict(self.options).get(name) if reported is None else reported

    @classmethod
    def of(cls, configured: NodeNuma) -> KubeletRules:
        """The rules that the configuration has for a node; what it leaves open is static."""
        return cls(
            configured.pins_cpus is not False,
            configured.pins_memory is not False,
            configured.options,
            configured.ignored,
        )


STATIC = KubeletRules()


@dataclass(frozen=True)
class Layout:
    """`cpus` are zone, CPUs in all and CPUs for pods; `memory` and `devices` what pods may have, by zone."""

    zones: tuple[int, ...]
    cpus: tuple[tuple[int, int, int], ...]
    memory: tuple[tuple[int, Amounts], ...]
    devices: tuple[tuple[str, tuple[tuple[int, int], ...]], ...]
    distances: tuple[tuple[float, ...], ...]
    settings: KubeletSettings

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.zones, self.cpus, self.memory, self.devices, self.distances, self.settings))

    @cached_property
    def machine(self) -> Machine:
        """CPUs with numbers of ours: those of a zone are adjacent, and the lowest are reserved."""
        places, reserved, first = {}, 0, 0
        for zone, capacity, allocatable in self.cpus:
            places[zone] = mask_of(range(first, first + capacity))
            reserved |= mask_of(range(first, first + capacity - allocatable))
            first += capacity
        cores = tuple(1 << cpu for cpu in range(first))
        return Machine(
            CpuPlaces(places, cores, tuple(places.values())),
            {zone: dict(sizes) for zone, sizes in self.memory},
            {name: {1 << zone: count for zone, count in counts} for name, counts in self.devices},
            reserved,
            dict(enumerate(self.distances)),
            self.zones,
        )


@lru_cache(MOST_LAYOUTS)
def shared(layout: Layout) -> Layout:
    """The one layout that is equal to this."""
    return layout


def layout_of(node: NodeZones, rules: KubeletRules = STATIC) -> Layout:
    """The layout that a node reports."""
    by_id = distinct_zones(node)
    zones = [by_id[at] for at in sorted(by_id)]
    cpus = tuple((zone.id, *_cpus(zone)) for zone in zones if CPU in zone.resources)
    memory = tuple((zone.id, sizes) for zone in zones if (sizes := tuple(_memory(zone, rules))))
    manager = node.manager
    settings = KubeletSettings(
        manager.policy,
        manager.scope,
        rules.option(node, CLOSEST) == "true",
        pins_cpus=rules.pins_cpus and CPU not in rules.ignored and 0 < len(cpus) <= MOST_ZONES,
        pins_memory=rules.pins_memory and 0 < len(memory) <= MOST_ZONES,
        manages_pods=rules.option(node, POD_LEVEL) == "true",
    )
    reach = range(max(by_id, default=-1) + 1)
    distances = tuple(tuple(by_id.get(at, _NOWHERE).cost(other) for other in reach) for at in reach)
    devices = tuple(_devices(zones, rules))
    return shared(Layout(tuple(sorted(by_id)), cpus, memory, devices, distances, settings))


def distinct_zones(node: NodeZones) -> dict[int, Zone]:
    """The zones by id; of two with one id the first."""
    return {zone.id: zone for zone in reversed(node.zones)}


_NOWHERE = Zone(0, {})


def _cpus(zone: Zone) -> tuple[int, int]:
    """CPUs in all and those for pods."""
    capacity, allocatable, _ = (min(MOST_CPUS, max(0, amount // MILLI)) for amount in zone.resources[CPU])
    return max(capacity, allocatable), allocatable


def _memory(zone: Zone, rules: KubeletRules) -> Iterator[tuple[str, int]]:
    for name, one in sorted(zone.resources.items()):
        if name != CPU and is_affine(name) and name not in rules.ignored:
            yield name, max(0, one.allocatable)


def _devices(zones: list[Zone], rules: KubeletRules) -> Iterator[tuple[str, tuple[tuple[int, int], ...]]]:
    for name in sorted({name for zone in zones for name in zone.resources if not is_native(name)} - rules.ignored):
        counts = tuple((zone.id, max(0, zone.resources[name].allocatable)) for zone in zones if name in zone.resources)
        if len(counts) <= MOST_ZONES:
            yield name, counts
