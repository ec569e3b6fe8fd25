"""Runs stories, finds those that break an invariant, and shortens them."""

from __future__ import annotations

import json
import traceback
from collections.abc import Sequence
from random import Random
from time import monotonic
from typing import NamedTuple

from .life import Life
from .steps import Drawer, Step
from .zoned_life import ZonedLife
from .zoned_steps import ZONED, with_zones

HEALED = 5
"""One story in this many ends with repairs and hours of idle time, which take as long as the story itself."""

LATE = 8
"""One story in this many runs with a control plane that sees everything late."""


class Outcome(NamedTuple):
    """`at` is the step that broke an invariant; None if none did."""

    at: int | None = None
    why: str = ""
    decisions: int = 0


def story_of(seed: int, length: int | None = None, zones: bool = False) -> list[Step]:
    """With `zones` the same story on hosts with NUMA zones, and with what happens to these."""
    length = Random(f"length {seed}").randint(50, 200) if length is None else length
    story = Drawer(seed).story(length)
    return with_zones(story, seed) if zones else story


def tell(story: Sequence[Step], seed: int = 0) -> Outcome:
    is_zoned = any(step.what in ZONED for step in story)
    life, at = (ZonedLife if is_zoned else Life)(seed, seed % LATE == 0), 0
    try:
        for step in story:
            life.tell(step)
            at += 1
        if seed % HEALED == 0:
            life.heal()
    except Exception as error:  # whatever goes wrong breaks a rule
        where = traceback.extract_tb(error.__traceback__)[-1]
        return Outcome(at, f"{type(error).__name__}: {error} ({where.name})", life.invariants.decisions)
    return Outcome(decisions=life.invariants.decisions)


def shortened(story: Sequence[Step], why: str, seed: int = 0, seconds: float = 60) -> list[Step]:
    """A shorter story that breaks the same invariant: chunks are removed while that works and time is left."""
    end = monotonic() + seconds
    kept, size = list(story), max(1, len(story) // 2)
    while size and monotonic() < end:
        at = 0
        while at < len(kept) and monotonic() < end:
            shorter = kept[:at] + kept[at + size :]
            if _kind(tell(shorter, seed).why) == _kind(why):
                kept = shorter
            else:
                at += size
        size //= 2
    return kept


def _kind(why: str) -> str:
    """The kind of a failure, without names and numbers."""
    return "".join(one for one in why if not one.isdigit())[:40]


def written(story: Sequence[Step], seed: int) -> str:
    return json.dumps({"seed": seed, "steps": [[step.what, step.facts] for step in story]}, indent=1)


def read(text: str) -> tuple[list[Step], int]:
    given = json.loads(text)
    return [Step(what, facts) for what, facts in given["steps"]], given["seed"]
