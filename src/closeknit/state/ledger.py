"""The ledger: who holds quota and room, from the moment it was decided until it is given back.

A decision counts at once, before anything was written; the write may still fail, or never be seen. So a holding is
assumed first, and confirmed when the cluster shows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from ..model.quota import FlavorResource
from ..model.workload import Workload
from .mirror import Usage
from .snapshot import Snapshot
from .table import IntArray


class Stage(Enum):
    ASSUMED = auto()
    CONFIRMED = auto()


@dataclass(slots=True, eq=False)
class Holding:
    """What one workload holds: quota by flavor and resource, room by flavor."""

    workload: Workload
    queue: str
    usage: Mapping[FlavorResource, int]
    places: tuple[Usage, ...] = ()
    stage: Stage = Stage.CONFIRMED
    since: float = 0.0
    before: Holding | None = None
    """What it held, confirmed, before this was assumed; it holds that again if the assumption comes to nothing."""
    leaves: dict[tuple[int, str], tuple[Snapshot | None, tuple[IntArray, IntArray]]] = field(default_factory=dict)
    """Where its places lie in the snapshot of a flavor, by their number and the flavor: worked out once."""

    @property
    def key(self) -> str:
        return self.workload.key


class Ledger:
    """Who uses what, where.

        assume()            confirm()            release()
    ∅ ───────────▶ assumed ───────────▶ confirmed ─────────▶ ∅
                     │ expire() after the write failed or was never seen
                     └────────────────────────────────────▶ ∅

    `generation` of a queue moves when something of it was taken out or changed: room may have come free.
    """

    def __init__(self) -> None:
        self.holdings: dict[str, Holding] = {}
        self.by_queue: dict[str, dict[str, Holding]] = {}
        self.generation: dict[str, int] = {}

    def __contains__(self, key: str) -> bool:
        return key in self.holdings

    def get(self, key: str) -> Holding | None:
        return self.holdings.get(key)

    def is_assumed(self, key: str) -> bool:
        holding = self.holdings.get(key)
        return holding is not None and holding.stage is Stage.ASSUMED

    def of(self, queue: str) -> Mapping[str, Holding]:
        return self.by_queue.get(queue, {})

    def assume(self, holding: Holding) -> None:
        assert holding.key not in self.holdings, f"{holding.key} is admitted twice"
        holding.stage = Stage.ASSUMED
        self._put(holding)

    def confirm(self, holding: Holding) -> None:
        """What the cluster shows. It takes the place of what was assumed."""
        holding.stage = Stage.CONFIRMED
        if self.release(holding.key) is None:
            self._moved(holding.queue)
        self._put(holding)

    def expire(self, key: str) -> Holding | None:
        """Forget an assumption; what is confirmed stays, and what was confirmed before it holds again."""
        if not self.is_assumed(key):
            return None
        holding = self.release(key)
        if holding is not None and holding.before is not None:
            self._put(holding.before)
        return holding

    def release(self, key: str) -> Holding | None:
        holding = self.holdings.pop(key, None)
        if holding is not None:
            del self.by_queue[holding.queue][key]
            self._moved(holding.queue)
        return holding

    def assumed_before(self, time: float) -> list[Holding]:
        """Assumptions that nobody has confirmed since."""
        return [one for one in self.holdings.values() if one.stage is Stage.ASSUMED and one.since < time]

    def _put(self, holding: Holding) -> None:
        self.holdings[holding.key] = holding
        self.by_queue.setdefault(holding.queue, {})[holding.key] = holding

    def _moved(self, queue: str) -> None:
        self.generation[queue] = self.generation.get(queue, 0) + 1
