"""What is free in the zones of a node, as a value that can be compared, counted and kept.

A kubelet of `admission` is made from such a state, and its state after some pods is one again, so that the answer for
one node serves every node in the same state. States go by counts: a report tells how many CPUs of a zone are free, not
which. A pod that is known by its zones is charged to them, or given back; a zone that is over-committed is below zero.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..model.container import Amounts
from ..model.numa import NodeZones, Zone
from ..model.resources import CPU
from .admission import NodeAdmission
from .demand import MILLI
from .layout import STATIC, KubeletRules, Layout, distinct_zones, layout_of
from .masks import mask_of

ByZone = Mapping[int, Mapping[str, int]]
"""Amounts by zone and resource: CPU in milli-units."""


class ZoneMemoryState(NamedTuple):
    """What is free of each resource, in the layout's order, the group of zones, and how often it is assigned."""

    free: tuple[int, ...]
    group: int
    assignments: int = 0


@dataclass(frozen=True)
class ZoneState:
    """What is free of what a layout has, in its order: CPUs in whole ones."""

    layout: Layout
    cpus: tuple[int, ...]
    memory: tuple[ZoneMemoryState, ...]
    devices: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class ZonedAmounts:
    """What a pod holds in each zone. `groups` are the sets of zones its memory comes from, and how often each."""

    zones: tuple[tuple[int, Amounts], ...] = ()
    groups: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, zones: ByZone, groups: Mapping[int, int] | None = None) -> ZonedAmounts:
        """From plain mappings, in one canonical order and without zeros."""
        found = ((zone, tuple(sorted((name, size) for name, size in zones[zone].items() if size))) for zone in zones)
        return cls(tuple(sorted(one for one in found if one[1])), tuple(sorted((groups or {}).items())))

    @property
    def by_zone(self) -> dict[int, dict[str, int]]:
        return {zone: dict(sizes) for zone, sizes in self.zones}


