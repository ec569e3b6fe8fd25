"""A demo: initial objects, then timed steps, each with a sentence for the live view.

Steps are small functions over the store: they read the state of the cluster, describe it in a sentence, and write what
a person would write. Nothing else is staged; the control plane does the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...cluster.embedded.standins.settings import StandinSettings as Pace
from ...cluster.embedded.store import Store
from ...cluster.port import Raw, Write

PACE = Pace(heartbeat_grace=6.0, job_backoff=2.0)
"""The stand-ins' timing in demos: a lost host is noticed, and its pods are replaced, sooner than usual."""


class Act(NamedTuple):
    """The sentence of a step and its writes. An empty sentence keeps the previous one.

    `again`: repeat this step after so many seconds instead of taking the next one.
    """

    says: str = ""
    writes: Sequence[Write] = ()
    again: float | None = None


@dataclass(frozen=True, slots=True)
class DemoStep:
    """`after`: seconds after the previous step. `act` gets the number of the round, starting with 1."""

    after: float
    act: Callable[[Store, int], Act]


@dataclass(frozen=True, slots=True)
class Demo:
    """`again`: seconds between the last step and the first step of the next round; None: it plays once."""

    name: str
    line: str
    objects: Callable[[], Iterable[Raw]]
    steps: tuple[DemoStep, ...] = ()
    again: float | None = None
