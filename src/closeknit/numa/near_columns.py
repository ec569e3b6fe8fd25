"""Answers about sets of zones that need not look at every set.

How many zones a resource needs at least on an empty machine follows from its largest zones. Where every resource has a
zone that alone has enough of it, but no zone has enough of all, best-effort aligns on a single zone all the same: the
hints {0, z} of one resource and {0, y} of another leave zone 0 when they are merged.
"""

from __future__ import annotations

import numpy as np

from .zone_batch import ZoneBatch
from .zone_columns import BoolArray, FloatArray, IntArray
from .zone_plan import Ask, DemandPlan


def common_size(batch: ZoneBatch, plan: DemandPlan, ask: Ask) -> IntArray:
    """The least number of zones, if it is the same for all resources, on each row; 0 if it is not.

    Memory and huge pages have one number together: the largest, if zones are alike; -1 if they are not.
    """
    alike = [_least(batch.size[slot], size) for slot, size in (*ask.cpus.items(), *ask.devices.items())]
    if ask.memory:
        alike.append(np.max([_least(batch.size[slot], size) for slot, size in ask.memory.items()], axis=0))
    if not alike:
        return np.ones(len(batch), np.int64)
    found: IntArray = np.where((np.array(alike) == alike[0]).all(axis=0), alike[0], 0)
    if len(ask.memory) > 1:
        for slot in ask.memory:
            sizes = batch.size[slot][:, plan.lists[slot]]
            found[(sizes != sizes[:, :1]).any(axis=1)] = -1
    return found


def _least(sizes: FloatArray, needed: int) -> IntArray:
    """How many of the largest zones give as much; more than there are if all of them do not."""
    if len(sizes) > 1 and (sizes == sizes[0]).all():
        return np.broadcast_to(_least(sizes[:1], needed), len(sizes))
    reach = np.cumsum(-np.sort(-sizes, axis=1), axis=1)
    found: IntArray = 1 + (reach < needed).sum(axis=1)
    return found


def with_enough(batch: ZoneBatch, ask: Ask, rows: IntArray, zones: int) -> IntArray:
    """Those of the rows on which the fullest so many zones have enough of each resource, taken by itself."""
    for slot, size in ask.all.items():
        fullest = -np.partition(-batch.free[slot, rows], zones - 1, axis=1)[:, :zones]
        rows = rows[fullest @ np.ones(zones) >= size]
    return rows


def near_columns(batch: ZoneBatch, plan: DemandPlan, ask: Ask) -> IntArray:
    """The single zone that best-effort aligns on where no resource needs more than one; -1 where that is not sure.

    The rows have no zone that all resources prefer.
    """
    zones = batch.group.shape[1]
    counted = [batch.free[slot] >= size for slot, size in (*ask.cpus.items(), *ask.devices.items())]
    alone = list(counted)
    if ask.memory:
        alone.append(np.logical_and.reduce([batch.free[slot] >= size for slot, size in ask.memory.items()]))
    listed = [plan.lists[slot] for slot in ask.all]
    possible = np.broadcast_to(np.logical_and.reduce(listed), (len(batch), zones))
    if ask.memory:
        possible = possible & (alone[-1] | _in_a_group(batch, ask))
    ordered = possible[:, plan.order]
    first = ordered.argmax(axis=1)
    chosen = plan.order[first]
    row = np.arange(len(batch))
    somewhere = np.logical_and.reduce([one.any(axis=1) for one in alone])
    by_one = np.logical_or.reduce(alone)[row, chosen]
    by_two = (np.logical_or.reduce(counted).sum(axis=1) > 1) & (len(counted) > 1) if counted else by_one
    sure = ordered[row, first] & somewhere & (by_one | by_two)
    if ask.memory:
        sure &= (batch.group == 1 << np.arange(zones)).all(axis=1)
    return np.where(sure, chosen, -1)


def _in_a_group(batch: ZoneBatch, ask: Ask) -> BoolArray:
    """Zones that may give memory together with others, where all zones that may have enough together."""
    open_zones = ~batch.busy
    enough = np.ones(len(batch), np.bool_)
    for slot, size in ask.memory.items():
        enough &= (batch.free[slot] * open_zones).sum(axis=1) >= size
    return open_zones & enough[:, None]
