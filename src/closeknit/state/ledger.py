"""The ledger: the quota and room that each workload holds, from the decision until it is released.

A decision counts at once, before its write; the write may still fail or never be observed. So a holding is assumed
first, and confirmed when the cluster shows it. An assumption that moves a workload also holds the places that it gives
up until then, so that no other admission can be written before the move.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from ..model.quota import FlavorResource
from ..model.workload import Workload
from .mirror import Footprint, Usage


class HoldingStage(Enum):
    ASSUMED = auto()
    CONFIRMED = auto()


@dataclass(slots=True, eq=False)
class Holding:
    """What one workload holds: quota by flavor and resource, room by flavor."""

    workload: Workload
    queue: str
    usage: Mapping[FlavorResource, int]
    places: tuple[Usage, ...] = ()
    stage: HoldingStage = HoldingStage.CONFIRMED
    since: float = 0.0
    before: Holding | None = None
    """The confirmed holding that this assumption replaced; it is restored if the assumption expires."""
    footprints: tuple[int, Sequence[list[Footprint]]] = (-1, ())
    """Where each of its places counts, and the layout of the mirror for which that holds: a cache."""

    @property
    def key(self) -> str:
        return self.workload.key


class Ledger:
    """Which workload holds what, and where.

        assume()            confirm()            release()
    ∅ ───────────▶ assumed ───────────▶ confirmed ─────────▶ ∅
                     │ expire() after the write failed or was never observed
                     └────────────────────────────────────▶ ∅

    `generation` of a queue moves when one of its holdings is removed or changed: room may have been freed.
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
        return holding is not None and holding.stage is HoldingStage.ASSUMED

    def of(self, queue: str) -> Mapping[str, Holding]:
        return self.by_queue.get(queue, {})

    def assume(self, holding: Holding) -> None:
        assert holding.key not in self.holdings, f"{holding.key} is admitted twice"
        holding.stage = HoldingStage.ASSUMED
        self._put(holding)

    def confirm(self, holding: Holding) -> None:
        """Record what the cluster shows; it replaces what was assumed."""
        holding.stage = HoldingStage.CONFIRMED
        if self.release(holding.key) is None:
            self._moved(holding.queue)
        self._put(holding)

    def expire(self, key: str) -> Holding | None:
        """Drop an assumption and restore the confirmed holding that it replaced; a confirmed one stays."""
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
        """Assumptions made before that time and not confirmed since."""
        return [one for one in self.holdings.values() if one.stage is HoldingStage.ASSUMED and one.since < time]

    def _put(self, holding: Holding) -> None:
        self.holdings[holding.key] = holding
        self.by_queue.setdefault(holding.queue, {})[holding.key] = holding

    def _moved(self, queue: str) -> None:
        self.generation[queue] = self.generation.get(queue, 0) + 1
