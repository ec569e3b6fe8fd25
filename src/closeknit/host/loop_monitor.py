"""Measures the lag of the event loop with a timer that fires many times per second."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic

BEAT = 0.25
"""Seconds between two beats; a shorter pause of the loop may go unnoticed."""


class LoopMonitor:
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
        """Seconds for which the loop was blocked last: the last beat's lag, or the time since, if that is longer."""
        return max(self._late, self._now() - self._last)
