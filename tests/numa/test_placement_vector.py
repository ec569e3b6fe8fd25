"""Which container runs in which zone, on the wire; the examples are those of the published format."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from closeknit.model.numa import ReportedPlacement
from closeknit.numa.placement_vector import (
    ALPHABET,
    ContainerName,
    PlacementError,
    decoded,
    encoded,
    leb89,
    leb89_numbers,
)

P1, P2, P3 = (ContainerName("default", pod, "c") for pod in ("p1", "p2", "p3"))
THREE = {P1: 0, P2: 1, P3: 1}
NUMBERS = {0: "!", 63: "e", 64: "f!", 127: "fe", 128: "g!", 1663: "~e", 1664: "gf!", 40063: "~~e"}


def metadata(encoding: str = "leb89", count: int = 3, zones: int = 2, busiest: int = 1) -> str:
    return f"npv0v001::ve={encoding}::cc={count}::nn={zones}::bn={busiest}"


@pytest.mark.parametrize(("number", "text"), NUMBERS.items())
def test_numbers_are_written_as_published(number: int, text: str) -> None:
    assert leb89(number) == text
    assert list(leb89_numbers(text)) == [number]


def test_the_alphabet_has_89_printable_characters_that_need_no_escaping() -> None:
    assert len(ALPHABET) == 89
    assert not set(ALPHABET) & set('"&<>\\ ')


@given(st.lists(st.integers(0, 10**6)))
def test_numbers_in_a_row_are_read_as_written(numbers: list[int]) -> None:
    assert list(leb89_numbers("".join(map(leb89, numbers)))) == numbers


def test_the_busiest_zone_lists_nothing() -> None:
    assert encoded(THREE, 2) == (metadata(), {0: "$"})


def test_among_equally_busy_zones_the_lowest_lists_nothing() -> None:
    assert encoded({P1: 1, P2: 0}, 2).metadata.endswith("::bn=0")


def test_no_containers_need_no_vector() -> None:
    assert encoded({}, 2) == (metadata(count=0, busiest=0), {})
    assert decoded(encoded({}, 2), []) == {}


@given(st.dictionaries(st.builds(ContainerName, *[st.sampled_from("abcdefgh")] * 3), st.integers(0, 7), max_size=80))
def test_what_is_encoded_is_decoded_again(placement: dict[ContainerName, int]) -> None:
    assert decoded(encoded(placement, 8), [*placement, *placement]) == placement


@pytest.mark.parametrize(
    ("text", "vectors", "why"),
    [
        (metadata("leb128"), {0: "$"}, "not encoded"),
        ("npv0v002" + metadata()[8:], {0: "$"}, "not encoded"),
        ("", {}, "not encoded"),
        ("npv0v001::ve=leb89::cc=x::nn=2::bn=1", {}, "must be numbers"),
        (metadata(count=4), {0: "$"}, "4 containers, but 3"),
        (metadata(busiest=2), {0: "$"}, "busiest zone is 2 of 2"),
        (metadata(), {2: "$"}, "zone 2 has a vector"),
        (metadata(), {1: "$"}, "the busiest and has a vector"),
        (metadata(), {0: "%"}, "container 3 of 3"),
        (metadata(), {0: "!!"}, "listed twice"),
        (metadata(zones=3), {0: "$", 2: "$"}, "listed twice"),
        (metadata(), {0: "f"}, "has no end"),
        (metadata(), {0: "&"}, "no digit"),
    ],
)
def test_a_report_that_does_not_fit_is_rejected(text: str, vectors: dict[int, str], why: str) -> None:
    with pytest.raises(PlacementError, match=why):
        decoded(ReportedPlacement(text, vectors), THREE)
