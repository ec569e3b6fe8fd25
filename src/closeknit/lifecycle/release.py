"""Giving back: a workload that was evicted has stopped, and returns to its line or stays out of it."""

from __future__ import annotations

from dataclasses import replace

from ..model.gates import Gates
from ..model.workload import Conditions, Workload

AT_ONCE = ("Preempted", "NodeFailures")
"""Evictions after which a workload is back in line right away: it was not its fault."""

TIME_IS_OVER = "DeactivatedDueToMaximumExecutionTimeExceeded"

NO_RESERVATION = (False, "NoReservation", "The workload has no reservation")


def released(workload: Workload, gates: Gates, now: float) -> Workload:
    """Its pods are gone: what it held is free, and whether it may try again depends on why it had to go."""
    evicted = workload.status.conditions["Evicted"]
    alone = workload.owned_by_pod and "SkipReassignmentForPodOwnedWorkloads" in gates
    again = evicted.reason in AT_ONCE and not alone
    changes: Conditions = {
        "Requeued": (again, evicted.reason, evicted.message),
        "QuotaReserved": (False, pending_reason(gates), evicted.message),
        "Admitted": NO_RESERVATION,
    }
    return without_quota(workload, changes, now)


def without_quota(workload: Workload, changes: Conditions, now: float) -> Workload:
    """As it is once it holds nothing any more; how long it ran is added up, unless its time was over."""
    admitted = workload.status.conditions.get("Admitted")
    ran = int(now - admitted.since) if admitted is not None and admitted.holds and not _is_over(workload) else 0
    status = workload.status.changed(changes, now, workload.generation)
    return replace(workload, status=replace(status, admission=None, executed=status.executed + ran))


def _is_over(workload: Workload) -> bool:
    """Whether it had to go because it ran for all of its time; then it begins anew one day."""
    evicted = workload.status.conditions.get("Evicted")
    return evicted is not None and evicted.holds and evicted.reason == TIME_IS_OVER


def pending_reason(gates: Gates) -> str:
    return "PendingEvaluation" if "UnadmittedWorkloadsObservability" in gates else "Pending"
