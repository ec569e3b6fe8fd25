"""Counts of every domain of every level: what the leaves hold, summed up the tree for one way of slicing.

For each level there are columns of pods and of slices and, for a leader with workers, the same beside the leader
and whether the leader fits at all. A level's column is computed from the level below; after a change only the
ancestors of changed leaves are computed again.

    pods     sum of the children's pods, each rounded down to whole inner chunks
    slices   pods // size at the slice level, sums above it, 0 below it
    beside   the same when the leader is on the child where it costs least
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..state.table import IntArray
from ..state.tree import Tree, gather
from .fit import Fit
from .slicing import Slicing

CostOf = Callable[[IntArray], IntArray]
"""What a pod costs on each of some hosts, by which ties are broken; computed only where there are any."""


@dataclass(slots=True)
class LevelColumns:
    """The columns of one level. Without a leader `*_beside` are the plain columns and `leader` is None.

    Only hosts have a `cost`, and only where their NUMA zones are known.
    """

    pods: IntArray
    slices: IntArray
    pods_beside: IntArray
    slices_beside: IntArray
    leader: IntArray | None
    score: IntArray | None
    cost: CostOf | None = None

    def at(self, domains: IntArray | slice) -> LevelColumns:
        """The columns of some domains only."""
        return LevelColumns(
            self.pods[domains],
            self.slices[domains],
            self.pods_beside[domains],
            self.slices_beside[domains],
            None if self.leader is None else self.leader[domains],
            None if self.score is None else self.score[domains],
        )

    def cost_at(self, domains: IntArray) -> CostOf | None:
        """The cost by positions in a list of domains."""
        cost = self.cost
        return None if cost is None else lambda at: cost(domains[at])

    def copy(self) -> LevelColumns:
        plain = self.leader is None
        pods, slices = self.pods.copy(), self.slices.copy()
        return LevelColumns(
            pods,
            slices,
            pods if plain else self.pods_beside.copy(),
            slices if plain else self.slices_beside.copy(),
            None if self.leader is None else self.leader.copy(),
            self.score,
            self.cost,
        )


class Tally:
    def __init__(self, tree: Tree, slicing: Slicing, fit: Fit, inside: IntArray | None = None) -> None:
        """`inside`, a 0/1 column over leaves, excludes the rest of the tree."""
        self.tree, self.slicing, self.fit, self.inside = tree, slicing, fit, inside
        self.version = fit.version
        self.levels: list[LevelColumns] = []
        self._build()

    def refresh(self) -> None:
        """Follow the fit's columns: recompute the ancestors of changed leaves."""
        version = self.fit.snapshot.version
        if self.version == version:
            return
        leaves = self.fit.changed_since(self.version)
        if leaves is None:
            self._build()
        elif len(leaves):
            self._repair(leaves)
        self.version = version

    def _build(self) -> None:
        lowest = self.tree.topology.lowest
        levels = [self._leaves()]
        for level in range(lowest - 1, -1, -1):
            levels.append(self._parents(level, levels[-1], self.tree.first[level][:-1]))
        self.levels = levels[::-1]

    def _leaves(self) -> LevelColumns:
        fit = self.fit
        pods, beside, leader = (
            fit.pods,
            fit.pods_beside,
            fit.leader if fit.leader_shape is not None else None,
        )
        if self.inside is not None:
            pods, beside = pods * self.inside, beside * self.inside
            leader = None if leader is None else leader * self.inside
        if leader is None:
            beside = pods
        slices, slices_beside = self._leaf_slices(pods, beside, leader is not None)
        return LevelColumns(pods, slices, beside, slices_beside, leader, fit.score, fit.zone_cost)

    def _leaf_slices(self, pods: IntArray, beside: IntArray, led: bool) -> tuple[IntArray, IntArray]:
        size = self.slicing.size
        if self.slicing.level < self.tree.topology.lowest:
            nothing = np.zeros(len(pods), dtype=np.int64)
            return nothing, nothing
        slices = pods if size == 1 else pods // size
        return slices, (beside if size == 1 else beside // size) if led else slices

    def _parents(self, level: int, child: LevelColumns, starts: IntArray) -> LevelColumns:
        return parents(level, child, starts, self.slicing, self.slicing.inner[level + 1])

    def _repair(self, leaves: IntArray) -> None:
        """Update changed leaves, whose columns are shared with the fit or sliced from it, then their ancestors."""
        lowest = self.tree.topology.lowest
        bottom = self.levels[lowest]
        if self.slicing.level == lowest and self.slicing.size > 1:
            bottom.slices[leaves] = bottom.pods[leaves] // self.slicing.size
            if bottom.leader is not None:
                bottom.slices_beside[leaves] = bottom.pods_beside[leaves] // self.slicing.size
        changed = leaves
        for level in range(lowest - 1, -1, -1):
            changed = _distinct(self.tree.parent[level + 1][changed])
            children, starts = gather(self.tree.first[level], changed)
            _put(
                self.levels[level],
                changed,
                self._parents(level, self.levels[level + 1].at(children), starts),
            )


def parents(number: int, child: LevelColumns, starts: IntArray, slicing: Slicing, chunk: int) -> LevelColumns:
    """Columns of level `number`, for parents whose children begin at `starts` in the columns of `child`.

    Children count in whole chunks of `chunk` pods.
    """
    child_pods = child.pods if chunk == 1 else child.pods - child.pods % chunk
    pods = _sum(child_pods, starts)
    score = None if child.score is None else _sum(child.score, starts)
    above = number < slicing.level
    slices = _slices(number, pods, _sum(child.slices, starts) if above else None, slicing)
    if child.leader is None:
        return LevelColumns(pods, slices, pods, slices, None, score)
    child_beside = child.pods_beside if chunk == 1 else child.pods_beside - child.pods_beside % chunk
    leader = np.maximum.reduceat(child.leader, starts) if len(starts) else child.leader[:0]
    beside = _beside(pods, child_pods - child_beside, child.leader, leader, starts)
    fewer = child.slices - child.slices_beside
    slices_beside = _beside(slices, fewer, child.leader, leader, starts) if above else None
    return LevelColumns(pods, slices, beside, _slices(number, beside, slices_beside, slicing), leader, score)


def _slices(number: int, pods: IntArray, summed: IntArray | None, slicing: Slicing) -> IntArray:
    if number == slicing.level:
        return pods if slicing.size == 1 else pods // slicing.size
    return np.zeros(len(pods), dtype=np.int64) if summed is None else summed


def _sum(column: IntArray, starts: IntArray) -> IntArray:
    return np.add.reduceat(column, starts) if len(starts) else column[:0]


def _beside(whole: IntArray, cost: IntArray, leads: IntArray, leader: IntArray, starts: IntArray) -> IntArray:
    """What is left of `whole` with the leader where it costs least; 0 where it fits nowhere."""
    if not len(starts):
        return whole
    cheapest = np.minimum.reduceat(np.where(leads > 0, cost, np.iinfo(np.int64).max), starts)
    return np.where(leader > 0, whole - cheapest, 0)


def _distinct(sorted_numbers: IntArray) -> IntArray:
    """Drop duplicates from ascending numbers."""
    keep = np.ones(len(sorted_numbers), dtype=np.bool_)
    np.not_equal(sorted_numbers[1:], sorted_numbers[:-1], out=keep[1:])
    return sorted_numbers[keep]


def _put(level: LevelColumns, at: IntArray, part: LevelColumns) -> None:
    level.pods[at] = part.pods
    level.slices[at] = part.slices
    if level.leader is not None and part.leader is not None:
        level.pods_beside[at] = part.pods_beside
        level.slices_beside[at] = part.slices_beside
        level.leader[at] = part.leader
    if level.score is not None and part.score is not None:
        level.score[at] = part.score


def tally_of(fit: Fit, slicing: Slicing) -> Tally:
    """The counts for a shape and a slicing, cached with the shape's columns."""
    entry = fit.parts.get(slicing)
    if entry is None:
        if len(fit.parts) >= 8:
            fit.parts.clear()
        entry = fit.parts[slicing] = Tally(fit.snapshot.tree, slicing, fit)
    assert isinstance(entry, Tally)
    entry.refresh()
    return entry
