"""The time of day that hosts use."""

from __future__ import annotations

import time


class Clock:
    """A wall clock that never goes backwards."""

    def __init__(self) -> None:
        self._last = 0.0

    def now(self) -> float:
        self._last = max(self._last, time.time())
        return self._last
