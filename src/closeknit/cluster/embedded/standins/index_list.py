"""Sets of completion indexes in the format of a Job's status: 0,2-5,7."""

from __future__ import annotations

from collections.abc import Iterable


def read(text: str | None) -> set[int]:
    """read("0,2-5") == {0, 2, 3, 4, 5}."""
    result: set[int] = set()
    for piece in (text or "").split(","):
        first, dash, last = piece.partition("-")
        if dash:
            result.update(range(int(first), int(last) + 1))
        elif first:
            result.add(int(first))
    return result


def write(indexes: Iterable[int]) -> str:
    """Three or more in a row become a range: write({0, 1, 3, 4, 5}) == "0,1,3-5"."""
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and runs[-1][1] + 1 == index:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(_run(first, last) for first, last in runs)


def _run(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first},{last}" if last == first + 1 else f"{first}-{last}"
