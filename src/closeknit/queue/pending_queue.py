"""The pending workloads of one ClusterQueue: a heap of ready ones, and those parked until an event wakes them.

Workloads that the scheduler cannot tell apart form an equivalence class with a heap of its own. If one of them cannot
be admitted, none can, so the class is parked and woken as a whole, whatever its size. Only the first workload of each
class is in the queue's heap; stale entries there are dropped when they come up.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import islice

from ..model.cluster_queue import Strategy
from .pending_workload import PendingWorkload

Order = tuple[int, float, str]

BYPASSED = "Bypassed scheduling evaluation because an equivalent workload recently failed"
"""The message on workloads that were parked with their equivalence class."""


Check = Callable[[PendingWorkload], bool]


def always(_: PendingWorkload) -> bool:
    return True


@dataclass(slots=True, eq=False)
class EquivalenceClass:
    """Workloads that the scheduler cannot tell apart; `parked` means that all of them are parked."""

    heap: list[tuple[Order, int]] = field(default_factory=list)
    members: dict[int, PendingWorkload] = field(default_factory=dict)
    parked: bool = False
    why: str = ""
    reason: str = ""
    """The message of the one workload that was evaluated for the whole class."""
    on_trial: bool = False
    """Woken only because one of them probably fits now: the next one is checked for that again."""
    unreported: dict[int, None] = field(default_factory=dict)
    """Members whose status does not report why they are pending."""
    shown: int = 0
    """The ticket that represents the class in the queue's heap."""


