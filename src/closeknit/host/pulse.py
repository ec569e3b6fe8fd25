"""Whether the event loop turns, and how late it is: something is due many times a second, and says when it came."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic

BEAT = 0.05
"""Seconds. A pause that is not longer may go unnoticed."""


class Pulse:
    """`tell` is called with the seconds by which a beat was late."""

    def __init__(self, tell: Callable[[float], None] = lambda _: None, now: Callable[[], float] = monotonic) -> None:
        self._tell, self._now = tell, now
        self._last, self._late = now(), 0.0

    async def run(self) -> None:
        while True:
            await asyncio.sleep(BEAT)
            self.beat()

    def beat(self) -> None:
        now = self._now()
        self._late, self._last = max(0.0, now - self._last - BEAT), now
        self._tell(self._late)

    @property
    def gap(self) -> float:
        """Seconds for which nothing turned, just now or until a moment ago: whoever asks is late as well."""
        return max(self._late, self._now() - self._last)
