"""Throttling of reconciles of large owners.

Reconciling an owner costs time proportional to its children, and a job of ten thousand pods changes ten thousand times
in its life. So the delay to the next reconcile is proportional to that size: small owners are reconciled at once, large
ones about once per second, and the total cost stays linear.
"""

from __future__ import annotations

from collections.abc import Hashable

from ...port import Raw

SMALL = 64
"""Owners with up to this many children are not throttled."""
PER_SECOND = 10_000
"""The number of children for which the delay is one second."""


def look_key(owner: Raw) -> Hashable:
    """The throttling key of an owner; it changes with the spec, so that a new spec is reconciled at once."""
    meta = owner["metadata"]
    return meta["uid"], meta.get("generation")


class ReconcileThrottle:
    """The earliest time of the next reconcile, for large owners."""

    def __init__(self) -> None:
        self._next: dict[Hashable, float] = {}

    def wait(self, key: Hashable, now: float) -> float | None:
        """When to reconcile; None if now."""
        at = self._next.get(key)
        if at is None or at <= now:
            return None
        return at

    def looked(self, key: Hashable, size: int, now: float) -> None:
        """Record a reconcile of this key with so many children."""
        if size > SMALL:
            self._next[key] = now + size / PER_SECOND
        else:
            self._next.pop(key, None)
