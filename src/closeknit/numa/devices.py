"""The kubelet's device manager: which devices of a plug-in a container may get, and which it gets.

A device is in a zone, in several, or nowhere in particular. Only counts matter for admission, so devices that are in
the same zones are one `Devices` entry: how many there are, and how many are free.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .hints import Hint, preferring_least
from .masks import subsets, zones_of


@dataclass(frozen=True)
class Devices:
    """Healthy devices in all, free ones, and those that ended init containers of the pod at hand have left to it.

    Keys are the sets of zones that the devices are in; 0 for those without a zone.
    """

    total: Mapping[int, int]
    free: Mapping[int, int]
    reusable: Mapping[int, int]

    @property
    def zones(self) -> list[int]:
        """The zones that have a device."""
        every = 0
        for mask in self.total:
            every |= mask
        return zones_of(every)

    @property
    def available(self) -> int:
        return sum(self.free.values()) + sum(self.reusable.values())


def device_hints(devices: Devices, count: int) -> list[Hint] | None:
    """The sets of zones that can give `count` devices; None where no device has a zone.

    Every reusable device has to be in the set, and a device without a zone is in none.
    """
    zones = devices.zones
    if not zones:
        return None
    if devices.available < count:
        return []
    least, found = len(zones), []
    for mask in subsets(zones):
        if _inside(devices.total, mask) >= count:
            least = min(least, mask.bit_count())
        if all(not own or own & mask for own, n in devices.reusable.items() if n) and (
            _inside(devices.free, mask) + _inside(devices.reusable, mask) >= count
        ):
            found.append(mask)
    return preferring_least(found, least)


def kept_device_hints(devices: Devices, held: Mapping[int, int], count: int) -> list[Hint] | None:
    """Hints for a container that has its devices already, as after a restart of the kubelet."""
    if sum(held.values()) != count:
        return []
    return device_hints(Devices(devices.total, held, {}), count)


def _inside(devices: Mapping[int, int], mask: int) -> int:
    return sum(count for own, count in devices.items() if own & mask)


def take_devices(devices: Devices, count: int, mask: int | None) -> tuple[dict[int, int], dict[int, int]] | None:
    """What a container gets of the reusable and of the free devices; None if there are too few.

    Reusable ones first, then those in the zones of the hint, then others with a zone, then those without one. Among
    equals the zone with the fewest free devices is first.
    """
    if devices.available < count:
        return None
    again, left = _take(sorted(devices.reusable.items()), count)
    fresh, _ = _take(_in_order(devices, mask), left)
    return again, fresh


def _take(groups: list[tuple[int, int]] | Iterator[tuple[int, int]], count: int) -> tuple[dict[int, int], int]:
    """Take `count` from the groups in order; what each gave, and what is still missing."""
    taken = {}
    for own, there in groups:
        if count and there:
            taken[own] = min(count, there)
            count -= taken[own]
    return taken, count


def _in_order(devices: Devices, mask: int | None) -> Iterator[tuple[int, int]]:
    hint = mask or 0

    def rank(item: tuple[int, int]) -> tuple[bool, bool, int, int]:
        own, count = item
        return own == 0, not own & hint, count, own

    return iter(sorted(devices.free.items(), key=rank))
