"""The search: take the first alternative of every item, and come back where a later one finds none.

When an item has no alternative left, the search returns not to the item just before it but to the last one that could
change anything: one that chose a domain around it, that took nodes it could have used, or whose pods a rule connects
with its own.

The first passes are hasty: they try few ways to put pods on nodes, and leave a domain after some steps even if not
everything in it was tried, so that a domain that is too small by a little does not use up the steps that a later one
needs. Some of them take nodes first that other pods cannot use. From the third on, a pass decides first about what
failed most in those before it. The last pass tries everything. A pass that has tried every alternative proves that
there is no placement; a search that ends at its bound of steps has only found none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ...model.request import Order
from ...model.settings import SEARCH_STEPS
from ...model.shape import Shape
from ...state.node_tree import ROOT
from ...state.table import BoolArray, IntArray
from .agenda import NONE_FAILED, Choose, Even, Include, Item, Put, Total, agenda_of
from .apart import ApartDomains
from .below import Below
from .domains import closed_rows
from .fill import Aim, Share
from .obstacle import MOST_STOPS, SearchStop
from .parts import Batch, GroupPart, Trees
from .scope import EVERYTHING, NOWHERE, Scope
from .trial import GroupTrial


class Haste(NamedTuple):
    """How many ways to put a batch on nodes a pass tries, and after how many useless steps it leaves a domain."""

    ways: int | None = None
    steps: int | None = None
    yields: bool = False
    """Whether nodes that pods of other shapes cannot use come first."""
    learned: bool = False
    """Whether what failed most in earlier passes comes first."""


PASSES = (
    Haste(4, 100),
    Haste(4, 100, yields=True),
    *(Haste(ways, steps, yields, True) for ways, steps in ((4, 200), (4, 400), (8, 1_000)) for yields in (False, True)),
    Haste(64, 5_000, learned=True),
    Haste(learned=True),
)


class OutOfSteps(Exception):  # noqa: N818 - an outcome, not a fault
    """The search has reached its bound."""


class Search:
    """The choices made so far: `included` and `scopes` by part, `placed` by batch."""

    def __init__(
        self, trial: GroupTrial, trees: Trees, top: GroupPart, order: Order = "binpack", steps: int = SEARCH_STEPS
    ) -> None:
        self.trial, self.trees, self.top, self.default_order, self.steps = trial, trees, top, order, steps
        self.size = trial.columns.tree.leaves
        self.included: dict[int, bool] = {}
        self.scopes: dict[int, Scope] = {}
        self.placed: dict[Batch, Share] = {}
        self._below: dict[int, Below] = {}
        self._apart: dict[int, ApartDomains] = {}
        self.taken = 0
        """Steps taken so far."""
        self.hardest: Item | None = None
        self.stops: list[SearchStop] = []
        """Where the hardest item found nothing."""
        self._deepest = -1
        self._haste = PASSES[0]
        self._has_skipped = False
        self._began = 0

    def run(self, part: GroupPart | None = None) -> bool:
        """Place a part, or everything; False if there is no way to do so. The trial keeps what was taken."""
        failures = self._failures = Counter[int | Batch]()
        for self._haste in PASSES:
            if self._haste.yields and len(self.top.all_wants) == 1:
                continue
            self._has_skipped, self._began = False, self.taken
            items = agenda_of(part or self.top, failures if self._haste.learned else NONE_FAILED)
            if self._pass([*items, Even(self.top)] if self.trial.ruled else items):
                return True
            if not self._has_skipped:
                break
        return False

    def _pass(self, items: Sequence[Item]) -> bool:
        ways: list[Iterator[Any] | None] = [None] * len(items)
        marks: list[int] = [self.trial.mark()] * len(items)
        blame: dict[int, set[int]] = {}
        since = [0] * len(items)
        at = 0
        while at < len(items):
            late = self._late(items, since, at)
            if late is not None:
                for place in range(at, late, -1):
                    ways[place] = None
                    items[place].forget(self)
                at = late
            item, way = items[at], ways[at]
            if way is None:
                way = ways[at] = self._alternatives(item)
                marks[at] = self.trial.mark()
                blame.pop(at, None)
            else:
                self.trial.undo(marks[at])
                item.forget(self)
            choice = next(way, None)
            if choice is not None:
                self.step()
                since[at] = self.taken
                item.accept(self, choice)
                at += 1
                continue
            self._note(item, at)
            self._failures.update(one.at for one in item.part.lineage())
            if isinstance(item, Put):
                self._failures[item.batch] += 1
            causes = self._causes(items, at) | blame.pop(at, set())
            target = max(causes, default=-1)
            for place in range(at, target, -1):
                ways[place] = None
                items[place].forget(self)
            if target < 0:
                self.trial.undo(marks[0])
                return False
            blame[target] = blame.get(target, set()) | (causes - {target})
            at = target
        return True

    def _alternatives(self, item: Item) -> Iterator[Any]:
        found = item.alternatives(self)
        if self._haste.ways is None or not isinstance(item, Put):
            return found
        return self._some(found, self._haste.ways)

    def _some(self, found: Iterator[Any], most: int) -> Iterator[Any]:
        yield from islice(found, most)
        self._has_skipped = self._has_skipped or next(found, None) is not None

    def _late(self, items: Sequence[Item], since: Sequence[int], at: int) -> int | None:
        """The outermost choice that took too many steps: a domain, or sooner a part that may be left out."""
        steps = self._haste.steps
        if steps is None or self.taken - self._began <= steps // 2 + 2 * len(items):
            return None
        around = {one.at for one in items[at].part.lineage()}
        for place in range(at):
            item, spent = items[place], self.taken - since[place] - 2 * len(items)
            left_out = steps // 2 if item.part.at in around else steps * 3 // 4
            if isinstance(item, Choose | Include) and spent > (steps if isinstance(item, Choose) else left_out):
                self._has_skipped = True
                return place
        return None

    def _causes(self, items: Sequence[Item], at: int) -> set[int]:
        """The items before this one that decided what it could choose from."""
        item = items[at]
        if isinstance(item, Even):
            uneven = [batch.shape for batch in self.placed if not self.is_even(batch)]
            return {place for place in range(at) if self._is_counted(items[place], uneven)}
        lineage = {part.at for part in item.part.lineage()}
        siblings = {one.at for part in item.part.lineage() if part.above is not None for one in part.above.parts}
        region = self._contested(item)
        totals = [part for part in item.part.lineage() if part.total]
        found: set[int] = set()
        for place in range(at):
            other = items[place]
            match other:
                case _ if any(part in other.part.lineage() for part in totals):
                    relevant = True
                case _ if isinstance(item, Total):
                    relevant = item.part in other.part.lineage()
                case Include():
                    relevant = other.part.at in siblings or other.part.at in lineage or self._reaches(other, item)
                case Choose():
                    relevant = other.part.at in lineage
                case Total():
                    relevant = False
                case Put():
                    relevant = other.part is item.part or self._matters(item, other, region)
            if relevant:
                found.add(place)
        return found

    def _is_counted(self, item: Item, shapes: Sequence[Shape]) -> bool:
        """Whether an item placed pods that the spread rules of these shapes count."""
        spreads = [self.trial.fit(shape).spread for shape in shapes]
        return isinstance(item, Put) and any(one is not None and one.counts(item.batch.shape.kind) for one in spreads)

    def _matters(self, item: Item, other: Put, region: BoolArray) -> bool:
        if self._reaches(other, item) and (isinstance(item, Put) or region.any()):
            return True
        rows = self.placed.get(other.batch, (np.empty(0, dtype=np.int64),))[0]
        return bool(len(rows)) and (self._is_apart(item.part, other.part) or bool(region[rows].any()))

    def _reaches(self, other: Include | Put, item: Item) -> bool:
        """Whether rules let the pods of one item decide about distant nodes of another."""
        if not self.trial.ruled or isinstance(item, Include):
            return False
        mine = [item.batch.shape] if isinstance(item, Put) else item.part.all_wants
        theirs = [other.batch.shape] if isinstance(other, Put) else other.part.all_wants
        return any(self.trial.reaches(one, shape) for one in theirs for shape in mine)

    def _contested(self, item: Item) -> BoolArray:
        """The rows on which pods of others may leave an item fewer alternatives."""
        region = np.zeros(self.size, dtype=np.bool_)
        part, around = item.part, self.scope_around(item.part)
        if isinstance(item, Put):
            rows = self.scope_of(part).all_rows(self.size)
            region[rows] = self.trial.is_short(item.batch, rows)
        elif part.bounds is None or (part.above is not None and part.above.apart is not None):
            region[around.all_rows(self.size)] = True
        elif not isinstance(item, Include):
            region[closed_rows(self.trial, part, part.bounds, around)] = True
        return region

    def _is_apart(self, part: GroupPart, other: GroupPart) -> bool:
        """Whether some group keeps two parts in different domains."""
        return any(one.apart is not None and one in other.lineage() for one in part.lineage())

    def step(self) -> None:
        self.taken += 1
        if self.taken > self.steps:
            raise OutOfSteps

    def _note(self, item: Item, at: int) -> None:
        """Remember the item that stopped the search furthest on: it explains the failure best."""
        if self.scope_of(item.part) is NOWHERE:
            return
        if at > self._deepest:
            self._deepest, self.hardest, self.stops = at, item, []
        if item is self.hardest and len(self.stops) < MOST_STOPS:
            self.stops.append(SearchStop.of(self, item))

    # What items ask

    def is_included(self, part: GroupPart) -> bool:
        return not self.included or all(self.included.get(one.at, True) for one in part.lineage())

    def scope_of(self, part: GroupPart) -> Scope:
        """The nodes that a part may use."""
        for one in part.lineage():
            found = self.scopes.get(one.at)
            if found is not None:
                return found
        return EVERYTHING

    def widest_scope(self, part: GroupPart) -> Scope:
        """The nodes that surplus of a part may use: everything inside the required domains around it."""
        rows = np.ones(self.size, dtype=np.bool_)
        for one in part.lineage():
            chosen, bounds = self.scopes.get(one.at), one.bounds
            if chosen is None or bounds is None or bounds.required == ROOT:
                continue
            places = bounds.tree.place[chosen.all_rows(self.size)]
            home = bounds.tree.domain[bounds.required][int(places[0])] if len(places) else -1
            inside = np.zeros(self.size, dtype=np.bool_)
            inside[bounds.tree.rows[bounds.tree.domain[bounds.required] == home]] = True
            rows &= inside
        return Scope(rows=np.flatnonzero(rows))

    def scope_around(self, part: GroupPart) -> Scope:
        return EVERYTHING if part.above is None else self.scope_of(part.above)

    def scopes_apart(self, part: GroupPart) -> Iterator[Scope]:
        """The nodes around a part, without the domains that its siblings use where they have to be apart."""
        around = self.scope_around(part)
        apart = None if part.above is None or part.above.apart is None else self._apart_in(part.above)
        alone = None if apart is None else apart.beside_others(around, self._rows_of(part))
        if alone is not None:
            yield alone
        if apart is None or alone is None or not apart.required:
            yield around

    def surplus_scopes(self, part: GroupPart) -> Iterator[Scope]:
        """The nodes that surplus of a part may use: its domain, then its required domain, apart from other groups."""
        widest = self.widest_scope(part)
        yield self._apart_scope(part, self.scope_of(part))
        yield self._apart_scope(part, widest)
        if not all(self._apart_in(one).required for one in part.divided):
            yield self._apart_scope(part, widest, should=False)

    def _apart_scope(self, part: GroupPart, scope: Scope, should: bool = True) -> Scope:
        """A scope without the domains of all groups that the part has to be apart from, or also `should` be."""
        for one in part.lineage() if part.divided else ():
            if one.above is not None and one.above.apart is not None:
                apart = self._apart_in(one.above)
                if apart.required or should:
                    scope = apart.beside_others(scope, self._rows_of(one)) or scope
        return scope

    def _apart_in(self, part: GroupPart) -> ApartDomains:
        """What the groups in a part use that are apart."""
        known = self._apart.get(part.at)
        if known is None:
            assert part.apart is not None
            known = self._apart[part.at] = ApartDomains(part.apart, (one.running for one in part.parts))
        return known

    def _rows_of(self, part: GroupPart) -> IntArray:
        """The rows on which pods of a part run or are placed."""
        batches = (batch for one in part.walk() for batch in one.batches)
        rows = [self.placed[batch][0] for batch in batches if batch in self.placed]
        return np.concatenate([*rows, part.running])

    def order_of(self, part: GroupPart) -> Order:
        return part.order or self.default_order

    def wanted_by_others(self, shape: Shape, rows: IntArray) -> IntArray | None:
        """How many pods of other shapes each of these rows could hold; None while that does not decide."""
        if not self._haste.yields:
            return None
        found = np.zeros(len(rows), dtype=np.int64)
        for other, count in self.top.all_wants.items():
            if other != shape:
                found += np.minimum(self.trial.fit(other).pods[rows], count)
        return found

    def aims_of(self, part: GroupPart, inside: Scope = EVERYTHING) -> list[Aim]:
        """The preferred levels of a part and those around it, innermost first, with the domains used already.

        Levels of which one domain holds the whole scope are left out: there is nothing to prefer.
        """
        found = []
        for one in reversed(part.watched):
            bounds = one.bounds
            if (
                bounds is not None
                and bounds.preferred is not None
                and not inside.is_in_one(bounds.tree, bounds.preferred)
            ):
                below = self.below(one)
                assert below.use is not None
                found.append(Aim(bounds.tree, bounds.preferred, below.use.rows > 0, below.left()))
        return found

    def put(self, batch: Batch, share: Share) -> None:
        """Remember where the pods of a batch are."""
        self.placed[batch] = share
        for part in batch.part.watched:
            self.below(part).add(batch, share, 1)
        for part in batch.part.divided:
            self._apart_in(part).use.add(share[0], 1)

    def drop(self, batch: Batch) -> None:
        share = self.placed.pop(batch, None)
        if share is not None:
            for part in batch.part.watched:
                self.below(part).add(batch, share, -1)
            for part in batch.part.divided:
                self._apart_in(part).use.add(share[0], -1)

    def below(self, part: GroupPart) -> Below:
        known = self._below.get(part.at)
        if known is None:
            known = self._below[part.at] = Below(part)
        return known

    def placed_below(self, part: GroupPart) -> int:
        """The pods that are placed below a part, which has a number of pods in all."""
        return self.below(part).pods

    def lacks(self, part: GroupPart) -> int:
        """How many more pods the parts around need in all."""
        if not part.watched:
            return 0
        return max((one.total - self.placed_below(one) for one in part.watched if one.total), default=0)

    def can_skip(self, part: GroupPart) -> bool:
        """Whether the parts around can have enough pods in all without this part."""
        return all(self._possible(one, part) >= one.total for one in part.watched if one.total and one is not part)

    def _possible(self, part: GroupPart, without: GroupPart) -> int:
        """The pods that are placed below a part, or may still be."""
        found = 0
        for one in part.walk():
            if self.is_included(one) and without not in one.lineage():
                found += sum(self.count_of(batch) if batch in self.placed else batch.count for batch in one.batches)
        return found

    def coming(self, batch: Batch) -> int:
        """How many pods of this batch and others, counted by its spread rules, may still be placed."""
        spread = self.trial.fit(batch.shape).spread
        if spread is None or not spread.own:
            return 0
        others = (one for part in self.top.walk() if self.is_included(part) for one in part.batches)
        return sum(one.count for one in others if one not in self.placed and spread.counts(one.shape.kind))

    def is_even(self, batch: Batch, coming: int = 0) -> bool:
        """Whether the pods of the batch's shape are placed within its spread rules, or can be with `coming` more."""
        spread = self.trial.fit(batch.shape).spread
        if spread is None or not spread.own:
            return True
        rows = [share[0] for one, share in self.placed.items() if one.shape == batch.shape]
        return not rows or spread.is_even(self.trial.columns.first_rows(np.concatenate(rows)), coming)

    def count_of(self, batch: Batch) -> int:
        return int(self.placed[batch][1].sum())

    def alike(self, rows: IntArray) -> IntArray:
        """Numbers for rows: equal where no later choice could tell them apart."""
        facts = [self.trial.columns.remaining[:, rows]]
        if self.trial.ruled:
            fits = [self.trial.fit(shape) for shape in self.top.all_wants]
            facts += [fit.pods[rows][None] for fit in fits]
            facts += [
                codes.astype(np.int64)[None]
                for fit in fits
                for codes in fit.codes_of_rules(self.trial.columns.first_rows(rows))
            ]
        for tree in self.trees.values():
            places = tree.place[rows]
            facts.append(np.where(places >= 0, tree.domain[-1][places] if tree.domain else 0, -1)[None])
        facts += [self.trial.fit(shape).cause[rows][None].astype(np.int64) for shape in self.top.all_wants]
        _, numbers = np.unique(np.concatenate(facts), axis=1, return_inverse=True)
        return numbers.reshape(-1)
