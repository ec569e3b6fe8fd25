"""States of zones as arrays, so that many kubelets are asked at a time.

States whose kubelets work alike and whose zones list the same resources are one family, whatever amounts they have:
machines of one kind differ in a few kilobytes of memory. A family has one row for each state, with what is free and
what there is by resource and zone. Zones are positions here, in the order of their ids.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..model.resources import CPU
from .admission import KubeletSettings
from .layout import MOST_LAYOUTS, Layout
from .masks import mask_of, zones_of
from .zone_state import ZoneState

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

LARGEST = 2**49
"""Amounts of a zone are cut here, half a pebibyte, so that floats add up those of all zones exactly."""


class FamilyKey(NamedTuple):
    """`lists` are resources and the zones that list them, CPUs first, then memory, then devices."""

    settings: KubeletSettings
    zones: tuple[int, ...]
    lists: tuple[tuple[str, tuple[int, ...]], ...]
    distances: tuple[tuple[float, ...], ...]


def family_key(layout: Layout) -> FamilyKey:
    settings, lists = layout.settings, dict[str, tuple[int, ...]]()
    if settings.pins_cpus:
        lists[CPU] = tuple(zone for zone, _, _ in layout.cpus)
    if settings.pins_memory:
        names = sorted({name for _, sizes in layout.memory for name, _ in sizes})
        lists.update((name, tuple(zone for zone, _ in layout.memory)) for name in names)
    lists.update((name, tuple(zone for zone, _ in counts)) for name, counts in layout.devices)
    zones = tuple(sorted({zone for own in lists.values() for zone in own}))
    return FamilyKey(settings, zones, tuple(lists.items()), layout.distances if settings.closest else ())


class LayoutFamily:
    """`size` are CPUs in all, and what pods may have of the rest; `limit` what pods may have of anything."""

    def __init__(self, key: FamilyKey) -> None:
        self.key = key
        self.at = {zone: position for position, zone in enumerate(key.zones)}
        self.slots = {name: slot for slot, (name, _) in enumerate(key.lists)}
        shape = (len(key.lists), 0, len(key.zones))
        self.free, self.size, self.limit = (np.zeros(shape) for _ in range(3))
        self.group = np.zeros(shape[1:], np.int64)
        self.busy = np.zeros(shape[1:], np.bool_)
        self.near = np.zeros(0, np.int64)
        self.distances: dict[tuple[tuple[float, ...], ...], int] = {}

    def put(self, row: int, state: ZoneState) -> None:
        if row >= self.group.shape[0]:
            self._grow(max(64, 2 * row))
        self.free[:, row], self.size[:, row], self.limit[:, row] = 0, 0, 0
        self.near[row] = self.distances.setdefault(state.layout.distances, len(self.distances))
        for name, zone, free, size, limit in _amounts(state):
            slot = self.slots.get(name)
            if slot is not None:
                at = slot, row, self.at[zone]
                self.free[at], self.size[at], self.limit[at] = max(0, free), size, limit
        self.group[row] = [1 << at for at in range(len(self.at))]
        self.busy[row] = False
        if self.key.settings.pins_memory:
            for (zone, _), one in zip(state.layout.memory, state.memory, strict=True):
                self.group[row, self.at[zone]] = mask_of(
                    self.at[other] for other in zones_of(one.group) if other in self.at
                )
                self.busy[row, self.at[zone]] = one.assignments > 0

    def _grow(self, rows: int) -> None:
        more = rows - self.group.shape[0]
        self.free, self.size, self.limit = (
            np.pad(one, ((0, 0), (0, more), (0, 0))) for one in (self.free, self.size, self.limit)
        )
        self.group, self.busy = (np.pad(one, ((0, more), (0, 0))) for one in (self.group, self.busy))
        self.near = np.pad(self.near, (0, more))


def _amounts(state: ZoneState) -> Iterator[tuple[str, int, int, int, int]]:
    """Resource, zone, what is free, what there is, and what pods may have."""
    layout = state.layout
    for (zone, capacity, most), free in zip(layout.cpus, state.cpus, strict=True):
        yield CPU, zone, free, capacity, most
    for (zone, sizes), one in zip(layout.memory, state.memory, strict=True):
        for (name, most), free in zip(sizes, one.free, strict=True):
            yield name, zone, min(free, LARGEST), min(most, LARGEST), min(most, LARGEST)
    for (name, counts), left in zip(layout.devices, state.devices, strict=True):
        for (zone, most), free in zip(counts, left, strict=True):
            yield name, zone, min(free, LARGEST), min(most, LARGEST), min(most, LARGEST)


class StateColumns:
    """Where each numbered state is: its family, and the row there."""

    def __init__(self) -> None:
        self.families: list[LayoutFamily] = []
        self._by_key: dict[FamilyKey, int] = {}
        self._keys: dict[Layout, int] = {}
        self._unused: list[list[int]] = []
        self._rows: list[int] = []
        self.family = np.zeros(0, np.int64)
        self.row = np.zeros(0, np.int64)

    def put(self, number: int, state: ZoneState) -> None:
        if number >= self.row.size:
            more = max(64, 2 * number) - self.row.size
            self.family, self.row = np.pad(self.family, (0, more)), np.pad(self.row, (0, more))
        at = self._family(state.layout)
        row = self._unused[at].pop() if self._unused[at] else self._rows[at]
        self._rows[at] = max(self._rows[at], row + 1)
        self.families[at].put(row, state)
        self.family[number], self.row[number] = at, row

    def remove(self, number: int) -> None:
        """Free the row of a state for another one."""
        self._unused[self.family[number]].append(int(self.row[number]))

    def _family(self, layout: Layout) -> int:
        at = self._keys.get(layout)
        if at is None:
            key = family_key(layout)
            at = self._by_key.setdefault(key, len(self.families))
            if at == len(self.families):
                self.families.append(LayoutFamily(key))
                self._unused.append([])
                self._rows.append(0)
            if len(self._keys) >= MOST_LAYOUTS:
                self._keys.clear()
            self._keys[layout] = at
        return at
