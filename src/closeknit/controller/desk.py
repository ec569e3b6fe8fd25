"""A desk: one reconciler with its own list of what to look at, fed by changes and by time.

Times that go into objects are whole seconds, as Kubernetes keeps them, so that what is read back is what was decided.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

from ..cluster.errors import Refused
from ..cluster.port import Change, Raw, Write
from ..cluster.worklist import Worklist
from ..model.event import Event
from ..model.workload import Workload
from ..observe.known import Known
from ..write.events import Recorder
from ..write.workloads import status_write

log = logging.getLogger(__name__)

K = TypeVar("K", bound=Hashable)


class Again(NamedTuple):
    """Look at this key again at that time."""

    at: float


Step = Write | Again


class Desk(ABC, Generic[K]):
    """What concerns it, and what to do about one key."""

    def __init__(self, known: Known, recorder: Recorder) -> None:
        self.known, self.recorder = known, recorder
        self.todo: Worklist[K] = Worklist()
        self._sent: dict[int, tuple[Write, K]] = {}

    @abstractmethod
    def concerns(self, change: Change) -> Iterable[K]: ...

    @abstractmethod
    def reconcile(self, key: K, now: float) -> Iterable[Step]: ...

    def see(self, change: Change) -> None:
        for key in self.concerns(change):
            self.todo.mark(key)

    def due(self) -> float | None:
        return self.todo.due()

    def step(self, now: float) -> Sequence[Write]:
        key = self.todo.next(now)
        if key is None:
            return ()
        writes: list[Write] = []
        try:
            for step in self.reconcile(key, float(int(now))):
                if isinstance(step, Again):
                    self.todo.later(key, step.at)
                else:
                    writes.append(step)
        except Exception:  # one odd object must not stop the others
            log.exception("%s %s cannot be looked at", type(self).__name__, key)
            self.todo.refused(key, now)
            return ()
        for write in writes:
            self._sent[id(write)] = write, key
        return writes

    def done(self, write: Write, result: Raw | Refused, now: float) -> None:
        sent = self._sent.pop(id(write), None)
        if sent is None:
            return
        if isinstance(result, Refused):
            self.refused(sent[1], write, result, now)
        else:
            self.todo.went_well(sent[1])

    def status(self, before: Workload, after: Workload, events: Iterable[Event], now: float) -> Iterator[Write]:
        """A Workload's new status, and what users are told; nothing if it is gone."""
        raw = self.known.raw_workload(before.key)
        if raw is None:
            return
        write = status_write(raw, before, after)
        if write is not None:
            yield write
        for event in events:
            yield from self.recorder.tell(raw, event, now)

    def refused(self, key: K, write: Write, why: Refused, now: float) -> None:
        """By default it is looked at again, after a while."""
        self.todo.refused(key, now)


def is_news(change: Change) -> bool:
    """Whether more has changed than the status of an object."""
    if change.type != "MODIFIED" or change.old is None:
        return True
    before, after = change.old["metadata"], change.object["metadata"]
    return any(before.get(part) != after.get(part) for part in ("generation", "deletionTimestamp", "labels"))
