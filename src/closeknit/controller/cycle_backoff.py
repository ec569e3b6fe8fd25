"""When to stop running cycles that change nothing.

A StrictFIFO queue keeps its head active, so the scheduler would try the same workload forever. Cycles stop after a few
identical outcomes in a row, or after many outcomes that have all been seen before in any order, and resume when
something changes. A new outcome counts as progress, because another workload was tried.
"""

from __future__ import annotations

from collections.abc import Hashable

SAME, MOST = 3, 50
"""Cycles in a row with the same outcome, and cycles with outcomes seen before, after which cycles stop."""


class CycleBackoff:
    def __init__(self) -> None:
        self._last: Hashable = None
        self._seen: set[Hashable] = set()
        self._same = self._repeated = 0
        self._was_reported = False

    def renew(self) -> None:
        """Start counting again, because something has changed."""
        self._same = self._repeated = 0
        self._seen.clear()

    def fruitful(self) -> None:
        """Note a cycle that changed something."""
        self.renew()
        self._last, self._was_reported = None, False

    def fruitless(self, outcome: Hashable) -> bool:
        """Note a cycle that changed nothing; True if cycles stop here for repeated outcomes and it is not reported."""
        self._same = self._same + 1 if outcome == self._last else 0
        self._repeated += outcome in self._seen
        self._seen.add(outcome)
        self._last = outcome
        ends = self._repeated >= MOST and not self._was_reported
        self._was_reported |= ends
        return ends

    @property
    def is_over(self) -> bool:
        return self._same >= SAME or self._repeated >= MOST
