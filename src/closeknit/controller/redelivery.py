"""Delivers a change again, with backoff, to a reader that raised an exception on it.

Readers are the cache and the `see` of every component. Of several changes of one object only the last is delivered
again, and none once a newer change has arrived: every reader gets that one anyway.

    see() raises ──▶ failed() ──▶ waits ──step()──▶ see() again ──▶ done, or waits longer
                                    └── forget(): a newer change of the object arrived
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..cluster.errors import Refused
from ..cluster.port import Change, Key, Raw
from ..cluster.work_queue import WorkQueue
from ..observe.cluster_cache import ClusterCache
from ..write.faults import Faults
from ..write.in_flight import Flight

FIRST_RETRY, LAST_RETRY = 1.0, 300.0
"""Backoff in seconds: it doubles up to the latter, because an invalid object stays invalid until a user changes it."""


class Reader(Protocol):
    def see(self, change: Change) -> None: ...


class Redelivery:
    def __init__(self, cache: ClusterCache, faults: Faults) -> None:
        self.cache, self.faults = cache, faults
        self._queue: WorkQueue[tuple[int, Key]] = WorkQueue(FIRST_RETRY, LAST_RETRY)
        self._waiting: dict[Key, dict[int, tuple[Reader, Change]]] = {}

    def read(self, reader: Reader, change: Change) -> None:
        """Show a change to a reader; an exception is reported, and the change delivered again later."""
        try:
            reader.see(change)
        except Exception as error:
            self.faults.report(reader, change.object, error, self.cache.now())
            self.again(reader, change)

    def again(self, reader: Reader, change: Change) -> None:
        self._waiting.setdefault(change.key, {})[id(reader)] = reader, change
        self._queue.add_rate_limited((id(reader), change.key), self.cache.now())

    def forget(self, key: Key) -> None:
        """A newer change of the object is about to be delivered."""
        self._waiting.pop(key, None)

    # As a component of the control plane

    def see(self, change: Change) -> None:
        """Nothing to do: the control plane calls `read`."""

    def due(self) -> float | None:
        return self._queue.due()

    def step(self, now: float) -> Sequence[Flight[Key]]:
        place = self._queue.get(now)
        found = None if place is None else self._taken(*place)
        if place is not None and found is None:
            self._queue.forget(place)
        elif found is not None:
            self.read(*found)
        return ()

    def _taken(self, reader: int, key: Key) -> tuple[Reader, Change] | None:
        waiting = self._waiting.get(key, {})
        found = waiting.pop(reader, None)
        if not waiting:
            self._waiting.pop(key, None)
        return found

    def done(self, flight: Flight[Key], result: Raw | Refused, now: float) -> None:
        """Never called: it writes nothing."""
