"""Releasing quota: an evicted workload has stopped, and is requeued or stays out of the queue."""

from __future__ import annotations

from dataclasses import replace

from ..model.gates import Gates
from ..model.maintenance import EVICTED
from ..model.workload import Conditions, Workload

AT_ONCE = ("Preempted", "NodeFailures", EVICTED)
"""Evictions that the workload did not cause, after which it is requeued at once."""

TIME_IS_OVER = "DeactivatedDueToMaximumExecutionTimeExceeded"

NO_RESERVATION = (False, "NoReservation", "The workload has no reservation")


def released(workload: Workload, gates: Gates, now: float) -> Workload:
    """The workload after its pods are gone: without quota; the eviction reason decides whether it is requeued."""
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
    """The workload without quota; its execution time is accumulated, unless it was evicted for exceeding it."""
    admitted = workload.status.conditions.get("Admitted")
    ran = int(now - admitted.since) if admitted is not None and admitted.holds and not _is_over(workload) else 0
    status = workload.status.changed(changes, now, workload.generation)
    return replace(workload, status=replace(status, admission=None, executed=status.executed + ran))


def _is_over(workload: Workload) -> bool:
    """Whether it was evicted for exceeding its maximum execution time; a later run then starts from zero."""
    evicted = workload.status.conditions.get("Evicted")
    return evicted is not None and evicted.holds and evicted.reason == TIME_IS_OVER


def pending_reason(gates: Gates) -> str:
    return "PendingEvaluation" if "UnadmittedWorkloadsObservability" in gates else "Pending"
