"""Why a group does not fit, level by level and cause by cause, and the smallest changes that would make it fit.

Nothing here is estimated where it can be tried: every remedy that is offered was placed on a changed copy of the
question, through the same `place` that refused, and is dropped if that did not help.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..model.reason import Reason
from ..model.request import Group, PodSet, Request
from ..model.topology import Path
from ..state.snapshot import Snapshot
from .capacity import fit
from .fit import Fit, fit_of
from .gang import assume
from .match import PASSES
from .place import Result, place, roles
from .policy import Policy
from .remedy import Case, Remedy, remedies
from .slicing import search
from .tally import Tally, tally_of


@dataclass(frozen=True, slots=True)
class LevelView:
    """One level: how many domains it has, how many hold everything, and the one that holds most.

    `in_one_piece` is what that domain would hold if its free room were not scattered over its leaves.
    """

    level: str
    domains: int
    holding: int
    best: Path
    pods: int
    in_one_piece: int


@dataclass(frozen=True, slots=True)
class Cause:
    """Leaves that cannot serve: why, how many, and how many pods they would hold otherwise."""

    cause: str
    leaves: int
    pods: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """Of one group that failed. Views and causes are empty where the request itself is wrong."""

    workers: PodSet
    leader: PodSet | None
    reason: Reason
    leaves: int = 0
    levels: tuple[LevelView, ...] = ()
    causes: tuple[Cause, ...] = ()
    remedies: tuple[Remedy, ...] = ()


def explain(snapshot: Snapshot, request: Request, policy: Policy) -> Explanation | Result:
    """Why the first group that fails does; the result itself if everything fits."""
    result = place(snapshot, request, policy)
    if result.fits:
        return result
    failed = next(outcome for outcome in result.outcomes if outcome.reason is not None)
    assert failed.reason is not None
    group = next(group for group in request.groups if failed.pod_set in tuple(group.pod_sets))
    found = roles(group)
    if isinstance(found, Reason):
        return Explanation(failed.pod_set, None, failed.reason)
    checkpoint = snapshot.checkpoint()
    try:
        for outcome in result.outcomes:
            if outcome.assignment is not None:
                assume(snapshot, outcome.assignment, outcome.pod_set)
        return _explain_group(snapshot, group, *found, failed.reason, policy)
    finally:
        snapshot.rollback(checkpoint)


def _explain_group(
    snapshot: Snapshot, group: Group, workers: PodSet, leader: PodSet | None, reason: Reason, policy: Policy
) -> Explanation:
    wanted = search(snapshot.topology, workers.constraint, policy.gates)
    if isinstance(wanted, Reason) or not snapshot.tree.leaves:
        return Explanation(workers, leader, reason)
    columns = fit_of(snapshot, workers.shape, None if leader is None else leader.shape.charge, policy)
    tally = tally_of(columns, wanted.slicing)
    return Explanation(
        workers,
        leader,
        reason,
        snapshot.usable_leaves(),
        tuple(_view(tally, level, workers.count, leader is not None) for level in range(len(tally.levels))),
        _causes(columns),
        remedies(Case(snapshot, group, workers, leader, policy, wanted)),
    )


def _view(tally: Tally, number: int, count: int, led: bool) -> LevelView:
    """The level in pods: whole slices where its domains hold any, else what they hold."""
    level, tree, slicing = tally.levels[number], tally.tree, tally.slicing
    above = number <= slicing.level
    pods = level.slices_beside * slicing.size if above else level.pods_beside
    best = int(np.argmax(pods)) if len(pods) else -1
    able = pods >= count // slicing.size * slicing.size
    if led and level.leader is not None:
        able &= level.leader > 0
    low, high = tree.leaf_range(number, best)
    view = tally.fit.view
    passing = tally.fit.cause[low:high] == PASSES
    whole = (np.maximum(view[:, low:high], 0) * passing).sum(axis=1, keepdims=True)
    return LevelView(
        level=tree.topology.levels[number],
        domains=len(pods),
        holding=int(np.count_nonzero(able)),
        best=tree.path(number, best),
        pods=int(pods[best]),
        in_one_piece=int(fit(tally.fit.snapshot, whole, tally.fit.charge)[0]),
    )


def _causes(columns: Fit) -> tuple[Cause, ...]:
    """Filters with what they cost, nodes that are out, and resources that leave no room at all."""
    snapshot = columns.snapshot
    room = fit(snapshot, columns.view, columns.charge)
    causes = [
        Cause(name, int(np.count_nonzero(columns.cause == code)), int(room[columns.cause == code].sum()))
        for code, name in enumerate(columns.match.causes)
        if code and (columns.cause == code).any()
    ]
    table = snapshot.table
    free = fit(snapshot, snapshot.allocatable - snapshot.other, columns.charge)
    for name, out in (("cordoned", table.cordoned), ("not ready", ~table.usable & ~table.cordoned)):
        if out.any():
            causes.append(Cause(name, int(np.count_nonzero(out)), int(free[out].sum())))
    short = ((name, number) for name, number in columns.excluded().items() if name.startswith("resource"))
    return (*causes, *(Cause(name, number, 0) for name, number in short))
