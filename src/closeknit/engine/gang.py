"""Placing a gang: pods of one shape, optionally with a leader of another shape, placed together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from operator import itemgetter

import numpy as np

from ..model.assignment import Assignment, assignment_levels
from ..model.reason import Reason, Why, reason
from ..model.request import PodSet
from ..model.shape import Requirement, Term
from ..state.snapshot import Snapshot
from ..state.table import IntArray
from .balanced import balance
from .filters.pod_filter import POD_AFFINITY
from .find import Problem, Spread, find, holds_somewhere
from .fit import Fit, fit_of
from .gang_request import GangRequest
from .match import OUTSIDE
from .policy import Policy
from .ruled import homes, is_ruled, place_ruled
from .slicing import LevelSearch, search
from .tally import Tally, tally_of
from .zones import stricter


def place_gang(asked: GangRequest) -> Spread | Reason:
    """Find leaves for the gang."""
    return _place_with_rules(asked) if asked.has_rules else _place_by_counts(asked)


def _place_with_rules(asked: GangRequest) -> Spread | Reason:
    """Try the domains that pods which attract one another may share; pods that limit one another go one by one."""
    snapshot, policy = asked.snapshot, asked.policy
    found = stated(replace(asked, leader=None))
    if isinstance(found, Reason):
        return found
    why: Spread | Reason | None = None
    for bound, terms in homes(found[1], asked.constraint, asked.count):
        home = replace(asked, workers=_kept_to(asked.workers, POD_AFFINITY, terms), constraint=bound)
        fit = fit_of(snapshot, home.workers.shape, None, policy)
        beside = None if asked.leader is None else fit_of(snapshot, asked.leader.shape, None, policy)
        why = place_ruled(_inside(home)) if is_ruled(fit, beside) else _place_by_counts(home)
        if not isinstance(why, Reason):
            return why
    if why is None and not snapshot.tree.one_node_a_leaf:
        return reason(Why.NEEDS_HOSTS, topology=snapshot.topology.name)
    return _place_by_counts(asked) if why is None else why


def _kept_to(pods: PodSet, cause: str, terms: Iterable[Term]) -> PodSet:
    """The same pods on fewer nodes; what their own node affinity selects, and spread rules count, stays the same."""
    shape = pods.shape
    if shape.rules is None:
        return pods
    where = (*shape.rules.where, *((cause, (term,)) for term in terms))
    return replace(pods, shape=shape.ruled(replace(shape.rules, where=where), shape.kind))


def _inside(asked: GangRequest) -> GangRequest:
    """The request with workers that go to leaves inside only: a search by rules knows nothing of leaves."""
    snapshot = asked.snapshot
    if asked.inside is None or not snapshot.tree.one_node_a_leaf:
        return asked
    rows = snapshot.first_rows(np.flatnonzero(asked.inside))
    names = tuple(snapshot.table.names[row] for row in rows.tolist())
    term = Term(fields=(Requirement("metadata.name", "In", names),))
    return replace(asked, workers=_kept_to(asked.workers, OUTSIDE, (term,)))


def _place_by_counts(asked: GangRequest) -> Spread | Reason:
    """Leaves for the gang; of those that serve, hosts where each pod gets the fewest NUMA zones."""
    placed = _place_as_asked(asked)
    return placed if isinstance(placed, Reason) else next(_aligned(asked, placed), placed)


def _aligned(asked: GangRequest, placed: Spread) -> Iterator[Spread]:
    """Places on fewer NUMA zones, the fewest first, that are as close together as the gang asks for."""
    leader = None if asked.leader is None else asked.leader.shape
    for shape, beside in stricter(asked.snapshot, (asked.workers.shape, leader)):
        own = None if asked.leader is None or beside is None else replace(asked.leader, shape=beside)
        tried = replace(asked, workers=replace(asked.workers, shape=shape), leader=own)
        found = stated(tried)
        if isinstance(found, Reason) or not holds(*found, asked.count):
            continue
        aligned = _place_as_asked(tried)
        if not isinstance(aligned, Reason) and _is_as_close(asked.snapshot, aligned, placed, found[0]):
            yield aligned


def _is_as_close(snapshot: Snapshot, one: Spread, other: Spread, wanted: LevelSearch) -> bool:
    """Whether one placement is in no more domains than the other, on every level that the gang is kept to."""
    tree, ours, others = snapshot.tree, one.at, other.at
    if wanted.ceiling == tree.topology.lowest:
        return True
    for level in range(tree.topology.lowest - 1, -1, -1):
        ours, others = np.unique(tree.parent[level + 1][ours]), np.unique(tree.parent[level + 1][others])
        if level <= wanted.level and len(ours) > len(others):
            return False
    return True


def _place_as_asked(asked: GangRequest) -> Spread | Reason:
    found = stated(asked)
    if isinstance(found, Reason):
        return found
    problem = counted(*found, asked.count, asked.inside)
    if problem.search.balanced and problem.slices:
        balanced = balance(problem)
        if balanced is not None:
            return balanced
    return find(problem)


def stated(asked: GangRequest) -> tuple[LevelSearch, Fit] | Reason:
    """The search that a constraint asks for and the pods per leaf, or the reason why the request is invalid."""
    snapshot, leader, policy, count = asked.snapshot, asked.leader, asked.policy, asked.count
    wanted = search(snapshot.topology, asked.constraint, policy.gates)
    if isinstance(wanted, Reason):
        return wanted
    uneven = _uneven(wanted, count, policy)
    if uneven is not None:
        return uneven
    if not snapshot.usable_leaves():
        return reason(Why.NO_DOMAINS, level=snapshot.topology.levels[wanted.level])
    if wanted.balanced and leader is None and count < wanted.slicing.size:
        return reason(Why.LESS_THAN_A_SLICE, count=count, size=wanted.slicing.size)
    return wanted, fit_of(snapshot, asked.workers.shape, None if leader is None else leader.shape, policy)


def counted(wanted: LevelSearch, fit: Fit, count: int, inside: IntArray | None = None) -> Problem:
    """The problem with counts for every level."""
    tree = fit.snapshot.tree
    tally = tally_of(fit, wanted.slicing) if inside is None else Tally(tree, wanted.slicing, fit, inside)
    return Problem(tally, wanted, count, 0 if fit.leader_shape is None else 1)


def holds(wanted: LevelSearch, fit: Fit, count: int) -> bool:
    """Whether `count` pods fit; where sums prove the answer, levels are not searched."""
    if int(fit.pods.sum()) < count // wanted.slicing.size * wanted.slicing.size:
        return False
    if fit.leader_shape is None and fit.score is None and wanted.slicing.size == 1 and not wanted.bound:
        return True
    return holds_somewhere(counted(wanted, fit, count))


def _uneven(wanted: LevelSearch, count: int, policy: Policy) -> Reason | None:
    size = wanted.slicing.size
    if count % size and "RefuseUnevenSlices" in policy.gates:
        below, above = count - count % size, count - count % size + size
        nearest = f"{below} or {above}" if below else f"{above}"
        return reason(Why.UNEVEN_SLICES, count=count, size=size, nearest=nearest)
    return None


def assignment(snapshot: Snapshot, leaves: IntArray, counts: IntArray) -> Assignment:
    """An assignment with the names of these leaves, which are in path order."""
    levels = assignment_levels(snapshot.topology)
    chosen = leaves.tolist()
    if len(chosen) > 1:
        values = itemgetter(*chosen)(snapshot.tree.names)
    else:
        values = tuple(snapshot.tree.names[leaf] for leaf in chosen)
    return Assignment(levels, values, tuple(counts.tolist()))


def leader_assignment(snapshot: Snapshot, placed: Spread) -> Assignment:
    leaf = np.array([placed.leader] if placed.leader >= 0 else [], dtype=np.int64)
    return assignment(snapshot, leaf, np.ones(len(leaf), dtype=np.int64))


def worker_assignment(snapshot: Snapshot, placed: Spread) -> Assignment:
    keep = placed.pods > 0
    return assignment(snapshot, placed.at[keep], placed.pods[keep])


def leaves_of(snapshot: Snapshot, existing: Assignment) -> tuple[IntArray, IntArray]:
    """The leaves of an assignment that are in the tree, ascending, and the pods on each."""
    found = snapshot.leaves(existing.values)
    counts = np.array(existing.counts, dtype=np.int64)
    return summed(found[found >= 0], counts[found >= 0])


def summed(leaves: IntArray, counts: IntArray) -> tuple[IntArray, IntArray]:
    """Leaves in path order, equal ones once with their counts added up."""
    distinct, inverse = np.unique(leaves, return_inverse=True)
    totals = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(totals, inverse, counts)
    return distinct, totals


def merged(snapshot: Snapshot, parts: list[tuple[IntArray, IntArray]]) -> Assignment:
    """Combine parts of one pod set into one assignment in path order, equal leaves summed."""
    leaves = np.concatenate([part[0] for part in parts])
    counts = np.concatenate([part[1] for part in parts])
    distinct, totals = summed(leaves, counts)
    return assignment(snapshot, distinct[totals > 0], totals[totals > 0])


def assume(snapshot: Snapshot, existing: Assignment, pod_set: PodSet) -> None:
    """Reserve what a pod set got, so that the next ones do not use it."""
    leaves, counts = leaves_of(snapshot, existing)
    if len(leaves):
        snapshot.assume(leaves, counts, pod_set.shape.charge)
