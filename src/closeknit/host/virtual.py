"""The embedded cluster in virtual time: its clock stands still until it is advanced, and then jumps.

Nothing happens between two events, so hours of cluster time pass in seconds, and the same seed gives the same run. The
clock is a parameter, and so is the clock that measures the cost of decisions: by default that one stands still, which
makes two runs equal byte for byte. Stories, demos in tests and simulations run on this host; `service.py` is the same
cluster on the real clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..cluster import kinds
from ..cluster.embedded.store import Store
from .decisions import Decisions, Memory
from .embedded import EmbeddedCluster, EmbeddedOptions


class NeverIdleError(RuntimeError):
    """The cluster stays busy without virtual time advancing."""


class VirtualClock:
    """`time` in seconds since 1970; its owner sets it."""

    def __init__(self, start: float) -> None:
        self.time = start

    def now(self) -> float:
        return self.time


def no_cost() -> float:
    """A cost clock that stands still, so that every cost is 0."""
    return 0.0


class VirtualHost:
    """`prepare` is called with the cluster before it starts, also after a restart: to add watchers and participants.

    `max_steps`: the number of steps at one moment after which the cluster is considered to loop forever.
    """

    max_steps = 4_000

    def __init__(
        self,
        clock: VirtualClock,
        options: EmbeddedOptions | None = None,
        cost: Callable[[], float] = no_cost,
        prepare: Callable[[EmbeddedCluster], None] = lambda _: None,
    ) -> None:
        self.clock, self.options = clock, options or EmbeddedOptions(seed=1)
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
        """Restart as after a kill: only the objects survive. Ids differ after each start, as they really would."""
        old, self.options = self.store, replace(self.options, seed=(self.options.seed or 0) + 1)
        self.cluster = self._opened()
        for kind in kinds.KINDS:
            for raw in old.all(kind):
                self.store.restore(kind, raw)
        self.store.resume(old.version)
        self.cluster.begin()

    def settle(self) -> float | None:
        """Do everything that is due at this moment; returns when something is next due."""
        due = self.cluster.run(self.max_steps)
        if due is not None and due <= self.clock.time:
            raise NeverIdleError(f"more than {self.max_steps} turns without the clock advancing")
        return due

    def advance(self, seconds: float) -> None:
        """Advance the clock, stopping at every moment at which something is due."""
        end = self.clock.time + seconds
        while (due := self.settle()) is not None and due <= end:
            self.clock.time = max(self.clock.time, due)
        self.clock.time = end
        self.settle()

    def run_until(self, changes: int) -> bool:
        """Run at this moment until the store has made that many changes; returns whether it made them."""
        last = self.store.version + changes
        while self.store.version < last:
            due = self.cluster.run(1)
            if due is None or due > self.clock.time:
                break
        return self.store.version >= last
