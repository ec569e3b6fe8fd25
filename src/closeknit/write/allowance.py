"""A token bucket for writes that nothing else depends on: a rate per second, and a burst after a quiet time."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

ENOUGH = 0.999
"""Counts as one token: at the time `next`, the bucket lacks a full token by a rounding error."""


class Pace(NamedTuple):
    """Tokens per second, and the size of the bucket."""

    rate: float = inf
    burst: float = 500.0


class Allowance:
    """`taken` takes a token and tells whether there was one; `next` is when there will be one."""

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
        """When the next token is available; 0.0 if there is one now."""
        if self._left >= ENOUGH or self.pace.rate == inf:
            return 0.0
        return self._filled + (1 - self._left) / self.pace.rate
