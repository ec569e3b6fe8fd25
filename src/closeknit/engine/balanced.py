"""Balanced placement: few domains, evenly loaded, inside one parent, for `preferred` pod sets.

Among all sets of siblings at the requested level, find the one with the largest threshold T such that each domain used
can take at least T slices; domains that cannot take T are pruned. From the winners choose a smallest subset with the
least waste, give every member T slices, and distribute the rest in order. If any step fails, the ordinary search is
used instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..state.table import IntArray
from .find import Problem, Spread, divide, divide_one
from .order import leader_keys, ordered, plain_keys
from .subset import best_subset
from .tally import LevelColumns, Tally, parents


def balance(problem: Problem) -> Spread | None:
    """A balanced spread down to the leaves; None if there is none."""
    best = _best_siblings(problem)
    if best is None:
        return None
    chosen = _members(problem, best)
    dealt = None if chosen is None else _deal(problem, *chosen, best.threshold)
    return None if dealt is None else _descend(replace(problem, tally=best.tally), dealt)


@dataclass(frozen=True, slots=True)
class Siblings:
    """Domains of the requested level from `start` on, pruned to those that can take `threshold` slices.

    `below` are their children, pruned too, `below_start` the first of them; None at the lowest level. `tally` has the
    counts for the descent.
    """

    start: int
    level: LevelColumns
    below: LevelColumns | None
    below_start: int
    tally: Tally
    threshold: int
    used: int


def _best_siblings(problem: Problem) -> Siblings | None:
    best: Siblings | None = None
    for start, end, bound in _candidates(problem):
        if best is not None and (bound < best.threshold or (bound == best.threshold and best.used == 1)):
            continue
        found = _evaluate(problem, start, end, 0 if best is None else best.threshold)
        if found is not None and (best is None or (-found.threshold, found.used) < (-best.threshold, best.used)):
            best = found
    return best


def _candidates(problem: Problem) -> list[tuple[int, int, int]]:
    """Sets of siblings that hold everything, in path order, each with an upper bound of its threshold.

    Siblings are the children of one parent, or all domains at the top level. The threshold cannot exceed what a domain
    holds, nor an equal share over the fewest largest domains that hold everything.
    """
    tree, number, need = problem.tally.tree, problem.search.level, problem.slices
    starts = np.zeros(1, dtype=np.int64) if number == 0 else tree.first[number - 1][:-1]
    ends = np.append(starts[1:], tree.size(number))
    level = problem.tally.levels[number]
    held, largest = np.add.reduceat(level.slices, starts), np.maximum.reduceat(level.slices, starts)
    if number < problem.search.slicing.level:
        below, first = problem.tally.levels[number + 1], tree.first[number]
        largest = np.maximum.reduceat(below.slices, first[starts])
    able = np.flatnonzero((held >= need) & (largest > 0))
    most = need // -(-need // largest[able])
    return list(zip(starts[able].tolist(), ends[able].tolist(), most.tolist(), strict=True))


def _evaluate(problem: Problem, start: int, end: int, at_least: int) -> Siblings | None:
    """The largest threshold that this set of siblings supports, if it is at least `at_least`."""
    tally, number = problem.tally, problem.search.level
    members = tally.levels[number].at(slice(start, end))
    if int(members.slices.sum()) < problem.slices:
        return None
    low = members
    if number < problem.search.slicing.level:
        first = tally.tree.first[number]
        low = tally.levels[number + 1].at(slice(int(first[start]), int(first[end])))
    greedy = _greedy(problem, low)
    if greedy is None:
        return None
    for threshold in dict.fromkeys((greedy.threshold, greedy.threshold_beside)):
        if threshold <= 0 or threshold < at_least:
            continue
        pruned = _prune(problem, start, end, threshold)
        again = _greedy(problem, pruned[0])
        if again is not None:
            return Siblings(start, *pruned, threshold, again.used)
    return None


@dataclass(frozen=True, slots=True)
class Greedy:
    """How many domains greedy filling uses, and the least number of slices that each of them can take."""

    used: int
    threshold: int
    threshold_beside: int


def _greedy(problem: Problem, level: LevelColumns) -> Greedy | None:
    """Fill the roomiest domains first, starting with the leader's; None if they do not hold everything."""
    need, bounds = problem.slices, []
    rest = np.arange(len(level.slices))
    used = 0
    if problem.leaders and level.leader is not None:
        by_leader = ordered(leader_keys(level, ascending=False))
        if not len(by_leader) or level.leader[by_leader[0]] < problem.leaders:
            return None
        head, rest = int(by_leader[0]), np.sort(by_leader[1:])
        bounds.append(int(level.slices_beside[head]))
        need -= bounds[0]
        used = 1
    last = -1
    if need > 0:
        rest = rest[ordered(plain_keys(level, ascending=False), rest)]
        empty = np.flatnonzero(level.slices[rest] == 0)
        rest = rest[: empty[0]] if len(empty) else rest
        running = np.cumsum(level.slices[rest])
        position = int(np.searchsorted(running, need))
        if position >= len(rest):
            return None
        last = int(rest[position])
        used += position + 1
        bounds.append(int(level.slices[last]))
    threshold = min(problem.slices // used, *bounds)
    beside = min(threshold, int(level.slices_beside[last])) if problem.leaders and last >= 0 else threshold
    return Greedy(used, threshold, beside)


def _prune(
    problem: Problem, start: int, end: int, threshold: int
) -> tuple[LevelColumns, LevelColumns | None, int, Tally]:
    """The siblings and their children without those that cannot take `threshold` slices."""
    tally, number = problem.tally, problem.search.level
    if number == tally.tree.topology.lowest:
        level = tally.levels[number].at(slice(start, end)).copy()
        _drop(level, threshold)
        return level, None, 0, tally
    first = tally.tree.first[number][start : end + 1]
    low, high = int(first[0]), int(first[-1])
    below = tally.levels[number + 1].at(slice(low, high)).copy()
    _drop(below, threshold)
    if any(chunk > 1 for chunk in problem.search.slicing.inner[number + 2 :]):
        tally = _unrounded(tally, number + 1, low + np.flatnonzero(below.pods > 0))
        leader = below.leader
        below = tally.levels[number + 1].at(slice(low, high)).copy()
        below.leader = leader
    level = parents(number, below, first[:-1] - low, problem.search.slicing, chunk=1)
    _drop(level, threshold)
    return level, below, low, tally


def _unrounded(tally: Tally, number: int, kept: IntArray) -> Tally:
    """Counts below the kept domains of a level without inner slice layers: Kueue ignores those here."""
    inside = np.zeros(tally.tree.leaves, dtype=np.int64)
    for domain in kept.tolist():
        low, high = tally.tree.leaf_range(number, domain)
        inside[low:high] = 1
    plain = replace(tally.slicing, inner=(1,) * len(tally.slicing.inner))
    return Tally(tally.tree, plain, tally.fit, inside)


def _drop(level: LevelColumns, threshold: int) -> None:
    """Zero the domains with fewer slices; a domain that reaches the threshold only without the leader may not lead."""
    short = level.slices < threshold
    for column in (level.pods, level.slices, level.pods_beside, level.slices_beside):
        column[short] = 0
    if level.leader is not None:
        level.leader[short] = 0
        alone = (level.leader > 0) & (level.slices_beside < threshold)
        for column in (level.leader, level.pods_beside, level.slices_beside):
            column[alone] = 0


def _members(problem: Problem, best: Siblings) -> tuple[int, IntArray, LevelColumns] | None:
    """The level, domains and columns of the subset that shares the pods, in path order."""
    number = problem.search.level
    if number >= problem.search.slicing.level:
        chosen = _subset(problem, best.level, np.arange(len(best.level.pods)))
        return None if chosen is None else (number, best.start + chosen, best.level.at(chosen))
    assert best.below is not None
    first = problem.tally.tree.first[number]
    order = _by_evenness(problem, best)
    chosen = _subset(problem, best.level, order)
    if chosen is None:
        return None
    ranges = [np.arange(first[best.start + d], first[best.start + d + 1]) for d in chosen.tolist()]
    children = np.concatenate(ranges) - best.below_start
    kept = _subset(problem, best.below.at(children), np.arange(len(children)))
    if kept is None:
        return None
    children = children[kept]
    return number + 1, best.below_start + children, best.below.at(children)


def _subset(problem: Problem, level: LevelColumns, order: IntArray) -> IntArray | None:
    """As few domains as greedy filling needs, with the least left over; positions in path order."""
    greedy = _greedy(problem, level)
    if greedy is None:
        return None
    pods = problem.slices * problem.search.slicing.size
    chosen = best_subset(level.at(order), greedy.used, problem.leaders, pods)
    return None if chosen is None else np.sort(order[chosen])


def _by_evenness(problem: Problem, best: Siblings) -> IntArray:
    """Siblings by leader, then slices, then how evenly their children's pods are spread, then path."""
    level, below = best.level, best.below
    assert below is not None
    starts = problem.tally.tree.first[problem.search.level][best.start : best.start + len(level.pods)]
    starts = starts - best.below_start
    total = np.add.reduceat(below.pods, starts).astype(np.float64)
    owner = np.repeat(total, np.diff(np.append(starts, len(below.pods))))
    share = np.divide(below.pods, owner, out=np.zeros(len(owner)), where=owner > 0)
    terms = np.where(share > 0, share * np.log2(np.where(share > 0, share, 1.0)), 0.0)
    entropy = -np.add.reduceat(terms, starts)
    keys = (-entropy, -level.slices_beside) if level.leader is None else (-entropy, -level.slices_beside, -level.leader)
    return np.lexsort(keys)


def _deal(problem: Problem, number: int, domains: IntArray, level: LevelColumns, threshold: int) -> Spread | None:
    """Give `threshold` slices to each and the rest in order; the first domain that can lead gets the leader."""
    size, left = problem.search.slicing.size, problem.slices - threshold * len(domains)
    if left < 0:
        return None
    order = ordered(leader_keys(level, ascending=False))
    room = level.slices[order].copy()
    leader = -1
    if problem.leaders and level.leader is not None:
        able = np.flatnonzero(level.leader[order] > 0)
        if not len(able):
            return None
        leader = int(order[able[0]])
        room[able[0]] = level.slices_beside[leader]
    surplus = room - threshold
    given = np.clip(left - (np.cumsum(surplus) - surplus), 0, surplus)
    if int(given.sum()) < left:
        return None
    slices = np.empty(len(order), dtype=np.int64)
    slices[order] = given + threshold
    return Spread(number, domains, slices * size, int(domains[leader]) if leader >= 0 else -1)


def _descend(problem: Problem, dealt: Spread) -> Spread:
    """Every domain divides its own share; above the slice level in whole slices."""
    slicing, tree = problem.search.slicing, problem.tally.tree
    while dealt.level < slicing.level:
        dealt = _divide_slices(problem, dealt)
    while dealt.level < tree.topology.lowest:
        dealt = divide(problem, dealt, slicing.inner[dealt.level + 1])
    return dealt


def _divide_slices(problem: Problem, dealt: Spread) -> Spread:
    level, first = problem.tally.levels[dealt.level + 1], problem.tally.tree.first[dealt.level]
    at, pods, leader = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)], -1
    for domain, share in zip(dealt.at.tolist(), dealt.pods.tolist(), strict=True):
        kids = np.arange(first[domain], first[domain + 1])
        leads = int(domain == dealt.leader)
        part = divide_one(problem, level, kids, share, leads, problem.search.slicing.size)
        if part is not None:
            at.append(kids[part.at])
            pods.append(part.amount * problem.search.slicing.size)
            leader = int(kids[part.leader]) if leads else leader
    return Spread(dealt.level + 1, np.concatenate(at), np.concatenate(pods), leader)
