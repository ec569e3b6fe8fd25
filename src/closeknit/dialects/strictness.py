"""Strict decoding: an unknown field is refused, with the name that was probably meant.

A tree lists the known fields: a mapping has named fields, a list of one item describes all items, and the rest are
leaves. READ marks a field that is used here; a text is the warning for a field that Kueue uses and we do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..model.nearest import did_you_mean
from .field import Field, shown

Tree = Mapping[str, "Tree"] | list["Tree"] | str | None

READ = None
UNUSED = "it has no effect here"
EMPTY: tuple[Any, ...] = (None, False, {}, [], "")


def check_fields(field: Field, tree: Tree) -> None:
    """Report unknown fields; warn of unused ones."""
    if isinstance(tree, str):
        if field.value not in EMPTY:
            field.warn("is ignored", tree)
    elif isinstance(tree, Mapping):
        for key, inner in field.fields().items():
            if key in tree:
                check_fields(inner, tree[key])
            else:
                inner.wrong("is not a known field", did_you_mean(key, tree).strip() or _all(tree))
    elif isinstance(tree, list):
        for item in field.items():
            check_fields(item, tree[0])


def check_version(thing: Field, *versions: str) -> None:
    """Report an API version that is not one of these."""
    given = thing.at("apiVersion")
    if given.text() not in versions:
        given.wrong(f'is "{given.text()}", which is not read', f"use {' or '.join(versions)}")


def truth(field: Field, default: bool = False) -> bool:
    if not field.given:
        return default
    if not isinstance(field.value, bool):
        field.wrong(f"is {shown(field.value)}", "use true or false")
        return default
    return field.value


def amount(field: Field, default: float = 0.0) -> float:
    """A number that is not negative."""
    if not field.given:
        return default
    if isinstance(field.value, bool) or not isinstance(field.value, int | float) or field.value < 0:
        field.wrong(f"is {shown(field.value)}", "use a number, 0 or more")
        return default
    return float(field.value)


def _all(tree: Mapping[str, Tree]) -> str:
    return f"use one of: {', '.join(tree)}"
