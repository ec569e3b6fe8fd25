"""The OpenAPI schema of a definition, from the tables of fields, limits, rules and descriptions.

A path names a field: `spec.podSets[].count`, with `[]` for an entry of a list and `{}` for one of a map.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...cluster.embedded.fields import Schema, schema_of
from ...cluster.kinds import Kind
from ...dialects.field import INT32_MAX
from ...dialects.kueue.objects.rules.limits import LIMITS, Amount, Entries, Limit, Number, OneOf, Text
from .descriptions import described
from .extras import FILLED, NEEDED, TEMPLATES
from .rules import RULES

Raw = dict[str, Any]

_NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_SUFFIX = rf"(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?{_NUMBER})?"
QUANTITY = rf"^[+-]?{_NUMBER}{_SUFFIX}$"
AMOUNT = rf"^(?:\+?{_NUMBER}|-(?:0+(?:\.0*)?|\.0+)){_SUFFIX}$"
"""A quantity without a sign, or 0 with one."""

OPEN: Raw = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_SCALARS: dict[str, Raw] = {
    "string": {"type": "string"},
    "boolean": {"type": "boolean"},
    "int32": {"type": "integer", "format": "int32", "minimum": -INT32_MAX - 1, "maximum": INT32_MAX},
    "int64": {"type": "integer", "format": "int64"},
    "time": {"type": "string", "format": "date-time"},
    "quantity": {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "x-kubernetes-int-or-string": True,
        "pattern": QUANTITY,
    },
}
"""Numbers get bounds in addition to a format, because an error about the format alone names no field."""


def schema(kind: Kind) -> Raw:
    """The schema of a whole object."""
    found = schema_of(kind)
    assert found is not None, kind
    return _Writer(kind.kind).whole(found)


class _Writer:
    """Writes the schema of one kind; holds its tables by path."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.limits = LIMITS.get(kind, {})
        self.rules = RULES.get(kind, {})
        self.needed = NEEDED.get(kind, frozenset())
        self.filled = FILLED.get(kind, frozenset())

    def whole(self, found: Schema) -> Raw:
        """The object itself; metadata is left to the server."""
        body = self.object(replace(found, fields={**found.fields, "metadata": Schema("object")}), "")
        body["properties"]["metadata"] = {"type": "object"}
        return {"description": described(self.kind, ""), **body}

    def field(self, found: Schema, path: str) -> Raw:
        """A field, with its description first for readability."""
        form = dict(OPEN) if (self.kind, path) in TEMPLATES else self.form(found, path)
        if path in self.filled:
            form["default"] = {}
        return {"description": described(self.kind, path), **form}

    def form(self, found: Schema, path: str) -> Raw:
        match found.type:
            case "object":
                return self.object(found, path)
            case "map":
                form = {"type": "object", "additionalProperties": self.form(found.item(), path + "{}")}
                if found.atomic:
                    form["x-kubernetes-map-type"] = "atomic"
            case "list":
                form = {"type": "array", "items": self.form(found.item(), path + "[]"), **_list_type(found)}
            case _:
                form = dict(_SCALARS[found.type])
        if found.enum:
            form["enum"] = list(found.enum)
        return {**form, **self.limited(path, found), **self.ruled(path)}

    def object(self, found: Schema, path: str) -> Raw:
        form: Raw = {"type": "object", "properties": {}}
        for name, one in sorted(found.fields.items()):
            inner = f"{path}.{name}" if path else name
            form["properties"][name] = self.field(one, inner)
            if name in found.defaults:
                form["properties"][name]["default"] = found.defaults[name]
        inside = {name for name in found.fields if (f"{path}.{name}" if path else name) in self.needed}
        need = sorted({*found.need, *inside})
        if need:
            form["required"] = need
        if found.atomic:
            form["x-kubernetes-map-type"] = "atomic"
        return {**form, **self.ruled(path)}

    def limited(self, path: str, found: Schema) -> Raw:
        limit = self.limits.get(path)
        return {} if limit is None else _limited(limit, found)

    def ruled(self, path: str) -> Raw:
        rules = self.rules.get(path, ())
        return {"x-kubernetes-validations": [one.raw() for one in rules]} if rules else {}


def _list_type(found: Schema) -> Raw:
    if found.atomic:
        return {"x-kubernetes-list-type": "atomic"}
    if found.keys:
        return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(found.keys)}
    return {"x-kubernetes-list-type": "set"}


def _limited(limit: Limit, found: Schema) -> Raw:
    match limit:
        case Entries():
            words = ("minProperties", "maxProperties") if found.type == "map" else ("minItems", "maxItems")
            return {**({words[0]: limit.least} if limit.least else {}), words[1]: limit.most}
        case Text():
            least = {"minLength": limit.least} if limit.least else {}
            form = {"pattern": f"^{limit.form.pattern}$"} if limit.form is not None else {}
            return {**least, "maxLength": limit.most, **form}
        case OneOf():
            return {"enum": list(limit.allowed)}
        case Number():
            return {"minimum": limit.least}
        case Amount():
            return {"pattern": AMOUNT, "minimum": 0}