class PendingQueue:
    """Ready workloads by class, workloads parked alone or by class, and at most one that is in a cycle."""

    def __init__(self, name: str, strategy: Strategy) -> None:
        self.name, self.strategy = name, strategy
        self.classes: dict[Hashable, EquivalenceClass] = {}
        self.parked: dict[str, PendingWorkload] = {}
        self.in_cycle: PendingWorkload | None = None
        self.preemptor: str | None = None
        self.woken = False
        self._heap: list[tuple[Order, int, Hashable]] = []
        self._tickets: dict[str, int] = {}
        self._where: dict[str, Hashable] = {}
        self._next = 0

    # Reading

    def __contains__(self, key: str) -> bool:
        return key in self._tickets or key in self.parked

    def get(self, key: str) -> PendingWorkload | None:
        if key in self.parked:
            return self.parked[key]
        ticket = self._tickets.get(key)
        return None if ticket is None else self.classes[self._where[key]].members[ticket]

    def is_active(self, key: str) -> bool:
        """Whether the workload is pending and not parked."""
        return key in self._tickets and not self.classes[self._where[key]].parked

    def ready(self) -> Iterator[PendingWorkload]:
        for group in self.classes.values():
            if not group.parked:
                yield from group.members.values()

    def bypassed(self, key: str) -> str:
        """The shared reason of its class if the class is parked; else empty."""
        group = self.classes[self._where[key]] if key in self._tickets else None
        return group.reason if group is not None and group.parked else ""

    def unreported(self, class_key: Hashable, most: int) -> list[str]:
        """Up to `most` workloads of a parked class without a reported reason, the last first: they wait longest."""
        group = self.classes.get(class_key)
        if group is None or not group.parked:
            return []
        tickets = [group.unreported.popitem()[0] for _ in range(min(most, len(group.unreported)))]
        return [group.members[ticket].key for ticket in tickets]

    def all_parked(self) -> Iterator[PendingWorkload]:
        yield from self.parked.values()
        for group in self.classes.values():
            if group.parked:
                yield from group.members.values()

    @property
    def is_ready(self) -> bool:
        return self._first() is not None

    def __len__(self) -> int:
        return len(self._tickets) + len(self.parked)

    # Changing

    def push(self, entry: PendingWorkload) -> None:
        """Add a workload to its class: ready, or parked if the class is."""
        self.drop(entry.key)
        group = self.classes.setdefault(entry.equivalence_key, EquivalenceClass())
        ticket = self._next = self._next + 1
        self._tickets[entry.key], self._where[entry.key] = ticket, entry.equivalence_key
        group.members[ticket] = entry
        if entry.unexplained:
            group.unreported[ticket] = None
        heappush(group.heap, (entry.order, ticket))
        if not group.parked and group.heap[0][1] == ticket:
            self._show(entry.equivalence_key, group)

    def park(self, entry: PendingWorkload, why: str) -> None:
        """Park one workload alone."""
        self.drop(entry.key)
        entry.parked_for = why
        self.parked[entry.key] = entry

    def park_class(self, entry: PendingWorkload, why: str, reason: str = "") -> None:
        """Park a workload with its whole class, including later members, until an event wakes the class."""
        entry.parked_for = why
        group = self.classes.setdefault(entry.equivalence_key, EquivalenceClass())
        group.parked, group.why, group.reason, group.on_trial = True, why, reason, False
        self.push(entry)

    def drop(self, key: str) -> PendingWorkload | None:
        """Remove a workload; None if it was not here."""
        ticket = self._tickets.pop(key, None)
        if ticket is None:
            return self.parked.pop(key, None)
        class_key = self._where.pop(key)
        group = self.classes[class_key]
        entry = group.members.pop(ticket)
        group.unreported.pop(ticket, None)
        self._tidy(class_key, group)
        return entry

    def pop(self, likely: Check = always) -> PendingWorkload | None:
        """Take the next workload into the cycle. A preemptor whose victims are still terminating stays first."""
        found = self._sticky() or self._first(likely)
        if found is not None:
            self.drop(found.key)
            found.unexplained = False
            self.woken = False
        self.in_cycle = found
        return found

    def wake(self, may: Check, why: Callable[[str], bool], likely: Check = always) -> int:
        """Make parked workloads ready if `may` allows it and `why` accepts the reason they were parked for.

        `likely` is asked for one member and holds for the whole class, until one of them is admitted.
        """
        self.woken = True
        count = 0
        for class_key, group in list(self.classes.items()):
            if group.parked and why(group.why) and all(map(likely, islice(group.members.values(), 1))):
                group.parked, group.on_trial = False, likely is not always
                count += len(group.members)
                if group.members:
                    self._show(class_key, group)
                else:
                    del self.classes[class_key]
        for entry in [one for one in self.parked.values() if why(one.parked_for) and may(one) and likely(one)]:
            count += 1
            self.push(entry)
        return count

    # How

    def _sticky(self) -> PendingWorkload | None:
        if self.preemptor is None or self.strategy != "BestEffortFIFO":
            return None
        ticket = self._tickets.get(self.preemptor)
        if ticket is None:
            return None
        group = self.classes[self._where[self.preemptor]]
        return None if group.parked else group.members[ticket]

    def _first(self, likely: Check = always) -> PendingWorkload | None:
        heap = self._heap
        while heap:
            _, ticket, class_key = heap[0]
            group = self.classes.get(class_key)
            if group is not None and not group.parked and ticket in group.members:
                first = group.members[ticket]
                if not group.on_trial or likely(first):
                    return first
                group.parked = True
            heappop(heap)
            if group is not None:
                group.shown = 0 if group.shown == ticket else group.shown
                if not group.parked:
                    self._show(class_key, group)
        return None

    def _show(self, class_key: Hashable, group: EquivalenceClass) -> None:
        """Put the first workload of a class into the queue's heap."""
        while group.heap and group.heap[0][1] not in group.members:
            heappop(group.heap)
        if group.heap:
            order, ticket = group.heap[0]
            if group.shown != ticket:
                group.shown = ticket
                heappush(self._heap, (order, ticket, class_key))

    def _tidy(self, class_key: Hashable, group: EquivalenceClass) -> None:
        """Delete an empty class unless it is parked; rebuild a heap of mostly stale entries."""
        if not group.members and not group.parked:
            del self.classes[class_key]
        elif len(group.heap) > 2 * len(group.members) + 16:
            group.heap = [entry for entry in group.heap if entry[1] in group.members]
            heapify(group.heap)
