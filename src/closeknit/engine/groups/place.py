"""`place_groups`: nodes for a tree of groups, or the reason why there are none.

First every minimum of the whole tree, with backtracking; then surplus groups and surplus pods in the order of the file,
each inside the domain that its group has. The columns are left as they were.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ...model.reason import Reason, Why, reason
from ...model.request import Order, Request
from ...model.settings import SEARCH_STEPS
from ...state.snapshot import Snapshot
from ...state.table import IntArray
from ..policy import Policy
from .agenda import NOTHING, agenda_of
from .fill import Share, best
from .obstacle import GroupObstacle, obstacle_of
from .parts import Batch, GroupPart, RequestReader, Trees
from .search import OutOfSteps, Search
from .trial import GroupTrial


@dataclass(frozen=True, slots=True)
class Placed:
    """The pods of one pod set: the rows of the columns that they go to, and how many go to each."""

    batch: Batch
    rows: IntArray
    counts: IntArray

    def nodes(self, columns: Snapshot) -> list[str]:
        """The node of each pod that was placed, in the order of the pods."""
        rows = columns.first_rows(np.repeat(self.rows, self.counts))
        return [columns.table.names[row] for row in rows.tolist()]


@dataclass(frozen=True, slots=True)
class GroupResult:
    """Where the pods go, by pod set, or why the minimums cannot be placed, and what stopped the search.

    `steps` are those that the search took.
    """

    placed: Mapping[str, Placed] = field(default_factory=dict)
    reason: Reason | None = None
    steps: int = 0
    obstacle: GroupObstacle | None = None

    @property
    def fits(self) -> bool:
        return self.reason is None

    @property
    def is_proof(self) -> bool:
        """Whether a refusal proves that there is no placement, rather than that none was found."""
        return self.reason is not None and self.reason.why is not Why.NOT_FOUND


def place_groups(
    columns: Snapshot,
    trees: Trees,
    request: Request,
    policy: Policy,
    order: Order = "binpack",
    steps: int = SEARCH_STEPS,
    surplus: bool = True,
) -> GroupResult:
    """Find nodes for all minimums of a request, then, with `surplus`, for as much of the rest as fits."""
    request = _ruled(columns, request)
    top = RequestReader(columns, trees).read(request)
    if isinstance(top, Reason):
        return GroupResult(reason=top)
    trial = GroupTrial(columns, policy, any(policy.seen(one.shape).rules is not None for one in request.pod_sets))
    search = Search(trial, trees, top, order, steps)
    start = trial.mark()
    try:
        if not search.run():
            return _refusal(search, start, Why.GROUP_DOES_NOT_FIT)
        if surplus and top.all_wants != top.wants:
            _add_surplus(search, top)
        return GroupResult(_sorted(search), steps=search.taken)
    except OutOfSteps:
        return _refusal(search, start, Why.NOT_FOUND)
    finally:
        trial.undo(start)


def _ruled(columns: Snapshot, request: Request) -> Request:
    """The request with rules for pods that ask for nothing, but that others, of the request too, keep away."""
    hostile = [one.shape for one in request.pod_sets if one.shape.kind is not None and one.shape.kind.anti]
    if not hostile and not columns.neighbours.hostile:
        return request
    found = ((one, columns.neighbours.ruled(one.shape, hostile)) for one in request.pod_sets)
    changed = [replace(one, shape=shape) for one, shape in found if shape is not one.shape]
    return request.changed(changed) if changed else request


def commit(columns: Snapshot, result: GroupResult) -> None:
    """Keep what was found in the columns."""
    for placed in result.placed.values():
        if len(placed.rows):
            columns.admit(placed.rows, placed.counts, placed.batch.shape.charge)
    columns.commit()


def _refusal(search: Search, start: int, why: Why) -> GroupResult:
    """What stopped the search, counted on the columns as they were before it."""
    search.trial.undo(start)
    if search.hardest is None:
        names = ", ".join(part.label for part in search.top.parts)
        found = reason(why, group=names, detail="the search had only begun", steps=search.steps)
        return GroupResult(reason=found, steps=search.taken)
    obstacle = obstacle_of(search.hardest, search.stops, search.trial)
    found = reason(why, group=obstacle.group, detail=str(obstacle), steps=search.steps)
    return GroupResult(reason=found, steps=search.taken, obstacle=obstacle)


def _add_surplus(search: Search, top: GroupPart) -> None:
    """Groups beyond the minimum, then pods beyond the minimum, in the order of the file."""
    for part in top.walk():
        if not search.is_included(part):
            continue
        for one in part.parts:
            if search.included.get(one.at) is False:
                _add_part(search, one)
    for part in top.walk():
        if search.is_included(part):
            for batch in part.batches:
                _add_pods(search, batch)


def _add_part(search: Search, part: GroupPart) -> None:
    """Place a surplus group inside the domain of its parent, or else anywhere in the parent's required domain."""
    above = part.above
    assert above is not None
    before = search.scopes.get(above.at)
    for scope in list(search.surplus_scopes(above)):
        search.scopes[above.at] = scope
        if _added(search, part):
            break
    if before is None:
        del search.scopes[above.at]
    else:
        search.scopes[above.at] = before


def _added(search: Search, part: GroupPart) -> bool:
    search.included[part.at] = True
    mark = search.trial.mark()
    try:
        if search.run(part):
            return True
    except OutOfSteps:
        pass
    search.trial.undo(mark)
    for item in agenda_of(part):
        item.forget(search)
    search.included[part.at] = False
    return False


def _add_pods(search: Search, batch: Batch) -> None:
    """Place surplus pods inside the domain of their group, then anywhere in its required domain."""
    for scope in search.surplus_scopes(batch.part):
        left = batch.count - (search.count_of(batch) if batch in search.placed else 0)
        if not left:
            return
        while left > 0:
            rows = scope.all_rows(search.size)
            room = search.trial.room(batch, rows)
            at_once = 1 if search.trial.has_rules(batch) else left
            more = best(rows, room, at_once, search.aims_of(batch.part), search.order_of(batch.part))
            if not len(more[0]):
                break
            search.trial.take(batch, *more)
            before = search.placed.get(batch, NOTHING)
            search.drop(batch)
            search.put(batch, _together(before, more))
            left -= int(more[1].sum())


def _together(one: Share, two: Share) -> Share:
    """Both shares, each row once."""
    if not len(one[0]):
        return two
    rows, inverse = np.unique(np.concatenate((one[0], two[0])), return_inverse=True)
    counts = np.zeros(len(rows), dtype=np.int64)
    np.add.at(counts, inverse, np.concatenate((one[1], two[1])))
    return rows, counts


def _sorted(search: Search) -> dict[str, Placed]:
    """The rows of each pod set, neighbours next to each other: in the order of its tree, else by row."""
    found: dict[str, Placed] = {}
    for batch in (batch for part in search.top.walk() for batch in part.batches):
        rows, counts = search.placed.get(batch, NOTHING)
        if len(rows) > 1:
            bounds = next((one.bounds for one in batch.part.lineage() if one.bounds is not None), None)
            order = np.argsort(rows if bounds is None else bounds.tree.place[rows])
            rows, counts = rows[order], counts[order]
        found[batch.pod_set.name] = Placed(batch, rows, counts)
    return found
