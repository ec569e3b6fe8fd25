"""A reconciler with a work queue of its own, fed by changes and by time.

    add ──▶ ready ──step──▶ writes in flight ──done──▶ requeued, if the key was added meanwhile
                  └── nothing to write ──▶ finished

Writes may be slow. A key is not reconciled while any of its writes is in flight, because it would only repeat the same
decision on the same state.

Times written into objects are whole seconds, as Kubernetes stores them, so that a value reads back as it was written.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Generic, NamedTuple, TypeVar

from ..cluster.errors import Conflict, Refused, is_namespace_terminating
from ..cluster.port import Change, Create, Key, Raw, Write
from ..cluster.work_queue import WorkQueue
from ..lifecycle.pods_ready import readiness
from ..model.event import Event
from ..model.workload import Conditions, Workload
from ..observe.cluster_cache import ClusterCache
from ..write.events import Recorder, RecordEvent
from ..write.in_flight import Flight, flights
from ..write.workloads import status_write

K = TypeVar("K", bound=Hashable)


class WriteInFlight(Conflict):
    """A write that was not sent because another one to the same object is in flight."""


class RequeueAt(NamedTuple):
    """Reconcile this key again at that time."""

    at: float


Step = Write | RequeueAt | RecordEvent


class Reconciler(ABC, Generic[K]):
    """Maps changes to keys (`keys_for`) and one key to the writes it needs (`reconcile`)."""

    def __init__(self, cache: ClusterCache, recorder: Recorder) -> None:
        self.cache, self.recorder = cache, recorder
        self.queue: WorkQueue[K] = WorkQueue()
        self._open: Counter[K] = Counter()
        """Number of writes in flight for each key."""
        self._put_off: set[K] = set()
        """Keys to requeue once none of their writes is in flight."""

    @abstractmethod
    def keys_for(self, change: Change) -> Iterable[K]: ...

    @abstractmethod
    def reconcile(self, key: K, now: float) -> Iterable[Step]: ...

    def see(self, change: Change) -> None:
        for key in self.keys_for(change):
            self.queue.add(key)

    def due(self) -> float | None:
        return self.queue.due()

    def about(self, key: K) -> Raw | None:
        """The object that a key stands for: itself, or a Workload by its namespace and name."""
        if isinstance(key, Key):
            return self.cache.find(key)
        return self.cache.raw_workload(key) if isinstance(key, str) else None

    def step(self, now: float) -> Sequence[Flight[K]]:
        key = self.queue.get(now)
        if key is None:
            return ()
        if key in self._open:
            self._put_off.add(key)
            return ()
        steps: list[Write | RecordEvent] = []
        try:
            for step in self.reconcile(key, float(int(now))):
                if isinstance(step, RequeueAt):
                    self.queue.add_after(key, step.at)
                elif not self._is_too_late(step):
                    steps.append(step)
        except Exception as error:  # one invalid object must not block the others
            self.queue.add_rate_limited(key, now)
            self.recorder.faults.report(self, self.about(key), error, now)
            return ()
        made = flights(key, steps, self.recorder.record)
        if made:
            self._open[key] = len(made)
        return made

    def _is_too_late(self, step: Write | RecordEvent) -> bool:
        """Whether it creates an object in a terminating namespace, which the API server always refuses."""
        return isinstance(step, Create) and step.body["metadata"].get("namespace") in self.cache.ending

    def done(self, flight: Flight[K], result: Raw | Refused, now: float) -> None:
        key = flight.key
        try:
            self._take_result(flight, result, now)
        except Exception as error:
            self.queue.add_rate_limited(key, now)
            self.recorder.faults.report(self, self.about(key), error, now)
        self._open[key] -= 1
        if not self._open[key]:
            del self._open[key]
            if key in self._put_off:
                self._put_off.remove(key)
                self.requeue(key, now)

    def _take_result(self, flight: Flight[K], result: Raw | Refused, now: float) -> None:
        if isinstance(result, Refused) and not is_namespace_terminating(result):
            self.on_refused(flight.key, flight.write, result, now)
        else:
            self.queue.forget(flight.key)

    def requeue(self, key: K, now: float) -> None:
        """Requeue a key that was added while its writes were in flight; called after the last of them."""
        self.queue.add(key)

    def status(self, before: Workload, after: Workload, events: Iterable[Event], now: float) -> Iterator[Step]:
        """The write of a Workload's new status and its events; nothing if the Workload is gone."""
        raw = self.cache.raw_workload(before.key)
        if raw is None:
            return
        write = status_write(raw, before, with_initial_pods_ready(self.cache, raw, after, now))
        if write is not None:
            yield write
        for event in events:
            yield RecordEvent(raw, event, now)

    def on_refused(self, key: K, write: Write, why: Refused, now: float) -> None:
        """Requeue the key with backoff; reconcilers override this to do more."""
        self.queue.add_rate_limited(key, now)


def with_initial_pods_ready(cache: ClusterCache, raw: Raw, workload: Workload, now: float) -> Workload:
    """The workload with condition PodsReady=False, which a job's workload gets with its first status write."""
    is_set = cache.settings.pods_ready is None or "PodsReady" in workload.status.conditions or workload.finished
    owners = raw["metadata"].get("ownerReferences") or ()
    if is_set or not any(one["uid"] in cache.by_uid for one in owners):
        return workload
    changes: Conditions = {"PodsReady": readiness(workload, ready=False)}
    return replace(workload, status=workload.status.changed(changes, now, workload.generation))


def changes_more_than_status(change: Change) -> bool:
    """Whether anything other than the object's status has changed."""
    if change.type != "MODIFIED" or change.old is None:
        return True
    before, after = change.old["metadata"], change.object["metadata"]
    return any(before.get(part) != after.get(part) for part in ("generation", "deletionTimestamp", "labels"))
