"""Garbage collection settings: rare collections in a host, which skip the objects loaded at startup; none in commands.

A full collection over the cache of a large cluster blocks the event loop for 0.1 s and longer.
"""

from __future__ import annotations

import gc

RARELY = (50_000, 20, 100)


def collect_rarely() -> None:
    """Raise the collector's thresholds; call it before anything is loaded."""
    gc.set_threshold(*RARELY)
    gc.enable()


def collect_never() -> None:
    """For a process that answers one question and ends; one that continues calls `collect_rarely`."""
    gc.disable()


def keep_what_is_loaded() -> None:
    gc.freeze()
