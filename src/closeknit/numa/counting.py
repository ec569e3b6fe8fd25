"""How many pods of a demand the kubelets of a family admit one after another, all states at a time.

Each pod is admitted on every row that admitted the one before. A step first looks for a single zone that every resource
prefers, which is all that single-numa-node ever takes; rows without one go through sets of zones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .few_counts import FEW, count_alone
from .hint_columns import Hints, hints_of
from .merge_columns import ROWS, merged
from .near_columns import common_size, near_columns, with_enough
from .packed_fit import pack
from .take_columns import give_near, give_over_several
from .zone_batch import ZoneBatch
from .zone_columns import BoolArray, FloatArray, IntArray, LayoutFamily
from .zone_plan import Ask, DemandPlan, DemandStep, ZoneSets


def admit_on(batch: ZoneBatch, plan: DemandPlan) -> BoolArray:
    """Admit one pod on every row; which of them do."""
    batch.begin_pod(plan)
    good = np.ones(len(batch), np.bool_)
    for step in plan.steps:
        zone = batch.single_zone(plan, step.hint)
        alone, others = np.flatnonzero(good & (zone >= 0)), np.flatnonzero(good & (zone < 0))
        for kind, ask in step.takes:
            batch.give(plan, kind, ask, alone, zone[alone])
        if plan.policy == "single-numa-node" or not len(others):
            good[others] = False
        else:
            part = batch.rows(others)
            good[others] = _over_several(part, plan, step)
            batch.put(others, part)
    return good


def _over_several(batch: ZoneBatch, plan: DemandPlan, step: DemandStep) -> BoolArray:
    """Align a step on sets of zones and give to its containers; for each row whether that succeeds."""
    sets = plan.sets
    if sets is None:
        batch.doubtful[:] = True
        return np.zeros(len(batch), np.bool_)
    if plan.reuses:
        return _by_sets(batch, plan, sets, step)
    if plan.policy == "restricted":
        return _restricted(batch, plan, step)
    column = near_columns(batch, plan, step.hint)
    near, others = np.flatnonzero(column >= 0), np.flatnonzero(column < 0)
    good = np.zeros(len(batch), np.bool_)
    good[near] = _give_all(batch, plan, sets, step, near, column[near], np.zeros(len(near), np.bool_), True)
    for at in range(0, len(others), ROWS):
        rows = others[at : at + ROWS]
        part = batch.rows(rows)
        good[rows] = _by_sets(part, plan, sets, step)
        batch.put(rows, part)
    return good


def _restricted(batch: ZoneBatch, plan: DemandPlan, step: DemandStep) -> BoolArray:
    """Only sets of as many zones as each resource needs at least will do, if that is one number for all of them."""
    size = common_size(batch, plan, step.hint)
    good = np.zeros(len(batch), np.bool_)
    for zones in np.unique(size[((size > 1) & (size <= len(plan.zones))) | (size < 0)]).tolist():
        rows = np.flatnonzero(size == zones)
        if zones > 0:
            rows = with_enough(batch, step.hint, rows, zones)
        sets = plan.sets if zones < 0 else plan.sets_of(zones)
        assert sets is not None
        part = batch.rows(rows)
        good[rows] = _by_sets(part, plan, sets, step)
        batch.put(rows, part)
    return good


def _by_sets(batch: ZoneBatch, plan: DemandPlan, sets: ZoneSets, step: DemandStep) -> BoolArray:
    hints = hints_of(batch, plan, sets, step.hint)
    column, preferred = merged(sets, hints, plan.policy == "restricted")
    batch.doubtful |= _has_memory_for_no_set(batch, step.hint, hints)
    rows = np.flatnonzero(column >= 0)
    good = column >= 0
    good[rows] = _give_all(batch, plan, sets, step, rows, column[rows], preferred[rows])
    return good


def _give_all(
    batch: ZoneBatch,
    plan: DemandPlan,
    sets: ZoneSets,
    step: DemandStep,
    rows: IntArray,
    column: IntArray,
    preferred: BoolArray,
    near: bool = False,
) -> BoolArray:
    """Give to each container of a step; for each of the rows whether there is enough for all of them."""
    good = np.ones(len(rows), np.bool_)
    for kind, ask in step.takes:
        on = np.flatnonzero(good)
        give = give_near if near else give_over_several
        good[on] = give(batch, plan, sets, kind, ask, rows[on], column[on], preferred[on])
    return good


def _has_memory_for_no_set(batch: ZoneBatch, ask: Ask, hints: Sequence[Hints]) -> BoolArray:
    """Rows with enough memory, but only in zones whose groups contradict each other."""
    enough: BoolArray = np.logical_or.reduce([one.open for one in hints])
    for slot, size in ask.memory.items():
        enough &= batch.free[slot].sum(axis=1) >= size
    return enough


def counts_of(family: LayoutFamily, plan: DemandPlan, rows: IntArray, most: IntArray) -> IntArray:
    """How many pods each row admits, at most `most`; -1 where that is left to the kubelet of `admission`."""
    if plan.is_impossible:
        return np.zeros(len(rows), np.int64)
    if not plan.is_regular:
        return np.full(len(rows), -1, np.int64)
    if len(rows) > FEW:
        return _counted(family, plan, rows, most)
    pairs = zip(rows.tolist(), most.tolist(), strict=True)
    counts = np.array([count_alone(family, plan, row, limit) for row, limit in pairs], np.int64)
    others = np.flatnonzero(counts < 0)
    if len(others):
        counts[others] = _counted(family, plan, rows[others], most[others])
    return counts


def _counted(family: LayoutFamily, plan: DemandPlan, rows: IntArray, most: IntArray) -> IntArray:
    batch, counts = ZoneBatch.of(family, plan, rows), np.zeros(len(rows), np.int64)
    most = most if plan.reuses else np.minimum(most, _by_totals(batch, plan))
    there = np.flatnonzero(most > 0)
    batch = batch if len(there) == len(batch) else batch.rows(there)
    may_span = _may_span(batch, plan)
    packed = pack(batch, plan, most[there], bool(may_span.any()))
    if packed is not None:
        counts[there] = packed
        on = np.flatnonzero((packed < most[there]) & may_span)
        there, batch = there[on], batch.rows(on)
    while len(there):
        good = admit_on(batch, plan)
        counts[there] += good
        counts[there[batch.doubtful]] = -1
        on = np.flatnonzero(good & ~batch.doubtful & (counts[there] < most[there]))
        there, batch = there[on], batch.rows(on)
    return counts


def _may_span(batch: ZoneBatch, plan: DemandPlan) -> BoolArray:
    """Rows on which more pods may be admitted than those with each step in a single zone."""
    if plan.policy == "best-effort":
        return np.ones(len(batch), np.bool_)
    may: BoolArray = (batch.group != 1 << np.arange(batch.group.shape[1])).any(axis=1)
    if plan.policy == "restricted":
        sizes = [common_size(batch, plan, step.hint) for step in plan.steps]
        may |= ((np.max(sizes, axis=0) > 1) & (np.min(sizes, axis=0) != 0)) | (np.min(sizes, axis=0) < 0)
    return may


def _by_totals(batch: ZoneBatch, plan: DemandPlan) -> IntArray:
    """How many pods there are resources for, wherever these are."""
    found = np.full(len(batch), float(np.iinfo(np.int32).max))
    for slot in range(len(plan.slots)):
        size = sum(take.all.get(slot, 0) for step in plan.steps for _, take in step.takes)
        if size:
            found = np.minimum(found, batch.free[slot] @ np.ones(batch.free.shape[2]) / size)
    return found.astype(np.int64)


class Costs(NamedTuple):
    """What the first pod of a demand costs on each node: the less the better, the first column first.

    The number of zones that it uses, their mean distance, and how many of them nothing else uses. -1 zones where the
    node does not admit it.
    """

    zones: IntArray
    distance: FloatArray
    broken: IntArray


def costs_of(family: LayoutFamily, plan: DemandPlan, rows: IntArray) -> Costs:
    before = ZoneBatch.of(family, plan, rows)
    after = before.rows(np.arange(len(rows)))
    good = admit_on(after, plan)
    used = np.logical_or.reduce(before.free > after.free) & good[:, None]
    whole = np.logical_and.reduce(family.free[:, rows] >= family.limit[:, rows])[:, list(plan.zones)]
    count = used.sum(axis=1)
    near = _distances(family, plan)[family.near[rows]]
    apart = np.einsum("ri,rij,rj->r", used, near, used) / np.maximum(1, count) ** 2
    return Costs(np.where(good & ~after.doubtful, count, -1), apart, (used & whole).sum(axis=1))


def _distances(family: LayoutFamily, plan: DemandPlan) -> FloatArray:
    """Layouts by zones by zones."""
    ids = [family.key.zones[zone] for zone in plan.zones]
    return np.array([[[known[one][other] for other in ids] for one in ids] for known in family.distances], np.float64)
