"""How often something may be written that is not needed for anything else to go on: so many a second, and some more
after a quiet time."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

ENOUGH = 0.999
"""As good as one: at `next` itself, what has been refilled is less than one by a rounding error."""


class Pace(NamedTuple):
    """How many a second, and how many more after a quiet time."""

    rate: float = inf
    burst: float = 500.0


class Allowance:
    """`taken` says whether one more may be written; `next` when there will be one again."""

    def __init__(self, pace: Pace | None = None) -> None:
        self.pace = pace or Pace()
        self._left, self._filled = self.pace.burst, 0.0

    def taken(self, now: float) -> bool:
        if self.pace.rate == inf:
            return True
        passed, self._filled = max(0.0, now - self._filled), max(now, self._filled)
        self._left = min(self.pace.burst, self._left + passed * self.pace.rate)
        if self._left < ENOUGH:
            return False
        self._left = max(0.0, self._left - 1)
        return True

    @property
    def next(self) -> float:
        """0.0: at once."""
        if self._left >= ENOUGH or self.pace.rate == inf:
            return 0.0
        return self._filled + (1 - self._left) / self.pace.rate
