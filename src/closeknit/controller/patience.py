"""How long it is worth running cycles that come to nothing.

A queue that insists on its first workload has it looked at again and again. The same answer a few times in a row is
enough, and so are many that were all heard before, in whatever order: then cycles rest until something changes. An
answer that is new is progress: somebody else was looked at.
"""

from __future__ import annotations

from collections.abc import Hashable

SAME, MOST = 3, 50
"""So many rounds with the same outcome, or with outcomes that were there before, and nothing else happening."""


class Patience:
    def __init__(self) -> None:
        self._last: Hashable = None
        self._heard: set[Hashable] = set()
        self._same = self._repeated = 0
        self._was_told = False

    def renew(self) -> None:
        """Something has changed."""
        self._same = self._repeated = 0
        self._heard.clear()

    def fruitful(self) -> None:
        """A cycle has brought something about."""
        self.renew()
        self._last, self._was_told = None, False

    def fruitless(self, outcome: Hashable) -> bool:
        """A cycle came to nothing but this; True if that is the end of it, and nobody was told so yet."""
        self._same = self._same + 1 if outcome == self._last else 0
        self._repeated += outcome in self._heard
        self._heard.add(outcome)
        self._last = outcome
        ends = self._repeated >= MOST and not self._was_told
        self._was_told |= ends
        return ends

    @property
    def is_over(self) -> bool:
        return self._same >= SAME or self._repeated >= MOST