def state_of_report(node: NodeZones, rules: KubeletRules = STATIC) -> ZoneState:
    """What a node's report says is free, at most what pods may have."""
    layout, zones = layout_of(node, rules), distinct_zones(node)
    return ZoneState(
        layout,
        tuple(min(most, _free(zones[at], CPU) // MILLI) for at, _, most in layout.cpus),
        tuple(
            ZoneMemoryState(tuple(min(most, _free(zones[at], name)) for name, most in sizes), 1 << at)
            for at, sizes in layout.memory
        ),
        tuple(tuple(min(most, _free(zones[at], name)) for at, most in counts) for name, counts in layout.devices),
    )


def _free(zone: Zone, name: str) -> int:
    return zone.resources[name].available


def kubelet_of(state: ZoneState) -> NodeAdmission:
    """A kubelet that has free what the state has, and nothing where that is below zero."""
    layout = state.layout
    kubelet = NodeAdmission(layout.machine, layout.settings)
    for (zone, _, _), free in zip(layout.cpus, state.cpus, strict=True):
        own = kubelet.cpus.places.zones[zone]
        highest = own.bit_length()
        kubelet.cpus.free &= ~own | mask_of(range(highest - max(0, free), highest))
    for (zone, sizes), one in zip(layout.memory, state.memory, strict=True):
        there = kubelet.memory.zones[zone]
        there.group, there.assignments = one.group, one.assignments
        there.free = {name: max(0, free) for (name, _), free in zip(sizes, one.free, strict=True)}
        there.reserved = {name: most - there.free[name] for name, most in sizes}
    for (name, counts), left in zip(layout.devices, state.devices, strict=True):
        kubelet.devices.free[name] = Counter({1 << zone: max(0, n) for (zone, _), n in zip(counts, left, strict=True)})
    return kubelet


def state_after(before: ZoneState, kubelet: NodeAdmission) -> ZoneState:
    """What is free now in a kubelet made from a state; what was over-committed then still is."""
    layout = before.layout
    cpus, memory, devices = kubelet.cpus, kubelet.memory.zones, kubelet.devices.free
    return ZoneState(
        layout,
        tuple(
            (cpus.places.zones[zone] & cpus.free).bit_count() + min(0, was)
            for (zone, _, _), was in zip(layout.cpus, before.cpus, strict=True)
        ),
        tuple(
            ZoneMemoryState(
                tuple(memory[zone].free[name] + min(0, was) for (name, _), was in zip(sizes, one.free, strict=True)),
                memory[zone].group,
                memory[zone].assignments,
            )
            for (zone, sizes), one in zip(layout.memory, before.memory, strict=True)
        ),
        tuple(
            tuple(devices[name][1 << zone] + min(0, was) for (zone, _), was in zip(counts, free, strict=True))
            for (name, counts), free in zip(layout.devices, before.devices, strict=True)
        ),
    )


def difference(before: ZoneState, after: ZoneState, groups: Mapping[int, int] | None = None) -> ZonedAmounts:
    """What was taken between two states of one layout."""
    left = amounts(after)
    taken = {
        zone: {name: size - left[zone][name] for name, size in own.items()} for zone, own in amounts(before).items()
    }
    return ZonedAmounts.of(taken, groups)


def amounts(state: ZoneState) -> dict[int, dict[str, int]]:
    """What is free, by zone and resource: CPU in milli-units."""
    layout = state.layout
    found: dict[int, dict[str, int]] = {zone: {} for zone in layout.zones}
    for (zone, _, _), free in zip(layout.cpus, state.cpus, strict=True):
        found[zone][CPU] = free * MILLI
    for (zone, sizes), one in zip(layout.memory, state.memory, strict=True):
        found[zone].update((name, free) for (name, _), free in zip(sizes, one.free, strict=True))
    for (name, counts), left in zip(layout.devices, state.devices, strict=True):
        for (zone, _), free in zip(counts, left, strict=True):
            found[zone][name] = free
    return found


def with_taken(state: ZoneState, taken: ZonedAmounts | ByZone, sign: int = 1) -> ZoneState:
    """Charge amounts to the zones, or with sign -1 give them back, up to what pods may have there.

    Plain amounts say nothing of groups of zones, so these stay as they are.
    """
    layout = state.layout
    by_zone = taken.by_zone if isinstance(taken, ZonedAmounts) else taken

    def left(zone: int, name: str, free: int, most: int) -> int:
        size = by_zone.get(zone, {}).get(name, 0)
        return min(most, free - sign * (-(-size // MILLI) if name == CPU else size))

    changed = replace(
        state,
        cpus=tuple(left(zone, CPU, free, most) for (zone, _, most), free in zip(layout.cpus, state.cpus, strict=True)),
        memory=tuple(
            one._replace(
                free=tuple(left(zone, name, free, most) for (name, most), free in zip(sizes, one.free, strict=True))
            )
            for (zone, sizes), one in zip(layout.memory, state.memory, strict=True)
        ),
        devices=tuple(
            tuple(left(zone, name, free, most) for (zone, most), free in zip(counts, there, strict=True))
            for (name, counts), there in zip(layout.devices, state.devices, strict=True)
        ),
    )
    return _regrouped(changed, taken.groups, sign) if isinstance(taken, ZonedAmounts) else changed


def _regrouped(state: ZoneState, groups: Iterable[tuple[int, int]], sign: int) -> ZoneState:
    """A zone joins the group that it is assigned with, and leaves it with its last assignment."""
    found = dict(zip((zone for zone, _ in state.layout.memory), state.memory, strict=True))
    for mask, count in groups:
        for zone, one in found.items():
            if mask >> zone & 1:
                times = max(0, one.assignments + sign * count)
                group = mask if sign > 0 else one.group if times else 1 << zone
                found[zone] = one._replace(group=group, assignments=times)
    return replace(state, memory=tuple(found.values()))


def least(states: Sequence[ZoneState]) -> ZoneState:
    """What is free in all of these states of one layout."""
    first = states[0]
    if len(states) == 1:
        return first
    return replace(
        first,
        cpus=tuple(map(min, zip(*(one.cpus for one in states), strict=True))),
        memory=tuple(
            max(zones, key=lambda one: one.assignments)._replace(
                free=tuple(map(min, zip(*(one.free for one in zones), strict=True)))
            )
            for zones in zip(*(one.memory for one in states), strict=True)
        ),
        devices=tuple(
            tuple(map(min, zip(*counts, strict=True))) for counts in zip(*(one.devices for one in states), strict=True)
        ),
    )
