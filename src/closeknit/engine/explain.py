"""Why a group does not fit, level by level and cause by cause, and small changes that would make it fit.

Nothing is estimated that can be tried: every remedy was placed on a changed copy of the request or snapshot, through
the same `place` that failed, and is dropped if it did not help.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..model.nearest import did_you_mean
from ..model.reason import Reason
from ..model.request import Constraint, Group, PodSet, Request
from ..model.resources import show
from ..model.shape import MAINTENANCE
from ..model.topology import Path
from ..state.snapshot import Snapshot
from ..state.table import BoolArray, IntArray
from .count import on_leaves, on_nodes
from .fit import Fit, fit_of
from .gang import assume
from .match import PASSES, SCATTERED, SELECTOR, UNFIT
from .place import Result, Roles, place, roles
from .policy import Policy
from .remedy import Admits, Case, Remedy, nothing_else, remedies, vacated
from .replicas import replicas_in
from .slicing import search
from .tally import Tally, tally_of
from .zones import ZoneNotes, zone_notes


@dataclass(frozen=True, slots=True)
class LevelView:
    """One level: how many domains it has, how many hold everything, and the one that holds most.

    `in_one_piece` is what that domain would hold if its free room were not fragmented over its leaves; `when_empty` is
    the most that a domain of the level would hold if nothing ran on its nodes, -1 if not counted. `need` is how many
    pods belong together: those of the pod set, or of one replica.
    """

    level: str
    domains: int
    holding: int
    best: Path
    pods: int
    in_one_piece: int
    when_empty: int = -1
    need: int = 0


@dataclass(frozen=True, slots=True)
class ExclusionCause:
    """Nodes that are excluded: why, how many, how many pods they would hold otherwise, and details."""

    cause: str
    leaves: int
    pods: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why one group does not fit. Views and causes are empty if the request itself is invalid.

    `constraint` is the one that was searched for. `never` is why it would not fit even on empty nodes, if that is so;
    with `is_reserved` it would not while nodes are reserved for maintenance, but would afterwards.
    """

    workers: PodSet
    leader: PodSet | None
    constraint: Constraint | None
    reason: Reason
    leaves: int = 0
    levels: tuple[LevelView, ...] = ()
    causes: tuple[ExclusionCause, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    never: Reason | None = None
    is_reserved: bool = False
    zones: ZoneNotes | None = None


def explain(
    snapshot: Snapshot, request: Request, policy: Policy, admits: Admits = nothing_else
) -> Explanation | Result:
    """Why the first failing group does not fit; the result itself if everything fits.

    `admits` also decides which changes help, because more than room may be missing.
    """
    result = place(snapshot, request, policy)
    if result.fits:
        return result
    failed = next(outcome for outcome in result.outcomes if outcome.reason is not None)
    assert failed.reason is not None
    group = next(group for group in request.groups if failed.pod_set in tuple(group.pod_sets))
    found = roles(group)
    if isinstance(found, Reason):
        return Explanation(failed.pod_set, None, failed.pod_set.constraint, failed.reason)
    checkpoint = snapshot.checkpoint()
    try:
        for outcome in result.outcomes:
            if outcome.assignment is not None:
                assume(snapshot, outcome.assignment, outcome.pod_set)
        return _explain_group(snapshot, group, found, failed.reason, policy, admits)
    finally:
        snapshot.rollback(checkpoint)


def _explain_group(
    snapshot: Snapshot, group: Group, found: Roles, reason: Reason, policy: Policy, admits: Admits
) -> Explanation:
    workers, leader, constraint = found
    wanted = search(snapshot.topology, constraint, policy.gates)
    if isinstance(wanted, Reason) or not snapshot.tree.leaves:
        return Explanation(*found, reason, never=reason)
    empty, request = vacated(snapshot), Request((group,))
    never = place(empty, request, policy).reason
    windows = any(one.effect == MAINTENANCE for one in snapshot.taints())
    after = place(vacated(snapshot, maintained=False), request, policy).reason if never and windows else never
    columns = fit_of(snapshot, workers.shape, None if leader is None else leader.shape, policy)
    return Explanation(
        *found,
        reason,
        snapshot.usable_leaves(),
        _beside(
            _views(tally_of(columns, wanted.slicing), at_once(found, policy), leader), level_views(empty, group, policy)
        ),
        _causes(columns),
        remedies(Case(snapshot, group, workers, leader, policy, wanted, admits)),
        after,
        is_reserved=never is not None and after is None,
        zones=zone_notes(snapshot, workers.shape, snapshot.rows[snapshot.table.usable[snapshot.rows]]),
    )


def _beside(now: tuple[LevelView, ...], empty: tuple[LevelView, ...]) -> tuple[LevelView, ...]:
    return tuple(replace(one, when_empty=other.pods) for one, other in zip(now, empty, strict=True))


def level_views(snapshot: Snapshot, group: Group, policy: Policy) -> tuple[LevelView, ...]:
    """What each level offers to a group, whether it fits or not; empty if the request itself is invalid."""
    found = roles(group)
    wanted = None if isinstance(found, Reason) else search(snapshot.topology, found.constraint, policy.gates)
    if isinstance(found, Reason) or wanted is None or isinstance(wanted, Reason) or not snapshot.tree.leaves:
        return ()
    workers, leader, _ = found
    columns = fit_of(snapshot, workers.shape, None if leader is None else leader.shape, policy)
    return _views(tally_of(columns, wanted.slicing), at_once(found, policy), leader)


def at_once(found: Roles, policy: Policy) -> int:
    """The pods that the constraint applies to: those of the workers, or of one replica."""
    replicas = replicas_in(found.constraint, policy.gates)
    return found.workers.count if replicas is None else min(replicas.size, found.workers.count)


def _views(tally: Tally, need: int, leader: PodSet | None) -> tuple[LevelView, ...]:
    return tuple(_view(tally, level, need, leader is not None) for level in range(len(tally.levels)))


def _view(tally: Tally, number: int, count: int, led: bool) -> LevelView:
    """The level in pods: whole slices where its domains hold any, else single pods."""
    level, tree, slicing = tally.levels[number], tally.tree, tally.slicing
    above = number <= slicing.level
    pods = level.slices_beside * slicing.size if above else level.pods_beside
    best = int(np.argmax(pods)) if len(pods) else -1
    able = pods >= count // slicing.size * slicing.size
    if led and level.leader is not None:
        able &= level.leader > 0
    low, high = tree.leaf_range(number, best)
    possible = _largest_pod_fits(tally.fit)
    return LevelView(
        level=tree.topology.levels[number],
        domains=len(pods),
        holding=int(np.count_nonzero(able)),
        best=tree.path(number, best),
        pods=int(pods[best]),
        in_one_piece=tally.fit.in_one_piece(low, high) if possible else int(pods[best]),
        need=count,
    )


def _largest_pod_fits(columns: Fit) -> bool:
    """Whether any passing node could hold one pod if it were empty; only then is the room merely fragmented."""
    snapshot = columns.snapshot
    return bool(on_nodes(snapshot, columns.policy, columns.shape, _when_empty(snapshot)).any())


def _when_empty(snapshot: Snapshot) -> IntArray:
    """What each usable node has when nothing runs on it."""
    return snapshot.of_nodes(snapshot.allocatable) * snapshot.table.usable[snapshot.rows]


def _without_others(snapshot: Snapshot) -> IntArray:
    """What other pods leave of each node, usable or not."""
    return snapshot.of_nodes(snapshot.allocatable) - snapshot.of_nodes(snapshot.other)


def _causes(columns: Fit) -> tuple[ExclusionCause, ...]:
    """Filters and the pods they cost, nodes that are unusable, and resources that leave no room at all."""
    snapshot = columns.snapshot
    leaves = np.arange(snapshot.tree.leaves)
    room = on_leaves(snapshot, columns.policy, columns.shape, leaves, columns.view)
    causes = [
        ExclusionCause(name, int(np.count_nonzero(columns.cause == code)), int(room[columns.cause == code].sum()))
        for code, name in enumerate(columns.match.causes)
        if code and (columns.cause == code).any()
    ]
    causes = [replace(one, detail=_selector_detail(columns)) if one.cause == SELECTOR else one for one in causes]
    if columns.rules is not None and columns.capped.any():
        capped = np.flatnonzero(columns.capped)
        lost = int(room[capped].sum() - columns.pods[capped].sum())
        causes.append(ExclusionCause(columns.rules.cap_cause, len(capped), lost))
    causes += _filtered_nodes(columns)
    cordoned, usable = snapshot.table.cordoned[snapshot.rows], snapshot.table.usable[snapshot.rows]
    for name, out in (("cordoned", cordoned), ("not ready", ~usable & ~cordoned)):
        if out.any():
            causes.append(ExclusionCause(name, int(np.count_nonzero(out)), _returning(columns, out)))
    return (*causes, *_shortages(columns))


def _returning(columns: Fit, out: BoolArray) -> int:
    """The pods for which these nodes would have room if they were usable, besides what runs on them."""
    usable = columns.snapshot.table.usable[columns.snapshot.rows]
    return int((_held(columns, usable | out) - _held(columns, usable)).sum())


def _held(columns: Fit, usable: BoolArray) -> IntArray:
    """The pods for which each leaf has room now, if these were its usable nodes."""
    snapshot = columns.snapshot
    free = _without_others(snapshot) * usable
    left = np.add.reduceat(free, snapshot.tree.nodes[:-1], axis=1) - snapshot.assumed - snapshot.admitted
    leaves = np.arange(snapshot.tree.leaves)
    return np.maximum(on_leaves(snapshot, columns.policy, columns.shape, leaves, left, free), 0)


def _filtered_nodes(columns: Fit) -> Iterator[ExclusionCause]:
    """Nodes that the filter excludes inside leaves that also have passing nodes."""
    snapshot = columns.snapshot
    if columns.lost is None:
        return
    codes = columns.match.codes(snapshot.rows)
    partly = columns.cause[snapshot.leaf_of_row[snapshot.rows]] == PASSES
    room = on_nodes(snapshot, columns.policy, columns.shape, _without_others(snapshot))
    for code, name in enumerate(columns.match.causes):
        out = partly & (codes == code)
        if code and out.any():
            yield ExclusionCause(
                name, int(np.count_nonzero(out)), int(room[out].sum()), "in domains that have other nodes"
            )


def _selector_detail(columns: Fit) -> str:
    """Which parts of the selector match no usable node, and what was probably meant."""
    table, parts = columns.snapshot.table, []
    usable = columns.snapshot.rows[table.usable[columns.snapshot.rows]]
    for key, value in columns.shape.selector:
        column = table.labels.get(key)
        if column is None:
            parts.append(f"no node has the label {key}; {did_you_mean(key, table.labels)}".rstrip("; "))
        elif not (column.codes[usable] == column.code(value)).any():
            have = [column.values[code] for code in np.unique(column.codes[usable]) if code >= 0]
            parts.append(f"no usable node has {key}={value}; {did_you_mean(value, have)}".rstrip("; "))
    return ", ".join(parts)


def _shortages(columns: Fit) -> Iterator[ExclusionCause]:
    """For each resource the passing nodes that lack enough of it for even one pod; a node may lack several."""
    snapshot = columns.snapshot
    full = (columns.cause == PASSES) & (columns.pods == 0)
    view, scattered = columns.passing_view, full.copy()
    for resource, amount in columns.charge:
        at = snapshot.index.get(resource)
        short = full if at is None else full & (view[at] < amount)
        scattered &= ~short
        if amount <= 0 or not short.any():
            continue
        most = 0 if at is None else int(_when_empty(snapshot)[at].max(initial=0))
        detail = ""
        if most == 0:
            detail = f"no node has it; {did_you_mean(resource, snapshot.resources)}".rstrip("; ")
        elif most < amount:
            detail = f"a pod requests {show(resource, amount)}, the largest node has {show(resource, most)}"
        yield ExclusionCause(f'resource "{resource}"', int(np.count_nonzero(short)), 0, detail)
    unfit = np.flatnonzero(scattered)
    for zones in columns.zone_causes(unfit):
        yield ExclusionCause(zones.name, zones.nodes, 0, zones.detail)
        unfit = unfit[zones.nodes :]
    if len(unfit):
        found = (UNFIT, "enough is free, but not in a form that one pod can use")
        if not snapshot.tree.one_node_a_leaf:
            found = (SCATTERED, "there is free room, but no single node has enough of it")
        yield ExclusionCause(found[0], len(unfit), 0, found[1])
