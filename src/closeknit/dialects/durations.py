"""Durations in pod annotations: 90s, 1h30m, 500ms, 2m±10%, forever."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

FOREVER = "forever"
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PIECE = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)", re.ASCII)
_WHOLE = re.compile(rf"((?:{_PIECE.pattern})+)(?:±([0-9]+(?:\.[0-9]+)?)%)?", re.ASCII)


class Duration(NamedTuple):
    """`seconds` is None for `forever`. `spread` is the relative deviation either way: 0.1 for ±10%."""

    seconds: float | None
    spread: float = 0.0

    def drawn(self, share: float) -> float | None:
        """The duration for a share between 0 and 1: Duration(100, 0.1).drawn(0.25) == 95.0."""
        if self.seconds is None or not self.spread:
            return self.seconds
        return self.seconds * (1 + self.spread * (2 * share - 1))


@lru_cache(maxsize=1024)
def duration(text: str) -> Duration:
    """duration("1m30s±10%") == Duration(90.0, 0.1); ValueError if the text is not a duration."""
    if text.strip() == FOREVER:
        return Duration(None)
    match = _WHOLE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f'"{text}" is not a duration: write one such as 90s, 2m, 1h30m, 2m±10%, 0s or forever')
    seconds = sum(float(number) * _UNITS[unit] for number, unit in _PIECE.findall(match[1]))
    spread = float(match[match.re.groups] or 0) / 100
    if spread > 1:
        raise ValueError(f'"{text}" may spread by at most 100%')
    return Duration(seconds, spread)
