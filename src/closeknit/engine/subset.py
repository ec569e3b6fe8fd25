"""The best subset: exactly K of an ordered list of domains that hold everything with the least waste.

A dynamic programme over the domains in order. A state is (domains used, leaders left, pods left); the first path
to reach a state is kept, so the order of the list breaks ties. Pods left may fall below zero by what is wasted;
of the states with K domains used and no leader left, the one nearest zero from below wins.

States that cannot reach zero with the remaining domains are dropped: none of their successors could either. If all
domains are equal no search is needed: the answer is the first K, unless fewer already hold all pods, because then no
path continues to K.
"""

from __future__ import annotations

from functools import reduce
from math import gcd

import numpy as np

from ..state.table import IntArray
from .tally import LevelColumns

MOST_STATES = 30_000_000
"""Beyond this many states the search stops without a result: it would need gigabytes of memory."""


def best_subset(level: LevelColumns, used: int, leaders: int, pods: int) -> IntArray | None:
    """Positions of the chosen domains, ascending; None if no `used` of them hold everything."""
    able = level.slices > 0
    if leaders and level.leader is not None:
        able |= level.leader > 0
    listed = np.flatnonzero(able)
    if len(listed) < used:
        return None
    if _alike(level, listed):
        open_ = leaders or (used - 1) * int(level.pods[listed[0]]) < pods
        return listed[:used] if open_ else None
    programme = _Programme(level, listed, used, leaders, pods)
    if programme.size > MOST_STATES:
        return None
    chosen = programme.run()
    return None if chosen is None else listed[chosen]


def _alike(level: LevelColumns, at: IntArray) -> bool:
    columns = [level.pods[at], level.slices[at]]
    if level.leader is not None:
        columns += [level.pods_beside[at], level.leader[at]]
    return all(bool((column == column[0]).all()) for column in columns)


class _Programme:
    """States are numbered (used * 2 + leaders left) * width + pods left + waste, pods in units of a divisor."""

    def __init__(self, level: LevelColumns, listed: IntArray, used: int, leaders: int, pods: int) -> None:
        self.used, self.leaders = used, leaders
        leads = np.zeros(len(listed), dtype=np.int64) if level.leader is None else level.leader[listed]
        whole, beside = level.pods[listed], level.pods_beside[listed]
        unit = reduce(gcd, [*whole.tolist(), *(beside.tolist() if leaders else ()), pods]) or 1
        self.whole, self.beside = (whole // unit).tolist(), (beside // unit).tolist()
        self.takes_workers = (level.slices[listed] > 0).tolist()
        self.leads = leads.tolist()
        self.pods = pods // unit
        self.most = max(self.whole, default=0)
        self.waste = self.most * (used + 1 if leaders else 1)
        self.width = self.pods + self.waste + 1
        self.size = (used + 1) * 2 * self.width

    def run(self) -> IntArray | None:
        # Zero-filled pages cost memory only when touched, and few states are.
        self.origin = np.zeros(self.size, dtype=np.int64)
        self.via = np.zeros(self.size, dtype=np.int32)
        start = self.leaders * self.width + self.pods + self.waste
        states = np.array([start])
        self.origin[start] = -1
        goal = self.used * 2 * self.width + self.waste
        for domain in range(len(self.whole)):
            states = self._extend(states, domain)
            if self.origin[goal]:
                break
        final = self.origin[goal - self.waste : goal + 1]
        reached = np.flatnonzero(final)
        return self._path(goal - self.waste + int(reached[-1])) if len(reached) else None

    def _extend(self, states: IntArray, domain: int) -> IntArray:
        """All states after this domain, taken or not; states with more used first, so no domain is taken twice."""
        count, pods = states // self.width, states % self.width - self.waste
        used, left = count // 2, count % 2
        still_needed = self.used - (len(self.whole) - domain)
        hopeful = (pods <= (self.used - used) * self.most) & (used >= still_needed)
        open_ = hopeful & (used < self.used) & ((pods > 0) | (left > 0))
        source, left, pods = states[open_], left[open_], pods[open_]
        found = [states[hopeful]]
        step = 2 * self.width
        if self.takes_workers[domain]:
            found.append(self._reach(source, source + step - self.whole[domain], domain))
        if self.leaders and self.leads[domain]:
            leading = source[left > 0]
            found.append(self._reach(leading, leading + self.width - self.beside[domain], domain))
        return np.concatenate(found)

    def _reach(self, source: IntArray, target: IntArray, domain: int) -> IntArray:
        """Record targets that no path reached before."""
        new = self.origin[target] == 0
        source, target = source[new], target[new]
        self.origin[target] = source + 1
        self.via[target] = domain
        return target

    def _path(self, state: int) -> IntArray:
        chosen = []
        while self.origin[state] > 0:
            chosen.append(int(self.via[state]))
            state = int(self.origin[state]) - 1
        return np.array(chosen[::-1], dtype=np.int64)
