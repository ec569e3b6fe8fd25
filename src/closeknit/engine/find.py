"""Find leaves for one pod set, or for a leader with its workers: choose a level and domains, then descend.

                 level 0   ┌ block 1 ───────────┐ ┌ block 2 ┐     choose: one domain that holds everything, as
    preferred ▶  level 1   │ rack 1    rack 2   │ │ rack 3  │     low as requested; else go up; at the top spread
                 level 2   │ h1 h2 h3  h4 h5 h6 │ │ h7 h8   │     descend: fewest domains per level

Above the slice level the children of all chosen domains are one pool, of which as few as possible are kept. From the
slice level down every domain divides its pods among its own children, so that no slice is split.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..model.reason import Reason, Why
from ..state.table import IntArray
from ..state.tree import gather
from .fill import DomainShare, best_fit, fill, fill_in_order, prioritised, room_of
from .order import first, leader_keys, ordered, plain_keys
from .slicing import LevelSearch
from .tally import LevelColumns, Tally


@dataclass(slots=True)
class Spread:
    """Domains of one level in path order, the pods each gets, and the domain that gets the leader (-1: none)."""

    level: int
    at: IntArray
    pods: IntArray
    leader: int = -1

    @classmethod
    def of(cls, level: int, share: DomainShare, at: IntArray | None, size: int) -> Spread:
        """Shares of positions in `at` (None: of the whole level), counted in chunks of `size` pods."""
        domains = share.at if at is None else at[share.at]
        leader = share.leader if at is None or share.leader < 0 else int(at[share.leader])
        return cls(level, domains, share.amount * size, leader)


@dataclass(frozen=True, slots=True)
class Problem:
    """The search problem: `count` workers and `leaders` (0 or 1) on these counts."""

    tally: Tally
    search: LevelSearch
    count: int
    leaders: int

    @property
    def slices(self) -> int:
        return self.count // self.search.slicing.size

    @property
    def plain(self) -> bool:
        """Whether there is neither leader nor affinity, so that room alone decides."""
        return not self.leaders and self.tally.levels[0].score is None


def find(problem: Problem) -> Spread | Reason:
    """Find leaves for the pods, or the reason why there are none."""
    chosen = choose(problem)
    return chosen if isinstance(chosen, Reason) else descend(problem, chosen)


def holds_somewhere(problem: Problem) -> bool:
    """Whether `find` would find leaves. Counts decide, unless there is a leader or affinity.

    A domain holds what its children hold, so if one domain of any level holds everything, or all domains together do,
    the ceiling does too.
    """
    level, need = problem.tally.levels[problem.search.ceiling], problem.slices
    room = int(level.slices.max(initial=0) if problem.search.bound else level.slices.sum())
    if room < need or problem.plain:
        return room >= need
    return not isinstance(choose(problem), Reason)


def choose(problem: Problem) -> Spread | Reason:
    """The lowest level at which one domain holds everything, or at the ceiling several that do."""
    search, need = problem.search, problem.slices
    for level in range(search.level, search.ceiling - 1, -1):
        domain = one_domain(problem, problem.tally.levels[level])
        if domain >= 0:
            pods = np.array([need * search.slicing.size])
            return Spread(level, np.array([domain]), pods, domain if problem.leaders else -1)
    if search.bound:
        domains = problem.tally.levels[search.ceiling]
        top = first(leader_keys(domains, ascending=False), existing(problem, search.ceiling))
        return no_room(problem, int(domains.slices[top]))
    return spread(problem, search.ceiling)


def one_domain(problem: Problem, level: LevelColumns) -> int:
    """The domain that takes everything; -1 if none can."""
    need, leaders = problem.slices, problem.leaders
    if problem.plain and int(level.slices.max(initial=0)) < need:
        return -1
    able = level.slices_beside >= need
    if leaders and level.leader is not None:
        able &= level.leader >= leaders
    if problem.search.ascending:
        return first(leader_keys(level, ascending=True), able, level.cost)
    if level.score is not None:
        everywhere = np.ones(len(able), dtype=np.bool_)
        top = first(leader_keys(level, ascending=False), able if problem.search.bound else everywhere)
        if top < 0 or not able[top]:
            return -1
        able &= level.score == level.score[top]
    if problem.search.roomiest:
        return first([-level.slices_beside, -level.pods_beside], able, level.cost)
    return first([level.slices_beside, level.pods_beside], able, level.cost)


def spread(problem: Problem, number: int) -> Spread | Reason:
    """Spread the pods over several domains of one level."""
    level, search, need = problem.tally.levels[number], problem.search, problem.slices
    size = search.slicing.size
    if problem.plain:
        share = fill(level.slices, level.pods, need, search.ascending, search.tight, level.cost)
        if share is None:
            return no_room(problem, int(level.slices.sum()))
        return Spread.of(number, share, None, size)
    listed = _spread_list(problem, level)
    if isinstance(listed, Reason):
        return listed
    share = fill_in_order(np.arange(len(listed)), room_of(level, listed, True), need, problem.leaders, search.tight)
    if share is None:
        return Spread(number, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    order = np.argsort(listed[share.at])
    ordered_share = DomainShare(share.at[order], share.amount[order], share.leader)
    return Spread.of(number, ordered_share, listed, size)


def _spread_list(problem: Problem, level: LevelColumns) -> IntArray | Reason:
    """The domains to spread over, in the order in which they are filled: the leader's first."""
    ascending, tight = problem.search.ascending, problem.search.tight
    leaders, need = problem.leaders, problem.slices
    everything = room_of(level, slice(None), True)
    rest = ordered(leader_keys(level, ascending), cost=level.cost)
    rest = prioritised(rest, everything, need, leaders)
    taken = rest[:0]
    if leaders:
        if everything.leader[rest[0]] < leaders:
            return no_room(problem, 0)
        at = 0
        if tight and everything.beside[rest[0]] >= need:
            at = best_fit(everything.listed(rest), 0, need, leaders)
        taken = rest[at : at + 1]
        rest = np.delete(rest, at)
        need -= int(everything.beside[taken[0]])
    if need <= 0 and len(taken):
        return taken
    rest = np.sort(rest)
    rest = rest[ordered(plain_keys(level, ascending), rest, level.cost)]
    listed = everything.listed(rest)
    running = np.cumsum(listed.count)
    last = int(np.searchsorted(running, need))
    if last >= len(rest):
        return no_room(problem, problem.slices - need + int(running[-1] if len(running) else 0))
    left = need - int(running[last - 1]) if last else need
    final = best_fit(listed, last, left, 0) if tight else last
    return np.concatenate((taken, rest[:last], rest[final : final + 1]))


