"""Which CPUs a container gets."""

from __future__ import annotations

from closeknit.numa.cpus import cpu_hints, packed, take
from closeknit.numa.masks import mask_of, zones_of

from .machines import machine

PLACES = machine(16, 16).cpus


def counts(cpus: int) -> list[int]:
    return [(cpus & zone).bit_count() for zone in PLACES.zones.values()]


def test_a_whole_free_zone_is_taken_first_where_one_is_needed() -> None:
    free = PLACES.everything & ~mask_of(range(6))
    assert counts(packed(PLACES, free, 20)) == [4, 16]


def test_otherwise_the_zone_with_the_fewest_free_cpus_is_taken_first() -> None:
    free = PLACES.everything & ~mask_of(range(16, 20))
    assert counts(packed(PLACES, free, 14)) == [2, 12]


def test_cpus_of_the_hint_come_before_others() -> None:
    free = PLACES.everything & ~mask_of(range(12))
    assert counts(take(PLACES, free, 6, PLACES.inside(mask_of([0])))) == [4, 2]


def test_a_single_cpu_comes_from_a_core_that_is_in_use() -> None:
    places = machine(4, threads=2).cpus
    assert zones_of(packed(places, 0b1110, 1)) == [1]
    assert zones_of(packed(places, 0b1110, 2)) == [2, 3]


def test_the_size_of_the_machine_decides_what_is_preferred() -> None:
    free = mask_of([0, 1, 2, 16, 17, 18])
    assert [(zones_of(hint.mask or 0), hint.preferred) for hint in cpu_hints(PLACES, free, 0, 5)] == [([0, 1], False)]
