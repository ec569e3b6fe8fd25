"""Lanes to a server: how many writes of a sort are on their way at once, and how many wait for that.

decisions    a few at once; whoever decides waits while as many stand behind
pods         more, for a job waits for its last
statuses     of queues: two at once, whatever else is to be written
events       one at a time, and seldom while the server has much to do
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import inf
from time import monotonic
from typing import Literal

LATE, REST, LONGEST_REST = 3, 9, 0.25
"""An answer that takes more than so many times as long as the fastest is late, and so many times as long as it is late
nothing more is sent, but for no more than so many seconds."""
WATCHFUL = 0.05
"""Seconds between two looks at whether somebody may write again."""


class Lane(asyncio.Semaphore):
    """So many at a time, and nobody while it `may` not be; each attempt at a write goes through it anew."""

    def __init__(self, size: int, most: float, may: Callable[[], bool]) -> None:
        super().__init__(size)
        self.behind, self.most, self._may = 0, most, may
        """How many writes were never on their way yet, and with how many it is full."""

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
        """Nobody has to."""


class Unhurried(Lane):
    """One at a time, with a rest after each that shows that the server is busy."""

    def __init__(self, may: Callable[[], bool], now: Callable[[], float] = monotonic) -> None:
        super().__init__(1, inf, may)
        self._now = now
        self._fastest = inf
        self._begun = self._rests_until = 0.0

    async def rest(self) -> None:
        await asyncio.sleep(max(0.0, self._rests_until - self._now()))
        self._begun = self._now()

    def release(self) -> None:
        """The attempt at hand is over."""
        took = self._now() - self._begun
        self._fastest = min(self._fastest, took)
        self._rests_until = self._now() + min(LONGEST_REST, REST * max(0.0, took - LATE * self._fastest))
        super().release()


class Turn:
    """The way of one write through its lane, which it may have to go several times."""

    def __init__(self, lane: Lane) -> None:
        self.lane, self._begun = lane, False
        lane.behind += 1

    async def __aenter__(self) -> None:
        await self.lane.acquire()
        self.begin()

    async def __aexit__(self, *_: object) -> None:
        self.lane.release()

    def begin(self) -> None:
        """It waits no more, whatever comes of it."""
        self.lane.behind -= not self._begun
        self._begun = True
