"""The update strategy of a resource: which fields a write may change, and whether it changes anything.

A status update changes only the status, any other update keeps the status, and system fields are never taken from a
client. Pure functions over raw objects; the store handles versions, rules and history.
"""

from __future__ import annotations

from ..kinds import DEPLOYMENT, PRIORITY_CLASS, Kind
from ..port import Raw
from . import ownership

NOT_SPEC = ("metadata", "status")
SYSTEM = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generateName",
    "resourceVersion",
    "selfLink",
)


def prepared(kind: Kind, old: Raw, body: Raw, subresource: str) -> Raw:
    """`body` with the fields that this write may not change reset to the old values."""
    before = old["metadata"]
    meta = dict(body.get("metadata") or {})
    for system in SYSTEM:
        if system in before:
            meta[system] = before[system]
        else:
            meta.pop(system, None)
    meta.setdefault("managedFields", before.get("managedFields"))
    if meta["managedFields"] is None:
        del meta["managedFields"]
    new = {**body, "apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta}
    if subresource == "status":
        kept = {part: value for part, value in old.items() if part not in NOT_SPEC}
        new = {**kept, "metadata": _metadata_by_status(kind, before, meta)}
        if "status" in body:
            new["status"] = body["status"]
    elif kind.status:
        new.pop("status", None)
        if "status" in old:
            new["status"] = old["status"]
    return new


def _metadata_by_status(kind: Kind, before: Raw, meta: Raw) -> Raw:
    """The metadata after a status update: of custom kinds unchanged, of a Deployment with the old labels."""
    if not kind.is_built_in:
        return _with_fields(before, meta)
    if kind is not DEPLOYMENT:
        return meta
    rest = {key: value for key, value in meta.items() if key != "labels"}
    return {**rest, "labels": before["labels"]} if "labels" in before else rest


def _with_fields(before: Raw, meta: Raw) -> Raw:
    fields = meta.get("managedFields")
    return {**before, **({"managedFields": fields} if fields is not None else {})}


def is_next_generation(kind: Kind, old: Raw, new: Raw, subresource: str) -> bool:
    """Whether the generation increases, because the desired state changed. That of a PriorityClass never does."""
    if kind is PRIORITY_CLASS:
        return False
    if kind is DEPLOYMENT and subresource != "status":
        before, after = (one["metadata"].get("annotations") or {} for one in (old, new))
        if before != after:
            return True
    return any(new.get(part) != old.get(part) for part in new.keys() | old.keys() if part not in NOT_SPEC)


def same_but_times(old: Raw, new: Raw) -> bool:
    """Whether only the times of managedFields differ, which does not count as a change."""
    before, after = old["metadata"], new["metadata"]
    if "managedFields" not in before or before.get("managedFields") == after.get("managedFields"):
        return False
    if any(old.get(part) != new.get(part) for part in old.keys() | new.keys() if part != "metadata"):
        return False
    if any(before.get(part) != after.get(part) for part in before.keys() | after.keys() if part != "managedFields"):
        return False
    return ownership.alike(before["managedFields"], after.get("managedFields") or [])
