"""Decisions: the results of a cycle, as values. The caller of the cycle writes them, and a write may fail.

Admit       quota, and places where there are any
Preempt     evict a victim; it keeps what it holds until it has stopped
Evict       no replacement for a failed node was found
Wait        not this time, with a reason
Retry       a second pass that found no places
Replace     a slice of an elastic job is replaced by its successor
"""

from __future__ import annotations

from dataclasses import dataclass

from ..model.event import Event
from ..model.workload import Admission, Workload
from ..queue.wake import RequeueReason
from .plan import Plan
from .victims import PreemptionCause


@dataclass(frozen=True, slots=True)
class Admit:
    """`after` is the workload after admission and `events` what to record; both are set by the scheduler."""

    workload: Workload
    admission: Admission
    plan: Plan
    after: Workload | None = None
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class Preempt:
    victim: Workload
    queue: str
    by: Workload
    by_queue: str
    cause: PreemptionCause
    message: str


@dataclass(frozen=True, slots=True)
class Evict:
    """`found` is why the search for a replacement failed."""

    workload: Workload
    message: str
    found: str


@dataclass(frozen=True, slots=True)
class Wait:
    """`reason` and `message` are those of the condition QuotaReserved=False."""

    workload: Workload
    why: RequeueReason
    reason: str
    message: str
    plan: Plan | None = None
    gated: bool = False
    victims: tuple[Workload, ...] = ()


@dataclass(frozen=True, slots=True)
class Retry:
    workload: Workload
    message: str


@dataclass(frozen=True, slots=True)
class Replace:
    old: Workload
    by: Workload


Decision = Admit | Preempt | Evict | Wait | Retry | Replace
