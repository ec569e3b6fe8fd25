"""XXH64, the hash that pod fingerprints and placement vectors are made of.

Written here because it is the only use of it and the inputs are short names: 300 pods take two milliseconds. The
algorithm is the published one: four lanes over stripes of 32 bytes, then the tail in words of 8, 4 and 1 bytes, then
an avalanche.
"""

from __future__ import annotations

import struct

_MASK = (1 << 64) - 1
_P1 = 0x9E3779B185EBCA87
_P2 = 0xC2B2AE3D27D4EB4F
_P3 = 0x165667B19E3779F9
_P4 = 0x85EBCA77C2B2AE63
_P5 = 0x27D4EB2F165667C5
_STRIPE = 32


def xxh64(data: bytes, seed: int = 0) -> int:
    """xxh64(b"") == 0xEF46DB3751D8E999"""
    stripes = len(data) - len(data) % _STRIPE
    value = _of_stripes(data[:stripes], seed) if stripes else (seed + _P5) & _MASK
    value = (value + len(data)) & _MASK
    return _avalanche(_with_tail(value, data[stripes:]))


def _of_stripes(data: bytes, seed: int) -> int:
    lanes = [(seed + start) & _MASK for start in (_P1 + _P2, _P2, 0, -_P1)]
    for stripe in struct.iter_unpack("<4Q", data):
        lanes = [_round(lane, word) for lane, word in zip(lanes, stripe, strict=True)]
    value = sum(map(_rotated, lanes, (1, 7, 12, 18))) & _MASK
    for lane in lanes:
        value = ((value ^ _round(0, lane)) * _P1 + _P4) & _MASK
    return value


def _with_tail(value: int, tail: bytes) -> int:
    words = len(tail) // 8
    for (word,) in struct.iter_unpack("<Q", tail[: words * 8]):
        value = (_rotated(value ^ _round(0, word), 27) * _P1 + _P4) & _MASK
    tail = tail[words * 8 :]
    if len(tail) >= 4:
        value = (_rotated(value ^ int.from_bytes(tail[:4], "little") * _P1 & _MASK, 23) * _P2 + _P3) & _MASK
        tail = tail[4:]
    for byte in tail:
        value = _rotated(value ^ byte * _P5 & _MASK, 11) * _P1 & _MASK
    return value


def _avalanche(value: int) -> int:
    value = (value ^ value >> 33) * _P2 & _MASK
    value = (value ^ value >> 29) * _P3 & _MASK
    return value ^ value >> 32


def _round(lane: int, word: int) -> int:
    return _rotated((lane + word * _P2) & _MASK, 31) * _P1 & _MASK


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> 64 - bits) & _MASK
