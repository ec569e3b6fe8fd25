"""Writes to queues, flavors and checks: their status, and the finalizer that protects objects in use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..cluster.kinds import Kind
from ..cluster.port import Raw, Update, Write
from ..dialects import timestamps
from ..dialects.kueue.jobs.marks import IN_USE
from ..model.cluster_queue import ClusterQueue
from ..model.quota import FlavorResource
from ..model.resources import show
from ..model.workload import Condition
from ..observe.queue_counts import QueueCount


def with_status(kind: Kind, raw: Raw, status: Mapping[str, object], active: Condition) -> Write | None:
    """Set these fields of the status; None if they are set already."""
    old = raw.get("status") or {}
    new = {**old, **status, "conditions": _conditions(old.get("conditions") or (), active, raw)}
    return None if new == old else Update(kind, {**raw, "status": new}, "status")


def _conditions(old: Iterable[Raw], active: Condition, raw: Raw) -> list[Raw]:
    before = next((one for one in old if one.get("type") == "Active"), None)
    now = "True" if active.holds else "False"
    since = timestamps.stamp(active.since)
    if before is not None and before.get("status") == now:
        since = before.get("lastTransitionTime", since)
    wanted = {
        "type": "Active",
        "status": now,
        "reason": active.reason,
        "message": active.message,
        "lastTransitionTime": since,
        "observedGeneration": raw["metadata"].get("generation", 1),
    }
    return [*(one for one in old if one.get("type") != "Active"), wanted]


def queue_status(queue: ClusterQueue, count: QueueCount, pending: int, share: int | None) -> Raw:
    nominal = {
        FlavorResource(flavor.flavor, resource): quota.nominal
        for group in queue.groups
        for flavor in group.flavors
        for resource, quota in flavor.resources.items()
    }
    has_cohort = bool(queue.cohort)
    return {
        "flavorsReservation": _usage(queue, count.reserved, nominal, has_cohort),
        "flavorsUsage": _usage(queue, count.used, nominal, has_cohort),
        "pendingWorkloads": pending,
        "reservingWorkloads": count.reserving,
        "admittedWorkloads": count.admitted,
        **({"fairSharing": {"weightedShare": share}} if share is not None else {}),
    }


def local_queue_status(queue: ClusterQueue | None, count: QueueCount) -> Raw:
    return {
        "pendingWorkloads": count.pending,
        "reservingWorkloads": count.reserving,
        "admittedWorkloads": count.admitted,
        "flavorsReservation": [] if queue is None else _totals(queue, count.reserved),
        "flavorsUsage": [] if queue is None else _totals(queue, count.used),
    }


def _usage(
    queue: ClusterQueue, used: Mapping[FlavorResource, int], nominal: Mapping[FlavorResource, int], has_cohort: bool
) -> list[Raw]:
    """Usage per flavor in the queue's order, per resource by name; usage beyond the nominal quota is borrowed."""
    found = []
    for group in queue.groups:
        for flavor in group.flavors:
            resources = []
            for resource in sorted(flavor.resources):
                key = FlavorResource(flavor.flavor, resource)
                total = used.get(key, 0)
                borrowed = max(0, total - nominal[key]) if has_cohort else 0
                resources.append(
                    {"name": resource, "total": show(resource, total), "borrowed": show(resource, borrowed)}
                )
            found.append({"name": flavor.flavor, "resources": resources})
    return found


def _totals(queue: ClusterQueue, used: Mapping[FlavorResource, int]) -> list[Raw]:
    return [
        {
            "name": flavor.flavor,
            "resources": [
                {"name": resource, "total": show(resource, used.get(FlavorResource(flavor.flavor, resource), 0))}
                for resource in sorted(flavor.resources)
            ],
        }
        for group in queue.groups
        for flavor in group.flavors
    ]


def held(kind: Kind, raw: Raw, in_use: bool) -> Write | None:
    """Add the finalizer, or remove it from a deleted object that is no longer in use; None if nothing changes."""
    meta = raw["metadata"]
    finalizers = list(meta.get("finalizers") or ())
    going = "deletionTimestamp" in meta
    if not going and IN_USE not in finalizers:
        return Update(kind, {**raw, "metadata": {**meta, "finalizers": [*finalizers, IN_USE]}})
    if going and not in_use and IN_USE in finalizers:
        kept = [one for one in finalizers if one != IN_USE]
        return Update(kind, {**raw, "metadata": {**meta, "finalizers": kept}})
    return None
