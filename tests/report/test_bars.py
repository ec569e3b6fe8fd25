from __future__ import annotations

import pytest

from closeknit.report.bars import bar


@pytest.mark.parametrize(
    ("parts", "drawn"),
    [
        ([("█", 1), ("░", 3)], "█░░░"),
        ([("█", 2), ("▒", 1), ("░", 1)], "██▒░"),
        ([("█", 5)], "████"),
        ([("a", 1), ("b", 1), ("c", 1)], "aabc"),
    ],
)
def test_a_bar_is_divided_in_proportion(parts: list[tuple[str, int]], drawn: str) -> None:
    assert bar(parts, width=4) == drawn


def test_whatever_is_there_at_all_is_seen() -> None:
    assert bar([("█", 1), ("▒", 1), ("░", 10**9)], width=8) == "█▒░░░░░░"


@pytest.mark.parametrize("parts", [[], [("█", 0), ("░", 0)], [("█", -3)]])
def test_a_bar_of_nothing_is_blank(parts: list[tuple[str, int]]) -> None:
    assert bar(parts) == " " * 16


def test_a_part_below_nothing_takes_no_place() -> None:
    assert bar([("▒", 9), ("░", -1)], width=4) == "▒▒▒▒"
