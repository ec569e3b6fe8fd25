"""Filling domains with pods, greedily: which domains, in which order, how many each.

Two orders exist. Descending (BestFit) takes the roomiest domain first and, when the next one could hold all that
is left, takes the tightest one that can instead. Ascending (LeastFreeCapacity, and everything below the slice
level) fills the fullest domains first. Ties go to fewer pods, then to the smaller path; since domains are
numbered in path order, that is the lower index.

`fill` needs no sorting and is used for a plain pod set. `fill_in_order` walks an explicit order and handles the leader
and node affinity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..state.table import BoolArray, IntArray
from .order import first, ordered
from .tally import CostOf, LevelColumns

SMALL = 2048
"""Up to this many counts, sorting is faster than a histogram."""


class DomainShare(NamedTuple):
    """Positions in ascending order, the amount for each, and the position of the leader (-1: none)."""

    at: IntArray
    amount: IntArray
    leader: int = -1


NOTHING = DomainShare(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


def fill(
    count: IntArray, tie: IntArray, need: int, ascending: bool, tight: bool = True, cost: CostOf | None = None
) -> DomainShare | None:
    """Spread `need` over domains that hold `count` each; None if they cannot hold it.

    Descending, fill([4, 2, 3, 2], need=6) gives 4 to the first and 2 to the second: the 3 would hold it too, but 2 is
    tighter. Without `tight` the 3 gets it. Ascending it gives 2, 2 to the twos and 2 to the three.
    """
    if need <= 0:
        return NOTHING
    edge = _edge(count, need, ascending)
    if edge is None:
        return None
    value, before = edge
    better = np.flatnonzero((count < value) & (count > 0) if ascending else count > value)
    equal = np.flatnonzero(count == value)
    left = need - before
    whole = (left - 1) // value
    if len(equal) > 1 and (tie is not count or cost is not None):
        equal = equal[ordered([tie], equal, cost if whole + 1 < len(equal) else None)]
    left -= whole * value
    last = int(equal[whole])
    if tight and not ascending and left < value:
        tighter = _tightest(count, tie, left, value, cost)
        last = last if tighter is None else tighter
    at = np.concatenate((better, equal[:whole], (last,)))
    amount = count[at]
    amount[-1] = left
    order = np.argsort(at)
    return DomainShare(at[order], amount[order])


def _edge(count: IntArray, need: int, ascending: bool) -> tuple[int, int] | None:
    """The value at which the running sum over sorted counts reaches `need`, and the sum over all better values."""
    most = int(count.max(initial=0))
    if len(count) <= SMALL or most > 65536:
        values = np.sort(count) if ascending else np.sort(count)[::-1]
        running = np.cumsum(values)
        if not len(running) or running[-1] < need:
            return None
        value = int(values[np.searchsorted(running, need)])
        better = values < value if ascending else values > value
        return value, int(values[better].sum())
    sums = np.bincount(count) * np.arange(most + 1)
    running = np.cumsum(sums if ascending else sums[::-1])
    if running[-1] < need:
        return None
    step = int(np.searchsorted(running, need))
    value = step if ascending else most - step
    return value, int(running[step] - sums[value])


def _tightest(count: IntArray, tie: IntArray, need: int, below: int, cost: CostOf | None) -> int | None:
    """The first of the tightest domains that hold `need`, among those with less room than `below`."""
    found = first([count, tie], (count >= need) & (count < below), cost)
    return None if found < 0 else found


@dataclass(frozen=True, slots=True)
class DomainRoom:
    """What domains hold, in some order: `count` without the leader, `beside` with it, and whether the leader fits."""

    count: IntArray
    beside: IntArray
    leader: IntArray
    score: IntArray | None

    def listed(self, order: IntArray) -> DomainRoom:
        """The same in list order."""
        score = None if self.score is None else self.score[order]
        return DomainRoom(self.count[order], self.beside[order], self.leader[order], score)

    def chunked(self, size: int) -> DomainRoom:
        """Counted in whole chunks of `size`."""
        return self if size == 1 else DomainRoom(self.count // size, self.beside // size, self.leader, self.score)


def room_of(level: LevelColumns, at: IntArray | slice, by_slices: bool) -> DomainRoom:
    """What some domains of a level hold, in slices or in pods."""
    count, beside = (level.slices, level.slices_beside) if by_slices else (level.pods, level.pods_beside)
    leader = np.zeros(len(count), dtype=np.int64) if level.leader is None else level.leader
    return DomainRoom(count[at], beside[at], leader[at], None if level.score is None else level.score[at])


def prioritised(order: IntArray, holds: DomainRoom, need: int, leaders: int) -> IntArray:
    """The order with the first domain moved to the front that can take the leader and leaves enough for the rest."""
    if not leaders or len(order) < 2:
        return order
    listed = holds.listed(order)
    penalty = listed.count - listed.beside
    able = np.flatnonzero((listed.leader >= leaders) & (int(listed.count.sum()) - penalty >= need))
    if not len(able):
        return order
    first = int(able[0])
    return np.concatenate((order[first : first + 1], order[:first], order[first + 1 :]))


def best_fit(holds: DomainRoom, start: int, need: int, leaders: int) -> int:
    """Among list positions from `start`, the first of the tightest that hold `need`; `start` if none does.

    With node affinity only the leading run of equal scores is considered.
    """
    count = (holds.beside if leaders else holds.count)[start:]
    able = count >= need
    if leaders:
        able &= holds.leader[start:] >= leaders
    if holds.score is not None:
        able &= np.logical_and.accumulate(holds.score[start:] == holds.score[start])
    positions = np.flatnonzero(able)
    return start + int(positions[np.argmin(count[positions])]) if len(positions) else start


def fill_in_order(order: IntArray, holds: DomainRoom, need: int, leaders: int, tight: bool) -> DomainShare | None:
    """Walk the domains in this order and give each what it holds, the leader to the first that can take it.

    With `tight`, the last one is the tightest that holds the rest.

    Domains that were visited and got nothing are part of the result: their children may still take a leader.
    """
    order = prioritised(order, holds, need, leaders)
    listed = holds.listed(order)
    amount = np.zeros(len(order), dtype=np.int64)
    visited = np.zeros(len(order), dtype=np.bool_)
    leader = -1
    start = 0
    if leaders:
        able = np.flatnonzero(listed.leader >= leaders)
        if not len(able):
            return None
        leader = int(able[0])
        room = listed.beside[:leader]
        visited[:leader] = True
        amount[:leader] = np.clip(need - (np.cumsum(room) - room), 0, room)
        need = max(0, need - int(room.sum()))
        start = leader + 1
        if listed.beside[leader] >= need:
            leader = best_fit(listed, leader, need, leaders) if tight else leader
            amount[leader] = need
            visited[leader] = True
            return _share(order, amount, visited, leader)
        amount[leader] = listed.beside[leader]
        visited[leader] = True
        need -= int(listed.beside[leader])
    running = np.cumsum(listed.count[start:])
    last = start + int(np.searchsorted(running, need))
    if last >= len(order):
        return None
    amount[start:last] = listed.count[start:last]
    visited[start:last] = True
    need -= int(running[last - start - 1]) if last > start else 0
    final = best_fit(listed, last, need, 0) if tight else last
    amount[final] = need
    visited[final] = True
    return _share(order, amount, visited, leader)


def _share(order: IntArray, amount: IntArray, visited: BoolArray, leader: int) -> DomainShare:
    """The visited domains, in path order."""
    at = order[visited]
    sort = np.argsort(at)
    return DomainShare(at[sort], amount[visited][sort], int(order[leader]) if leader >= 0 else -1)
