"""A terminal emulator for tests: what a program draws, as lines of text, on a screen that can be resized.

It supports the escape sequences of the live view and fails on any other, so that none goes unnoticed.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
from collections.abc import Callable
from time import monotonic

PATIENCE = 120.0
ESCAPE = re.compile(r"\x1b\[([?0-9;]*)([a-zA-Z])")
Rows = list[list[str]]


class Glass:
    """The screen: `feed` it output, and read `lines`. It includes the alternate screen, on which programs draw."""

    def __init__(self, columns: int, lines: int) -> None:
        self.columns, self.height = columns, lines
        self.usual: Rows = self._blank()
        self.other: Rows | None = None
        self.row = self.column = 0
        self.has_cursor = self.wraps = True
        self._rest = ""
        self._kept = (0, 0)

    def _blank(self) -> Rows:
        return [[" "] * self.columns for _ in range(self.height)]

    @property
    def rows(self) -> Rows:
        return self.usual if self.other is None else self.other

    @property
    def lines(self) -> list[str]:
        return ["".join(row).rstrip() for row in self.rows]

    def resize(self, columns: int, lines: int) -> None:
        """Resize; the existing content stays in place as far as it fits."""
        self.columns, self.height = columns, lines
        self.usual = self._fitted(self.usual)
        self.other = None if self.other is None else self._fitted(self.other)
        self.row = min(self.row, lines - 1)

    def _fitted(self, rows: Rows) -> Rows:
        wide = [[*row, *[" "] * self.columns][: self.columns] for row in rows]
        return [*wide, *self._blank()][: self.height]

    def feed(self, text: str) -> None:
        text = self._rest + text
        place = 0
        while place < len(text):
            if text[place] != "\x1b":
                self._put(text[place])
                place += 1
                continue
            found = ESCAPE.match(text, place)
            if found is None:
                break
            self._obey(found[1], found[2])
            place = found.end()
        self._rest = text[place:]

    def _put(self, one: str) -> None:
        if one == "\r":
            self.column = 0
        elif one == "\n":
            self.row += 1
            if self.row == self.height:
                self.rows.append([" "] * self.columns)
                del self.rows[0]
                self.row -= 1
        else:
            if self.column == self.columns:
                assert self.wraps, "a line is longer than the screen is wide"
                self._put("\r")
                self._put("\n")
            self.rows[self.row][self.column] = one
            self.column += 1

    def _obey(self, numbers: str, letter: str) -> None:
        match letter, numbers:
            case "m", _:
                return
            case "H", _:
                self.row, self.column = (int(one) - 1 for one in numbers.split(";"))
                assert self.row < self.height, "a line is drawn below the screen"
            case "K", "":
                self.rows[self.row][self.column :] = [" "] * (self.columns - self.column)
            case "J", "2":
                self.rows[:] = self._blank()
            case ("h", "?1049"):
                self._kept = self.row, self.column
                self.other = self._blank()
            case ("l", "?1049"):
                self.row, self.column = self._kept
                self.other = None
            case (("h" | "l"), "?25"):
                self.has_cursor = letter == "h"
            case (("h" | "l"), "?7"):
                self.wraps = letter == "h"
            case _:
                raise AssertionError(f"unknown escape sequence {numbers}{letter}")


class Terminal:
    """A program in a terminal of a given size; `raw` is all that came from it."""

    def __init__(self, command: list[str], columns: int, lines: int, **environment: str) -> None:
        self.glass, self.raw, self.encoding = Glass(columns, lines), "", environment.get("PYTHONIOENCODING", "utf-8")
        self._ours, theirs = pty.openpty()
        self._set_size()
        self.before = termios.tcgetattr(self._ours)
        usual = {**os.environ, "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"}
        for name in ("COLUMNS", "LINES", "NO_COLOR"):
            usual.pop(name, None)
        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env={**usual, **environment}, start_new_session=True
        )
        os.close(theirs)

    def _set_size(self) -> None:
        size = struct.pack("HHHH", self.glass.height, self.glass.columns, 0, 0)
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, size)

    def resize(self, columns: int, lines: int) -> None:
        self.glass.resize(columns, lines)
        self._set_size()
        self.process.send_signal(signal.SIGWINCH)

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def text(self) -> str:
        return "\n".join(self.glass.lines)

    def look(self, seconds: float = 0.05) -> bool:
        """Read the output for that time; False once the program has exited."""
        end = monotonic() + seconds
        while (left := end - monotonic()) > 0:
            if select.select([self._ours], [], [], left)[0]:
                try:
                    piece = os.read(self._ours, 1 << 16).decode(self.encoding, "replace")
                except OSError:
                    return False
                self.raw += piece
                self.glass.feed(piece)
        return True

    def until(self, seen: Callable[[str], object], seconds: float = PATIENCE) -> str:
        """Wait until the condition holds for the screen; return the screen."""
        end = monotonic() + seconds
        while monotonic() < end:
            goes_on = self.look()
            if seen(self.text()):
                return self.text()
            if not goes_on:
                break
        raise AssertionError(f"this is all that came:\n{self.text()}")

    def end(self, number: int = signal.SIGINT) -> int:
        """Stop the program; its exit code."""
        self.process.send_signal(number)
        while self.look():
            continue
        return self.process.wait(PATIENCE)

    def modes(self) -> list[object]:
        return termios.tcgetattr(self._ours)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)
