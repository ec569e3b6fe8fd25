"""A simulated machine with NUMA zones: what each zone has, and how the kubelet on it is configured.

From this value come both the kubelet that admits pods there and the report that tells others about it. CPUs have
numbers of ours: those of zone 0 first, and the lowest belong to the system.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ..model.numa import MAX_ZONES, NodeZones, TopologyManager, Zone, ZoneAmounts
from ..model.resources import CPU, MEMORY
from .admission import KubeletSettings, Machine, NodeAdmission
from .cpus import CpuPlaces
from .demand import HUGE_PAGES, MILLI
from .masks import mask_of

MAXIMUM = "max-allowable-numa-nodes"
NEAR, FAR = 10, 20
"""Distances within a zone and between two, unless others are given."""


@dataclass(frozen=True, slots=True)
class SimulatedZones:
    """`zones` have amounts by resource, in the units of the model; cpu includes what the system keeps.

    `delay` are the seconds from a change until it is reported; None: it never is.
    """

    zones: tuple[Mapping[str, int], ...]
    settings: KubeletSettings = field(default_factory=KubeletSettings)
    reserved_cpus: int = 0
    distances: tuple[tuple[int, ...], ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    delay: float | None = 1.0

    @property
    def resources(self) -> list[str]:
        return sorted({name for zone in self.zones for name in zone})

    def distance(self, one: int, other: int) -> int:
        if self.distances:
            return self.distances[one][other]
        return NEAR if one == other else FAR

    def cpus(self) -> CpuPlaces:
        """The CPUs of each zone that has some. Every core has one thread, every zone is a socket."""
        places, first = {}, 0
        for number, zone in enumerate(self.zones):
            count = zone.get(CPU, 0) // MILLI
            if count:
                places[number] = mask_of(range(first, first + count))
            first += count
        return CpuPlaces(places, tuple(1 << cpu for cpu in range(first)), tuple(places.values()))

    @property
    def reserved(self) -> int:
        """The CPUs that the system keeps."""
        return mask_of(range(self.reserved_cpus))

    def reported(self, node: str) -> NodeZones:
        """The report of an empty machine."""
        settings, every = self.settings, range(len(self.zones))
        most = dict(self.options).get(MAXIMUM, str(MAX_ZONES))
        zones = tuple(
            Zone(number, self._amounts(number), {other: self.distance(number, other) for other in every})
            for number in every
        )
        options = tuple(one for one in self.options if one[0] != MAXIMUM)
        return NodeZones(node, zones, TopologyManager(settings.policy, settings.scope, int(most), options))

    def _amounts(self, number: int) -> dict[str, ZoneAmounts]:
        kept = {CPU: (self.cpus().zones.get(number, 0) & self.reserved).bit_count() * MILLI}
        zone = sorted(self.zones[number].items())
        return {name: ZoneAmounts(value, *[value - kept.get(name, 0)] * 2) for name, value in zone}

    def admission(self) -> NodeAdmission:
        """The kubelet before any pod."""
        every = range(len(self.zones))
        memory = {number: dict(self._of_memory(number)) for number in every if MEMORY in self.zones[number]}
        devices: dict[str, dict[int, int]] = {}
        for number, zone in enumerate(self.zones):
            for name, count in zone.items():
                if name != CPU and not is_memory(name):
                    devices.setdefault(name, {})[1 << number] = count
        distances = {one: [float(self.distance(one, other)) for other in every] for one in every}
        machine = Machine(self.cpus(), memory, devices, self.reserved, distances, tuple(every))
        return NodeAdmission(machine, self.settings)

    def _of_memory(self, number: int) -> Iterator[tuple[str, int]]:
        return ((name, size) for name, size in self.zones[number].items() if is_memory(name))


def is_memory(resource: str) -> bool:
    """Whether the memory manager gives it: memory and huge pages."""
    return resource == MEMORY or resource.startswith(HUGE_PAGES)
