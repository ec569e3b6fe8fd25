"""What happens in a world, in which order. Who is meant by a step is chosen when it is its turn, alike on both sides.

A step says `pick`, a number between 0 and 1: of the names that come into question then, in their order, the one there.
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
    """All pods of a job that runs succeed."""

    pick: float


@dataclass(frozen=True, slots=True)
class Delete:
    """A job goes, whether it runs or waits."""

    pick: float


@dataclass(frozen=True, slots=True)
class Lose:
    """A node goes: `deleted`, `tainted` or `silent`."""

    pick: float
    how: str


@dataclass(frozen=True, slots=True)
class Recover:
    """All nodes are back as they were."""


Step = Create | Finish | Delete | Lose | Recover

LOSSES = ("deleted", "tainted", "silent")


def make_script(world: World, jobs: int) -> Iterator[Step]:
    """`jobs` creations. From the eighth on things end too, and twice nodes go and come back."""
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
