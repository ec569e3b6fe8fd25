"""Events expire after an hour, and earlier, oldest first, when there are too many of them.

On a real cluster the API server lets them expire. Here a stand-in deletes them in the order in which they last
occurred, so that the same run ends with the same events.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from heapq import heapify, heappop, heappush

from ...dialects import timestamps
from ..kinds import EVENT
from ..port import Change, Delete, Key, Raw
from .loop import ReconcileAt, Step
from .store import Store

LIFETIME = 3600.0
MOST = 10_000
BATCH = 500
"""How many are deleted in one step, so that other participants do not wait long."""

_SWEEP = ("sweep",)


class EventExpiry:
    """A stand-in with one key: all events."""

    watches = (EVENT,)

    def __init__(self, lifetime: float = LIFETIME, most: int = MOST) -> None:
        self.lifetime, self.most = lifetime, most
        self._last: dict[Key, tuple[float, int]] = {}
        self._oldest: list[tuple[float, int, Key]] = []
        self._is_timed = False

    def concerns(self, store: Store, change: Change) -> Iterable[Hashable]:
        if change.kind is not EVENT:
            return ()
        key = change.key
        if change.type == "DELETED":
            self._last.pop(key, None)
            return ()
        happened = min(store.now(), _happened(change.object)), change.version
        self._last[key] = happened
        heappush(self._oldest, (*happened, key))
        if len(self._oldest) > 2 * len(self._last) + BATCH:
            self._oldest = [(*happened, key) for key, happened in self._last.items()]
            heapify(self._oldest)
        return () if self._is_timed and len(self._last) <= self.most else _SWEEP

    def reconcile(self, store: Store, key: Hashable, now: float) -> Iterable[Step]:
        gone: list[Step] = []
        self._is_timed = False
        while self._oldest:
            happened, version, event = self._oldest[0]
            if self._last.get(event) == (happened, version):
                is_one_too_many = len(self._last) - len(gone) > self.most
                if len(gone) == BATCH or (happened + self.lifetime > now and not is_one_too_many):
                    gone.append(ReconcileAt(now if len(gone) == BATCH else happened + self.lifetime))
                    self._is_timed = True
                    break
                gone.append(Delete(event))
            heappop(self._oldest)
        return gone


def _happened(event: Raw) -> float:
    """When the event last occurred, by its own timestamps."""
    latest = 0.0
    for text in (event["metadata"].get("creationTimestamp"), event.get("lastTimestamp"), event.get("eventTime")):
        try:
            latest = max(latest, timestamps.parse(text)) if text else latest
        except (ValueError, TypeError):
            continue
    return latest
