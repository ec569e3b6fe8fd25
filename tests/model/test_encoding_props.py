"""Encoding and decoding are inverse to each other, whatever the names."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.model import encoding
from closeknit.model.assignment import Assignment
from closeknit.model.encoding import decode, encode
from closeknit.model.topology import HOSTNAME

names = st.text(alphabet="ab-1.", max_size=8)
hosts = st.lists(st.tuples(names, st.integers(1, 3)), max_size=30)
racks = st.lists(st.tuples(names, names, st.integers(1, 3)), max_size=30)


def by_host(pairs: list[tuple[str, int]]) -> Assignment:
    return Assignment.of([HOSTNAME], [((host,), count) for host, count in pairs])


@given(hosts, st.booleans())
def test_hosts_survive_the_round_trip(pairs: list[tuple[str, int]], by_prefix: bool) -> None:
    assert decode(encode(by_host(pairs), by_prefix)) == by_host(pairs)


@given(racks)
def test_paths_of_several_levels_survive_the_round_trip(rows: list[tuple[str, str, int]]) -> None:
    assignment = Assignment.of(["block", "rack"], [((block, rack), count) for block, rack, count in rows])
    assert decode(encode(assignment)) == assignment


@given(hosts)
def test_cutting_by_prefix_never_makes_the_object_larger(pairs: list[tuple[str, int]]) -> None:
    assert encoding._size(encode(by_host(pairs))) <= encoding._size(encode(by_host(pairs), by_prefix=False))


@given(hosts)
def test_every_slice_keeps_the_limits_of_the_api(pairs: list[tuple[str, int]]) -> None:
    wire = encode(by_host(pairs))
    for piece in wire.get("slices", []):
        assert piece["domainCount"] >= 1
        (level,) = piece["valuesPerLevel"]
        assert set(level) in ({"universal"}, {"individual"})
        assert set(piece["podCounts"]) in ({"universal"}, {"individual"})
        if "individual" in level:
            assert len(level["individual"]["roots"]) == piece["domainCount"]


@settings(max_examples=25)
@given(st.integers(2, 60), st.integers(1, 4))
def test_many_prefixes_stay_within_the_number_of_slices(prefixes: int, most: int) -> None:
    pairs = [(f"{chr(97 + i % 26)}{i}-{j}", 1) for i in range(prefixes) for j in range(3)]
    before = encoding.MAX_SLICES
    encoding.MAX_SLICES = most
    try:
        wire = encode(by_host(pairs))
    finally:
        encoding.MAX_SLICES = before
    assert len(wire["slices"]) <= most
    assert decode(wire) == by_host(pairs)
