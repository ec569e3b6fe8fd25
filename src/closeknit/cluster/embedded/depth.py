"""How deep a tree may be nested: not deeper than recursive code can walk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

DEEPEST = 128


def is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for one in level for inner in _inside(one)]
        if not level:
            return False
    return True


def _inside(value: Any) -> Iterator[Any]:
    """The objects and lists in it."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list):
        return
    for one in value:
        if isinstance(one, dict | list):
            yield one
