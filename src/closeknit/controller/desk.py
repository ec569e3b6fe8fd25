"""A desk: one reconciler with its own list of what to look at, fed by changes and by time.

    mark ──▶ ready ──step──▶ writes in flight ──done──▶ looked at again, if something came meanwhile
                  └── nothing to write ──▶ over

Writes may take their time. Until all that a look has led to is answered, its key is left alone: it would only be
decided again what was decided already.

Times that go into objects are whole seconds, as Kubernetes keeps them, so that what is read back is what was decided.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Generic, NamedTuple, TypeVar

from ..cluster.errors import Conflict, Refused, is_of_an_end
from ..cluster.port import Change, Create, Raw, Write
from ..cluster.worklist import Worklist
from ..lifecycle.pods_ready import readiness
from ..model.event import Event
from ..model.workload import Conditions, Workload
from ..observe.known import Known
from ..write.events import Recorder, Tell
from ..write.in_flight import Flight, flights
from ..write.workloads import status_write

log = logging.getLogger(__name__)

K = TypeVar("K", bound=Hashable)


class UnderWay(Conflict):
    """A write that was not sent: another one to the same object is in flight."""


class Again(NamedTuple):
    """Look at this key again at that time."""

    at: float


Step = Write | Again | Tell


class Desk(ABC, Generic[K]):
    """What concerns it, and what to do about one key."""

    def __init__(self, known: Known, recorder: Recorder) -> None:
        self.known, self.recorder = known, recorder
        self.todo: Worklist[K] = Worklist()
        self._open: Counter[K] = Counter()
        """How many writes are in flight for each key."""
        self._put_off: set[K] = set()
        """Keys that are to be looked at again once their writes are answered."""

    @abstractmethod
    def concerns(self, change: Change) -> Iterable[K]: ...

    @abstractmethod
    def reconcile(self, key: K, now: float) -> Iterable[Step]: ...

    def see(self, change: Change) -> None:
        for key in self.concerns(change):
            self.todo.mark(key)

    def due(self) -> float | None:
        return self.todo.due()

    def step(self, now: float) -> Sequence[Flight[K]]:
        key = self.todo.next(now)
        if key is None:
            return ()
        if key in self._open:
            self._put_off.add(key)
            return ()
        steps: list[Write | Tell] = []
        try:
            for step in self.reconcile(key, float(int(now))):
                if isinstance(step, Again):
                    self.todo.later(key, step.at)
                elif not self._is_too_late(step):
                    steps.append(step)
        except Exception:  # one odd object must not stop the others
            log.exception("%s %s cannot be looked at", type(self).__name__, key)
            self.todo.refused(key, now)
            return ()
        made = flights(key, steps, self.recorder.tell)
        if made:
            self._open[key] = len(made)
        return made

    def _is_too_late(self, step: Write | Tell) -> bool:
        """Whether it is to be made in a namespace that is being deleted: that is always refused."""
        return isinstance(step, Create) and step.body["metadata"].get("namespace") in self.known.ending

    def done(self, flight: Flight[K], result: Raw | Refused, now: float) -> None:
        key = flight.key
        self._open[key] -= 1
        if isinstance(result, Refused) and is_of_an_end(result):
            self.todo.went_well(key)
        elif isinstance(result, Refused):
            self.refused(key, flight.write, result, now)
        else:
            self.todo.went_well(key)
        if not self._open[key]:
            del self._open[key]
            if key in self._put_off:
                self._put_off.remove(key)
                self.look_again(key, now)

    def look_again(self, key: K, now: float) -> None:
        """Something came while writes for a key were in flight, and they are answered."""
        self.todo.mark(key)

    def status(self, before: Workload, after: Workload, events: Iterable[Event], now: float) -> Iterator[Step]:
        """A Workload's new status, and what users are told; nothing if it is gone."""
        raw = self.known.raw_workload(before.key)
        if raw is None:
            return
        write = status_write(raw, before, begun(self.known, raw, after, now))
        if write is not None:
            yield write
        for event in events:
            yield Tell(raw, event, now)

    def refused(self, key: K, write: Write, why: Refused, now: float) -> None:
        """By default it is looked at again, after a while."""
        self.todo.refused(key, now)


def begun(known: Known, raw: Raw, workload: Workload, now: float) -> Workload:
    """With what is said of the pods of every job that waits, in the first that is written of its workload at all."""
    is_told = known.settings.pods_ready is None or "PodsReady" in workload.status.conditions or workload.finished
    owners = raw["metadata"].get("ownerReferences") or ()
    if is_told or not any(one["uid"] in known.by_uid for one in owners):
        return workload
    changes: Conditions = {"PodsReady": readiness(workload, ready=False)}
    return replace(workload, status=workload.status.changed(changes, now, workload.generation))


def is_news(change: Change) -> bool:
    """Whether more has changed than the status of an object."""
    if change.type != "MODIFIED" or change.old is None:
        return True
    before, after = change.old["metadata"], change.object["metadata"]
    return any(before.get(part) != after.get(part) for part in ("generation", "deletionTimestamp", "labels"))
