"""Mistakes collected while reading: the first few are shown, the rest are counted.

A file of a million pods can hold the same mistake a million times; ten of them are enough to find it.
"""

from __future__ import annotations

from ..model.mistake import InputError, Mistake

SHOWN = 10


class Mistakes:
    def __init__(self, shown: int = SHOWN) -> None:
        self._shown = shown
        self._first: list[Mistake] = []
        self._count = 0

    def add(self, mistake: Mistake) -> None:
        self._count += 1
        if len(self._first) < self._shown:
            self._first.append(mistake)

    def __len__(self) -> int:
        return self._count

    def check(self) -> None:
        """Raise the collected mistakes, if there are any."""
        if not self._count:
            return
        more = self._count - len(self._first)
        raise InputError([*self._first, *([Mistake(f"and {more} more")] if more else [])])
