"""The control plane on one screen: every change updates what is known, each desk does its part, the scheduler decides.

    change ──▶ known ──▶ jobs        make, start, stop, finish
                    ├──▶ groups      the same for pods that belong together
                    ├──▶ workloads   checks, stops, limits, coming back
                    ├──▶ provisioning  machines that have to be brought first
                    ├──▶ gates       pods to their places
                    ├──▶ nodes       failed under pods that have one
                    ├──▶ flips       which queues are empty, and which no more
                    ├──▶ scheduling  cycles ──▶ writes
                    ├──▶ waits       why somebody is not admitted yet
                    ├──▶ queues      how they stand, what is in use
                    ├──▶ bypassed    who waits with its like, and was not told
                    ├──▶ ungateable  what names a queue and cannot wait in it
                    └──▶ recorder    what users are told, when all else is done

It is a participant of a host's loop: told of changes, asked for its next step, told how its writes ended. Hosts may
take their time with writes, as long as what a write led to is shown before the write is reported. While one is in
flight for an object, no other part writes to it: that would be decided on what is about to change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ..cluster.errors import Refused
from ..cluster.kinds import POD_TEMPLATE, WORKLOAD, Kind
from ..cluster.port import Change, Raw, Write, target_of
from ..model.gates import Gates as FeatureGates
from ..model.settings import Settings
from ..model.workload import Workload
from ..observe.known import Known
from ..observe.live_jobs import Managed
from ..write.allowance import Pace
from ..write.events import Recorder
from ..write.in_flight import Flight, InFlight
from .desk import UnderWay
from .groups import SETS, Groups
from .jobs import NAMED, Jobs
from .placing import Gates, Nodes
from .provisioning import Provisioning
from .queues import Flips, Queues
from .records import Diary, Record, eviction
from .scheduling import Scheduling
from .ungateable import Ungateable
from .waits import Waits, Words
from .workloads import Bypassed, Workloads


class Part(Protocol):
    def see(self, change: Change) -> None: ...

    def due(self) -> float | None: ...

    def step(self, now: float) -> Sequence[Flight[Any]]: ...

    def done(self, flight: Flight[Any], result: Raw | Refused, now: float) -> None: ...


class ControlPlane:
    """`now` is the time of day, and `cost` a clock for what cycles cost; hosts give both."""

    def __init__(
        self,
        gates: FeatureGates,
        settings: Settings,
        now: Callable[[], float],
        cost: Callable[[], float],
        managed: Managed | None = None,
        keep: Callable[[Record], None] = lambda _: None,
        pace: Pace | None = None,
        words: Words | None = None,
        rest: float = 0.0,
    ) -> None:
        managed = managed or Managed()
        self.known = Known(gates, settings, now, all_pods=managed.without_queue)
        self.diary = Diary(keep, self.known)
        self.recorder = recorder = Recorder(pace, self.known.ending)
        jobs, workloads = Jobs(self.known, recorder, managed), Workloads(self.known, recorder)
        waits, queues = Waits(self.known, recorder, words), Queues(self.known, recorder)
        groups, ungateable = Groups(self.known, recorder, managed), Ungateable(self.known, recorder, managed)
        self.parts: tuple[Part, ...] = (
            jobs,
            groups,
            workloads,
            Provisioning(self.known, recorder),
            Gates(self.known, recorder),
            Nodes(self.known, recorder),
            Flips(queues),
            Scheduling(self.known, recorder, self.diary, waits, cost, rest),
            waits,
            queues,
            Bypassed(self.known, workloads, waits.allowance),
            ungateable,
            recorder,
        )
        sets = filter(groups.live.is_on, SETS)
        told = (*self.known.kinds, *jobs.live.kinds, *NAMED, *sets, *ungateable.kinds, POD_TEMPLATE)
        self.watches: tuple[Kind, ...] = tuple(dict.fromkeys(told))
        """The kinds of which it has to be told."""
        self._in_flight: InFlight[Part] = InFlight()
        self.answered: Counter[tuple[str, str]] = Counter()
        """How many writes were answered, by what was to be done and what came of it: update, Conflict."""

    @property
    def in_flight(self) -> int:
        """How many writes are not answered yet."""
        return len(self._in_flight)

    def see(self, change: Change) -> None:
        before = self._before(change)
        self.known.see(change)
        self._note(before)
        for part in self.parts:
            part.see(change)

    def _before(self, change: Change) -> Workload | None:
        """A workload as it was known so far."""
        if change.kind is not WORKLOAD:
            return None
        meta = change.object["metadata"]
        return self.known.workloads.get(f"{meta['namespace']}/{meta['name']}")

    def _note(self, before: Workload | None) -> None:
        """Evictions that no cycle decided belong into the diary too."""
        after = None if before is None else self.known.workloads.get(before.key)
        if before is None or after is None or after is before:
            return
        record = eviction(before, after, self.known.now())
        if record is not None and after.status.conditions["Evicted"].reason != "Preempted":
            self.diary.write(record)

    def due(self) -> float | None:
        soonest: float | None = None
        for part in self.parts:
            at = part.due()
            if at == 0.0:  # nothing is sooner
                return at
            if at is not None and (soonest is None or at < soonest):
                soonest = at
        return soonest

    def step(self, now: float) -> Sequence[Write]:
        """What the first part has to do whose turn it is: decisions come when nothing else is left."""
        for part in self.parts:
            at = part.due()
            if at is not None and at <= now:
                return self._sent_off(part, part.step(now), now)
        return ()

    def _sent_off(self, part: Part, flights: Sequence[Flight[Any]], now: float) -> Sequence[Write]:
        """Those that may go out now. A write to an object for which another part has one in flight is refused here."""
        early = [flight for flight in flights if self._in_flight.is_open(target_of(flight.write))]
        ready = [flight for flight in flights if flight not in early]
        for flight in early:
            part.done(flight, UnderWay(f"another write to {target_of(flight.write)} is in flight"), now)
        for flight in ready:
            self._in_flight.depart(part, flight)
        return [flight.write for flight in ready]

    def done(self, write: Write, result: Raw | Refused, now: float) -> None:
        landed = self._in_flight.land(write)
        if landed is None:
            return
        self.answered[type(write).__name__.lower(), _outcome(result)] += 1
        if not isinstance(result, Refused):
            for tell in landed.flight.tells:
                self.recorder.tell(tell)
        landed.part.done(landed.flight, result, now)


def _outcome(result: Raw | Refused) -> str:
    return type(result).__name__ if isinstance(result, Refused) else "done"
