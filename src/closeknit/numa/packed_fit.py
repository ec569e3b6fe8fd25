"""Whole pods in single zones, the first part of every count, with all resources of a zone in one integer.

Free amounts are counted in units that divide every request, cut at what all pods together could take, and put side by
side, each with a guard bit above it. Subtracting a container's request clears the guard bit of every resource that has
too little of it, so one subtraction and one comparison tell which zones a container fits.

    guard, 5 GPUs, guard, 12 CPUs   minus   2 GPUs, 14 CPUs:  the guard of the CPUs is gone, it does not fit
"""

from __future__ import annotations

from math import gcd

import numpy as np

from .zone_batch import ZoneBatch
from .zone_columns import BoolArray, IntArray
from .zone_plan import DemandPlan

BITS = 62
LANES = 8
"""Zones are bytes of one integer where the first that fits is chosen."""


class PackedField:
    """One slot: its unit, where its bits are, and what each step takes of it."""

    def __init__(self, slot: int, needs: list[int]) -> None:
        self.slot, self.unit = slot, gcd(*needs)
        self.needs = [need // self.unit for need in needs]
        self.word = self.at = 0

    def cut(self, pods: int) -> int:
        return pods * sum(self.needs) + max(self.needs)


def pack(batch: ZoneBatch, plan: DemandPlan, most: IntArray, goes_on: bool) -> IntArray | None:
    """How many pods each row admits in single zones, each step in one; none where zones are in groups.

    The batch is then as after these if it `goes_on`. None if the demand is not one for this: init containers, more than
    eight zones, amounts that do not fit.
    """
    needs = {slot: [int(step.hint.all.get(slot, 0)) for step in plan.steps] for slot in range(len(plan.slots))}
    fields = [PackedField(slot, of) for slot, of in needs.items() if any(of)]
    pods = int(most.max(initial=0))
    if not plan.adds_up or len(plan.zones) > LANES or not fields or not _arrange(fields, pods):
        return None
    words, guards = _words(batch, plan, fields, pods)
    allowed = [_lanes(plan, np.logical_and.reduce(plan.lists[list(step.hint.all)])) for step in plan.steps]
    takes = [
        [sum(one.needs[step] << one.at for one in fields if one.word == word) for word in range(len(words))]
        for step in range(len(plan.steps))
    ]
    most = np.where(_is_grouped(batch, plan), 0, most)
    counts = _filled(words, guards, allowed, takes, most)
    if goes_on:
        _write_back(batch, plan, fields, words, pods)
    return counts


def _arrange(fields: list[PackedField], pods: int) -> bool:
    """Give each field its bits in a word; whether every field fits one."""
    word = at = 0
    for one in fields:
        bits = one.cut(pods).bit_length() + 1
        if bits > BITS:
            return False
        if at + bits > BITS:
            word, at = word + 1, 0
        one.word, one.at = word, at
        at += bits
    return True


def _lanes(plan: DemandPlan, by_zone: BoolArray) -> BoolArray:
    found = np.zeros(LANES, np.bool_)
    found[: len(plan.zones)] = by_zone[plan.order]
    return found


def _cut(batch: ZoneBatch, plan: DemandPlan, one: PackedField, pods: int) -> IntArray:
    """What is free in units; exact, as amounts below 2**49 leave a quotient's distance to the next integer visible."""
    free = np.minimum(batch.free[one.slot], one.cut(pods) * one.unit)
    units: IntArray = (free if one.unit == 1 else free / one.unit).astype(np.int64)
    return plan.ordered(units)


def _words(
    batch: ZoneBatch, plan: DemandPlan, fields: list[PackedField], pods: int
) -> tuple[list[IntArray], list[int]]:
    """Rows by lanes for each word, and its guard bits."""
    count = fields[-1].word + 1
    words, guards = [np.zeros((len(batch), LANES), np.int64) for _ in range(count)], [0] * count
    for one in fields:
        guard = 1 << (one.at + one.cut(pods).bit_length())
        guards[one.word] |= guard
        words[one.word][:, : len(plan.zones)] |= _cut(batch, plan, one, pods) << one.at
        words[one.word] |= guard
    return words, guards


def _is_grouped(batch: ZoneBatch, plan: DemandPlan) -> BoolArray:
    """Rows where memory comes from groups of zones."""
    rows: BoolArray = (batch.group != 1 << np.arange(batch.group.shape[1])).any(axis=1)
    return rows & any(step.hint.memory for step in plan.steps)


def _filled(
    words: list[IntArray], guards: list[int], allowed: list[BoolArray], takes: list[list[int]], most: IntArray
) -> IntArray:
    """Let every row admit pods until one does not fit; the words are then as after these."""
    counts = np.zeros(len(most), np.int64)
    there = np.flatnonzero(most > 0)
    own = [word[there] for word in words]
    while len(there):
        fits, tried = np.ones(len(there), np.bool_), own
        for ok, need in zip(allowed, takes, strict=True):
            after = [word - size for word, size in zip(tried, need, strict=True)]
            good = np.broadcast_to(ok, after[0].shape)
            for word, guard in zip(after, guards, strict=True):
                good = good & ((word & guard) == guard)
            lanes = np.ascontiguousarray(good).view(np.int64).ravel()
            fits &= lanes != 0
            first = (lanes & -lanes).view(np.uint8).reshape(-1, LANES)
            tried = [word - first * np.int64(size) for word, size in zip(tried, need, strict=True)]
        counts[there] += fits
        on = fits & (counts[there] < most[there])
        if on.all():
            own = tried
            continue
        for word, before, now in zip(words, own, tried, strict=True):
            word[there] = np.where(fits[:, None], now, before)
        there, own = there[on], [word[on] for word in tried]
    return counts


def _write_back(
    batch: ZoneBatch, plan: DemandPlan, fields: list[PackedField], words: list[IntArray], pods: int
) -> None:
    """Take from the batch what is gone from the words."""
    memory = {slot for step in plan.steps for slot in step.hint.memory}
    for one in fields:
        before = _cut(batch, plan, one, pods)
        mask = (1 << one.cut(pods).bit_length()) - 1
        gone = before - (words[one.word][:, : len(plan.zones)] >> one.at & mask)
        batch.free[one.slot][:, plan.order] -= gone * one.unit
        if one.slot in memory:
            batch.busy[:, plan.order] |= gone > 0
