"""An entry: one workload on its way through a cycle."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from ..model.quota import FlavorResource
from ..model.workload import Workload
from ..queue.pending_workload import FlavorProgress, PendingWorkload
from ..queue.wake import RequeueReason
from .nominate import Nomination
from .plan import Plan
from .victims import Victim


class Fate(Enum):
    """The result for an entry in this cycle."""

    WAITS = auto()
    SKIPPED = auto()
    ADMITTED = auto()
    EVICTED = auto()
    DROPPED = auto()


@dataclass(slots=True, eq=False)
class Entry:
    waiting: PendingWorkload
    nomination: Nomination | None = None
    fate: Fate = Fate.WAITS
    why: RequeueReason = RequeueReason.OTHER
    reason: str = "PendingEvaluation"
    message: str = ""
    recomputed: str = ""
    skipped_preemption: bool = False
    gated: bool = False
    recorded: bool = False
    """Its decision was recorded already."""
    progress: FlavorProgress | None = None
    """Which flavors were tried before this cycle."""
    resumed: bool = False
    """Not all flavors were considered: the search continued where it had stopped."""
    outrun: bool = False
    """Its plan worked until earlier turns took or were promised the same quota or room, so it was replanned."""
    insists: bool = False
    """It reserves what it cannot get yet, in this cycle and the next: its queue is StrictFIFO and cannot reclaim."""

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
        """Whether it needs preemption but has no victims."""
        return self.plan.preempts and not self.victims

    @property
    def is_second_pass(self) -> bool:
        """Whether it holds its quota already."""
        return self.workload.reserved

    @property
    def usage(self) -> dict[FlavorResource, int]:
        """What it would add to its queue."""
        return {} if self.nomination is None or self.is_second_pass else self.plan.usage
