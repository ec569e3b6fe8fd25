"""Writes lines for a reader that may be slow, without ever blocking the writer.

    say() ──▶ bounded buffer ──▶ writer thread ──▶ stdout
                    └─ full: dropped, and counted

A full pipe must not block the host. Once the reader has caught up, a line reports how many lines were dropped. After
the reader has closed the pipe, further lines are dropped silently.
"""

from __future__ import annotations

import os
from collections import deque
from threading import Condition, Thread
from typing import TextIO

from ..model.escaping import escaped

MOST = 10_000
LAST_WORDS = 1.0
"""Seconds to wait for the remaining lines at the end."""


class Ticker:
    """Writes directly to a file descriptor, since a blocked write through `sys.stdout` would hold its lock.

    Lines are encoded as the stream `like` would encode them.
    """

    def __init__(self, target: int = 1, most: int = MOST, like: TextIO | None = None) -> None:
        self._target, self._most = target, most
        self._encoding = (like.encoding if like is not None else "") or "utf-8"
        self._errors = (like.errors if like is not None else "") or "replace"
        self._lines: deque[str] = deque()
        self._dropped = 0
        self._ended = False
        self._news = Condition()
        self._thread = Thread(target=self._write_all, name="ticker", daemon=True)
        self._thread.start()

    def say(self, line: str) -> None:
        """Buffer the line; drop it if the buffer is full. Never blocks."""
        with self._news:
            if len(self._lines) < self._most:
                self._lines.append(escaped(line))
                self._news.notify()
            else:
                self._dropped += 1

    def end(self) -> bool:
        """Accept no more lines; return whether all were written in time."""
        with self._news:
            self._ended = True
            self._news.notify()
        self._thread.join(LAST_WORDS)
        return not self._thread.is_alive()

    def _next(self) -> str:
        """All buffered lines as one text; empty at the end."""
        with self._news:
            while not self._lines and not self._ended:
                self._news.wait()
            lines, dropped = list(self._lines), self._dropped
            self._lines.clear()
            self._dropped = 0
        if dropped:
            lines.append(f"({dropped} lines dropped: the reader was too slow)")
        return "".join(f"{line}\n" for line in lines)

    def _write_all(self) -> None:
        try:
            while text := self._next():
                data = memoryview(text.encode(self._encoding, self._errors))
                while data:
                    data = data[os.write(self._target, data) :]
        except OSError:
            self._most = 0
