"""What stopped a search: the group, and for each domain it could have had, how many of its pods fit and why not more.

The search records a `SearchStop` where an item found no alternative, with the room of that moment: other groups of the
request hold theirs. `obstacle_of` reads the stops after the search was undone, so both numbers are known: the pods that
fit beside those groups, and the pods that would fit without them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...model.shape import Shape
from ...model.topology import Path
from ...state.node_tree import ROOT
from ...state.table import IntArray
from ..filters.limits import most_by_rules
from ..filters.spread import SPREAD
from ..match import ABSENT, UNFIT
from .agenda import Choose, Item, Put
from .parts import GroupPart, LevelBounds

if TYPE_CHECKING:
    from .search import Search
    from .trial import GroupTrial

MOST_STOPS = 64
"""How many failures of one item are recorded: each may be in another domain of the groups around it."""
NOT_READY = "not ready, or cordoned"


class SearchStop(NamedTuple):
    """The rows that an item could have used, and the pods of each shape that they held then.

    `most` is what rules between pods allowed of a shape in a domain of the required level.
    """

    rows: IntArray
    room: Mapping[Shape, IntArray]
    most: Mapping[tuple[Shape, int], int]

    @classmethod
    def of(cls, search: Search, item: Item) -> SearchStop:
        trial, bounds, coming = search.trial, bounds_of(item.part), 0
        if isinstance(item, Put):
            rows = search.scope_of(item.part).all_rows(search.size)
            coming = max(0, search.coming(item.batch) - item.batch.count)
            room = {item.batch.shape: trial.room(item.batch, rows)}
        else:
            rows = search.scope_around(item.part).all_rows(search.size)
            room = {shape: trial.fit(shape).pods[rows] for shape in item.part.wants}
        ruled = [(shape, trial.fit(shape)) for shape in room if trial.fit(shape).rules is not None]
        domains = [(domain, rows[inside]) for domain, inside in split(rows, bounds)] if ruled else []
        most = {(shape, domain): most_by_rules(fit, own, coming) for shape, fit in ruled for domain, own in domains}
        return cls(rows, room, most)


@dataclass(frozen=True, slots=True)
class CandidateDomain:
    """A domain: pods that fit beside the other groups, pods that fit without them, and nodes by what limits them."""

    path: Path
    pods: int
    alone: int
    limits: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class GroupObstacle:
    """`part` could not be placed: `pods` of it in one domain of a level, the best candidate first.

    `level` is empty if the pods may be anywhere; the only candidate then has no path. `pod_set` is the pod set that did
    not fit into a domain that had been chosen for its group.
    """

    part: GroupPart
    pods: int
    level: str = ""
    topology: str = ""
    candidates: tuple[CandidateDomain, ...] = ()
    pod_set: str = ""

    @property
    def group(self) -> str:
        return self.part.label

    def __str__(self) -> str:
        best = self.candidates[0] if self.candidates else None
        if best is None:
            return f'topology "{self.topology}" has no domain for it' if self.topology else "it lacks pods"
        if not self.level:
            beside = " beside the others" if best.alone > best.pods else ""
            return f"{best.pods} of {self.pods} pods fit{beside}"
        where = "/".join(best.path)
        if self.pod_set:
            return f"{best.pods} of {self.pods} pods of {self.pod_set} fit in {where}, which holds the most"
        most = f"{where} holds the most: {best.pods}" if best.pods else "none has room for a single one"
        return f'no {self.level} of topology "{self.topology}" holds its {self.pods} pods; {most}'


def obstacle_of(item: Item, stops: Sequence[SearchStop], trial: GroupTrial) -> GroupObstacle:
    """The obstacle that an item met, with the columns as they were before the search."""
    part = item.part
    wants = {item.batch.shape: min(item.batch.count, part.minimum)} if isinstance(item, Put) else dict(part.wants)
    need, pod_set = sum(wants.values()), item.batch.pod_set.name if isinstance(item, Put) else ""
    if not isinstance(item, Put | Choose) or not wants:
        return GroupObstacle(part, part.pods)
    bounds = bounds_of(part)
    counting = _Counting(trial, wants, bounds)
    found = sorted(counting.candidates(stops), key=lambda one: (-one.pods, -one.alone))
    if bounds is None:
        return GroupObstacle(part, need, candidates=tuple(found), pod_set=pod_set)
    level = bounds.tree.levels[bounds.required]
    return GroupObstacle(part, need, level, bounds.tree.topology.name, tuple(found), pod_set)


def bounds_of(part: GroupPart) -> LevelBounds | None:
    """The required level that binds a part: its own, or that of the nearest group around it."""
    found = (one.bounds for one in part.lineage() if one.bounds is not None and one.bounds.required != ROOT)
    return next(found, None)


class _Counting:
    def __init__(self, trial: GroupTrial, wants: Mapping[Shape, int], bounds: LevelBounds | None) -> None:
        self.trial, self.wants, self.bounds = trial, wants, bounds

    def candidates(self, stops: Sequence[SearchStop]) -> Iterator[CandidateDomain]:
        """Each domain once, with the most that fitted at any stop."""
        most: dict[int, tuple[int, IntArray]] = {}
        for stop in stops:
            for domain, inside in split(stop.rows, self.bounds):
                rows = stop.rows[inside]
                pods = self._sum({shape: room[inside] for shape, room in stop.room.items()}, stop.most, domain)
                if domain not in most or pods > most[domain][0]:
                    most[domain] = pods, rows
        for domain, (pods, rows) in most.items():
            fits = {shape: self.trial.fit(shape) for shape in self.wants}
            allowed = {(shape, domain): most_by_rules(fit, rows) for shape, fit in fits.items()}
            alone = self._sum({shape: fit.pods[rows] for shape, fit in fits.items()}, allowed, domain)
            yield CandidateDomain(self._path(domain), pods, max(pods, alone), self._limits(rows))

    def _sum(self, room: Mapping[Shape, IntArray], most: Mapping[tuple[Shape, int], int], domain: int) -> int:
        """The pods that fit into a domain: what its nodes hold, and rules between pods allow."""
        found = ((shape, min(self.wants[shape], int(room[shape].sum()))) for shape in self.wants if shape in room)
        return sum(min(pods, most.get((shape, domain), pods)) for shape, pods in found)

    def _path(self, domain: int) -> Path:
        return () if self.bounds is None else self.bounds.tree.path(self.bounds.required, domain)

    def _limits(self, rows: IntArray) -> Mapping[str, int]:
        """For each node what excludes it, or the resource that it lacks for one pod more."""
        shape = max(self.wants, key=lambda one: self.wants[one])
        fit, columns = self.trial.fit(shape), self.trial.columns
        counts: Counter[str] = Counter()
        for code, number in zip(*np.unique(fit.cause[rows], return_counts=True), strict=True):
            if code == ABSENT:
                counts[NOT_READY] += int(number)
            elif code:
                counts[fit.match.causes[code]] += int(number)
        passing = rows[fit.cause[rows] == 0]
        rule = self._rule(shape, passing)
        if rule:
            counts[rule] += len(passing)
            return +counts
        asked = [(name, amount) for name, amount in shape.charge if amount > 0]
        for name, amount in asked:
            at = columns.index.get(name)
            if at is None:
                counts[f'no resource "{name}"'] += len(passing)
                return +counts
            short = columns.remaining[at, passing] < amount * (fit.pods[passing] + 1)
            counts[f'resource "{name}"'] += int(np.count_nonzero(short))
            passing = passing[~short]
        for cause in fit.zone_causes(passing):
            counts[cause.name] += cause.nodes
            passing = passing[cause.nodes :]
        counts[UNFIT] += len(passing)
        return +counts

    def _rule(self, shape: Shape, rows: IntArray) -> str:
        """The rule that lets fewer pods of a shape onto these rows than they have room for; empty if none does."""
        fit = self.trial.fit(shape)
        if fit.rules is None or not len(rows):
            return ""
        holds = fit.without_rules(rows)
        allowed = most_by_rules(fit, rows)
        if allowed >= min(self.wants[shape], int(holds.sum())):
            return ""
        by_spread = fit.spread is not None and allowed < most_by_rules(fit, rows, spread=False)
        return SPREAD if by_spread else fit.rules.cap_cause


def split(rows: IntArray, bounds: LevelBounds | None) -> Iterator[tuple[int, IntArray]]:
    """The domains of the required level, each with the positions of its rows; rows outside of them are left out."""
    if bounds is None:
        yield ROOT, np.arange(len(rows))
        return
    tree, level = bounds.tree, bounds.required
    places = tree.place[rows]
    inside = np.flatnonzero(places >= 0)
    domains = tree.domain[level][places[inside]]
    order = np.argsort(domains, kind="stable")
    starts = np.flatnonzero(np.diff(domains[order], prepend=-1))
    for group in np.split(order, starts[1:]) if len(order) else ():
        if tree.real[level][domains[group[0]]]:
            yield int(domains[group[0]]), inside[group]
