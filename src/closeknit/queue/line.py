"""The line before one ClusterQueue: who is next, and who was set aside until something changes.

Workloads that a scheduler cannot tell apart form a class, with a heap of its own. When one of them cannot be
admitted, none of them can: the class is set aside as a whole, and comes back as a whole, whatever its size. Only
the first of each class stands in the heap of the line; entries that have become stale there are dropped on sight.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import islice

from ..model.cluster_queue import Strategy
from .waiting import Waiting

Order = tuple[int, float, str]

BYPASSED = "Bypassed scheduling evaluation because an equivalent workload recently failed"
"""What those are told who are set aside with their like."""


Check = Callable[[Waiting], bool]


def anybody(_: Waiting) -> bool:
    return True


@dataclass(slots=True, eq=False)
class Likes:
    """Workloads of one likeness; `parked` says that all of them are set aside."""

    heap: list[tuple[Order, int]] = field(default_factory=list)
    members: dict[int, Waiting] = field(default_factory=dict)
    parked: bool = False
    why: str = ""
    reason: str = ""
    """What the one of them that was looked at is told."""
    on_trial: bool = False
    """They are back since it was likely that one can be served now: who is next has to be likely still."""
    untold: dict[int, None] = field(default_factory=dict)
    """Members whose status does not say why they wait."""
    shown: int = 0
    """The ticket that stands for the class in the heap of the line."""


class Line:
    """Ready workloads by class, parked ones alone or by class, and at most one that is being looked at."""

    def __init__(self, name: str, strategy: Strategy) -> None:
        self.name, self.strategy = name, strategy
        self.classes: dict[Hashable, Likes] = {}
        self.parked: dict[str, Waiting] = {}
        self.in_hand: Waiting | None = None
        self.preemptor: str | None = None
        self.woken = False
        self._heap: list[tuple[Order, int, Hashable]] = []
        self._tickets: dict[str, int] = {}
        self._where: dict[str, Hashable] = {}
        self._next = 0

    # Reading

    def __contains__(self, key: str) -> bool:
        return key in self._tickets or key in self.parked

    def get(self, key: str) -> Waiting | None:
        if key in self.parked:
            return self.parked[key]
        ticket = self._tickets.get(key)
        return None if ticket is None else self.classes[self._where[key]].members[ticket]

    def is_active(self, key: str) -> bool:
        """In line, and not set aside."""
        return key in self._tickets and not self.classes[self._where[key]].parked

    def ready(self) -> Iterator[Waiting]:
        for likes in self.classes.values():
            if not likes.parked:
                yield from likes.members.values()

    def bypassed(self, key: str) -> str:
        """Why one like it was refused, if it was set aside with that one and without a look of its own; else empty."""
        likes = self.classes[self._where[key]] if key in self._tickets else None
        return likes.reason if likes is not None and likes.parked else ""

    def untold(self, likeness: Hashable, most: int) -> list[str]:
        """Up to so many of a class that is set aside who were not told; the last first, as they will wait longest."""
        likes = self.classes.get(likeness)
        if likes is None or not likes.parked:
            return []
        tickets = [likes.untold.popitem()[0] for _ in range(min(most, len(likes.untold)))]
        return [likes.members[ticket].key for ticket in tickets]

    def set_aside(self) -> Iterator[Waiting]:
        yield from self.parked.values()
        for likes in self.classes.values():
            if likes.parked:
                yield from likes.members.values()

    @property
    def is_ready(self) -> bool:
        return self._first() is not None

    def __len__(self) -> int:
        return len(self._tickets) + len(self.parked)

    # Changing

    def push(self, entry: Waiting) -> None:
        """Into its class: ready, or set aside if the class is."""
        self.drop(entry.key)
        likes = self.classes.setdefault(entry.likeness, Likes())
        ticket = self._next = self._next + 1
        self._tickets[entry.key], self._where[entry.key] = ticket, entry.likeness
        likes.members[ticket] = entry
        if entry.unexplained:
            likes.untold[ticket] = None
        heappush(likes.heap, (entry.order, ticket))
        if not likes.parked and likes.heap[0][1] == ticket:
            self._show(entry.likeness, likes)

    def park(self, entry: Waiting, why: str) -> None:
        """Aside, alone."""
        self.drop(entry.key)
        entry.parked_for = why
        self.parked[entry.key] = entry

    def park_class(self, entry: Waiting, why: str, reason: str = "") -> None:
        """Aside, with all that are like it, now and until something wakes them."""
        entry.parked_for = why
        likes = self.classes.setdefault(entry.likeness, Likes())
        likes.parked, likes.why, likes.reason, likes.on_trial = True, why, reason, False
        self.push(entry)

    def drop(self, key: str) -> Waiting | None:
        """Out of the line; None if it was not in it."""
        ticket = self._tickets.pop(key, None)
        if ticket is None:
            return self.parked.pop(key, None)
        likeness = self._where.pop(key)
        likes = self.classes[likeness]
        entry = likes.members.pop(ticket)
        likes.untold.pop(ticket, None)
        self._tidy(likeness, likes)
        return entry

    def pop(self, likely: Check = anybody) -> Waiting | None:
        """The next one, taken in hand. A preemptor whose victims are on their way out stays first."""
        found = self._sticky() or self._first(likely)
        if found is not None:
            self.drop(found.key)
            found.unexplained = False
            self.woken = False
        self.in_hand = found
        return found

    def wake(self, may: Check, why: Callable[[str], bool], likely: Check = anybody) -> int:
        """Back into line whoever `may`, if what it was set aside for is of the kind that `why` accepts.

        What is `likely` for one of a class is for all of it, until one of them was served.
        """
        self.woken = True
        count = 0
        for likeness, likes in list(self.classes.items()):
            if likes.parked and why(likes.why) and all(map(likely, islice(likes.members.values(), 1))):
                likes.parked, likes.on_trial = False, likely is not anybody
                count += len(likes.members)
                if likes.members:
                    self._show(likeness, likes)
                else:
                    del self.classes[likeness]
        for entry in [one for one in self.parked.values() if why(one.parked_for) and may(one) and likely(one)]:
            count += 1
            self.push(entry)
        return count

    # How

    def _sticky(self) -> Waiting | None:
        if self.preemptor is None or self.strategy != "BestEffortFIFO":
            return None
        ticket = self._tickets.get(self.preemptor)
        if ticket is None:
            return None
        likes = self.classes[self._where[self.preemptor]]
        return None if likes.parked else likes.members[ticket]

    def _first(self, likely: Check = anybody) -> Waiting | None:
        heap = self._heap
        while heap:
            _, ticket, likeness = heap[0]
            likes = self.classes.get(likeness)
            if likes is not None and not likes.parked and ticket in likes.members:
                first = likes.members[ticket]
                if not likes.on_trial or likely(first):
                    return first
                likes.parked = True
            heappop(heap)
            if likes is not None:
                likes.shown = 0 if likes.shown == ticket else likes.shown
                if not likes.parked:
                    self._show(likeness, likes)
        return None

    def _show(self, likeness: Hashable, likes: Likes) -> None:
        """Put the first of a class into the heap of the line."""
        while likes.heap and likes.heap[0][1] not in likes.members:
            heappop(likes.heap)
        if likes.heap:
            order, ticket = likes.heap[0]
            if likes.shown != ticket:
                likes.shown = ticket
                heappush(self._heap, (order, ticket, likeness))

    def _tidy(self, likeness: Hashable, likes: Likes) -> None:
        """Empty classes go, unless they are remembered as set aside; heaps of mostly stale entries are rebuilt."""
        if not likes.members and not likes.parked:
            del self.classes[likeness]
        elif len(likes.heap) > 2 * len(likes.members) + 16:
            likes.heap = [entry for entry in likes.heap if entry[1] in likes.members]
            heapify(likes.heap)
