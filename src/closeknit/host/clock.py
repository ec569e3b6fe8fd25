"""The time of day, as hosts go by it."""

from __future__ import annotations

import time


class Clock:
    """It never goes back."""

    def __init__(self) -> None:
        self._last = 0.0

    def now(self) -> float:
        self._last = max(self._last, time.time())
        return self._last
