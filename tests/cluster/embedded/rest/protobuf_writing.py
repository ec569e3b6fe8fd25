"""Protobuf written by hand, for tests of what reads it."""

from __future__ import annotations

from closeknit.cluster.embedded.rest.protobuf import MAGIC


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def field(number: int, value: int | bytes) -> bytes:
    """A number, or bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def body(version: str, kind: str, message: bytes) -> bytes:
    """The envelope around a message."""
    return MAGIC + field(1, field(1, version.encode()) + field(2, kind.encode())) + field(2, message)
