"""Generated names and uids: from the system's randomness, or from a seed, so that a run can be repeated.

A tail is what the API server appends to `generateName`. It has no vowels and no ambiguous characters, so that it
neither spells a word nor is copied wrongly.
"""

from __future__ import annotations

from random import Random, SystemRandom

ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


class RandomIds:
    """`seed`: equal seeds give the same ids in the same order; without one they are unpredictable."""

    def __init__(self, seed: int | str | None = None) -> None:
        self._random = SystemRandom() if seed is None else Random(seed)

    def uid(self) -> str:
        """A version 4 UUID."""
        bits = self._random.getrandbits(128) & ~(0xF << 76) & ~(0x3 << 62) | 4 << 76 | 2 << 62
        text = f"{bits:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def tail(self, length: int) -> str:
        return "".join(self._random.choices(ALPHABET, k=length))
