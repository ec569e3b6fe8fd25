"""The form of what a client sends: values of the right type that can be parsed.

For a built-in kind a value of the wrong type makes the whole request undecodable (400). For a custom kind the response
names every value that is wrong, missing, not in its enum, or duplicate (422). What values mean is checked by the rules.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec

from ...model.quantity import QuantityError, nanos
from ..errors import BadRequest, Cause, Invalid, Refused
from ..kinds import Kind
from ..port import Raw
from .fields import Schema, schema_of
from .fieldsets import FieldsError, item_name
from .patching import unusable

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)", re.ASCII)
_MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)", re.ASCII)
_BITS = {"int32": 31, "int64": 63, "integer": 63}
_PYTHON_TYPES: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("object", "map"), dict),
    **dict.fromkeys(("string", "time", "micro-time", "bytes"), str),
    **dict.fromkeys(_BITS, int),
    "list": list,
    "boolean": bool,
    "number": (int, float),
    "quantity": (str, int, float),
    "int-or-string": (str, int),
}
_JSON_TYPES = {
    **dict.fromkeys(_BITS, "integer"),
    **dict.fromkeys(("time", "micro-time", "bytes"), "string"),
    **dict.fromkeys(("quantity", "int-or-string"), "integer,string"),
    "map": "object",
    "list": "array",
}


def check_types(kind: Kind, raw: Raw, subresource: str = "", partial: bool = False) -> list[Cause]:
    """The values that cannot be decoded or, in custom kinds, are missing, not in their enum, or duplicate.

    Of a custom kind with a status, only what a write through the subresource reaches is checked. `partial`: `raw` is
    the body of an apply, which need not be complete.
    """
    schema = schema_of(kind)
    if schema is None:
        return []
    if kind.is_built_in:
        return list(_unreadable(schema, raw, ""))
    wrong = list(_unreadable(schema.fields["metadata"], raw.get("metadata"), "metadata"))
    if wrong:
        return wrong
    whole = subresource != "status" or not kind.status
    form = schema if whole else replace(schema, need=())
    found = _malformed(form, _reached(kind, raw, subresource), "")
    return [cause for cause in found if not partial or cause.reason != "FieldValueRequired"]


def _reached(kind: Kind, raw: Raw, subresource: str) -> dict[str, Any]:
    """The top-level fields that a write through the subresource reaches, without metadata."""
    if kind.status and subresource == "status":
        return {"status": raw["status"]} if "status" in raw else {}
    hidden = ("metadata", "status") if kind.status else ("metadata",)
    return {part: value for part, value in raw.items() if part not in hidden}


def wrong_form(kind: Kind, name: str, causes: Sequence[Cause], by_patch: bool = False) -> Refused:
    """The error response for an object with these causes."""
    first = causes[0]
    if not kind.is_built_in and not first.field.startswith("metadata"):
        texts = [f"{cause.field}: {cause.message}" for cause in causes]
        said = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        who = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
        return Invalid(f'{who} "{name}" is invalid: {said}', group=kind.group, kind=kind.kind, name=name, causes=causes)
    if by_patch:
        return unusable(f"{first.field}: {first.message}")
    text = f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {first.field}: {first.message}'
    return BadRequest(text)


def _unreadable(schema: Schema, value: Any, path: str) -> Iterator[Cause]:
    """The values that no decoder of the kind could read; null counts as absent."""
    if value is None or schema.type == "any":
        return
    if not _is_type(schema, value):
        yield Cause(path, f"cannot read {_shown_type(value)} as {schema.type}", "FieldValueTypeInvalid")
    elif schema.type == "object":
        for key, one in value.items():
            if key in schema.fields:
                yield from _unreadable(schema.fields[key], one, f"{path}.{key}" if path else key)
    elif schema.type == "map":
        for key, one in value.items():
            yield from _unreadable(schema.item(), one, f"{path}.{key}")
    elif schema.type == "list":
        for index, one in enumerate(value):
            yield from _unreadable(schema.item(), one, f"{path}[{index}]")
    elif wrong := _misspelled(schema, value):
        yield Cause(path, wrong)


def _malformed(schema: Schema, value: Any, path: str) -> Iterator[Cause]:
    """The values that the schema of a custom kind does not allow."""
    if schema.type == "any" or (value is None and schema.nullable):
        return
    if not _is_type(schema, value):
        wanted = _JSON_TYPES.get(schema.type, schema.type)
        said = f'Invalid value: "{_shown_type(value)}": {path} in body must be of type {wanted}: "{_shown_type(value)}"'
        yield Cause(path, said, "FieldValueTypeInvalid")
    if schema.enum and value not in schema.enum:
        supported = ", ".join(map(_text, schema.enum))
        yield Cause(path, f"Unsupported value: {_text(value)}: supported values: {supported}", "FieldValueNotSupported")
    if not _is_type(schema, value):
        return
    if schema.type == "object":
        for key in sorted(value.keys() | set(schema.need)):
            inner = f"{path}.{key}" if path else key
            if key not in value:
                yield Cause(inner, "Required value", "FieldValueRequired")
            elif key in schema.fields:
                yield from _malformed(schema.fields[key], value[key], inner)
    elif schema.type == "map":
        for key, one in value.items():
            yield from _malformed(schema.item(), one, f"{path}.{key}")
    elif schema.type == "list":
        for index, one in enumerate(value):
            yield from _malformed(schema.item(), one, f"{path}[{index}]")
        if not schema.atomic:
            yield from _repeated(schema, value, path)
    elif wrong := _misspelled(schema, value):
        reason = "FieldValueInvalid" if schema.type == "quantity" else "FieldValueTypeInvalid"
        yield Cause(path, f"Invalid value: {_text(value)}: {path} in body {wrong}", reason)


def _repeated(schema: Schema, items: list[Any], path: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, item in enumerate(items):
        try:
            name = item_name(schema, item)
        except FieldsError:
            continue
        if name in seen:
            shown = {key: item[key] for key in schema.keys if key in item} if schema.keys else item
            yield Cause(f"{path}[{index}]", f"Duplicate value: {_text(shown)}", "FieldValueDuplicate")
        seen.add(name)


def _is_type(schema: Schema, value: Any) -> bool:
    if isinstance(value, bool):
        return schema.type in ("boolean", "any")
    return isinstance(value, _PYTHON_TYPES[schema.type])


def _misspelled(schema: Schema, value: Any) -> str:
    """The problem with a value of the right type; empty if there is none."""
    match schema.type:
        case "int32" | "int64" | "integer":
            bits = _BITS[schema.type]
            return "" if -(1 << bits) <= value < 1 << bits else f"must be of type integer with format {schema.type}"
        case "int-or-string":
            return "" if isinstance(value, str) or -(1 << 31) <= value < 1 << 31 else "must be of type int32"
        case "quantity":
            return _wrong_quantity(value)
        case "time":
            return "" if _is_time(value, _TIME) else f"must be of type date-time: {_text(value)}"
        case "micro-time":
            return (
                ""
                if _is_time(value, _MICRO_TIME)
                else f"must be a time with six digits after the second: {_text(value)}"
            )
        case "bytes":
            return "" if _is_base64(value) else "must be of type byte: illegal base64 data"
    return ""


def _wrong_quantity(value: str | float) -> str:
    try:
        nanos(value if isinstance(value, str) else msgspec.json.encode(value).decode())
    except QuantityError:
        return "must be a quantity, such as 500m, 2 or 1.5Gi"
    return ""


def _is_time(text: str, form: re.Pattern[str]) -> bool:
    if not form.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_base64(text: str) -> bool:
    try:
        b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _shown_type(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
    return "object"
