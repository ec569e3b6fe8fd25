"""The columns and rows of a Table of any kind: what `kubectl get` prints."""

from __future__ import annotations

from functools import cache
from typing import Any

from ...kinds import Kind
from ...port import Raw
from .ages import age
from .built_in_rows import LAYOUTS, TableLayout
from .custom_rows import COLUMNS, PLAIN, cell

_UNREADABLE = (TypeError, AttributeError, LookupError, ValueError)


@cache
def columns(kind: Kind) -> list[Raw]:
    layout = LAYOUTS.get(kind)
    if layout is not None:
        return [_column(name.rstrip("+"), _type(layout, name), name.endswith("+")) for name in _names(layout)]
    own = [_column(one.name, one.type, one.is_wide) for one in COLUMNS.get(kind, PLAIN)]
    return [_column("Name", "string", False), *own]


def cells(kind: Kind, raw: Raw, now: float) -> list[Any]:
    """The cells of a row. A malformed object is shown by its name alone."""
    try:
        layout = LAYOUTS.get(kind)
        if layout is not None:
            return _row(layout, raw, now)
        return [_name(raw), *(cell(column, raw, now) for column in COLUMNS.get(kind, PLAIN))]
    except _UNREADABLE:
        return [_name(raw) if column["format"] == "name" else None for column in columns(kind)]


def _row(layout: TableLayout, raw: Raw, now: float) -> list[Any]:
    own, name = iter(layout.row(raw, now)), _name(raw)
    shared = {"Name": name, "Name+": name, "Age": age(raw["metadata"].get("creationTimestamp"), now)}
    return [shared[column] if column in shared else next(own) for column in _names(layout)]


def _names(layout: TableLayout) -> list[str]:
    return layout.columns.split("|")


def _name(raw: Raw) -> Any:
    return raw["metadata"].get("name", "")


def _type(layout: TableLayout, name: str) -> str:
    types = {"integer": layout.numbers, "boolean": layout.flags, "date": layout.dates}
    return next((one for one, of in types.items() if name in of), "string")


def _column(name: str, form: str, is_wide: bool) -> Raw:
    text = "name" if name == "Name" else ""
    return {"name": name, "type": form, "format": text, "description": "", "priority": int(is_wide)}
