"""Kubelets of one family that admit the pods of one demand, all at a time.

One row is one state. A step first looks for a single zone that every resource prefers, which is all that
single-numa-node ever takes; for the rows without one, `several_zones` goes through sets of zones. A row that is refused
stays in the arrays with whatever it was given, until its pod is over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..model.container import Kind
from .zone_columns import BoolArray, FloatArray, IntArray, LayoutFamily
from .zone_plan import Ask, DemandPlan

Number = TypeVar("Number", np.float64, np.int64, np.bool_)


@dataclass
class ZoneBatch:
    """Slots by rows by zones. Init containers leave `left` and, of memory, by set of zones, `again`.

    `doubtful` rows are beyond these rules. Where no set of several zones is ever looked at, `size` is `free`.
    """

    free: FloatArray
    size: FloatArray
    group: IntArray
    busy: BoolArray
    left: FloatArray
    again: FloatArray
    doubtful: BoolArray

    @classmethod
    def of(cls, family: LayoutFamily, plan: DemandPlan, rows: IntArray) -> ZoneBatch:
        def part(columns: FloatArray) -> FloatArray:
            return _zones(columns[list(plan.slots)][:, rows], plan)

        free, group, busy = part(family.free), family.group[rows], _zones(family.busy[rows], plan)
        mapped = np.zeros(busy.shape, np.int64)
        for position, zone in enumerate(plan.zones):
            mapped |= (_zones(group, plan) >> zone & 1) << position
        size = free if plan.policy == "single-numa-node" else part(family.size)
        empty = np.zeros((*free.shape[:2], 0))
        return cls(free, size, mapped, busy, empty, empty, np.zeros(len(rows), np.bool_))

    def __len__(self) -> int:
        return len(self.doubtful)

    def rows(self, which: BoolArray | IntArray) -> ZoneBatch:
        """A copy of these rows."""
        free, left, again = (one[:, which] for one in (self.free, self.left, self.again))
        size = free if self.size is self.free else self.size[:, which]
        return ZoneBatch(free, size, self.group[which], self.busy[which], left, again, self.doubtful[which])

    def put(self, which: IntArray, other: ZoneBatch) -> None:
        """Write rows back."""
        self.free[:, which], self.left[:, which], self.again[:, which] = other.free, other.left, other.again
        self.group[which], self.busy[which], self.doubtful[which] = other.group, other.busy, other.doubtful

    def begin_pod(self, plan: DemandPlan) -> None:
        """Nothing is left over from the pod before."""
        if plan.reuses:
            sets = len(plan.sets.masks) if plan.sets and plan.policy != "single-numa-node" else len(plan.zones)
            self.left = np.zeros_like(self.free)
            self.again = np.zeros((*self.free.shape[:2], sets))

    def single_zone(self, plan: DemandPlan, ask: Ask) -> IntArray:
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

    def there(self, plan: DemandPlan, slot: int, is_memory: bool) -> FloatArray:
        found: FloatArray = self.free[slot]
        if plan.reuses:
            found = found + (self.again[slot, :, : len(plan.zones)] if is_memory else self.left[slot])
        return found

    def give(self, plan: DemandPlan, kind: Kind, ask: Ask, rows: IntArray, zone: IntArray) -> None:
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


def _zones(columns: NDArray[Number], plan: DemandPlan) -> NDArray[Number]:
    """The zones of a plan, in the last dimension."""
    every = plan.zones == tuple(range(columns.shape[-1]))
    return columns if every else columns[..., list(plan.zones)]
