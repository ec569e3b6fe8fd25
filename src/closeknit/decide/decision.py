"""Decisions: what a cycle came to, as values. Whoever runs the cycle carries them out, and may fail to.

Admit       quota, and places where there are any
Preempt     a victim has to go; it keeps what it holds until it has stopped
Evict       no node takes the place of one that failed
Wait        not this time, with a reason
Retry       a second pass that came to nothing
Replace     a slice of an elastic job gives way to its successor
"""

from __future__ import annotations

from dataclasses import dataclass

from ..model.event import Event
from ..model.workload import Admission, Workload
from ..queue.wake import Why
from .plan import Plan
from .victims import Cause


@dataclass(frozen=True, slots=True)
class Admit:
    """`after` is the workload as it will be, `events` what users are told, once it is known."""

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
    cause: Cause
    message: str


@dataclass(frozen=True, slots=True)
class Evict:
    """`found` is what the search for another node came to."""

    workload: Workload
    message: str
    found: str


@dataclass(frozen=True, slots=True)
class Wait:
    """`reason` and `message` are those of the condition QuotaReserved=False."""

    workload: Workload
    why: Why
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
