"""Changes that would make a tree of groups fit, each tried by placing the whole tree with it.

They begin at the obstacle: the group that stopped the search, and the domains that hold most of it. What helps is small
and known to help, but not proven to be the smallest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from ...model.request import Constraint, Group, Order, PodSet, Request
from ...model.settings import SEARCH_STEPS
from ...model.shape import HARD_EFFECTS, Toleration
from ...model.topology import ListedTopology
from ...state.node_tree import ROOT, tree_over
from ...state.snapshot import Snapshot
from ...state.table import IntArray
from ..count import on_rows
from ..policy import Policy
from ..remedy import CORDONED, MOST_NODES, Remedy, grown, largest
from .obstacle import GroupObstacle, bounds_of
from .parts import GroupPart, Trees
from .place import GroupResult, place_groups

LONGER = 5
"""How many times as long a search that found nothing is tried."""
MOST_DOMAINS = 4
"""In how many of the best candidate domains a change of nodes is tried."""


@dataclass(frozen=True, slots=True)
class GroupCase:
    """A request that does not fit, and what it was placed with."""

    columns: Snapshot
    trees: Trees
    request: Request
    policy: Policy
    order: Order = "binpack"
    steps: int = SEARCH_STEPS

    def place(self, request: Request | None = None, steps: int | None = None) -> GroupResult:
        asked = self.request if request is None else request
        bound = self.steps if steps is None else steps
        return place_groups(self.columns, self.trees, asked, self.policy, self.order, bound, surplus=False)

    def fits(self, request: Request | None = None) -> bool:
        return self.place(request).fits


def group_remedies(case: GroupCase, refused: GroupResult) -> tuple[Remedy, ...]:
    """Every change that helps, the cheapest kind first."""
    offers: list[Callable[[GroupCase, GroupObstacle], Remedy | None]]
    offers = [_tolerate, _uncordon, _relax, _groups, _fewer, _add]
    found = [] if refused.is_proof else [_longer(case)]
    if refused.obstacle is not None:
        found += [offer(case, refused.obstacle) for offer in offers]
    return tuple(remedy for remedy in found if remedy is not None)


def _longer(case: GroupCase) -> Remedy | None:
    steps = LONGER * case.steps
    return Remedy("steps", count=steps) if case.place(steps=steps).fits else None


def _tolerate(case: GroupCase, _: GroupObstacle) -> Remedy | None:
    """The first taint that helps if every pod tolerates it; all of them if no single one does."""
    table = case.columns.table
    hard = {taint: None for taints in table.taints for taint in taints if taint.effect in HARD_EFFECTS}
    shapes = [one.shape for one in case.request.pod_sets]
    missing = [taint for taint in hard if not all(any(t.tolerates(taint) for t in one.tolerations) for one in shapes)]
    for taints in [*([taint] for taint in missing), *([missing] if len(missing) > 1 else [])]:
        more = tuple(Toleration(taint.key, "Equal", taint.value, taint.effect) for taint in taints)
        if case.fits(_tolerating(case.request, more)):
            return Remedy("tolerate", mode=" and ".join(map(str, taints)))
    return None


def _tolerating(request: Request, more: tuple[Toleration, ...]) -> Request:
    shapes = (
        replace(one, shape=replace(one.shape, tolerations=(*one.shape.tolerations, *more))) for one in request.pod_sets
    )
    return request.changed(shapes)


def _uncordon(case: GroupCase, obstacle: GroupObstacle) -> Remedy | None:
    """The fewest cordoned nodes of one candidate domain that help if uncordoned."""
    table = case.columns.table
    if not table.cordoned.any():
        return None
    request = _tolerating(case.request, (CORDONED,))
    for rows in (*_domains(obstacle), np.arange(len(table))):
        cordoned = rows[table.cordoned[rows]][:MOST_NODES]
        if not len(cordoned) or not _fits_with(case, cordoned, request):
            continue
        few = next(count for count in range(1, len(cordoned) + 1) if _fits_with(case, cordoned[:count], request))
        return Remedy("uncordon", nodes=tuple(table.names[row] for row in cordoned[:few].tolist()))
    return None


def _fits_with(case: GroupCase, rows: IntArray, request: Request) -> bool:
    with _usable(case.columns, rows):
        return case.fits(request)


@contextmanager
def _usable(columns: Snapshot, rows: IntArray) -> Iterator[None]:
    columns.set_usable(rows, True)
    try:
        yield
    finally:
        columns.set_usable(rows, False)


def _domains(obstacle: GroupObstacle) -> Iterator[IntArray]:
    """The rows of the best candidate domains."""
    bounds = bounds_of(obstacle.part)
    if bounds is None:
        return
    tree, level = bounds.tree, bounds.required
    paths = {tree.path(level, domain): domain for domain in range(len(tree.values[level]))}
    for one in obstacle.candidates[:MOST_DOMAINS]:
        yield tree.rows[slice(*tree.range_of(level, paths[one.path]))]


def _bound(obstacle: GroupObstacle) -> GroupPart | None:
    """The group whose required level binds the one that was stopped."""
    lineage = obstacle.part.lineage()
    return next((one for one in lineage if one.bounds is not None and one.bounds.required != ROOT), None)


def _relax(case: GroupCase, obstacle: GroupObstacle) -> Remedy | None:
    """The lowest level above the required one that helps, then no required level at all."""
    part = _bound(obstacle)
    if part is None or part.bounds is None:
        return None
    wanted, bounds = part.group.constraint or Constraint(), part.bounds
    for level in range(bounds.required - 1, ROOT, -1):
        key = bounds.tree.levels[level]
        if case.fits(_with(case.request, part.group, constraint=replace(wanted, required=key))):
            return Remedy("relax", key, "required", group=part.label)
    key = wanted.preferred or bounds.tree.levels[bounds.required]
    loose = replace(wanted, required=None, preferred=key)
    if case.fits(_with(case.request, part.group, constraint=loose)):
        return Remedy("relax", key, "preferred", group=part.label)
    return None


def _groups(case: GroupCase, obstacle: GroupObstacle) -> Remedy | None:
    """Fewer of the groups beside the one that was stopped."""
    above = obstacle.part.above
    if above is None or above.above is None or above.needed_parts < 2:
        return None
    needed = above.needed_parts
    few = largest(needed - 1, lambda count: case.fits(_with(case.request, above.group, min_groups=count)))
    return Remedy("groups", pods=few, count=needed, group=above.label) if few else None


def _fewer(case: GroupCase, obstacle: GroupObstacle) -> Remedy | None:
    """The largest minimum of the group that fits."""
    part = obstacle.part
    if not part.batches or part.minimum < 2:
        return None
    runs = sum(len(batch.pod_set.running) for batch in part.batches)
    few = largest(part.minimum - 1, lambda count: case.fits(_with(case.request, part.group, min_pods=count + runs)))
    return Remedy("fewer", pods=few + runs, count=part.minimum + runs, group=part.label) if few else None


def _with(request: Request, group: Group, **change: object) -> Request:
    """The request with some fields of one of its groups changed."""
    return Request(tuple(_changed(one, group, change) for one in request.groups))


def _changed(one: Group, group: Group, change: dict[str, object]) -> Group:
    if one is group:
        return replace(one, **change)  # type: ignore[arg-type]
    members: list[PodSet | Group] = [_changed(m, group, change) if isinstance(m, Group) else m for m in one.members]
    return replace(one, members=tuple(members))


def _add(case: GroupCase, obstacle: GroupObstacle) -> Remedy | None:
    """The fewest nodes like the roomiest one of a candidate domain, added to it."""
    columns, domains = case.columns, list(_domains(obstacle)) or [np.arange(len(case.columns.table))]
    shape = max(obstacle.part.wants, key=lambda one: obstacle.part.wants[one], default=None)
    if shape is None:
        return None
    empty = on_rows(columns, case.policy, shape, np.arange(len(columns.table)), columns.allocatable)
    for rows, candidate in zip(domains, obstacle.candidates, strict=False):
        rows = rows[columns.table.usable[rows]]
        if not len(rows) or not empty[rows].max():
            continue
        like = int(rows[np.argmax(empty[rows])])
        fewest = max(1, -(-(obstacle.pods - candidate.pods) // int(empty[like])))
        for count in (fewest, fewest + 1, 2 * fewest):
            if count <= MOST_NODES and _grown(case, like, count).fits():
                return Remedy("add", nodes=(columns.table.names[like],), count=count, domain=candidate.path)
    return None


def _grown(case: GroupCase, like: int, count: int) -> GroupCase:
    """The case with more nodes like one of them, in the same domains of every tree."""
    columns, name = grown(case.columns, like, (), count), case.columns.table.names[like]
    new = [one for one in columns.table.names if one not in case.columns.row_of]
    trees = {}
    for key, tree in case.trees.items():
        topology = tree.topology
        if isinstance(topology, ListedTopology):
            topology = replace(topology, paths={**topology.paths, **dict.fromkeys(new, topology.paths[name])})
        trees[key] = tree_over(columns.table, topology)
    return replace(case, columns=columns, trees=trees)
