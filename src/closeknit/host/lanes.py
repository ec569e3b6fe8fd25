"""Lanes to a server: how many writes of one sort are in flight at once, and how many may queue behind them.

decisions    a few at once; the control plane pauses while as many are queued
pods         more, because a job waits for its last pod
statuses     of queues: two at once, independent of all other writes
events       one at a time, and fewer while the server is busy
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import inf
from time import monotonic
from typing import Literal

LATE, REST, LONGEST_REST = 3, 9, 0.25
"""A response is late if it takes more than LATE times as long as the fastest. The lane then rests for REST times the
delay, but at most LONGEST_REST seconds."""
WATCHFUL = 0.05
"""Seconds between two checks of whether this process may write again."""


class Lane(asyncio.Semaphore):
    """Admits `size` writes at a time, and none while `may` is false; each retry of a write passes through it again."""

    def __init__(self, size: int, most: float, may: Callable[[], bool]) -> None:
        super().__init__(size)
        self.behind, self.most, self._may = 0, most, may
        """The number of writes not sent for the first time yet, and the number at which the lane is full."""

    async def acquire(self) -> Literal[True]:
        while True:
            await super().acquire()
            try:
                await self.rest()
            except asyncio.CancelledError:
                super().release()
                raise
            if self._may():
                return True
            super().release()
            await asyncio.sleep(WATCHFUL)

    async def rest(self) -> None:
        """No throttling by default."""


class AdaptiveLane(Lane):
    """One write at a time, with a rest after each late response, which shows that the server is busy."""

    def __init__(self, may: Callable[[], bool], now: Callable[[], float] = monotonic) -> None:
        super().__init__(1, inf, may)
        self._now = now
        self._fastest = inf
        self._begun = self._rests_until = 0.0

    async def rest(self) -> None:
        await asyncio.sleep(max(0.0, self._rests_until - self._now()))
        self._begun = self._now()

    def release(self) -> None:
        """End the current attempt, and rest if its response was late."""
        took = self._now() - self._begun
        self._fastest = min(self._fastest, took)
        self._rests_until = self._now() + min(LONGEST_REST, REST * max(0.0, took - LATE * self._fastest))
        super().release()


class Turn:
    """One write's passage through its lane, which it may repeat for retries."""

    def __init__(self, lane: Lane) -> None:
        self.lane, self._begun = lane, False
        lane.behind += 1

    async def __aenter__(self) -> None:
        await self.lane.acquire()
        self.begin()

    async def __aexit__(self, *_: object) -> None:
        self.lane.release()

    def begin(self) -> None:
        """Count the write as no longer queued, regardless of its outcome."""
        self.lane.behind -= not self._begun
        self._begun = True