def descend(problem: Problem, chosen: Spread) -> Spread:
    """Go from the chosen domains down to leaves."""
    slicing = problem.search.slicing
    while chosen.level < slicing.level:
        chosen = _fewest_children(problem, chosen)
    while chosen.level < problem.tally.tree.topology.lowest:
        chosen = divide(problem, chosen, slicing.inner[chosen.level + 1])
    return chosen


def _fewest_children(problem: Problem, chosen: Spread) -> Spread:
    """Pool the children of all chosen domains and keep the fewest that hold everything."""
    search, below = problem.search, chosen.level + 1
    level = problem.tally.levels[below]
    pool = _children(problem, chosen)
    if problem.plain:
        slices = level.slices[pool]
        tie = slices if level.pods is level.slices else level.pods[pool]
        cost = level.cost_at(pool)
        share = fill(slices, tie, problem.slices, search.ascending, search.tight, cost)
    else:
        order = ordered(plain_keys(level, search.ascending), pool, level.cost)
        holds = room_of(level, pool, True)
        share = fill_in_order(order, holds, problem.slices, problem.leaders, search.tight)
    if share is None:
        return Spread(below, pool[:0], pool[:0])
    return Spread.of(below, share, pool, search.slicing.size)


def _children(problem: Problem, chosen: Spread) -> IntArray:
    first_child = problem.tally.tree.first[chosen.level]
    if len(chosen.at) == 1:
        parent = chosen.at[0]
        return np.arange(first_child[parent], first_child[parent + 1])
    return gather(first_child, chosen.at)[0]


