"""How often a controller looks at something large.

Looking at an owner costs what it owns, and a job of ten thousand pods changes ten thousand times on its way. So the
next look waits in proportion to the size of the last: what is small is looked at at once, what is large about once a
second, and all of it together stays linear.
"""

from __future__ import annotations

from collections.abc import Hashable

from ...port import Raw

SMALL = 64
"""Up to this many children there is no waiting."""
PER_SECOND = 10_000
"""Children that are looked at in a second of waiting."""


def look_key(owner: Raw) -> Hashable:
    """One look's worth of an owner: a changed spec is looked at without waiting."""
    meta = owner["metadata"]
    return meta["uid"], meta.get("generation")


class Pace:
    """Remembers for what is large when it may be looked at again."""

    def __init__(self) -> None:
        self._next: dict[Hashable, float] = {}

    def wait(self, key: Hashable, now: float) -> float | None:
        """When to come back; None if now is fine."""
        at = self._next.get(key)
        if at is None or at <= now:
            return None
        return at

    def looked(self, key: Hashable, size: int, now: float) -> None:
        """This key was looked at, and had so many children."""
        if size > SMALL:
            self._next[key] = now + size / PER_SECOND
        else:
            self._next.pop(key, None)
