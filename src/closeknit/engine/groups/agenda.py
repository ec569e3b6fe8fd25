"""What a search has to decide, in order: which parts are placed, in which domain, and on which nodes each batch.

    Include(part)   part is one of those that a minimum of its siblings needs, or surplus
    Choose(part)    a domain for everything below the part
    Put(batch)      nodes for the pods of a batch
    Total(part)     whether enough pods are placed below the part, where it needs a number of pods in all

An item offers its alternatives one by one; the search takes the first, goes on, and comes back for the next one if a
later item finds nothing. Larger parts come first, because small ones fit into what they leave, and parts that are bound
to a narrow domain come before those that may go anywhere. A search that begins again puts first what failed most. The
order does not depend on the order in the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ...state.node_tree import ROOT
from ...state.table import IntArray
from .domains import domains
from .fill import Share, choices, orders
from .parts import Batch, GroupPart
from .scope import NOWHERE, Scope

if TYPE_CHECKING:
    from .search import Search

Failures = Mapping[int | Batch, int]
"""How often a search found nothing for something below a part, by its number, or for a batch."""
NONE_FAILED: Failures = {}
NOTHING: Share = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


class Include:
    """Whether a part is placed, where only some of its siblings have to be."""

    def __init__(self, part: GroupPart) -> None:
        self.part = part

    def alternatives(self, search: Search) -> Iterator[bool]:
        above = self.part.above
        assert above is not None
        if not search.is_included(above):
            yield False
            return
        decided = [search.included[one.at] for one in above.parts if one.at in search.included]
        is_enough = sum(decided) >= above.needed_parts
        if not is_enough or search.lacks(self.part):
            yield True
        if (is_enough or len(above.parts) - decided.count(False) > above.needed_parts) and search.can_skip(self.part):
            yield False

    def accept(self, search: Search, choice: bool) -> None:
        search.included[self.part.at] = choice

    def forget(self, search: Search) -> None:
        search.included.pop(self.part.at, None)


class Choose:
    """The domain of a part; also where it may not be in a domain of its siblings."""

    def __init__(self, part: GroupPart) -> None:
        self.part = part

    def alternatives(self, search: Search) -> Iterator[Scope]:
        part = self.part
        if not search.is_included(part):
            yield search.scope_around(part)
            return
        for around in search.scopes_apart(part):
            if part.bounds is None:
                yield around
            else:
                aims = search.aims_of(part)
                yield from domains(search.trial, part, part.bounds, around, search.order_of(part), aims)
        if not part.pods and part.needs_none:
            yield NOWHERE

    def accept(self, search: Search, choice: Scope) -> None:
        search.scopes[self.part.at] = choice

    def forget(self, search: Search) -> None:
        search.scopes.pop(self.part.at, None)


class Put:
    """The nodes of a batch: all its pods, or as many as the minimum of its part still needs."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch

    @property
    def part(self) -> GroupPart:
        return self.batch.part

    def alternatives(self, search: Search) -> Iterator[Share]:
        if not search.is_included(self.part):
            yield NOTHING
            return
        for count in self._counts(search):
            if not count:
                yield NOTHING
            elif search.trial.has_rules(self.batch):
                yield from one_by_one(search, self.batch, count)
            else:
                yield from self._shares(search, count)

    def _shares(self, search: Search, count: int) -> Iterator[Share]:
        scope = search.scope_of(self.part)
        rows, aims = scope.all_rows(search.size), search.aims_of(self.part, scope)
        room, others = search.trial.room(self.batch, rows), search.wanted_by_others(self.batch.shape, rows)
        yield from choices(rows, room, count, aims, search.order_of(self.part), search.alike, others)

    def _counts(self, search: Search) -> range:
        """How many pods to place: as many as are needed, or fewer where batches after it can make up for it."""
        if len(self.part.batches) == 1 and not self.part.watched:
            return range(self.part.minimum, self.part.minimum - 1, -1)
        others = [one for one in self.part.batches if one is not self.batch]
        placed = sum(search.count_of(one) for one in others if one in search.placed)
        later = sum(one.count for one in others if one not in search.placed)
        needed = max(0, self.part.minimum - placed)
        most = min(self.batch.count, max(needed, search.lacks(self.part)))
        return range(most, max(0, min(most, needed - later)) - 1, -1)

    def accept(self, search: Search, choice: Share) -> None:
        search.put(self.batch, choice)
        if len(choice[0]):
            search.trial.take(self.batch, *choice)

    def forget(self, search: Search) -> None:
        search.drop(self.batch)