def divide(problem: Problem, chosen: Spread, chunk: int) -> Spread:
    """Divide the pods of every chosen domain among its own children, in whole chunks.

    Below the slice level children hold no whole slice, so the order is by pods alone, fewest first, and all domains are
    divided at once; only the leader's domain is handled separately. A domain whose children cannot hold its share loses
    it, as in Kueue.
    """
    below = chosen.level + 1
    level, first_child = problem.tally.levels[below], problem.tally.tree.first[chosen.level]
    led = np.flatnonzero(chosen.at == chosen.leader) if chosen.leader >= 0 else chosen.at[:0]
    plain = np.delete(chosen.at, led) if len(led) else chosen.at
    needs = (np.delete(chosen.pods, led) if len(led) else chosen.pods) // chunk
    pool, amounts = _divide_all(level, first_child, plain, needs, chunk, problem.search.roomiest)
    if not len(led):
        return Spread(below, pool, amounts * chunk)
    kids = np.arange(first_child[chosen.leader], first_child[chosen.leader + 1])
    share = divide_one(problem, level, kids, int(chosen.pods[led[0]]), 1, chunk)
    if share is None:
        return Spread(below, pool, amounts * chunk)
    pool, amounts = np.concatenate((pool, kids[share.at])), np.concatenate((amounts, share.amount))
    order = np.argsort(pool)
    return Spread(below, pool[order], amounts[order] * chunk, int(kids[share.leader]))


def _divide_all(
    level: LevelColumns, first_child: IntArray, parents: IntArray, needs: IntArray, chunk: int, roomiest: bool
) -> tuple[IntArray, IntArray]:
    """Children that get something and how many chunks, for all parents at once: smallest (or roomiest) child first."""
    pool, starts = gather(first_child, parents)
    if not len(pool):
        return pool, pool
    owner = np.repeat(np.arange(len(parents)), np.diff(np.append(starts, len(pool))))
    pods = -level.pods[pool] if roomiest else level.pods[pool]
    keys = [owner, pods] if level.score is None else [owner, -level.score[pool], pods]
    keys += [] if level.cost is None else [level.cost(pool)]
    order = np.lexsort(tuple(reversed(keys)))
    pool, count = pool[order], level.pods[pool[order]] // chunk
    running = np.cumsum(count)
    before = running - count - np.repeat((running - count)[starts], np.diff(np.append(starts, len(pool))))
    enough = np.add.reduceat(count, starts) >= needs
    amounts = np.clip((needs * enough)[owner] - before, 0, count)
    keep = np.flatnonzero(amounts)
    pool, amounts = pool[keep], amounts[keep]
    order = np.argsort(pool)
    return pool[order], amounts[order]


def divide_one(
    problem: Problem, level: LevelColumns, kids: IntArray, pods: int, leaders: int, chunk: int
) -> DomainShare | None:
    """Divide one domain's share among its children, with the leader if it is here."""
    order = ordered(plain_keys(level, problem.search.ascending), kids, level.cost)
    holds = room_of(level, kids, by_slices=False).chunked(chunk)
    return fill_in_order(order, holds, pods // chunk, leaders, problem.search.tight)


def no_room(problem: Problem, fits: int) -> Reason:
    """The reason that reports how many slices would have fitted, and what excluded leaves."""
    fit, search = problem.tally.fit, problem.search
    inside = problem.tally.inside
    values = {"topology": fit.snapshot.topology.name, "fits": fits, "need": problem.slices}
    why = Why.NO_ROOM
    if len(search.layers) > 1:
        why = Why.NO_ROOM_FOR_LAYERS
        values["layers"] = "".join(
            f"; {have}/{need} slice(s) fit on level {key}" for key, have, need in _layer_counts(problem)
        )
    else:
        values["unit"] = "pod" if search.slicing.size == 1 else "slice"
    return Reason(why, values, fit.snapshot.usable_leaves(), fit.excluded(inside))


def existing(problem: Problem, level: int) -> IntArray:
    """The domains of a level that have a usable node; the others are not reported."""
    tree = problem.tally.tree
    usable = problem.tally.fit.snapshot.usable(np.arange(tree.leaves))
    for first_child in reversed(tree.first[level:]):
        usable = np.logical_or.reduceat(usable, first_child[:-1])
    return np.flatnonzero(usable)


def _layer_counts(problem: Problem) -> list[tuple[str, int, int]]:
    """For each layer its level and how many chunks fit in the roomiest domain of the searched level."""
    tree, levels = problem.tally.tree, problem.tally.levels
    searched = problem.search.ceiling
    exist = existing(problem, searched)
    top = int(exist[np.argmax(levels[searched].slices[exist])])
    counts = []
    for level, size in problem.search.layers:
        low, high = top, top + 1
        for first_child in tree.first[searched:level]:
            low, high = int(first_child[low]), int(first_child[high])
        have = int((levels[level].pods[low:high] // size).sum())
        counts.append((tree.topology.levels[level], have, problem.count // size))
    return counts
