"""A token bucket for writes that nothing else depends on: a rate per second, and a burst after a quiet time."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

ENOUGH = 0.999
"""Counts as one token: at the time `available_at`, the bucket lacks a full token by a rounding error."""


class Rate(NamedTuple):
    """Tokens per second, and the size of the bucket."""

    rate: float = inf
    burst: float = 500.0


class TokenBucket:
    """`take` takes a token and returns whether there was one; `available_at` is when there will be one."""

    def __init__(self, pace: Rate | None = None) -> None:
        self.rate = pace or Rate()
        self._left, self._filled = self.rate.burst, 0.0

    def take(self, now: float) -> bool:
        if self.rate.rate == inf:
            return True
        passed, self._filled = max(0.0, now - self._filled), max(now, self._filled)
        self._left = min(self.rate.burst, self._left + passed * self.rate.rate)
        if self._left < ENOUGH:
            return False
        self._left = max(0.0, self._left - 1)
        return True

    @property
    def available_at(self) -> float:
        """When the next token is available; 0.0 if there is one now."""
        if self._left >= ENOUGH or self.rate.rate == inf:
            return 0.0
        return self._filled + (1 - self._left) / self.rate.rate
