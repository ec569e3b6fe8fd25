"""Defaults of custom kinds: a missing field is filled in where its parent exists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...port import Raw

Path = tuple[str, ...]

EVERY = "[]"
"""A path step to every element of a list."""


def filler(defaults: dict[str, Any]) -> Callable[[Raw], Raw]:
    """A function that applies defaults by path: {"spec.groups[].size": 1} sets the size of every group without one."""
    compiled = [(_steps(path), value) for path, value in defaults.items()]

    def fill(raw: Raw) -> Raw:
        for path, value in compiled:
            raw = _filled(raw, path, value)
        return raw

    return fill


def _steps(path: str) -> Path:
    return tuple(path.replace(EVERY, f".{EVERY}").split("."))


def _filled(tree: Any, path: Path, value: Any) -> Any:
    """The tree with the default applied; the same tree if nothing was missing."""
    step, rest = path[0], path[1:]
    if step == EVERY:
        if not isinstance(tree, list):
            return tree
        items = [_filled(one, rest, value) for one in tree]
        return tree if all(one is was for one, was in zip(items, tree, strict=True)) else items
    if not isinstance(tree, dict):
        return tree
    here = tree.get(step)
    if not rest:
        return {**tree, step: value} if here is None else tree
    below = _filled(here, rest, value)
    return tree if below is here else {**tree, step: below}
