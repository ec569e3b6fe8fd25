"""Checks before a workload is nominated: its admission checks, its queue, its namespace, LimitRanges."""

from __future__ import annotations

from ..model.limit_range import violation
from ..queue.pending_workload import PendingWorkload
from ..queue.wake import RequeueReason
from .world import World


def mismatch(world: World, head: PendingWorkload) -> tuple[RequeueReason, str, str] | None:
    """Why a workload is not nominated: how to requeue it, and reason and message of its condition."""
    workload = head.workload
    if any(check.state in ("Retry", "Rejected") for check in workload.status.checks):
        return RequeueReason.OTHER, "PendingEvaluation", "The workload has failed admission checks"
    queue = world.cluster_queues.get(head.queue)
    if queue is None:
        return RequeueReason.OTHER, "Misconfigured", f"ClusterQueue {head.queue} not found"
    if not world.is_active(head.queue):
        return RequeueReason.OTHER, "Suspended", f"ClusterQueue {head.queue} is inactive"
    labels = world.namespaces.get(workload.namespace)
    if labels is None:
        return RequeueReason.OTHER, "Misconfigured", f"Could not obtain workload namespace {workload.namespace}"
    if queue.selector is None or not queue.selector.matches(labels):
        return RequeueReason.NAMESPACE, "Misconfigured", "workload namespace doesn't match ClusterQueue selector"
    ranges = world.limit_ranges.get(workload.namespace, ())
    broken = violation(workload, ranges, ratios="CheckLimitRatios" in world.gates)
    return None if broken is None else (RequeueReason.OTHER, "Misconfigured", broken)
