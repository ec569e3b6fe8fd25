"""The kubelet's CPU manager with the static policy: which CPUs a container may get, and which it gets.

A Guaranteed container that requests whole CPUs gets them for itself; every other one runs on the shared pool. CPUs are
bits of an integer. The CPUs of an ended init container stay with its pod, and the next containers of the pod take them
first: their zones must be part of every hint.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from .hints import Hint
from .masks import mask_of, subsets, zones_of


@dataclass(frozen=True)
class CpuPlaces:
    """The CPUs of each zone, core and socket, as sets of CPU ids."""

    zones: Mapping[int, int]
    cores: Sequence[int] = ()
    sockets: Sequence[int] = ()

    @cached_property
    def threads(self) -> int:
        """The CPUs of a core."""
        return max((core.bit_count() for core in self.cores), default=1)

    @cached_property
    def everything(self) -> int:
        return mask_of(cpu for cpus in self.zones.values() for cpu in zones_of(cpus))

    def inside(self, mask: int) -> int:
        """The CPUs of these zones."""
        return sum(cpus for zone, cpus in self.zones.items() if mask >> zone & 1)

    def aligned(self, mask: int, by_socket: bool) -> int:
        """The CPUs that count as those of these zones: with `by_socket`, all of their sockets."""
        inside = self.inside(mask)
        return sum(socket for socket in self.sockets if socket & inside) if by_socket else inside

    def zones_with(self, cpus: int) -> int:
        """The zones that these CPUs are in."""
        return mask_of(zone for zone, own in self.zones.items() if own & cpus)

    def sockets_with(self, cpus: int) -> int:
        """How many sockets these CPUs are in."""
        return sum(1 for socket in self.sockets if socket & cpus)

    def cores_with(self, cpus: int) -> int:
        """The CPUs of every core that has one of these."""
        return sum(core for core in self.cores if core & cpus)


@dataclass(frozen=True)
class CpuOptions:
    """Options of the static policy."""

    full_pcpus_only: bool = False
    align_by_socket: bool = False
    distribute_across_zones: bool = False
    strict_reservation: bool = False


def cpu_hints(places: CpuPlaces, free: int, reusable: int, count: int, by_socket: bool = False) -> list[Hint]:
    """The sets of zones that can give `count` CPUs, by size.

    Whether a set is preferred depends on the machine, not on what is free: 6 CPUs on zones of 8 prefer one zone even
    while no zone has 6 left. With `by_socket` sets on no more sockets than necessary are preferred as well.
    """
    least, bound, found = len(places.zones), places.zones_with(reusable), []
    for mask in subsets(list(places.zones)):
        inside = places.inside(mask)
        if inside.bit_count() >= count:
            least = min(least, mask.bit_count())
        if mask & bound == bound and reusable.bit_count() + (free & inside).bit_count() >= count:
            found.append(mask)
    sockets = _least_sockets(places, least) if by_socket else 0
    return [
        Hint(mask, mask.bit_count() == least or places.sockets_with(places.inside(mask)) == (sockets or -1))
        for mask in found
    ]


def kept_cpu_hints(places: CpuPlaces, held: int, count: int) -> list[Hint]:
    """Hints for a container that has its CPUs already, as after a restart of the kubelet."""
    return cpu_hints(places, held, 0, count) if held.bit_count() == count else []


def _least_sockets(places: CpuPlaces, zones: int) -> int:
    """The least number of sockets that have so many zones; 0 where a socket has no zone of its own."""
    per_socket = len(places.zones) // max(1, len(places.sockets))
    return -(-zones // per_socket) if per_socket else 0


def take(places: CpuPlaces, available: int, count: int, aligned: int = 0) -> int:
    """The CPUs that a container gets: those that are aligned with its hint first, then any others."""
    aligned &= available
    taken = packed(places, aligned, min(count, aligned.bit_count()))
    return taken | packed(places, available & ~taken, count - taken.bit_count())


def packed(places: CpuPlaces, available: int, count: int) -> int:
    """Whole free sockets and zones while that many are needed, then the fullest zones, whole cores first.

    Of 10 free CPUs in a zone of 16 and 16 in another, 20 are all of the second zone and 4 of the first. Sockets count
    where they have several zones.
    """
    taken = 0
    for level in (_sockets, _zones, _cores):
        for cpus in list(level(places, available & ~taken)):
            if cpus & available == cpus and cpus.bit_count() <= count - taken.bit_count():
                taken |= cpus
    for cpu in _single_cpus(places, available & ~taken):
        if taken.bit_count() < count:
            taken |= cpu
    return taken


def _sockets(places: CpuPlaces, available: int) -> list[int]:
    """The sockets of several zones, those with the fewest free CPUs first."""
    if len(places.sockets) >= len(places.zones):
        return []
    return sorted(places.sockets, key=lambda socket: (socket & available).bit_count())


def _zones(places: CpuPlaces, available: int) -> list[int]:
    """The zones with free CPUs: socket by socket where these have several, fewest free CPUs first, then by id."""
    zones = [cpus for _, cpus in sorted(places.zones.items()) if cpus & available]
    sockets = {socket: at for at, socket in enumerate(_sockets(places, available))}

    def rank(zone: int) -> tuple[int, int]:
        home = next((at for socket, at in sockets.items() if socket & zone), 0)
        return home, (zone & available).bit_count()

    return sorted(zones, key=rank)


def _cores(places: CpuPlaces, available: int) -> Iterator[int]:
    """Whole free cores, zone by zone."""
    for zone in _zones(places, available):
        yield from (core for core in places.cores if core & zone == core == core & available)


def _single_cpus(places: CpuPlaces, available: int) -> Iterator[int]:
    """Single CPUs, zone by zone, those of the most used cores first."""
    for zone in _zones(places, available):
        free = sorted((core & available & zone for core in places.cores), key=int.bit_count)
        yield from (1 << cpu for cpus in free for cpu in zones_of(cpus))
