"""What containers get from sets of zones, on many kubelets at a time: devices, CPUs and memory.

The split over the zones decides what later pods find, so it follows `take_devices`, `packed` and `choose` exactly.
"""

from __future__ import annotations

import numpy as np

from ..model.container import Kind
from .hint_columns import memory_hints
from .zone_batch import ZoneBatch
from .zone_columns import BoolArray, FloatArray, IntArray
from .zone_plan import Ask, DemandPlan, ZoneSets

FAR = float(2**52)


def give_over_several(
    batch: ZoneBatch,
    plan: DemandPlan,
    sets: ZoneSets,
    kind: Kind,
    ask: Ask,
    rows: IntArray,
    column: IntArray,
    preferred: BoolArray,
) -> BoolArray:
    """Give a container what it asks for; for each of the rows whether there is enough."""
    good = np.ones(len(rows), np.bool_)
    for slot, size in ask.devices.items():
        good &= _give_devices(batch, plan, sets, kind, slot, size, rows, column)
    for slot, size in ask.cpus.items():
        good &= _give_cpus(batch, plan, sets, kind, slot, size, rows, column)
    return good & _give_memory(batch, plan, sets, kind, ask, rows, column, preferred) if ask.memory else good


def give_near(
    batch: ZoneBatch,
    plan: DemandPlan,
    sets: ZoneSets,
    kind: Kind,
    ask: Ask,
    rows: IntArray,
    column: IntArray,
    preferred: BoolArray,
) -> BoolArray:
    """The same where each column is a single zone, and nothing is left from init containers.

    Most of what is asked for is in that zone; the rest goes the long way.
    """
    good = np.ones(len(rows), np.bool_)
    for slot, size in (*ask.devices.items(), *ask.cpus.items()):
        there = batch.free[slot, rows, column] >= size
        batch.free[slot, rows[there], column[there]] -= size
        far = np.flatnonzero(~there)
        if len(far):
            give = _give_cpus if slot in ask.cpus else _give_devices
            good[far] = give(batch, plan, sets, kind, slot, size, rows[far], column[far])
    if not ask.memory:
        return good
    there = np.logical_and.reduce([batch.free[slot, rows, column] >= size for slot, size in ask.memory.items()])
    for slot, size in ask.memory.items():
        batch.free[slot, rows[there], column[there]] -= size
    batch.busy[rows[there], column[there]] = True
    far = np.flatnonzero(~there & good)
    if len(far):
        good[far] = _give_memory(batch, plan, sets, kind, ask, rows[far], column[far], preferred[far])
    return good


def _give_devices(
    batch: ZoneBatch,
    plan: DemandPlan,
    sets: ZoneSets,
    kind: Kind,
    slot: int,
    size: int,
    rows: IntArray,
    column: IntArray,
) -> BoolArray:
    inside = sets.member.T[column] > 0
    free, left = batch.free[slot, rows], _left(batch, plan, slot, rows)
    again = _drain(np.zeros_like(left), left, float(size)) if plan.reuses else left
    key = np.where(free > 0, np.where(inside, 0, FAR / 2) + free, FAR)
    fresh = _drain(key, free, size - again.sum(axis=1))
    good: BoolArray = free.sum(axis=1) + left.sum(axis=1) >= size
    _move(batch, plan, kind, slot, rows, again, fresh)
    return good


def _give_cpus(
    batch: ZoneBatch,
    plan: DemandPlan,
    sets: ZoneSets,
    kind: Kind,
    slot: int,
    size: int,
    rows: IntArray,
    column: IntArray,
) -> BoolArray:
    inside = sets.member.T[column] > 0
    free, left = batch.free[slot, rows], _left(batch, plan, slot, rows)
    good: BoolArray = free.sum(axis=1) + left.sum(axis=1) >= size
    taken = _packed(batch.size[slot, rows], free + left, inside, float(size))
    again = np.minimum(left, taken)
    _move(batch, plan, kind, slot, rows, again, taken - again)
    return good


