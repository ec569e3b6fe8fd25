"""What a demo is: objects to begin with, then steps on the clock, each with a sentence for whoever looks on.

Steps are small functions over the store: they see how things stand, say something about it, and write what a person
would. Nothing else is pretended; what follows from a step is the work of the control plane.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...cluster.embedded.standins.settings import Settings as Pace
from ...cluster.embedded.store import Store
from ...cluster.port import Raw, Write

PACE = Pace(heartbeat_grace=6.0, job_backoff=2.0)
"""What demos are timed for: a lost host is noticed, and its pods are made anew, sooner than elsewhere."""


class Act(NamedTuple):
    """What is said of a step, and what it writes. Nothing said: the sentence before still holds.

    `again`: this step is taken once more after so many seconds, instead of the next one.
    """

    says: str = ""
    writes: Sequence[Write] = ()
    again: float | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """`after`: seconds since the step before. `act` gets the number of the round, the first being 1."""

    after: float
    act: Callable[[Store, int], Act]


@dataclass(frozen=True, slots=True)
class Demo:
    """`again`: seconds after the last step when the first one follows; None: it is told once."""

    name: str
    line: str
    objects: Callable[[], Iterable[Raw]]
    steps: tuple[Step, ...] = ()
    again: float | None = None
