"""Waiting for pods: how long an admitted workload may take until all its pods are ready.

A workload that takes too long is evicted and requeued with an increasing backoff; after the configured number of
retries it is deactivated.

            admitted                  all ready                 one failed
    ∅ ────────────────▶ WaitForStart ───────────▶ Started ─────────────────▶ WaitForRecovery
                             │ timeout                        Recovered ◀──────────┤ all ready
                             ▼                                                     │ recovery timeout
                         evicted, requeued after a backoff ◀───────────────────────┘
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..decide.status import evicted
from ..model.settings import PodsReady
from ..model.workload import Condition, Workload
from .action import Action, Requeue, StatusChange
from .starting import Unstarted

START, RECOVERY = "WaitForStart", "WaitForRecovery"
NOT_READY = "Not all pods are ready or succeeded"
READY = "All pods reached readiness and the workload is running"
FAILED = "At least one pod has failed, waiting for recovery"

LIMIT = "RequeuingLimitExceeded"


def readiness(workload: Workload, ready: bool) -> tuple[bool, str, str]:
    """What the condition PodsReady should be: whether it holds, reason, message."""
    before = workload.status.conditions.get("PodsReady")
    if not workload.admitted:
        return False, START, NOT_READY
    if ready:
        if before is not None and before.holds:
            return True, before.reason, READY
        recovered = before is not None and before.reason == RECOVERY
        return True, "Recovered" if recovered else "Started", READY
    if before is not None and (before.holds or before.reason == RECOVERY):
        return False, RECOVERY, FAILED
    return False, START, NOT_READY


def pods_ready(
    workload: Workload, settings: PodsReady, now: float, unstarted: Callable[[], Unstarted | None] = lambda: None
) -> list[Action]:
    """Reconcile a workload whose pods are not ready: requeue until the timeout, or evict it.

    What `unstarted` finds then is part of the message.
    """
    if not _runs(workload):
        return []
    cause, since, timeout = _waits(workload, settings)
    if cause is None or not timeout:
        return []
    if now < since + timeout:
        return [Requeue(since + timeout, cause)]
    return [_timed_out(workload, settings, cause, now, unstarted())]


def start(workload: Workload, timeout: float, now: float, unstarted: Callable[[], Unstarted | None]) -> list[Action]:
    """Evict a workload with pods that have not started by the timeout; pods may be lost and created again later."""
    if not timeout or not _runs(workload):
        return []
    admitted = workload.status.conditions["Admitted"].since
    if now < admitted + timeout:
        return [Requeue(admitted + timeout, START)]
    found = unstarted()
    since = now if found is None else max(found.since, admitted)
    if now < since + timeout:
        return [Requeue(since + timeout, START)]
    return [_timed_out(workload, PodsReady(timeout), START, now, found)]


def _runs(workload: Workload) -> bool:
    return workload.admitted and not workload.evicted and not workload.status.holds("DeactivationTarget")


def _waits(workload: Workload, settings: PodsReady) -> tuple[str | None, float, float]:
    """What it waits for, since when, and the timeout."""
    condition: Condition | None = workload.status.conditions.get("PodsReady")
    admitted = workload.status.conditions["Admitted"].since
    if condition is None:
        return START, admitted, settings.timeout
    if condition.holds:
        return None, 0.0, 0.0
    if condition.reason == RECOVERY:
        recovery = settings.timeout if settings.recovery is None else settings.recovery
        return RECOVERY, condition.since, recovery
    return START, admitted, settings.timeout


def _timed_out(
    workload: Workload, settings: PodsReady, cause: str, now: float, found: Unstarted | None
) -> StatusChange:
    count = workload.status.requeues + 1
    message = f"Exceeded the PodsReady timeout {workload.key}" + (f"; {found}" if found is not None else "")
    if settings.limit is not None and count > settings.limit:
        text = "exceeding the maximum number of re-queuing retries"
        status = workload.status.condition("DeactivationTarget", True, LIMIT, text, now, workload.generation)
        return StatusChange(workload, replace(workload, status=status))
    after, events = evicted(workload, "PodsReadyTimeout", message, now, cause)
    wait = min(settings.base * 2 ** min(count - 1, 60), settings.longest)
    at = max(now + wait, workload.status.requeue_at or 0.0)
    return StatusChange(
        workload, replace(after, status=replace(after.status, requeues=count, requeue_at=at)), tuple(events)
    )
