"""Rows in columns, as kubectl prints them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..model.escaping import in_one_line

GAP = "   "
NOTHING = "<none>"


class Columns:
    """Columns as wide as the widest cell so far, so that later rows line up with earlier ones."""

    def __init__(self, headers: Sequence[str]) -> None:
        self.headers = [header.upper() for header in headers]
        self._widths = [len(header) for header in self.headers]

    def lines(self, rows: Iterable[Sequence[object]]) -> Iterator[str]:
        """All rows at once, so that they share their widths."""
        texts = [[_text(cell) for cell in row] for row in rows]
        for row in texts:
            self._widths = [max(width, len(cell)) for width, cell in zip(self._widths, row, strict=True)]
        yield from map(self._line, texts)

    def heading(self) -> str:
        return self._line(self.headers)

    def _line(self, cells: Sequence[str]) -> str:
        return GAP.join(f"{cell:<{width}}" for cell, width in zip(cells, self._widths, strict=True)).rstrip()


def table(headers: Sequence[str], rows: Iterable[Sequence[object]], indent: str = "") -> Iterator[str]:
    """Rows with a heading; nothing if there are no rows."""
    columns = Columns(headers)
    lines = list(columns.lines(rows))
    if lines:
        yield indent + columns.heading()
        yield from (indent + line for line in lines)


def _text(cell: object) -> str:
    return NOTHING if cell is None or cell == "" else in_one_line(str(cell))
