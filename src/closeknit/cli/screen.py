"""Draws the live view in a separate thread, so a blocked terminal never blocks the host.

At most one picture waits to be drawn; a newer one replaces it.

    begin ──▶ alternate screen, no cursor, no echo ──▶ draw: only changed lines ──▶ end: the terminal restored

After a resize the screen is cleared and drawn completely.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import termios
from contextlib import suppress
from threading import Condition, Thread

from rich.console import Console

from ..report.host_grid import LETTERS, PLAIN, UNICODE, Marks
from ..report.live import view
from ..report.picture import Picture, shown

LAST_WORDS = 1.0
"""Seconds to wait for the final output."""
BEGIN, END = "\x1b[?1049h\x1b[?25l\x1b[?7l", "\x1b[?7h\x1b[?25h\x1b[?1049l"
"""Enter the alternate screen without cursor and line wrapping; and leave it."""
CLEAR, TO_LINE, REST_OF_LINE = "\x1b[2J", "\x1b[{};1H", "\x1b[K"


class Screen:
    """`show` draws a picture; `end` restores the terminal."""

    def __init__(self, target: int = 1) -> None:
        self._target = target
        self._encoding, self._errors = sys.stdout.encoding or "ascii", sys.stdout.errors or "strict"
        self.console = Console(file=_Shape(self._encoding), force_terminal=True)
        self._marks = _marks(self.console, self._encoding)
        self._quiet = _Quiet()
        self._drawn: list[str] = []
        self._size = (0, 0)
        self._picture: Picture | None = None
        self._ended = False
        self._last_words = ""
        self._news = Condition()
        self._thread = Thread(target=self._draw_all, name="screen", daemon=True)
        self._thread.start()

    def show(self, picture: Picture) -> None:
        with self._news:
            self._picture = picture
            self._news.notify()

    def end(self, words: str = "") -> bool:
        """Restore the terminal and print `words`; return whether that finished in time."""
        with self._news:
            self._ended, self._last_words = True, words
            self._news.notify()
        self._thread.join(LAST_WORDS)
        self._quiet.end()
        return not self._thread.is_alive()

    def _next(self) -> Picture | None:
        with self._news:
            while self._picture is None and not self._ended:
                self._news.wait()
            picture, self._picture = self._picture, None
            return None if self._ended else picture

    def _draw_all(self) -> None:
        with suppress(OSError):
            self._write(BEGIN)
            while (picture := self._next()) is not None:
                self._write(self._changes(picture))
            self._write(f"{END}{self._last_words}\n" if self._last_words else END)

    def _changes(self, picture: Picture) -> str:
        """The output that turns the last picture into this one."""
        size = _size(self._target)
        lines = self._lines(picture, *size)
        before, text = self._drawn, ""
        if size != self._size:
            before, text = [], CLEAR
        before = [*before, *[""] * (len(lines) - len(before))]
        for number, old in enumerate(before):
            new = lines[number] if number < len(lines) else ""
            if new != old:
                text += f"{TO_LINE.format(number + 1)}{new}{REST_OF_LINE}"
        self._drawn, self._size = lines, size
        return text

    def _lines(self, picture: Picture, width: int, height: int) -> list[str]:
        self.console.size = (width, height)
        with self.console.capture() as captured:
            self.console.print(view(shown(picture), width, height, self._marks), end="")
        lines = captured.get().removesuffix("\n").split("\n")
        return lines if len(lines) <= height else [*lines[: height - 1], self._marks.more]

    def _write(self, text: str) -> None:
        data = memoryview(text.encode(self._encoding, self._errors))
        while data:
            data = data[os.write(self._target, data) :]


class _Shape(io.StringIO):
    """A stand-in for the terminal that only reports its encoding."""

    def __init__(self, encoding: str) -> None:
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding


class _Quiet:
    """Suppresses typed keys: they are not echoed, and not left for the shell afterwards."""

    def __init__(self, source: int = 0) -> None:
        self._source = source
        self._before: list[int | list[bytes | int]] | None = None
        with suppress(termios.error, OSError):
            before = termios.tcgetattr(source)
            now = termios.tcgetattr(source)
            now[3] &= ~termios.ECHO
            termios.tcsetattr(source, termios.TCSANOW, now)
            self._before = before

    def end(self) -> None:
        if self._before is not None:
            with suppress(termios.error, OSError):
                termios.tcflush(self._source, termios.TCIFLUSH)
                termios.tcsetattr(self._source, termios.TCSANOW, self._before)


def _size(target: int) -> tuple[int, int]:
    """The terminal's current columns and lines, which override $COLUMNS and $LINES."""
    with suppress(OSError):
        size = os.get_terminal_size(target)
        if size.columns and size.lines:
            return size
    return shutil.get_terminal_size()


def _marks(console: Console, encoding: str) -> Marks:
    """The characters that the terminal's encoding supports; without colours, jobs are drawn as letters."""
    marks = UNICODE
    try:
        "".join(UNICODE).encode(encoding)
    except UnicodeEncodeError:
        marks = PLAIN
    coloured = console.color_system is not None and not console.no_color
    return marks if coloured else marks._replace(letters=LETTERS)
