"""How often Python looks for garbage: rarely, and never among what a host has loaded, for that stays.

A look at everything that is known of a large cluster stops the event loop for a tenth of a second and longer.
"""

from __future__ import annotations

import gc

RARELY = (50_000, 20, 100)


def collect_rarely() -> None:
    """Before anything is loaded."""
    gc.set_threshold(*RARELY)


def keep_what_is_loaded() -> None:
    gc.freeze()
