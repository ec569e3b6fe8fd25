"""Hints of many kubelets at a time: one row for each state, one column for each set of zones.

The same rules as in `cpus`, `devices` and `memory`. A request that nothing serves has no set at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .zone_batch import ZoneBatch
from .zone_columns import BoolArray, IntArray
from .zone_plan import Ask, DemandPlan, ZoneSets


class Hints(NamedTuple):
    """Rows by sets: which will do, and the least number of zones. `open` rows: the resource has no opinion."""

    good: BoolArray
    least: IntArray
    open: BoolArray
    copies: int = 1


def hints_of(batch: ZoneBatch, plan: DemandPlan, sets: ZoneSets, ask: Ask) -> Sequence[Hints]:
    found = [_counted(batch, plan, sets, slot, size) for slot, size in (*ask.cpus.items(), *ask.devices.items())]
    return [*found, memory_hints(batch, plan, sets, ask)] if ask.memory else found


def _counted(batch: ZoneBatch, plan: DemandPlan, sets: ZoneSets, slot: int, size: int) -> Hints:
    """Hints for CPUs, or for one kind of devices."""
    there = batch.there(plan, slot, False)
    good = (there @ sets.member >= size) & sets.within[slot]
    if plan.reuses:
        bound = (batch.left[slot] > 0) @ (1 << np.arange(there.shape[1]))
        good &= (sets.masks & bound[:, None]) == bound[:, None]
    return Hints(good, _least(batch, plan, sets, {slot: size}), np.zeros(len(batch), np.bool_))


def _least(batch: ZoneBatch, plan: DemandPlan, sets: ZoneSets, sizes: dict[int, int]) -> IntArray:
    """How many zones serve the request at least, were all of them free.

    Where all sets have one size, no fewer zones would do.
    """
    if sets.sizes[0] == sets.sizes[-1]:
        return np.full(len(batch), sets.sizes[0])
    slot = next(iter(sizes))
    could = np.broadcast_to(sets.within[slot], (len(batch), len(sets.masks)))
    for slot, size in sizes.items():
        could = could & (batch.size[slot] @ sets.member >= size)
    least: IntArray = np.where(could, sets.sizes, plan.lists[slot].sum()).min(axis=1)
    return least


def memory_hints(batch: ZoneBatch, plan: DemandPlan, sets: ZoneSets, ask: Ask) -> Hints:
    """Hints for memory and huge pages together. No opinion on rows where nothing will do."""
    good = sets.within[next(iter(ask.memory))] & legal_sets(batch, sets)
    for slot, size in ask.memory.items():
        there = batch.free[slot] @ sets.member
        if plan.reuses:
            there += batch.again[slot]
        good &= (there >= size) & (batch.size[slot] @ sets.member >= size)
    return Hints(good, _least(batch, plan, sets, dict(ask.memory)), ~good.any(axis=1), ask.memories)


def legal_sets(batch: ZoneBatch, sets: ZoneSets) -> BoolArray:
    """Sets that break no group: a zone of a group is not used alone, and one in use only with its group."""
    zones = batch.group.shape[1]
    bits = 1 << np.arange(zones)
    alone = batch.group == bits
    single = sets.sizes == 1
    masks, own = sets.masks.astype(np.int16), ((batch.busy & alone) @ bits).astype(np.int16)
    good: BoolArray = ((masks & own[:, None]) == 0) | single
    others = np.flatnonzero(np.logical_not(alone).any(axis=1))
    for zone in range(zones if len(others) else 0):
        own_group = batch.group[others, zone, None]
        with_zone = sets.masks >> zone & 1 == 1
        bound = batch.busy[others, zone, None] & ~single & (sets.masks != own_group)
        good[others] &= ~(with_zone & np.where(alone[others, zone, None], False, single | bound))
    return good
