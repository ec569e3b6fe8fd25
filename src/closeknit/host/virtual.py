"""The embedded cluster in virtual time: its clock stands still until it is told to go on, and then jumps.

Between two events nothing happens, so hours of cluster life pass in seconds, and the same seed gives the same life. The
clock is given, and so is the clock by which the cost of decisions is measured: one that stands still, as by default,
makes two runs equal byte for byte. Stories, demos in tests and simulations run on this host; `service.py` is the same
cluster on the real clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..cluster import kinds
from ..cluster.embedded.store import Store
from .decisions import Decisions, Memory
from .embedded import EmbeddedCluster, Options


class Restless(RuntimeError):  # noqa: N818 - it is a state
    """At one moment there is always something more to do."""


class VirtualClock:
    """`time` in seconds since 1970; the holder of the clock sets it."""

    def __init__(self, start: float) -> None:
        self.time = start

    def now(self) -> float:
        return self.time


def no_cost() -> float:
    """A clock for costs that stands still: everything costs nothing."""
    return 0.0


class VirtualHost:
    """`prepare` is called with the cluster before it begins, also after a restart: to add watchers and others.

    `most_turns`: so many steps at one moment are a sign that they never end.
    """

    most_turns = 4_000

    def __init__(
        self,
        clock: VirtualClock,
        options: Options | None = None,
        cost: Callable[[], float] = no_cost,
        prepare: Callable[[EmbeddedCluster], None] = lambda _: None,
    ) -> None:
        self.clock, self.options = clock, options or Options(seed=1)
        self.decisions = Decisions(Memory())
        self._cost, self._prepare = cost, prepare
        self.cluster = self._opened()
        self.cluster.begin()

    def _opened(self) -> EmbeddedCluster:
        cluster = EmbeddedCluster(self.clock.now, self.options, decisions=self.decisions, cost=self._cost)
        self._prepare(cluster)
        return cluster

    @property
    def store(self) -> Store:
        return self.cluster.store

    def restart(self) -> None:
        """As after a kill: all that is kept is the objects. Ids differ from start to start, as they would."""
        old, self.options = self.store, replace(self.options, seed=(self.options.seed or 0) + 1)
        self.cluster = self._opened()
        for kind in kinds.KINDS:
            for raw in old.all(kind):
                self.store.restore(kind, raw)
        self.store.resume(old.version)
        self.cluster.begin()

    def settle(self) -> float | None:
        """Do everything that is to be done at this moment; says when there is next something to do."""
        due = self.cluster.run(self.most_turns)
        if due is not None and due <= self.clock.time:
            raise Restless(f"more than {self.most_turns} turns at one moment")
        return due

    def advance(self, seconds: float) -> None:
        """Jump to every moment at which something is due, up to the last."""
        end = self.clock.time + seconds
        while (due := self.settle()) is not None and due <= end:
            self.clock.time = max(self.clock.time, due)
        self.clock.time = end
        self.settle()

    def run_until(self, changes: int) -> bool:
        """At this moment, up to so many changes of the store; whether there were as many."""
        last = self.store.version + changes
        while self.store.version < last:
            due = self.cluster.run(1)
            if due is None or due > self.clock.time:
                break
        return self.store.version >= last
