"""Pruning what a client sends to the schema of its kind: unknown fields are dropped and reported.

Also dropped is what the real servers do not store: nulls everywhere, and in built-in kinds empty lists and maps. This
module is the entry to the tables of fields: the schema of a kind (`fields`), whether an object has the right form
(`form`), and the documents for clients (`openapi`).
"""

from __future__ import annotations

from typing import Any

from ..kinds import Kind
from ..port import Raw
from .fields import Schema, schema_of
from .form import check_types, wrong_form
from .openapi import openapi_v3

__all__ = ["check_types", "openapi_v3", "prune", "schema_of", "wrong_form"]

_WHOLE = ("int32", "int64", "integer")
_ZEROES: dict[str, Any] = {"boolean": False, **dict.fromkeys((*_WHOLE, "number", "int-or-string"), 0), "quantity": "0"}


def prune(kind: Kind, raw: Raw) -> tuple[Raw, list[str]]:
    """The object as it is stored, and the paths of unknown fields: spec.containers[0].foo."""
    schema = schema_of(kind)
    if schema is None:
        return raw, []
    walk = _Walk(kind.is_built_in)
    return walk.object(schema, raw, ""), sorted(walk.unknown)


class _Walk:
    """One walk through an object; unchanged parts are not copied. `settles`: empty values are dropped."""

    def __init__(self, settles: bool) -> None:
        self.settles = settles
        self.unknown: list[str] = []

    def object(self, schema: Schema, value: Raw, path: str) -> Raw:
        kept: Raw = {}
        for key, one in value.items():
            field = schema.fields.get(key)
            if field is not None:
                new = self.value(field, one, f"{path}{key}")
                if self.is_kept(schema, key, field, new):
                    kept[key] = new
            elif schema.open:
                kept[key] = one
            else:
                self.unknown.append(f"{path}{key}")
        return _unless_same(value, kept)

    def is_kept(self, schema: Schema, key: str, field: Schema, value: Any) -> bool:
        if value is None:
            return field.nullable
        return bool(value) or not self.settles or field.type not in ("list", "map") or key in schema.need

    def value(self, schema: Schema, value: Any, path: str) -> Any:
        match schema.type, value:
            case "object", dict():
                return self.object(schema, value, f"{path}.")
            case "map", dict():
                new = {key: self.item(schema.item(), one, f"{path}.{key}") for key, one in value.items()}
                kept = {key: one for key, one in new.items() if one is not None or schema.item().nullable}
                return _unless_same(value, kept)
            case "list", list():
                items = [self.item(schema.item(), one, f"{path}[{index}]") for index, one in enumerate(value)]
                return value if all(one is two for one, two in zip(items, value, strict=True)) else items
            case (("int32" | "int64" | "integer"), float()) if value.is_integer() and not self.settles:
                return int(value)
        return value

    def item(self, schema: Schema, value: Any, path: str) -> Any:
        """The item as stored; in a list or map of a built-in kind, null is read as the empty value."""
        if value is not None or not self.settles:
            return self.value(schema, value, path)
        if schema.type in ("object", "map"):
            return {}
        return [] if schema.type == "list" else _ZEROES.get(schema.type, "")


def _unless_same(value: Raw, kept: Raw) -> Raw:
    return value if len(kept) == len(value) and all(kept[key] is one for key, one in value.items()) else kept
