"""A work queue: keys without duplicates in the order they were added, timers, and exponential backoff.

add() ──▶ ready ──get()──▶ in process ──▶ done
            ▲                 │ add_after(), add_rate_limited()
            └── time is up ◀──┘
"""

from __future__ import annotations

from collections.abc import Hashable
from heapq import heappop, heappush
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

FIRST_RETRY, LAST_RETRY = 0.05, 5.0
"""Backoff in seconds of a key after a failed write; it doubles with each failure, up to the latter."""


class WorkQueue(Generic[K]):
    """Keys to reconcile, now or later. Of several times for one key only the earliest counts."""

    def __init__(self, first: float = FIRST_RETRY, last: float = LAST_RETRY) -> None:
        self._first, self._last = first, last
        self._ready: dict[K, None] = {}
        self._timers: list[tuple[float, int, K]] = []
        self._at: dict[K, float] = {}
        self._waits: dict[K, float] = {}
        self._count = 0

    def __len__(self) -> int:
        return len(self._ready)

    def add(self, key: K) -> None:
        self._ready[key] = None

    def add_after(self, key: K, at: float) -> None:
        """Add a key at the time `at`, which is a moment and not a delay."""
        known = self._at.get(key)
        if known is None or at < known:
            self._at[key] = at
            self._count += 1
            heappush(self._timers, (at, self._count, key))

    def add_rate_limited(self, key: K, now: float) -> None:
        """Requeue a key with backoff, after a failed write."""
        wait = self._waits.get(key, self._first)
        self._waits[key] = min(self._last, wait * 2)
        self.add_after(key, now + wait)

    def forget(self, key: K) -> None:
        """Reset the backoff of a key."""
        self._waits.pop(key, None)

    def due(self) -> float | None:
        """When the next key is due; 0.0 means now, None that the queue is empty."""
        if self._ready:
            return 0.0
        while self._timers and self._at.get(self._timers[0][2]) != self._timers[0][0]:
            heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def get(self, now: float) -> K | None:
        """Take the next key that is due; None if there is none."""
        while self._timers and self._timers[0][0] <= now:
            at, _, key = heappop(self._timers)
            if self._at.get(key) == at:
                del self._at[key]
                self._ready[key] = None
        if not self._ready:
            return None
        key = next(iter(self._ready))
        del self._ready[key]
        return key
