"""Bars of characters for terminals."""

from __future__ import annotations

WIDTH = 16
FREE, USED, OURS, BORROWED = "░", "▒", "█", "▓"
"""The same everywhere: `OURS` are the pods of the job in question, `BORROWED` is used beyond a queue's own quota."""


def bar(parts: list[tuple[str, int]], width: int = WIDTH) -> str:
    """A bar of `width` cells divided in proportion; a part above zero gets at least one cell.

    bar([("█", 1), ("░", 3)], width=4) == "█░░░"
    """
    whole = sum(max(0, size) for _, size in parts)
    if whole <= 0:
        return " " * width
    cells = [max(1, round(width * size / whole)) if size > 0 else 0 for _, size in parts]
    while sum(cells) > width:
        cells[cells.index(max(cells))] -= 1
    while sum(cells) < width:
        cells[cells.index(max(cells))] += 1
    return "".join(character * size for (character, _), size in zip(parts, cells, strict=True))
