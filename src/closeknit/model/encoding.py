"""Encode and decode the `kueue.x-k8s.io/v1beta2` form of an assignment; the v1beta1 form is decoded only.

A v1beta2 assignment is a list of slices. In a slice each level's values are one `universal` value or roots that
share a prefix and a suffix, and the counts are one number or a list:

    values n-1-x, n-2-x, n-3-x with 2 pods each
    -> {domainCount: 3, valuesPerLevel: [{individual: {prefix: "n-", suffix: "-x", roots: ["1", "2", "3"]}}],
        podCounts: {universal: 2}}

Long lists of hosts are cut into slices by hostname prefix where that makes the object smaller. Objects here are
plain dicts and lists, as JSON has them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from .assignment import Assignment

MAX_SLICES = 1000
MAX_ROOTS = 100_000

Wire = dict[str, Any]


def encode(assignment: Assignment, by_prefix: bool = True) -> Wire:
    """The v1beta2 form of an assignment; `by_prefix` is the gate TASAssignmentsEncodingByHostnamePrefix."""
    single = _wire(assignment, [(0, len(assignment.counts))])
    if not by_prefix:
        return single
    ranges = _ranges(assignment)
    if len(ranges) <= 1:
        return single
    several = _wire(assignment, ranges)
    if len(assignment.counts) > MAX_ROOTS or _size(several) <= _size(single):
        return several
    return single


def _wire(assignment: Assignment, ranges: Sequence[tuple[int, int]]) -> Wire:
    wire: Wire = {"levels": list(assignment.levels)}
    if assignment.counts:
        wire["slices"] = [_slice(assignment, start, end) for start, end in ranges]
    return wire


def _size(wire: Wire) -> int:
    return len(json.dumps(wire, separators=(",", ":"), ensure_ascii=False).encode())


def _slice(assignment: Assignment, start: int, end: int) -> Wire:
    columns = zip(*assignment.values[start:end], strict=True)
    counts = assignment.counts[start:end]
    same = all(count == counts[0] for count in counts)
    return {
        "domainCount": end - start,
        "valuesPerLevel": [_level(values) for values in columns],
        "podCounts": {"universal": counts[0]} if same else {"individual": list(counts)},
    }


def _level(values: Sequence[str]) -> Wire:
    """One level of a slice.

    If prefix and suffix overlap in the shortest value, the prefix is shortened:
    _level(["aa", "aaa"]) == {"individual": {"suffix": "aa", "roots": ["", "a"]}}
    """
    low, high = min(values), max(values)
    if low == high:
        return {"universal": low}
    prefix = _common(low, high)
    reversed_values = [value[::-1] for value in values]
    suffix = _common(min(reversed_values), max(reversed_values))[::-1]
    shortest = min(map(len, values))
    prefix = prefix[: max(0, min(len(prefix), shortest - len(suffix)))]
    end = -len(suffix) or None
    individual: Wire = {"roots": [value[len(prefix) : end] for value in values]}
    if prefix:
        individual["prefix"] = prefix
    if suffix:
        individual["suffix"] = suffix
    return {"individual": individual}


def _common(low: str, high: str) -> str:
    """The common prefix of two strings; of the smallest and the largest of a list, the prefix that all share."""
    pairs = zip(low, high, strict=False)
    return low[: next((i for i, (a, b) in enumerate(pairs) if a != b), len(low))]


def _ranges(assignment: Assignment) -> list[tuple[int, int]]:
    """Runs of neighbouring hosts with one prefix, at the finest depth that needs at most MAX_SLICES slices."""
    size = len(assignment.counts)
    if size > 1 and assignment.by_host:
        prefixes = [list(_prefixes(path[-1])) for path in assignment.values]
        shared = Counter(prefix for row in prefixes for prefix in row)
        usable = [[prefix for prefix in row if shared[prefix] > 1] for row in prefixes]
        for depth in range(max(map(len, prefixes)), 0, -1):
            keys = (_longest(row, depth) for row in usable)
            ranges = _chunks(len(list(run)) for _, run in groupby(keys))
            if len(ranges) <= MAX_SLICES:
                return ranges
    return _chunks(iter([size] if size else []))


def _prefixes(host: str) -> Iterator[str]:
    """Every prefix that ends with a dash, shortest first: _prefixes("a-b-c") gives "a-", "a-b-"."""
    dash = host.find("-")
    while 0 <= dash < len(host) - 1:
        yield host[: dash + 1]
        dash = host.find("-", dash + 1)


def _longest(prefixes: Sequence[str], depth: int) -> str:
    """The longest prefix with at most `depth` dashes; "" if there is none."""
    return next((prefix for prefix in reversed(prefixes) if prefix.count("-") <= depth), "")


def _chunks(lengths: Iterator[int]) -> list[tuple[int, int]]:
    ranges, start = [], 0
    for length in lengths:
        end = start + length
        ranges += [(at, min(at + MAX_ROOTS, end)) for at in range(start, end, MAX_ROOTS)]
        start = end
    return ranges


class EncodingError(ValueError):
    """An assignment object is inconsistent: lengths of its lists do not match."""


def decode(wire: Mapping[str, Any]) -> Assignment:
    """Read an assignment from its v1beta2 form, or from the flat `domains` list of v1beta1."""
    levels = tuple(wire.get("levels") or ())
    if wire.get("domains"):
        pairs = ((tuple(domain["values"]), int(domain["count"])) for domain in wire["domains"])
        return Assignment.of(levels, pairs)
    values: list[tuple[str, ...]] = []
    counts: list[int] = []
    for index, piece in enumerate(wire.get("slices") or ()):
        _decode_slice(piece, len(levels), f"slices[{index}]", values, counts)
    return Assignment(levels, tuple(values), tuple(counts))


def _decode_slice(
    piece: Mapping[str, Any], levels: int, where: str, values: list[tuple[str, ...]], counts: list[int]
) -> None:
    size = int(piece["domainCount"])
    columns = [_expand(level, size, f"{where}.valuesPerLevel") for level in piece.get("valuesPerLevel") or ()]
    if len(columns) != levels:
        raise EncodingError(f"{where}.valuesPerLevel has {len(columns)} entries for {levels} levels")
    pods = piece["podCounts"]
    individual = pods.get("individual")
    numbers = list(individual) if individual else [int(pods["universal"])] * size
    if len(numbers) != size:
        raise EncodingError(f"{where}.podCounts has {len(numbers)} entries for {size} domains")
    values += zip(*columns, strict=True)
    counts += numbers


def _expand(level: Mapping[str, Any], size: int, where: str) -> list[str]:
    individual = level.get("individual")
    if not individual:
        return [level.get("universal") or ""] * size
    prefix, suffix = individual.get("prefix") or "", individual.get("suffix") or ""
    if len(individual["roots"]) != size:
        raise EncodingError(f"{where} has {len(individual['roots'])} roots for {size} domains")
    return [f"{prefix}{root}{suffix}" for root in individual["roots"]]
