"""The domains that may hold a part, in the order in which they are tried.

Levels are tried from the preferred one upwards to the required one. Within a level, domains that hold the whole part
with its surplus come first, then those that hold its minimum. Among them the fullest that fits is first (binpack), or
the emptiest (spread): by the largest share of its free amounts that the part takes, wider domains before narrower ones;
of equal ones, by the share of all its amounts that is in use afterwards, then by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...model.request import Order
from ...model.resources import PODS
from ...model.shape import Shape
from ...state.node_tree import ROOT, NodeTree
from ...state.table import BoolArray, IntArray
from .counts import add_up
from .fill import Aim
from .parts import Bounds, Part
from .scope import Scope
from .trial import Trial

FloatArray = NDArray[np.float64]

ABSENT = 1000.0
"""The share of a resource that a domain does not have."""


def domains(
    trial: Trial, part: Part, bounds: Bounds, around: Scope, order: Order, aims: Sequence[Aim]
) -> Iterator[Scope]:
    """Scopes for a part inside the scope around it, best first."""
    tree, inside = bounds.tree, around.inside(bounds.tree)
    whole = isinstance(inside, slice)
    for level in bounds.levels:
        if level == ROOT:
            yield around if around.tree is tree else _scope(tree, inside)
            return
        found = _Level(trial, part, tree, level, inside, aims)
        for domain in found.ordered(order):
            low, high = tree.range_of(level, domain)
            if isinstance(inside, slice):
                yield Scope(tree, max(low, inside.start), min(high, inside.stop))
            else:
                yield _scope(tree, inside[(inside >= low) & (inside < high)])
        if whole and found.is_one:
            return


def _scope(tree: NodeTree, inside: slice | IntArray) -> Scope:
    if isinstance(inside, slice):
        return Scope(tree, inside.start, inside.stop)
    return Scope(rows=tree.rows[inside])


class _Level:
    """The domains of one level inside a scope, with what they hold."""

    def __init__(
        self, trial: Trial, part: Part, tree: NodeTree, level: int, inside: slice | IntArray, aims: Sequence[Aim]
    ) -> None:
        self.trial, self.part, self.tree, self.level, self.inside = trial, part, tree, level, inside
        self.aims = [aim for aim in aims if aim.tree is tree and aim.level <= level]
        """Preferred levels of the groups around that are not below this level."""
        self.wanted = np.flatnonzero(part.need > 0)
        self.wanted = self.wanted[self.wanted != trial.columns.index[PODS]]
        """The resources that the part needs; `pods` do not count."""
        places = tree.domain[level][inside]
        if isinstance(inside, slice):
            self.ids = np.arange(int(places[0]), int(places[-1]) + 1) if len(places) else places
        else:
            self.starts = np.flatnonzero(np.diff(places, prepend=-1))
            self.ids = places[self.starts]

    @property
    def is_one(self) -> bool:
        """Whether the scope is inside one domain of this level, so that levels above it add nothing."""
        return len(self.ids) <= 1

    def ordered(self, order: Order) -> list[int]:
        able = self._holds(self.part.wants) & self.tree.real[self.level][self.ids] & self._pinned()
        if not able.any():
            return []
        free = self._free()
        able &= (free >= self.part.need[:, None]).all(axis=0)
        at = np.flatnonzero(able)
        if len(at) > 1:
            whole = self._holds(self.part.all_wants)[at] if self.part.all_wants != self.part.wants else None
            at = at[self._order(at, free, whole, 1 if order == "binpack" else -1)]
        found: list[int] = self.ids[at].tolist()
        return found

    def _holds(self, wants: Mapping[Shape, int]) -> BoolArray:
        able = np.ones(len(self.ids), dtype=np.bool_)
        for shape, count in wants.items():
            able &= self._pods(shape) >= count
        return able

    def _pods(self, shape: Shape) -> IntArray:
        if isinstance(self.inside, slice) and self._is_whole:
            return self.trial.counts(self.tree, shape).at[self.level][self.ids]
        pods = self.trial.fit(shape).pods[self.tree.rows[self.inside]]
        return add_up(pods, self._begins)

    def _free(self) -> IntArray:
        free = self.trial.free(self.tree)
        if isinstance(self.inside, slice) and self._is_whole:
            return free.at[self.level][:, self.ids]
        return add_up(free.nodes[:, self.inside], self._begins)

    @property
    def _is_whole(self) -> bool:
        """Whether the scope cuts no domain of this level."""
        if not len(self.ids) or not isinstance(self.inside, slice):
            return False
        begins = self.tree.begins[self.level]
        return bool(begins[self.ids[0]] == self.inside.start and begins[self.ids[-1] + 1] == self.inside.stop)

    @property
    def _begins(self) -> IntArray:
        if isinstance(self.inside, slice):
            begins: IntArray = np.maximum(self.tree.begins[self.level][self.ids] - self.inside.start, 0)
            return begins
        return self.starts

    def _pinned(self) -> BoolArray:
        """Domains that hold the members that run already; all domains without such members."""
        running = self.tree.place[self.part.running] if len(self.part.running) else self.part.running
        running = running[running >= 0]
        if not len(running):
            return np.ones(len(self.ids), dtype=np.bool_)
        homes = np.unique(self.tree.domain[self.level][running])
        return np.isin(self.ids, homes) if len(homes) == 1 else np.zeros(len(self.ids), dtype=np.bool_)

    def _order(self, at: IntArray, free: IntArray, whole: BoolArray | None, sign: int) -> IntArray:
        """Sort as a walk through the sorted tree: each level's domains by share, then by name."""
        ids, amounts = self.ids[at], self.trial.free(self.tree)
        keys: list[IntArray | BoolArray | FloatArray] = [] if whole is None else [~whole]
        keys += [self._aimed(aim, ids) for aim in reversed(self.aims)]
        for level in range(self._start() + 1, self.level):
            above = self.tree.ancestors(self.level, ids, level)
            keys += [*self._shares(level, above, amounts.at[level][:, above], sign), above]
        keys += [*self._shares(self.level, ids, free[:, at], sign), ids]
        return np.lexsort(keys[::-1])

    def _shares(self, level: int, ids: IntArray, free: IntArray, sign: int) -> Iterator[FloatArray]:
        """Sort keys: the share of what is free; where some are equal, the share of everything that is in use then."""
        need, wanted = self.part.need, self.wanted
        if not len(wanted):
            return
        found = shares(free[wanted], need[wanted])
        yield -sign * found
        if len(set(found.tolist())) < len(found):
            total = self.trial.free(self.tree).totals(level)[:, ids][wanted]
            after = total - free[wanted] + need[wanted, None]
            yield -sign * (after / np.maximum(total, 1)).max(axis=0)

    def _aimed(self, aim: Aim, ids: IntArray) -> FloatArray:
        """How well each domain serves a group around: one that it uses, one that holds all its pods, most of them."""
        homes, inverse = np.unique(self.tree.ancestors(self.level, ids, aim.level), return_inverse=True)
        held = np.zeros(len(homes))
        for shape, count in aim.left.items():
            held += np.minimum(self.trial.counts(self.tree, shape).at[aim.level][homes], count)
        ranks: FloatArray = np.where(np.isin(homes, aim.used), -np.inf, -held)
        return ranks[inverse]

    def _start(self) -> int:
        """The lowest level above this one at which one domain holds the whole scope; ROOT if none does."""
        low, high = self.tree.begins[self.level][self.ids[0]], self.tree.begins[self.level][self.ids[-1]]
        return self.tree.common(int(low), int(high) + 1, self.level - 1)


def shares(free: IntArray, need: IntArray) -> FloatArray:
    """For each column of `free` the largest share of it that `need` takes."""
    share = need[:, None] / np.maximum(free, 1)
    share[free <= 0] = ABSENT
    found: FloatArray = share.max(axis=0)
    return found
