"""Deletion of an object: immediate, or with a deletionTimestamp while something holds it.

Finalizers hold every kind, a namespace is also held by those of its spec, and a running pod by its grace period.
Foreground deletion and orphaning are finalizers too. Pure functions over raw objects; the store removes an object once
nothing holds it.
"""

from __future__ import annotations

from ...dialects import timestamps
from ..kinds import NAMESPACE, POD, Kind
from ..port import Propagation, Raw

LONGEST_GRACE = 1 << 31
"""In seconds. With a longer grace period the deletionTimestamp would be after the year 9999."""
FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
KEEPING = {"Foreground": FOREGROUND, "Orphan": ORPHAN}
ENDED = ("Succeeded", "Failed")


def marked(kind: Kind, old: Raw, propagation: Propagation, grace: int | None, now: float) -> Raw:
    """The object with a deletionTimestamp, which a later deletion can only move forward."""
    meta = dict(old["metadata"])
    finalizers = [one for one in meta.get("finalizers", ()) if one not in (FOREGROUND, ORPHAN)]
    if propagation in KEEPING:
        finalizers.append(KEEPING[propagation])
    if finalizers:
        meta["finalizers"] = finalizers
    else:
        meta.pop("finalizers", None)
    period = grace_period(kind, old, grace)
    if "deletionTimestamp" not in meta or period < meta.get("deletionGracePeriodSeconds", 0):
        meta["deletionTimestamp"] = timestamps.stamp(now + period)
        meta["deletionGracePeriodSeconds"] = period
    new = {**old, "metadata": meta}
    if kind is NAMESPACE:
        new["status"] = {**(old.get("status") or {}), "phase": "Terminating"}
    return new


def is_held(kind: Kind, raw: Raw) -> bool:
    """Whether finalizers or a grace period hold a deleted object."""
    meta = raw["metadata"]
    if meta.get("finalizers"):
        return True
    if kind is NAMESPACE:
        return bool((raw.get("spec") or {}).get("finalizers"))
    return kind is POD and meta.get("deletionGracePeriodSeconds", 0) > 0


def grace_period(kind: Kind, raw: Raw, asked: int | None) -> int:
    """The grace period of a pod in seconds: 0 if it never ran, or has ended."""
    if kind is not POD or not raw["spec"].get("nodeName"):
        return 0
    if (raw.get("status") or {}).get("phase") in ENDED:
        return 0
    period = asked if asked is not None else raw["spec"].get("terminationGracePeriodSeconds", 30)
    return max(0, min(period, LONGEST_GRACE))