class Total:
    """Whether the pods placed below a part are as many as it needs in all."""

    def __init__(self, part: GroupPart) -> None:
        self.part = part

    def alternatives(self, search: Search) -> Iterator[bool]:
        if not search.is_included(self.part) or search.placed_below(self.part) >= self.part.total:
            yield True

    def accept(self, search: Search, choice: bool) -> None:
        """Nothing is chosen."""

    def forget(self, search: Search) -> None:
        """Nothing was chosen."""


class Even(Total):
    """Whether topology spread holds with all pods placed: what one group puts into a domain, others may balance."""

    def alternatives(self, search: Search) -> Iterator[bool]:
        if all(search.is_even(batch) for batch in search.placed):
            yield True


Item = Include | Choose | Put | Total


def one_by_one(search: Search, batch: Batch, count: int) -> Iterator[Share]:
    """Places for pods with rules between them: each pod changes where the next may go.

    Pods of a batch are equal, so nodes that were chosen before in another order are skipped. The trial is as it was
    whenever a choice is offered.
    """
    trial, rows, one = search.trial, search.scope_of(batch.part).all_rows(search.size), np.ones(1, dtype=np.int64)
    start, marks = trial.mark(), list[int]()
    coming = search.coming(batch)
    if trial.most(batch, rows, coming) < count or not search.is_even(batch, coming):
        return
    chosen, seen = list[int](), set[tuple[int, ...]]()
    ways = [_in_order(search, batch, rows, coming)]
    while ways:
        row = next(ways[-1], None)
        if row is None:
            ways.pop()
            if chosen:
                chosen.pop()
                trial.undo(marks.pop())
            continue
        search.step()
        key = tuple(sorted((*chosen, row)))
        if key in seen:
            continue
        seen.add(key)
        if len(key) == count:
            trial.undo(start)
            yield np.unique(np.array(key, dtype=np.int64), return_counts=True)
            for place in chosen:
                trial.take(batch, np.array([place]), one)
            continue
        marks.append(trial.mark())
        chosen.append(row)
        trial.take(batch, np.array([row]), one)
        ways.append(_in_order(search, batch, rows, coming - len(chosen)))


def _in_order(search: Search, batch: Batch, rows: IntArray, coming: int) -> Iterator[int]:
    """The rows that may take one more pod, in the order in which they are tried."""
    room = search.trial.room(batch, rows, coming)
    able, room = rows[room > 0], room[room > 0]
    if not len(able):
        return
    others = search.wanted_by_others(batch.shape, able)
    first = next(orders(able, room, 1, search.aims_of(batch.part), search.order_of(batch.part), others))
    spread = search.trial.fit(batch.shape).spread
    if spread is not None:
        first = first[np.argsort(spread.crowd(search.trial.columns.first_rows(able))[first], kind="stable")]
    alike, seen = search.alike(able).tolist(), set[int]()
    for at in first.tolist():
        if alike[at] not in seen:
            seen.add(alike[at])
            yield int(able[at])


def agenda_of(part: GroupPart, failures: Failures = NONE_FAILED) -> list[Item]:
    """The items of a part and everything below it, the hardest first: what failed most, then the largest."""
    items: list[Item] = []
    if part.bounds is not None or (part.above is not None and part.above.apart is not None):
        items.append(Choose(part))
    if len(part.parts) + len(part.batches) == 1:
        items += _included(part.parts[0], failures) if part.parts else [Put(part.batches[0])]
    else:
        items += _sorted_items(part, failures)
    return [*items, Total(part)] if part.total else items


def _sorted_items(part: GroupPart, failures: Failures) -> Iterator[Item]:
    below = [(_hardness(one, failures), one.label, _included(one, failures)) for one in part.parts]
    if part.batches:
        batches = sorted(part.batches, key=lambda batch: (-failures.get(batch, 0), *_size(batch)))
        failed = max(failures.get(batch, 0) for batch in batches)
        puts: list[Item] = [Put(batch) for batch in batches]
        below.append(((-failed, 1.0, -float(part.minimum)), "", puts))
    for _, _, more in sorted(below, key=lambda entry: (entry[0], entry[1])):
        yield from more


def _included(part: GroupPart, failures: Failures) -> list[Item]:
    above, items = part.above, agenda_of(part, failures)
    return [Include(part), *items] if above is not None and above.needed_parts < len(above.parts) else items


def _hardness(part: GroupPart, failures: Failures) -> tuple[float, ...]:
    """What failed most, then bound parts, then by size, largest first."""
    bound = part.bounds is not None and part.bounds.required != ROOT
    return (-failures.get(part.at, 0), 0.0 if bound else 1.0, -float(part.pods), -float(part.need.max(initial=0)))


def _size(batch: Batch) -> tuple[float, str]:
    return (-float(batch.charge.max(initial=0)), batch.pod_set.name)