def _left(batch: ZoneBatch, plan: DemandPlan, slot: int, rows: IntArray) -> FloatArray:
    return batch.left[slot, rows] if plan.reuses else np.zeros((len(rows), batch.free.shape[2]))


def _move(
    batch: ZoneBatch, plan: DemandPlan, kind: Kind, slot: int, rows: IntArray, again: FloatArray, fresh: FloatArray
) -> None:
    batch.free[slot, rows] -= fresh
    if plan.reuses:
        batch.left[slot, rows] += fresh if kind == "init" else -again


def _drain(key: FloatArray, there: FloatArray, size: FloatArray | float) -> FloatArray:
    """Take from the zones by rising key until there is enough; among equals the lower zone is first."""
    order = np.argsort(key, axis=1, kind="stable")
    sorted_there = np.take_along_axis(there, order, axis=1)
    before = np.cumsum(sorted_there, axis=1) - sorted_there
    wanted = np.asarray(size).reshape(-1, 1)
    taken = np.zeros_like(there)
    np.put_along_axis(taken, order, np.clip(wanted - before, 0, sorted_there), axis=1)
    return taken


def _packed(size: FloatArray, available: FloatArray, inside: BoolArray, count: float) -> FloatArray:
    """CPUs by zone: those in the set first, then any others."""
    aligned = np.where(inside, available, 0)
    taken = _whole_then_fullest(size, aligned, np.minimum(count, aligned.sum(axis=1)))
    rest = count - taken.sum(axis=1)
    if rest.any():
        taken += _whole_then_fullest(size, available - taken, rest)
    return taken


def _whole_then_fullest(size: FloatArray, available: FloatArray, count: FloatArray) -> FloatArray:
    """Zones that are wholly free while that many CPUs are needed, then those with the fewest free ones."""
    taken = np.zeros_like(available)
    left = np.array(count)
    order = np.argsort(available, axis=1, kind="stable")
    index = np.arange(len(left))
    for zone in order.T:
        there = available[index, zone]
        whole = np.where((there == size[index, zone]) & (there <= left), there, 0)
        taken[index, zone] += whole
        left -= whole
    rest = available - taken
    return taken + _drain(rest, rest, left)


def _give_memory(
    batch: ZoneBatch,
    plan: DemandPlan,
    sets: ZoneSets,
    kind: Kind,
    ask: Ask,
    rows: IntArray,
    column: IntArray,
    preferred: BoolArray,
) -> BoolArray:
    part = batch.rows(rows)
    covers = np.ones(len(rows), np.bool_)
    for slot, size in ask.memory.items():
        covers &= (part.free[slot] * sets.member.T[column]).sum(axis=1) >= size
    chosen, good = column.copy(), covers.copy()
    short = np.flatnonzero(~covers)
    if len(short):
        hints = memory_hints(part.rows(short), plan, sets, ask)
        mask = sets.masks[column[short], None]
        wide = hints.good & ((sets.masks & mask) == mask)
        best = np.where(wide, (sets.sizes != hints.least[:, None]) * 64 + sets.sizes, 1 << 20).argmin(axis=1)
        found = wide[np.arange(len(short)), best]
        is_preferred = sets.sizes[best] == hints.least
        good[short] = found & (is_preferred | ~preferred[short])
        chosen[short] = best
    masks = sets.masks[chosen]
    members = sets.member.T[chosen] > 0
    breaks = (part.busy & members & ((part.group != masks[:, None]) | (sets.sizes[chosen] == 1)[:, None])).any(axis=1)
    good &= ~(breaks & (sets.sizes[chosen] > 1))
    for slot, size in ask.memory.items():
        over = np.zeros(len(rows))
        if plan.reuses:
            over = np.minimum(batch.again[slot, rows, chosen], size)
            batch.again[slot, rows, chosen] += size - over if kind == "init" else -over
        there = np.where(members, part.free[slot], 0)
        batch.free[slot, rows] -= _drain(np.zeros_like(there), there, size - over)
    batch.busy[rows] |= members
    batch.group[rows] = np.where(members, masks[:, None], batch.group[rows])
    return good
