"""The steps of a world, in order. The object of a step is chosen when the step is taken, in the same way on both sides.

A step has `pick`, a number between 0 and 1: it selects the name at that fraction of the sorted candidates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from .work import make_job
from .worlds import Object, World


@dataclass(frozen=True, slots=True)
class Create:
    body: Object


@dataclass(frozen=True, slots=True)
class Finish:
    """Let all pods of a running job succeed."""

    pick: float


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete a job, running or pending."""

    pick: float


@dataclass(frozen=True, slots=True)
class Lose:
    """Lose a node: `deleted`, `tainted` or `silent`."""

    pick: float
    how: str


@dataclass(frozen=True, slots=True)
class Recover:
    """Restore all nodes."""


Step = Create | Finish | Delete | Lose | Recover

LOSSES = ("deleted", "tainted", "silent")


def make_script(world: World, jobs: int) -> Iterator[Step]:
    """A script of `jobs` creations. From the eighth on jobs end too, and twice nodes are lost and restored."""
    random = Random(f"script {world.seed}")
    losses = {jobs // 3: LOSSES[world.seed % 3], 2 * jobs // 3: LOSSES[(world.seed + 1) % 3]}
    for number in range(1, jobs + 1):
        yield Create(make_job(random, world, f"{world.name}-j{number:02}"))
        if number > 8 and random.random() < 0.35:
            yield Finish(random.random())
        if number > 8 and random.random() < 0.15:
            yield Delete(random.random())
        if number in losses:
            yield Lose(random.random(), losses[number])
        if number - 4 in losses:
            yield Recover()


def picked(names: Sequence[str], pick: float) -> str | None:
    return sorted(names)[int(pick * len(names))] if names else None
