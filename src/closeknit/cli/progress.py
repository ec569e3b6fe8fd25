"""Progress messages on stderr during long operations, such as reading large files: the first after two seconds.

A terminal gets one line that is updated in place, other outputs a line every few seconds.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import TextIO

import click

from ..model.escaping import in_one_line
from .escaped_stream import unescaped

PATIENCE = 2.0
SLOW_YAML = 50_000_000

_CLEAR = "\r\x1b[K"


class Progress:
    """Reports progress; its line on the terminal is cleared at the end of the `with` block."""

    def __init__(self, what: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._what = what
        self._clock = clock
        self._stream: TextIO = unescaped(sys.stderr)
        self._live = self._stream.isatty()
        self._next = clock() + PATIENCE
        self._shown = False
        self._hinted: set[str] = set()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self._clear()

    def __call__(self, where: str, count: int, size: int, form: str) -> None:
        if form == "YAML" and where not in self._hinted and max(size, _size_on_disk(where)) > SLOW_YAML:
            self._hinted.add(where)
            self._clear()
            click.echo(f"hint: {where} is large YAML; `-o json` output loads faster", err=True)
        self.tell(lambda: f"reading {where}: {count:,} {self._what}, {size / 1e6:,.0f} MB")

    def tell(self, say: Callable[[], str]) -> None:
        """Print the progress if enough time has passed since the last message."""
        now = self._clock()
        if now < self._next:
            return
        self._next = now + (0.2 if self._live else 3.0)
        line = in_one_line(say())
        self._stream.write(f"{_CLEAR}{line}" if self._live else f"{line}\n")
        self._stream.flush()
        self._shown = self._live

    def _clear(self) -> None:
        if self._shown:
            self._stream.write(_CLEAR)
            self._stream.flush()
            self._shown = False


def _size_on_disk(path: str) -> int:
    return os.path.getsize(path) if os.path.isfile(path) else 0
