"""Comparing versions."""

from __future__ import annotations

import re

_FORM = re.compile(r"v?(\d+(?:\.\d+)*)(.*)", re.DOTALL)


def rank(text: str) -> tuple[tuple[int, ...], bool, str]:
    """A sort key: 0.9 < 0.10.0rc1 < 0.10.0 < 1.0. A text that is not a version comes before all of them."""
    found = _FORM.fullmatch(text.strip())
    if found is None:
        return (), False, text
    numbers = tuple(int(one) for one in found[1].split("."))
    while numbers and not numbers[-1]:
        numbers = numbers[:-1]
    return numbers, not found[2] or found[2].startswith("+"), found[2]


def minor(text: str) -> tuple[int, int]:
    """The major and minor version of a server: (1, 36) for v1.36.3-gke.1; (0, 0) if unknown."""
    found = re.match(r"v?(\d+)\.(\d+)", text)
    return (0, 0) if found is None else (int(found[1]), int(found[2]))
