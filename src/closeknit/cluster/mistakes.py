"""Mistakes gathered while reading: the first few are shown, the rest are counted.

A file of a million pods can hold a million mistakes of one kind; ten say what is wrong.
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
        """Raise what was gathered, if anything was."""
        if not self._count:
            return
        more = self._count - len(self._first)
        raise InputError([*self._first, *([Mistake(f"and {more} more")] if more else [])])
