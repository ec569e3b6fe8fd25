"""Which nodes of a scope a batch takes: the best choice first, then others, at last every one.

The first choice uses few domains of the preferred level: the domain that holds most, then its neighbours by distance,
and of the last only the one that fits tightest. Inside a domain fuller nodes come first (binpack), or emptier ones
(spread). The other choices are for backtracking: they matter only if a later batch finds no room. Nodes that are alike
in every respect are not told apart, so that equal choices are tried once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...model.request import Order
from ...model.shape import Shape
from ...state.node_tree import NodeTree
from ...state.table import BoolArray, IntArray


class Aim(NamedTuple):
    """A level whose domains should be few; `used` says which are in use, `left` the pods yet to come, by shape."""

    tree: NodeTree
    level: int
    used: BoolArray
    left: Mapping[Shape, int]


Share = tuple[IntArray, IntArray]
"""Rows and the pods on each."""


def choices(
    rows: IntArray,
    room: IntArray,
    count: int,
    aims: Sequence[Aim],
    order: Order,
    alike: Callable[[IntArray], IntArray],
    others: IntArray | None = None,
) -> Iterator[Share]:
    """Ways to put `count` pods on these rows, best first. `alike` numbers rows; equal numbers are interchangeable.

    With `others`, rows that other pods can use less come first.
    """
    keep = room > 0
    rows, room, others = rows[keep], np.minimum(room[keep], count), None if others is None else others[keep]
    if np.add.reduce(room) < count:
        return
    tried: set[bytes] = set()
    for listed in orders(rows, room, count, aims, order, others):
        share = _filled(rows, room, listed, count)
        key = share[0].tobytes() + share[1].tobytes()
        if key not in tried:
            tried.add(key)
            yield share
    yield from _everything(rows, room, count, alike(rows), tried)


def best(rows: IntArray, room: IntArray, count: int, aims: Sequence[Aim], order: Order) -> Share:
    """The first choice for as many pods as fit, at most `count`."""
    keep = room > 0
    rows, room = rows[keep], np.minimum(room[keep], count)
    count = min(count, int(room.sum()))
    if not count:
        return rows[:0], room[:0]
    return _filled(rows, room, next(orders(rows, room, count, aims, order)), count)


def orders(
    rows: IntArray, room: IntArray, count: int, aims: Sequence[Aim], order: Order, others: IntArray | None = None
) -> Iterator[IntArray]:
    """Orders in which the rows may be filled, the best first."""
    ways = [room, -room] if order == "binpack" else [-room, room]
    if others is not None:
        ways.insert(0, others)
    if aims:
        for way in ways:
            listed = np.argsort(way, kind="stable")
            for aim in aims:
                listed = _few_domains(rows, room, count, aim, listed)
            yield listed
    for way in ways:
        yield np.argsort(way, kind="stable")


def _few_domains(rows: IntArray, room: IntArray, count: int, aim: Aim, within: IntArray) -> IntArray:
    """An order of the rows that uses few domains of the aim: the largest, then by distance from it."""
    tree, level = aim.tree, aim.level
    places = tree.place[rows]
    codes = np.where(places >= 0, tree.domain[level][places], -1 - np.arange(len(rows)))
    if (codes == codes[0]).all():
        return within
    ids, inverse = np.unique(codes, return_inverse=True)
    holds = np.zeros(len(ids), dtype=np.int64)
    np.add.at(holds, inverse, room)
    ranks = np.empty(len(ids), dtype=np.int64)
    ranks[_domains_in_order(aim, ids, holds, count)] = np.arange(len(ids))
    return within[np.argsort(ranks[inverse[within]], kind="stable")]


def _domains_in_order(aim: Aim, ids: IntArray, holds: IntArray, count: int) -> IntArray:
    """Positions of domains in the order in which they are filled: those in use, then as few others as possible.

    holds [4, 9, 3, 2], all siblings, count 11: the domain of 9 first, then the tightest that holds the remaining 2
    """
    known = ids >= 0
    known[known] = aim.used[ids[known]]
    if known.any():
        inside, others = np.flatnonzero(known), np.flatnonzero(~known)
        inside = inside[np.argsort(-holds[inside], kind="stable")]
        left = count - int(holds[inside].sum())
        if left <= 0 or not len(others):
            return np.concatenate((inside, others))
        fresh = aim._replace(used=np.zeros_like(aim.used))
        return np.concatenate((inside, others[_domains_in_order(fresh, ids[others], holds[others], left)]))
    tree, level = aim.tree, aim.level
    tight = np.flatnonzero(holds >= count)
    if len(tight):
        first = int(tight[np.argmin(holds[tight])])
    else:
        first = int(np.argmax(holds))
    far = np.full(len(ids), level + 2, dtype=np.int64)
    if ids[first] >= 0:
        real = ids >= 0
        far[real] = tree.apart_from(level, ids[real], int(ids[first]))
    far[first] = 0
    order: IntArray = np.lexsort((np.arange(len(ids)), -holds, far))
    running = np.cumsum(holds[order])
    last = int(np.searchsorted(running, count))
    if 0 < last < len(order):
        left = count - int(running[last - 1])
        ring = order[last:][far[order[last:]] == far[order[last]]]
        able = ring[holds[ring] >= left]
        if len(able):
            final = int(able[np.argmin(holds[able])])
            rest = order[last:]
            order = np.concatenate((order[:last], [final], rest[rest != final]))
    return order


def _filled(rows: IntArray, room: IntArray, listed: IntArray, count: int) -> Share:
    """Fill the rows in this order until `count` pods have a place."""
    running = room[listed].cumsum()
    last = int(running.searchsorted(count))
    chosen = listed[: last + 1]
    amounts = room[chosen]
    amounts[-1] -= int(running[last]) - count
    return rows[chosen], amounts


def _everything(rows: IntArray, room: IntArray, count: int, alike: IntArray, tried: set[bytes]) -> Iterator[Share]:
    """Every way to put the pods on these rows; of rows that are alike, an earlier one never gets fewer pods."""
    order = np.lexsort((np.arange(len(rows)), alike))
    rows, caps, same = rows[order], room[order].tolist(), alike[order].tolist()
    last = len(caps) - 1
    taken = [0] * len(caps)
    left, at = count, 0
    suffix = [0] * (len(caps) + 1)
    for place in range(last, -1, -1):
        suffix[place] = suffix[place + 1] + caps[place]

    def most(place: int) -> int:
        cap: int = min(caps[place], left)
        return min(cap, taken[place - 1]) if place and same[place] == same[place - 1] else cap

    while True:
        while at <= last and left:  # forward: as many as possible on each row
            taken[at] = most(at)
            left -= taken[at]
            at += 1
            if left > suffix[at]:
                break
        if not left:
            chosen = [place for place in range(at) if taken[place]]
            share = rows[chosen], np.array([taken[place] for place in chosen], dtype=np.int64)
            if share[0].tobytes() + share[1].tobytes() not in tried:
                yield share
        at -= 1
        while at >= 0 and (not taken[at] or left + 1 > suffix[at + 1]):  # back: one fewer somewhere
            left += taken[at]
            taken[at] = 0
            at -= 1
        if at < 0:
            return
        taken[at] -= 1
        left += 1
        at += 1
