"""A reconciler with a work queue of its own, fed by changes and by time.

    add ──▶ ready ──step──▶ writes in flight ──done──▶ requeued, if the key was added meanwhile
                  └── nothing to write ──▶ finished

Writes may be slow. A key is not reconciled while any of its writes is in flight, because it would only repeat the same
decision on the same state.

Times written into objects are whole seconds, as Kubernetes stores them, so that a value reads back as it was written.
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
    """A write that was not sent because another one to the same object is in flight."""


class Again(NamedTuple):
    """Reconcile this key again at that time."""

    at: float


Step = Write | Again | Tell


class Desk(ABC, Generic[K]):
    """Maps changes to keys (`concerns`) and one key to the writes it needs (`reconcile`)."""

    def __init__(self, known: Known, recorder: Recorder) -> None:
        self.known, self.recorder = known, recorder
        self.todo: Worklist[K] = Worklist()
        self._open: Counter[K] = Counter()
        """Number of writes in flight for each key."""
        self._put_off: set[K] = set()
        """Keys to requeue once none of their writes is in flight."""

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
            log.exception("%s: reconciling %s failed", type(self).__name__, key)
            self.todo.refused(key, now)
            return ()
        made = flights(key, steps, self.recorder.tell)
        if made:
            self._open[key] = len(made)
        return made

    def _is_too_late(self, step: Write | Tell) -> bool:
        """Whether it creates an object in a terminating namespace, which the API server always refuses."""
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
        """Requeue a key that was added while its writes were in flight; called after the last of them."""
        self.todo.mark(key)

    def status(self, before: Workload, after: Workload, events: Iterable[Event], now: float) -> Iterator[Step]:
        """The write of a Workload's new status and its events; nothing if the Workload is gone."""
        raw = self.known.raw_workload(before.key)
        if raw is None:
            return
        write = status_write(raw, before, begun(self.known, raw, after, now))
        if write is not None:
            yield write
        for event in events:
            yield Tell(raw, event, now)

    def refused(self, key: K, write: Write, why: Refused, now: float) -> None:
        """Requeue the key with backoff; reconcilers override this to do more."""
        self.todo.refused(key, now)


def begun(known: Known, raw: Raw, workload: Workload, now: float) -> Workload:
    """The workload with condition PodsReady=False, which a job's workload gets with its first status write."""
    is_set = known.settings.pods_ready is None or "PodsReady" in workload.status.conditions or workload.finished
    owners = raw["metadata"].get("ownerReferences") or ()
    if is_set or not any(one["uid"] in known.by_uid for one in owners):
        return workload
    changes: Conditions = {"PodsReady": readiness(workload, ready=False)}
    return replace(workload, status=workload.status.changed(changes, now, workload.generation))


def is_news(change: Change) -> bool:
    """Whether anything other than the object's status has changed."""
    if change.type != "MODIFIED" or change.old is None:
        return True
    before, after = change.old["metadata"], change.object["metadata"]
    return any(before.get(part) != after.get(part) for part in ("generation", "deletionTimestamp", "labels"))
