"""Draws the live view while the process is in the terminal's foreground.

    in the foreground ──Ctrl-Z──▶ stopped, the terminal restored ──fg──▶ drawn again
                                     └──bg──▶ keeps running without drawing, until fg

It redraws only after a change, and at most every `REDRAW` seconds.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable

from ..report.picture import Picture
from .screen import Screen

REDRAW = 0.25
"""Minimum number of seconds between redraws."""


class LiveDisplay:
    """`run` draws until it is cancelled; `end` restores the terminal."""

    def __init__(self, picture: Callable[[], Picture], changed: asyncio.Event) -> None:
        self.picture, self.changed = picture, changed
        self._screen: Screen | None = Screen()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGWINCH, self.changed.set)
        loop.add_signal_handler(signal.SIGTSTP, self._stop)
        loop.add_signal_handler(signal.SIGCONT, self._go_on)
        self.changed.set()
        while True:
            await self.changed.wait()
            self.changed.clear()
            if self._screen is not None:
                self._screen.show(self.picture())
            await asyncio.sleep(REDRAW)

    def _stop(self) -> None:
        if self._screen is not None:
            self._screen.end()
            self._screen = None
        os.kill(os.getpid(), signal.SIGSTOP)

    def _go_on(self) -> None:
        if self._screen is None and is_in_foreground(1):
            self._screen = Screen()
            self.changed.set()

    def end(self, words: str) -> bool:
        """Restore the terminal and print `words`; return whether that finished in time."""
        return self._screen is None or self._screen.end(words)


def is_in_foreground(terminal: int) -> bool:
    """Whether this process is in the terminal's foreground; True if it is no terminal."""
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return True
