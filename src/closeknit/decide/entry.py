"""An entry: one workload on its way through a cycle."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from ..model.quota import FlavorResource
from ..model.workload import Workload
from ..queue.waiting import Waiting
from ..queue.wake import Why
from .nominate import Nomination
from .plan import Plan
from .victims import Victim


class Fate(Enum):
    """What became of it in this cycle."""

    WAITS = auto()
    SKIPPED = auto()
    ADMITTED = auto()
    EVICTED = auto()
    DROPPED = auto()


@dataclass(slots=True, eq=False)
class Entry:
    waiting: Waiting
    nomination: Nomination | None = None
    fate: Fate = Fate.WAITS
    why: Why = Why.OTHER
    reason: str = "PendingEvaluation"
    message: str = ""
    recomputed: str = ""
    skipped_preemption: bool = False
    gated: bool = False
    told: bool = False
    """Its fate is among the decisions already."""
    resumed: bool = False
    """Not all flavors were looked at: the walk went on where it had stopped."""
    outrun: bool = False
    """It had a plan that worked, and another when earlier turns had taken that from it, or been promised it."""
    insists: bool = False
    """It keeps for itself what it cannot get yet, and will in the next cycle: its queue lets nobody pass it."""

    @property
    def workload(self) -> Workload:
        return self.waiting.workload

    @property
    def queue(self) -> str:
        return self.waiting.queue

    @property
    def plan(self) -> Plan:
        assert self.nomination is not None
        return self.nomination.plan

    @property
    def victims(self) -> list[Victim]:
        return [] if self.nomination is None else self.nomination.victims

    @property
    def lacks_victims(self) -> bool:
        """Somebody would have to go for it, and nobody may."""
        return self.plan.preempts and not self.victims

    @property
    def is_second_pass(self) -> bool:
        """It holds its quota already."""
        return self.workload.reserved

    @property
    def usage(self) -> dict[FlavorResource, int]:
        """What it would add to its queue."""
        return {} if self.nomination is None or self.is_second_pass else self.plan.usage
