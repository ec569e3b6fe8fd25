"""Objects in protobuf, the form in which kubectl sends what it makes itself, decoded into trees of JSON values.

A body is an envelope, which names apiVersion and kind, around one message. Field numbers and types come from a table
(`schemas/protobuf.json`, written by `tests/servers/protobuf.py`). Go writes a field that cannot be unset even if it is
empty, so an empty value counts only where Go has a pointer: `replicas: 0` is kept, `hostname: ""` is not. Unknown field
numbers are skipped, as servers do. Responses are never protobuf: clients accept JSON too.

    6b 38 73 00             the letters k8s and a zero
    0a …                    field 1 of the envelope: apiVersion and kind
    12 05 0a 03 0a 01 61    field 2, the message: its field 1, metadata, whose field 1, name, is "a"
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import msgspec

from ....dialects import timestamps
from ...errors import BadRequest
from ...port import Raw

MAGIC = b"k8s\x00"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_NUMBERS = ("int", "bool")
"""Types that are written as a number; all others are bytes with a length."""


class MessageField(NamedTuple):
    """`occurs` is "list", "map", "inline", "pointer" (may be unset) or ""."""

    name: str
    type: str
    occurs: str


class Tables(msgspec.Struct):
    kinds: dict[str, str]
    messages: dict[str, dict[int, MessageField]]


@cache
def tables() -> Tables:
    data = (files(__package__.rpartition(".")[0]) / "schemas" / "protobuf.json").read_bytes()
    return msgspec.json.decode(data, type=Tables)


class Malformed(BadRequest):
    def __init__(self, why: str) -> None:
        super().__init__(f"the body is not a protobuf object of Kubernetes: {why}")


def decoded(data: bytes) -> Raw | None:
    """The object in a body; None if its kind is not in the table. Raises BadRequest if it is malformed."""
    if not data.startswith(MAGIC):
        raise Malformed("it does not begin with k8s and a zero")
    names, message = {1: "", 2: ""}, b""
    for number, value in _fields(memoryview(data)[len(MAGIC) :]):
        if number == 1:
            names |= {at: _text(part) for at, part in _fields(_bytes(value)) if at in names}
        elif number == 2:
            message = bytes(_bytes(value))
        elif number == 3 and _text(value):
            raise Malformed(f"its content is encoded ({_text(value)})")
    version, kind = names[1], names[2]
    found = tables().kinds.get(f"{version} {kind}")
    if found is None:
        return None
    return {"apiVersion": version, "kind": kind, **_message(found, memoryview(message))}


def _message(name: str, data: memoryview) -> Raw:
    """No message of the table contains itself, so the depth is bounded."""
    known = tables().messages[name]
    found: Raw = {}
    for number, value in _fields(data):
        field = known.get(number)
        if field is not None:
            _put(found, field, value)
    return found


def _put(found: Raw, field: MessageField, value: int | memoryview | bytes) -> None:
    if field.occurs == "map":
        entry = {1: memoryview(b""), 2: None} | dict(_fields(_bytes(value)))
        given = entry[2] if entry[2] is not None else 0 if field.type in _NUMBERS else memoryview(b"")
        found.setdefault(field.name, {})[_text(entry[1])] = _value(field.type, given)
        return
    new = _value(field.type, value)
    if field.occurs == "list":
        found.setdefault(field.name, []).append(new)
    elif field.occurs == "inline":
        found.update(new)
    elif new or (field.occurs == "pointer" and new is not None):
        found[field.name] = new


def _value(kind: str, value: int | memoryview | bytes | None) -> Any:
    if kind in _NUMBERS:
        if not isinstance(value, int):
            raise Malformed("a field has the wrong type")
        return bool(value) if kind == "bool" else value
    part = _bytes(value)
    match kind:
        case "string":
            return _text(part)
        case "bytes":
            return b64encode(part).decode()
        case "json":
            return _json(part)
        case "time" | "micro-time":
            return _time(part, kind == "micro-time")
        case "quantity":
            return _text(dict(_fields(part)).get(1, memoryview(b"0"))) or "0"
        case "int-or-string":
            return _int_or_string(dict(_fields(part)))
    return _message(kind, part)


def _int_or_string(parts: dict[int, Any]) -> int | str:
    if parts.get(1, 0) == 0:
        number = parts.get(2, 0)
        return number if isinstance(number, int) else _text(number)
    return _text(parts.get(3, memoryview(b"")))


def _json(part: memoryview) -> Any:
    """A field that holds JSON, in the first field of its message."""
    data = dict(_fields(part)).get(1)
    if data is None or not _bytes(data):
        return None
    try:
        return msgspec.json.decode(_bytes(data))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(f"a field that holds JSON does not: {error}") from None


def _time(part: memoryview, micro: bool) -> str | None:
    parts = dict(_fields(part))
    seconds, nanos = parts.get(1, 0), parts.get(2, 0)
    if not isinstance(seconds, int) or not isinstance(nanos, int):
        raise Malformed("a time has the wrong type")
    if not seconds and not nanos:
        return None
    try:
        stamp = timestamps.stamp(float(seconds))
    except (ValueError, OverflowError, OSError):
        raise Malformed(f"a time is out of range: {seconds} s") from None
    return f"{stamp[:-1]}.{nanos // 1000 % 1_000_000:06d}Z" if micro else stamp


def _text(part: object) -> str:
    try:
        return str(_bytes(part), "utf-8")
    except UnicodeDecodeError:
        raise Malformed("a string is not UTF-8") from None


def _bytes(value: object) -> memoryview:
    if not isinstance(value, memoryview):
        raise Malformed("a field has the wrong type")
    return value


# The wire format


def _fields(data: memoryview) -> Iterator[tuple[int, int | memoryview | bytes]]:
    """Field numbers with their values: a number, bytes with a length, or bytes of a fixed size."""
    at, end = 0, len(data)
    while at < end:
        key, at = _varint(data, at)
        wire, number = key & 7, key >> 3
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield number, value - (1 << 64) if value >> 63 else value
            continue
        if wire == _BYTES:
            size, at = _varint(data, at)
        elif wire in (_FIXED64, _FIXED32):
            size = 8 if wire == _FIXED64 else 4
        else:
            raise Malformed(f"field {number} is of wire type {wire}")
        if size > end - at:
            raise Malformed(f"field {number} ends beyond the message")
        part = data[at : at + size]
        yield number, part if wire == _BYTES else bytes(part)
        at += size


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """A number of up to 64 bits, seven per byte, the lowest first; and where the next field begins."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise Malformed("it ends within a number")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 64:
                break
            return value, at
    raise Malformed("a number has more than 64 bits")
