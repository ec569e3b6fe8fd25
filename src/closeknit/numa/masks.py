"""Sets of NUMA zones as bit masks, in the order in which the kubelet goes through them.

Zone 3 is bit 3, so a set is one integer, a union is `|` and the size is `bit_count()`. A kubelet admits at most 64
zones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

Distances = Mapping[int, Sequence[float]]
"""For each zone the distance to every zone, by id; empty if unknown."""


def mask_of(zones: Iterable[int]) -> int:
    """The set of these zones: mask_of([0, 2]) == 0b101."""
    mask = 0
    for zone in zones:
        mask |= 1 << zone
    return mask


def zones_of(mask: int) -> list[int]:
    """The zones of a set, ascending: zones_of(0b101) == [0, 2]."""
    zones = []
    while mask:
        zones.append((mask & -mask).bit_length() - 1)
        mask &= mask - 1
    return zones


def subsets(zones: Sequence[int]) -> Iterator[int]:
    """Every set of at least one of these zones, by size, then lexicographically."""
    bits = [1 << zone for zone in sorted(zones)]
    for size in range(1, len(bits) + 1):
        yield from map(sum, combinations(bits, size))


def mean_distance(mask: int, distances: Distances) -> float:
    """The mean over all ordered pairs of the set, each zone with itself included; 0 for the empty set."""
    zones = zones_of(mask)
    if not zones:
        return 0.0
    return sum(distances[one][other] for one in zones for other in zones) / len(zones) ** 2
