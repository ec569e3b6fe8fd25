"""Writes to Workloads. Each carries the resourceVersion that the decision was based on, so that a write to an object
that has changed since conflicts, and the key is reconciled again."""

from __future__ import annotations

from ..cluster.kinds import WORKLOAD
from ..cluster.port import Delete, Raw, Update, Write, key_of
from ..dialects.kueue import objects as kueue
from ..dialects.kueue.jobs.marks import IN_USE
from ..dialects.kueue.jobs.workload_object import WorkloadPriority, job_labels, owner_reference, ranked
from ..model.workload import Workload


def status_write(raw: Raw, before: Workload, after: Workload) -> Write | None:
    """Replace the status in the object as it was read; None if nothing would change."""
    written = kueue.with_status(raw, after.status, before.status)
    return None if written["status"] == (raw.get("status") or {}) else Update(WORKLOAD, written, "status")


def deactivated(raw: Raw) -> Write:
    return Update(WORKLOAD, {**raw, "spec": {**raw["spec"], "active": False}})


def rewritten(raw: Raw, wanted: Raw) -> Write:
    """Update the Workload to match its job, which changed before it was admitted."""
    spec = {**wanted["spec"], "active": raw["spec"].get("active", True)}
    return Update(WORKLOAD, {**raw, "spec": spec})


def reprioritized(raw: Raw, priority: WorkloadPriority) -> Write:
    """Change only the priority."""
    return Update(WORKLOAD, {**raw, "spec": {**raw["spec"], **ranked(priority)}})


def adopted(raw: Raw, job: Raw) -> Write:
    """Make the job the owner of a prebuilt Workload."""
    meta, owner = raw["metadata"], owner_reference(job, controller=True)
    labels = {**(meta.get("labels") or {}), **job_labels(job["metadata"])}
    owners = [*(one for one in meta.get("ownerReferences") or () if one["uid"] != owner["uid"]), owner]
    return Update(WORKLOAD, {**raw, "metadata": {**meta, "labels": labels, "ownerReferences": owners}})


def finalized(raw: Raw) -> Write | None:
    """Remove our finalizer; None if it has none."""
    meta = raw["metadata"]
    if IN_USE not in (meta.get("finalizers") or ()):
        return None
    kept = [one for one in meta["finalizers"] if one != IN_USE]
    rest = {key: value for key, value in meta.items() if key != "finalizers"}
    return Update(WORKLOAD, {**raw, "metadata": {**rest, "finalizers": kept} if kept else rest})


def removed(raw: Raw) -> list[Write]:
    """Remove our finalizer and delete the Workload."""
    loose = finalized(raw)
    if loose is not None and "deletionTimestamp" in raw["metadata"]:
        return [loose]
    gone = Delete(key_of(WORKLOAD, raw), raw["metadata"]["uid"])
    return [gone] if loose is None else [loose, gone]
