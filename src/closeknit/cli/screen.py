"""Draws the live view into a terminal, in a thread of its own: a terminal that stands still holds up nobody.

There is room for one picture that waits to be drawn, and a newer one takes its place.
"""

from __future__ import annotations

import os
import sys
from threading import Condition, Thread

from rich.console import Console
from rich.live import Live

from ..report.live import PLAIN, UNICODE, view
from ..report.picture import Picture

LAST_WORDS = 1.0
"""Seconds for the last picture at the end."""


class Screen:
    """`show` what there is, and `end`."""

    def __init__(self, target: int = 1) -> None:
        out = open(os.dup(target), "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors)  # noqa: SIM115
        self.console = Console(file=out)
        self._marks = UNICODE if _is_unicode() else PLAIN
        self._picture: Picture | None = None
        self._ended = False
        self._news = Condition()
        self._thread = Thread(target=self._draw_all, name="screen", daemon=True)
        self._thread.start()

    def show(self, picture: Picture) -> None:
        with self._news:
            self._picture = picture
            self._news.notify()

    def end(self) -> bool:
        """Leave the last picture standing; says whether that could be done in time."""
        with self._news:
            self._ended = True
            self._news.notify()
        self._thread.join(LAST_WORDS)
        return not self._thread.is_alive()

    def _next(self) -> Picture | None:
        with self._news:
            while self._picture is None and not self._ended:
                self._news.wait()
            picture, self._picture = self._picture, None
            return picture

    def _draw_all(self) -> None:
        try:
            with Live(console=self.console, auto_refresh=False, transient=False, vertical_overflow="crop") as live:
                while (picture := self._next()) is not None:
                    width, height = self.console.size
                    live.update(view(picture, width, height, self._marks), refresh=True)
        except OSError:
            return


def _is_unicode() -> bool:
    """Whether the terminal's encoding has the characters that hosts are drawn with."""
    try:
        UNICODE.heights.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True
