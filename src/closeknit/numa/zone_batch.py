"""Kubelets of one family that admit the pods of one demand, all at a time.

One row is one state. A step first looks for a single zone that every resource prefers, which is all that
single-numa-node ever takes; for the rows without one, `several_zones` goes through sets of zones. A row that is refused
stays in the arrays with whatever it was given, until its pod is over.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..model.container import Kind
from .zone_columns import BoolArray, Family, FloatArray, IntArray
from .zone_plan import Ask, Plan


@dataclass
class Batch:
    """Slots by rows by zones. Init containers leave `left` and, of memory, by set of zones, `again`.

    `doubtful` rows are beyond these rules.
    """

    free: FloatArray
    size: FloatArray
    group: IntArray
    busy: BoolArray
    left: FloatArray
    again: FloatArray
    doubtful: BoolArray

    @classmethod
    def of(cls, family: Family, plan: Plan, rows: IntArray) -> Batch:
        at = np.ix_(plan.slots, rows, plan.zones)
        free = family.free[at]
        group = np.zeros(free.shape[1:], np.int64)
        for position, zone in enumerate(plan.zones):
            group |= (family.group[np.ix_(rows, plan.zones)] >> zone & 1) << position
        busy = family.busy[np.ix_(rows, plan.zones)]
        empty = np.zeros((*free.shape[:2], 0))
        return cls(free, family.size[at], group, busy, empty, empty, np.zeros(len(rows), np.bool_))

    def __len__(self) -> int:
        return self.free.shape[1]

    def rows(self, which: BoolArray | IntArray) -> Batch:
        """A copy of these rows."""
        by_slot = (one[:, which] for one in (self.free, self.size, self.left, self.again))
        free, size, left, again = by_slot
        return Batch(free, size, self.group[which], self.busy[which], left, again, self.doubtful[which])

    def put(self, which: IntArray, other: Batch) -> None:
        """Write rows back."""
        self.free[:, which], self.left[:, which], self.again[:, which] = other.free, other.left, other.again
        self.group[which], self.busy[which], self.doubtful[which] = other.group, other.busy, other.doubtful

    def begin_pod(self, plan: Plan) -> None:
        """Nothing is left over from the pod before."""
        if plan.reuses:
            sets = len(plan.sets.masks) if plan.sets and plan.policy != "single-numa-node" else len(plan.zones)
            self.left = np.zeros_like(self.free)
            self.again = np.zeros((*self.free.shape[:2], sets))

    def single_zone(self, plan: Plan, ask: Ask) -> IntArray:
        """For each row the best zone that alone serves all that is asked for; -1 if there is none."""
        good = np.ones(self.group.shape, np.bool_)
        for slot in ask.all:
            good &= plan.lists[slot]
        for slot, size in ask.all.items():
            good &= self.there(plan, slot, slot in ask.memory) >= size
        if plan.reuses:
            for slot in (*ask.cpus, *ask.devices):
                bound = self.left[slot] > 0
                count = bound.sum(axis=1)[:, None]
                good &= (count == 0) | ((count == 1) & bound)
        if ask.memory:
            good &= self.group == 1 << np.arange(self.group.shape[1])
        ordered = good[:, plan.order]
        first = ordered.argmax(axis=1)
        return np.where(ordered[np.arange(len(self)), first], plan.order[first], -1)

    def there(self, plan: Plan, slot: int, is_memory: bool) -> FloatArray:
        if not plan.reuses:
            return self.free[slot]
        return self.free[slot] + (self.again[slot, :, : len(plan.zones)] if is_memory else self.left[slot])

    def give(self, plan: Plan, kind: Kind, ask: Ask, rows: IntArray, zone: IntArray) -> None:
        """Give a container what it asks for in one zone."""
        for slot, size in ask.all.items():
            over: FloatArray | float = 0.0
            if plan.reuses:
                kept = self.again if slot in ask.memory else self.left
                over = np.minimum(kept[slot, rows, zone], size)
                if kind != "init":
                    kept[slot, rows, zone] -= over
                else:
                    kept[slot, rows, zone] += size - over
            self.free[slot, rows, zone] -= size - over
            self.doubtful[rows] |= self.free[slot, rows, zone] < 0
        if ask.memory:
            self.busy[rows, zone] = True


def taken_in(before: Batch, after: Batch) -> BoolArray:
    """Rows by zones: where something was taken between the two."""
    return (before.free > after.free).any(axis=0)
