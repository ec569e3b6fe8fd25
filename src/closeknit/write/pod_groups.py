"""Writes to the pods of a group: delete them, remove their finalizers, and make all of them owners of the Workload."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..cluster.kinds import POD, WORKLOAD
from ..cluster.port import Delete, Raw, Update, Write, key_of
from ..dialects import timestamps
from ..dialects.kueue.jobs.kinds.pod import doomed, is_gated, let_go
from ..dialects.kueue.jobs.kinds.pod_groups import is_deleted, is_stopped, is_terminated
from ..dialects.kueue.jobs.workload_object import owner_reference
from ..model.workload import Workload


def sent_away(pods: Iterable[Raw], reason: str, message: str, now: float) -> Iterator[Write]:
    """Set a condition with the reason on ungated pods and delete them; gated pods stay and wait."""
    for pod in pods:
        if not is_gated(pod) and not is_terminated(pod) and not is_deleted(pod):
            marked = doomed(pod, reason, message, timestamps.stamp(now))
            yield Update(POD, {**marked, "metadata": {**marked["metadata"], "resourceVersion": ""}}, "status")
            yield Delete(key_of(POD, pod), pod["metadata"]["uid"])


def freed(pods: Iterable[Raw]) -> Iterator[Write]:
    """Remove our finalizer from the pods that have it."""
    for pod in pods:
        loose = let_go(pod)
        if loose["metadata"].get("finalizers") != pod["metadata"].get("finalizers"):
            yield Update(POD, loose)


def freed_alone(pod: Raw, workload: Workload | None) -> Iterator[Write]:
    """Remove our finalizer from a single pod once its workload has finished, or if it is deleted and does not run."""
    if (is_deleted(pod) and is_stopped(pod)) or (workload is not None and workload.finished):
        yield from freed([pod])


def owned(workload: Raw, pods: Sequence[Raw]) -> Write | None:
    """Make every pod of the group an owner of the Workload; None if they all are."""
    owners = workload["metadata"].get("ownerReferences") or []
    there = {one["uid"] for one in owners}
    added = [owner_reference(pod, controller=False) for pod in pods if pod["metadata"]["uid"] not in there]
    if not added:
        return None
    return Update(WORKLOAD, {**workload, "metadata": {**workload["metadata"], "ownerReferences": [*owners, *added]}})
