"""Read and change raw JSON trees: a missing key reads as None, and a change returns a copy.

Only the mappings on the path of a change are copied; the rest is shared with the original.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Raw = dict[str, Any]


def at(tree: Any, *path: str) -> Any:
    """The value at a path; None if a key is missing, or if a value on the path is not a mapping."""
    for key in path:
        if not isinstance(tree, dict):
            return None
        tree = tree.get(key)
    return tree


def mapping(tree: Any, *path: str) -> Raw:
    """Like `at`, for a mapping; empty if absent."""
    found = at(tree, *path)
    return found if isinstance(found, dict) else {}


def items(tree: Any, *path: str) -> list[Any]:
    """Like `at`, for a list; empty if absent."""
    found = at(tree, *path)
    return found if isinstance(found, list) else []


def each(tree: Any, *path: str) -> list[Raw]:
    """Like `items`, for a list of mappings; other items are left out."""
    return [one for one in items(tree, *path) if isinstance(one, dict)]


def number(tree: Any, *path: str, default: int = 0) -> int:
    found = at(tree, *path)
    return found if isinstance(found, int) else default


def put(tree: Raw, path: Sequence[str], value: Any) -> Raw:
    """The tree with this value at the path: put({"a": {"b": 1}}, ("a", "c"), 2) == {"a": {"b": 1, "c": 2}}."""
    first, *rest = path
    if not rest:
        return {**tree, first: value}
    return {**tree, first: put(mapping(tree, first), rest, value)}


def without(tree: Raw, path: Sequence[str]) -> Raw:
    """The tree without the key at the path; mappings that become empty stay."""
    first, *rest = path
    if first not in tree:
        return tree
    if not rest:
        return {key: value for key, value in tree.items() if key != first}
    return {**tree, first: without(mapping(tree, first), rest)}


def condition(raw: Raw, *kinds: str) -> Raw | None:
    """The first condition in the status that has one of these types and is True."""
    for one in each(raw, "status", "conditions"):
        if one.get("type") in kinds and one.get("status") == "True":
            return one
    return None
