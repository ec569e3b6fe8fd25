"""The domains that may hold a part, in the order in which they are tried.

Levels are tried from the preferred one upwards to the required one. Within a level, domains that hold the whole part
with its surplus come first, then those that hold its minimum. Among them the fullest that fits is first (binpack), or
the emptiest (spread): by the largest share of its free amounts that the part takes, wider domains before narrower ones;
of equal ones, by the share of all its amounts that is in use afterwards, then by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...model.request import Order
from ...model.shape import Shape
from ...state.node_tree import ROOT, NodeTree
from ...state.table import BoolArray, IntArray
from ..filters.spread import SpreadLimits
from .counts import add_up
from .fill import Aim
from .parts import GroupPart, LevelBounds
from .scope import Scope
from .trial import GroupTrial

FloatArray = NDArray[np.float64]
Key = Callable[[IntArray], IntArray | BoolArray | FloatArray | None]
"""A sort key of some entries; None if it is the same for all of them."""

ABSENT = 1000.0
"""The share of a resource that a domain does not have."""


def domains(
    trial: GroupTrial, part: GroupPart, bounds: LevelBounds, around: Scope, order: Order, aims: Sequence[Aim]
) -> Iterator[Scope]:
    """Scopes for a part inside the scope around it, best first."""
    tree, inside = bounds.tree, around.inside(bounds.tree)
    whole = isinstance(inside, slice)
    for level in bounds.levels:
        if level == ROOT:
            yield from _wherever(tree, inside, around)
            return
        found = _Level(trial, part, tree, level, inside, aims)
        for domain in found.ordered(order):
            low, high = tree.range_of(level, domain)
            if isinstance(inside, slice):
                yield Scope(tree, max(low, inside.start), min(high, inside.stop))
            else:
                yield _scope(tree, inside[(inside >= low) & (inside < high)])
        if found.is_one and whole and (tree.has_all_rows or bounds.required != ROOT):
            return


def _wherever(tree: NodeTree, inside: slice | IntArray, around: Scope) -> Iterator[Scope]:
    """The nodes of the tree, then all nodes: a level that is only preferred excludes no node without a domain."""
    if around.tree is tree:
        yield around
        return
    yield _scope(tree, inside)
    if not tree.has_all_rows:
        yield around


def closed_rows(trial: GroupTrial, part: GroupPart, bounds: LevelBounds, around: Scope) -> IntArray:
    """The rows of the domains inside a scope that are not offered to a part, because they hold too little of it."""
    if bounds.required == ROOT:
        return around.all_rows(bounds.tree.size)
    tree, inside = bounds.tree, around.inside(bounds.tree)
    places = np.arange(inside.start, inside.stop) if isinstance(inside, slice) else inside
    level = _Level(trial, part, tree, bounds.required, inside, ())
    offered = level.domains_of(np.flatnonzero(level.is_able()))
    return tree.rows[places[~np.isin(tree.domain[bounds.required][places], offered)]]


def _scope(tree: NodeTree, inside: slice | IntArray) -> Scope:
    if isinstance(inside, slice):
        return Scope(tree, inside.start, inside.stop)
    return Scope(rows=tree.rows[inside])


class _Level:
    """The domains of one level inside a scope, with what they hold. They are numbered from the first in the scope."""

    def __init__(
        self,
        trial: GroupTrial,
        part: GroupPart,
        tree: NodeTree,
        level: int,
        inside: slice | IntArray,
        aims: Sequence[Aim],
    ) -> None:
        self.trial, self.part, self.tree, self.level, self.inside = trial, part, tree, level, inside
        self.aims = [aim for aim in aims if aim.tree is tree and aim.level <= level]
        """Preferred levels of the groups around that are not below this level."""
        self.starts: IntArray | None = None
        """Where each domain begins in the scope; None if the scope has whole domains."""
        domain, begins = tree.domain[level], tree.begins[level]
        if not isinstance(inside, slice):
            places = domain[inside]
            self.starts = np.flatnonzero(np.diff(places, prepend=-1))
            self.ids: slice | IntArray = places[self.starts]
            self.count = len(self.starts)
            return
        empty = inside.start >= inside.stop
        first, end = (0, 0) if empty else (int(domain[inside.start]), int(domain[inside.stop - 1]) + 1)
        self.ids, self.count = slice(first, end), end - first
        if not empty and (begins[first] < inside.start or begins[end] > inside.stop):
            self.starts = np.maximum(begins[first:end] - inside.start, 0)

    @property
    def is_one(self) -> bool:
        """Whether the scope is inside one domain of this level, so that levels above it add nothing."""
        return self.count <= 1

    def ordered(self, order: Order) -> Iterator[int]:
        """The domains that may hold the part, best first. The trial has to be as it was for each that is asked for."""
        at = np.flatnonzero(self.is_able())
        keys = self._keys(at, 1 if order == "binpack" else -1) if len(at) > 1 else []
        for piece in in_order(at, keys):
            yield from self.domains_of(piece).tolist()

    def domains_of(self, at: IntArray) -> IntArray:
        domains: IntArray = at + self.ids.start if isinstance(self.ids, slice) else self.ids[at]
        return domains

    def is_able(self) -> BoolArray:
        able = self._holds(self.part.wants)
        if not self.tree.all_real[self.level]:
            able &= self.tree.real[self.level][self.ids]
        if len(self.part.running):
            able &= self._pinned()
        if not self.part.of_one_shape and able.any():
            able &= (self._free() >= self.part.need[:, None]).all(axis=0)
        return able

    def _holds(self, wants: Mapping[Shape, int]) -> BoolArray:
        able: BoolArray | None = None
        for shape, count in wants.items():
            counts = self.trial.counts(self.tree, shape)
            holds = self._inside(counts.at[self.level], counts.pods) >= count
            able = holds if able is None else able & holds
        return np.ones(self.count, dtype=np.bool_) if able is None else able

    def _free(self) -> IntArray:
        free = self.trial.free(self.tree)
        return self._inside(free.at[self.level], free.nodes)

    def _inside(self, by_domain: IntArray, by_node: IntArray) -> IntArray:
        """What the domains hold inside the scope."""
        return by_domain[..., self.ids] if self.starts is None else add_up(by_node[..., self.inside], self.starts)

    def _pinned(self) -> BoolArray:
        """Domains that hold the members that run already; all domains without such members."""
        running = self.tree.place[self.part.running]
        running = running[running >= 0]
        if not len(running):
            return np.ones(self.count, dtype=np.bool_)
        homes = np.unique(self.tree.domain[self.level][running])
        return np.isin(self.domains_of(np.arange(self.count)), homes) & (len(homes) == 1)

    def _keys(self, at: IntArray, sign: int) -> list[Key]:
        """Sort as a walk through the sorted tree: each level's domains by share, then by name."""
        top = self._around(int(at[0]), int(at[-1]))
        keys: list[Key] = []
        if self.part.all_wants != self.part.wants:
            keys.append(lambda at: ~self._holds(self.part.all_wants)[at])
        if self.trial.ruled:
            spreads = [self.trial.fit(shape).spread for shape in self.part.wants]
            keys += [partial(self._crowd, spread) for spread in spreads if spread is not None and spread.own]
        keys += [partial(self._aimed, aim) for aim in reversed(self.aims)]
        for level in range(top + 1, self.level + 1) if len(self.part.wanted) else ():
            keys += [partial(self._share, level, sign), partial(self._in_use, level, sign)]
            if level < self.level:
                keys.append(partial(self._above, level))
        return keys

    def _around(self, first: int, last: int) -> int:
        """The lowest level above this one at which one domain holds both of these."""
        if isinstance(self.ids, slice):
            first, last = first + self.ids.start, last + self.ids.start
        else:
            first, last = int(self.ids[first]), int(self.ids[last])
        begins = self.tree.begins[self.level]
        return self.tree.common(int(begins[first]), int(begins[last]) + 1, self.level - 1)

    def _above(self, level: int, at: IntArray) -> IntArray | None:
        """The domains of a higher level around these; None if it is one. They are in the order of the tree."""
        above = self.tree.ancestors(self.level, self.domains_of(at), level)
        return None if above[0] == above[-1] else above

    def _amounts(self, level: int, at: IntArray) -> tuple[IntArray, IntArray] | None:
        """The domains of a level around these and what they have free of what the part needs; None if it is one."""
        wanted = self.part.wanted
        if level == self.level and self.starts is not None:
            return self.domains_of(at), self._free()[wanted, at]
        ids = self.domains_of(at) if level == self.level else self._above(level, at)
        return None if ids is None else (ids, self.trial.free(self.tree).at[level][wanted, ids])

    def _share(self, level: int, sign: int, at: IntArray) -> FloatArray | None:
        """The largest share of what is free that the part takes."""
        amounts = self._amounts(level, at)
        if amounts is None:
            return None
        found: FloatArray = np.maximum.reduce(self.part.column / amounts[1])
        return -found if sign > 0 else found

    def _in_use(self, level: int, sign: int, at: IntArray) -> FloatArray | None:
        """The largest share of everything that is in use then."""
        amounts = self._amounts(level, at)
        if amounts is None:
            return None
        ids, free = amounts
        total = self.trial.free(self.tree).totals(level)[self.part.wanted, ids]
        found: FloatArray = ((total - free + self.part.column) / np.maximum(total, 1)).max(axis=0)
        return -found if sign > 0 else found

    def _crowd(self, spread: SpreadLimits, at: IntArray) -> IntArray:
        """How many pods are there already that topology spread counts: an emptier domain takes more."""
        first = self.tree.rows[self.tree.begins[self.level][self.domains_of(at)]]
        return spread.crowd(self.trial.columns.first_rows(first))

    def _aimed(self, aim: Aim, at: IntArray) -> FloatArray | None:
        """How well each domain serves a group around: one that it uses, one that holds all its pods, most of them."""
        homes = self._above(aim.level, at)
        if homes is None:
            return None
        held = np.zeros(len(homes))
        for shape, count in aim.left.items():
            held += np.minimum(self.trial.counts(self.tree, shape).at[aim.level][homes], count)
        ranks: FloatArray = np.where(aim.used[homes], -np.inf, -held)
        return ranks


def in_order(at: IntArray, keys: Sequence[Key]) -> Iterator[IntArray]:
    """Entries in the order of several keys, the first key first, in pieces; entries that are equal in all keep theirs.

    Keys are computed only where those before them are equal, and only as far as the order is asked for: mostly the
    first domain is enough.
    """
    values = None
    while len(at) > 1 and keys:
        values, keys = keys[0](at), keys[1:]
        if values is not None:
            break
    if values is None:
        yield at
        return
    least = values == np.minimum.reduce(values)
    first = at[least]
    if len(first) == 1:
        yield first
    else:
        yield from in_order(first, keys)
    at, values = at[~least], values[~least]
    order = np.argsort(values, kind="stable")
    at, values = at[order], values[order]
    for piece in np.split(at, np.flatnonzero(values[1:] != values[:-1]) + 1) if len(at) else ():
        yield from in_order(piece, keys)


def shares(free: IntArray, need: IntArray) -> FloatArray:
    """For each column of `free` the largest share of it that `need` takes."""
    share = need[:, None] / np.maximum(free, 1)
    share[free <= 0] = ABSENT
    found: FloatArray = share.max(axis=0)
    return found
