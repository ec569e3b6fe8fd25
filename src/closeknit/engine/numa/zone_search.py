"""The closest zones that have enough, found by branch and bound where there are too many combinations to list.

Combinations are tried in lexicographic order, so the first of equals is found first. A branch ends where the zones that
are left cannot have enough, or cannot be closer than the best found. Every choice costs a step, and steps are limited:
when they run out, the best found so far is the answer, and it is not sure to be the closest. If none was found, the
caller goes on with more zones. Upstream lists all combinations, which for 34 zones does not end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

STEPS = 5_000
FEWEST_STEPS = 200

Held = Sequence[tuple[Sequence[int], int]]
"""For each resource, how much each zone has of it, and how much is needed."""


class FoundZones(NamedTuple):
    """`total` is the sum of distances over ordered pairs. `is_sure`: nothing is closer."""

    zones: tuple[int, ...]
    total: int
    is_sure: bool


def search_steps(searches: int) -> int:
    """The steps that each of several searches may take."""
    return max(STEPS // max(1, searches), FEWEST_STEPS)


def closest_zones(
    costs: Sequence[Sequence[int]], among: Sequence[int], count: int, held: Held, steps: int
) -> FoundZones | None:
    """The `count` zones `among` these with the least distance that have enough; None if there are none."""
    if len(among) < count:
        return None
    search = _Search(costs, among, count, held, steps)
    search.extend((), 0, 0, [0] * len(among))
    if search.best is None:
        return None
    zones, total = search.best
    return FoundZones(tuple(among[at] for at in zones), total, search.steps > 0)


@dataclass(slots=True)
class _Search:
    costs: Sequence[Sequence[int]]
    among: Sequence[int]
    count: int
    held: Held
    steps: int
    best: tuple[tuple[int, ...], int] | None = None
    pairs: list[list[int]] = field(init=False)
    nearest: list[int] = field(init=False)

    def __post_init__(self) -> None:
        """`pairs` has the distances of two zones there and back; `nearest` the least of a zone to any other."""
        self.pairs = [[self.costs[a][b] + self.costs[b][a] for b in self.among] for a in self.among]
        size = range(len(self.among))
        self.nearest = [min((self.pairs[a][b] for b in size if b != a), default=0) for a in size]

    def extend(self, chosen: tuple[int, ...], begin: int, total: int, pull: list[int]) -> None:
        """Add zones from `begin` on. `pull` is the distance of each zone to those chosen, there and back."""
        missing = self.count - len(chosen)
        if missing == 0:
            if (self.best is None or total < self.best[1]) and self._may_suffice(chosen, len(self.among), 0):
                self.best = chosen, total
            return
        for at in range(begin, len(self.among) - missing + 1):
            if self.steps <= 0:
                return
            self.steps -= 1
            if not self._may_suffice(chosen, at, missing) or not self._may_be_closer(total, at, missing, pull):
                return  # later zones are among those that the bounds are about
            own = self.costs[self.among[at]][self.among[at]]
            closer = [pulled + pair for pulled, pair in zip(pull, self.pairs[at], strict=True)]
            self.extend((*chosen, at), at + 1, total + pull[at] + own, closer)

    def _may_suffice(self, chosen: tuple[int, ...], begin: int, missing: int) -> bool:
        for amounts, need in self.held:
            has = sum(amounts[self.among[at]] for at in chosen)
            most = sorted((amounts[zone] for zone in self.among[begin:]), reverse=True)[:missing]
            if has + sum(most) < need:
                return False
        return True

    def _may_be_closer(self, total: int, begin: int, missing: int, pull: list[int]) -> bool:
        """Whether a lower bound is below the best: every two zones are at least as far as the nearest of each."""
        if self.best is None:
            return True
        bounds = [
            2 * (pull[at] + self.costs[self.among[at]][self.among[at]]) + (missing - 1) * self.nearest[at]
            for at in range(begin, len(self.among))
        ]
        return 2 * total + sum(sorted(bounds)[:missing]) < 2 * self.best[1]
