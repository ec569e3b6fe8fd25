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

from dataclasses import replace

from ..decide.status import evicted
from ..model.settings import PodsReady
from ..model.workload import Condition, Workload
from .action import Action, Requeue, StatusChange

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


def pods_ready(workload: Workload, settings: PodsReady, now: float) -> list[Action]:
    """Reconcile a workload whose pods are not ready: requeue until the timeout, or evict it."""
    if not workload.admitted or workload.evicted or workload.status.holds("DeactivationTarget"):
        return []
    cause, since, timeout = _waits(workload, settings)
    if cause is None or not timeout:
        return []
    if now < since + timeout:
        return [Requeue(since + timeout, cause)]
    return [_timed_out(workload, settings, cause, now)]


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


def _timed_out(workload: Workload, settings: PodsReady, cause: str, now: float) -> StatusChange:
    count = workload.status.requeues + 1
    message = f"Exceeded the PodsReady timeout {workload.key}"
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
