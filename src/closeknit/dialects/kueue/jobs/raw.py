"""Reading and changing raw trees of JSON: a step into what is not there gives nothing, and a change is a copy.

Only the mappings on the way to a change are copied; the rest is shared with the tree that it came from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Raw = dict[str, Any]


def at(tree: Any, *path: str) -> Any:
    """The value down there; None if there is none, or if something on the way is no mapping."""
    for key in path:
        if not isinstance(tree, dict):
            return None
        tree = tree.get(key)
    return tree


def mapping(tree: Any, *path: str) -> Raw:
    """As `at`, for what is a mapping: an absent one is empty."""
    found = at(tree, *path)
    return found if isinstance(found, dict) else {}


def items(tree: Any, *path: str) -> list[Any]:
    """As `at`, for what is a list: an absent one is empty."""
    found = at(tree, *path)
    return found if isinstance(found, list) else []


def each(tree: Any, *path: str) -> list[Raw]:
    """As `items`, for a list of mappings: whatever else is in it is left out."""
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
    """The tree with nothing at the path; mappings that come to be empty stay."""
    first, *rest = path
    if first not in tree:
        return tree
    if not rest:
        return {key: value for key, value in tree.items() if key != first}
    return {**tree, first: without(mapping(tree, first), rest)}


def condition(raw: Raw, *kinds: str) -> Raw | None:
    """The first condition in the status that is of one of these kinds and holds."""
    for one in each(raw, "status", "conditions"):
        if one.get("type") in kinds and one.get("status") == "True":
            return one
    return None
