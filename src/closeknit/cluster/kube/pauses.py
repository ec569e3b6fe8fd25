"""Exponential backoff with jitter between two attempts."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 30.0


class Pauses:
    def __init__(
        self,
        chance: Callable[[], float] = random.random,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        first: float = FIRST_PAUSE,
    ) -> None:
        self._chance, self._sleep, self._first = chance, sleep, first
        self._next = first

    def next(self, at_least: float = 0.0) -> float:
        """The next pause in seconds: half to all of the current backoff, so that clients do not come back in step.

        `at_least` is what the server asked for (Retry-After); the pause is never shorter.
        """
        pause, self._next = self._next, min(LONGEST_PAUSE, self._next * 2)
        return at_least + pause * (0.5 + 0.5 * self._chance())

    async def wait(self, at_least: float = 0.0) -> None:
        await self._sleep(self.next(at_least))

    def reset(self) -> None:
        self._next = self._first
