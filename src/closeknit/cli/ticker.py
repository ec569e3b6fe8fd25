"""Lines for a reader who may be slow: they wait in a short line of their own, and whoever writes them never does.

    say() ──▶ at most so many lines ──▶ a thread that writes ──▶ stdout
                    └─ full: dropped, and counted

A host must not stand still because nobody empties a pipe. When the reader has caught up it is told how many lines it
missed. If there is no reader any more, the rest is dropped quietly.
"""

from __future__ import annotations

import os
from collections import deque
from threading import Condition, Thread
from typing import TextIO

MOST = 10_000
LAST_WORDS = 1.0
"""Seconds for what is left to say at the end."""


class Ticker:
    """Writes to a file descriptor of its own choice, not through `sys.stdout`, whose lock would be held.

    What it says is encoded as `like` would: a stream that goes to the same place.
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
        """At once, or never."""
        with self._news:
            if len(self._lines) < self._most:
                self._lines.append(line)
                self._news.notify()
            else:
                self._dropped += 1

    def end(self) -> bool:
        """No more lines; says whether all were written in time."""
        with self._news:
            self._ended = True
            self._news.notify()
        self._thread.join(LAST_WORDS)
        return not self._thread.is_alive()

    def _next(self) -> str:
        """All that waits, as one text; empty at the end."""
        with self._news:
            while not self._lines and not self._ended:
                self._news.wait()
            lines, dropped = list(self._lines), self._dropped
            self._lines.clear()
            self._dropped = 0
        if dropped:
            lines.append(f"({dropped} more lines were dropped, because nobody read them)")
        return "".join(f"{line}\n" for line in lines)

    def _write_all(self) -> None:
        try:
            while text := self._next():
                data = memoryview(text.encode(self._encoding, self._errors))
                while data:
                    data = data[os.write(self._target, data) :]
        except OSError:
            self._most = 0
