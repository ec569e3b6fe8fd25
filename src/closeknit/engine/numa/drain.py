"""Taking a request from the zones that were found for it, in ascending order of ids, each until it is empty.

Upstream takes a zone's id for its position in the report. Where a report lists zones in another order, that is another
zone, and the score of the containers that follow depends on it; so this does the same. Where the id is beyond the list,
upstream crashes, and this takes the zone that is meant.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .alignment import Free
from .zone_columns import BoolArray, IntArray, ZoneColumns


def drain(columns: ZoneColumns, free: Free, chosen: BoolArray, requests: Mapping[str, int]) -> None:
    """Subtract the requests from the chosen zones, by zone and node."""
    order = None if columns.in_order else _targets(columns, chosen)
    several = np.flatnonzero(np.count_nonzero(chosen, axis=0) > 1)
    for name, amount in requests.items():
        column = columns.resource(name)
        if not amount or column is None:
            continue
        before = free.get(name, column.available)
        if order is None:
            free[name] = before - chosen * amount  # one zone has enough, or it would not have been chosen
            free[name][:, several] = before[:, several] - _spent(before[:, several], chosen[:, several], amount)
            continue
        targets, taken = order
        after, held = before.copy(), np.take_along_axis(before, targets, axis=0)
        rank, slot = np.nonzero(taken)
        after[targets[rank, slot], slot] -= _spent(held, taken, amount)[rank, slot]
        free[name] = after


def _spent(free: IntArray, taken: BoolArray, amount: int) -> IntArray:
    """What each zone gives, the first in order first: of 5, zones with 3, 0 and 4 give 3, 0 and 2."""
    held = np.where(taken, np.maximum(free, 0), 0)
    before = np.cumsum(held, axis=0) - held
    spent: IntArray = np.clip(amount - before, 0, held)
    return spent


def _targets(columns: ZoneColumns, chosen: BoolArray) -> tuple[IntArray, BoolArray]:
    """By rank of the id and node: the position to take from, and whether that zone was chosen."""
    order = np.argsort(columns.ids, axis=0, kind="stable")
    taken = np.take_along_axis(chosen, order, axis=0)
    ids = np.take_along_axis(columns.ids, order, axis=0).astype(np.int64)
    within = ((ids < columns.key.zones) | ~taken).all(axis=0)
    return np.where(taken & within, ids, order), taken
