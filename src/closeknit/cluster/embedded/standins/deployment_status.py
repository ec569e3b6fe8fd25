"""The conditions of a Deployment: whether enough pods are available, and whether the rollout makes progress."""

from __future__ import annotations

from collections.abc import Mapping

from ....dialects.timestamps import parse, stamp
from ...port import Raw
from .children import condition, with_condition

UNDER_WAY = ("ReplicaSetUpdated", "NewReplicaSetCreated")


def conditions_of(
    owner: Raw, counts: Mapping[str, int], desired: int, floor: int, newest: str, now: float
) -> list[Raw]:
    """The conditions. `floor` is how many pods have to be available, `newest` the name of the current ReplicaSet."""
    conditions = (owner.get("status") or {}).get("conditions") or []
    if counts["availableReplicas"] >= floor:
        text = ("MinimumReplicasAvailable", "Deployment has minimum availability.")
    else:
        text = ("MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    conditions = _with(conditions, "Available", counts["availableReplicas"] >= floor, *text, now)
    if not newest:
        return conditions
    return _with(
        conditions, "Progressing", *_progress(owner, counts, desired, newest, now), now, moved=_moved(owner, counts)
    )


def _progress(owner: Raw, counts: Mapping[str, int], desired: int, newest: str, now: float) -> tuple[bool, str, str]:
    done = f'ReplicaSet "{newest}" has successfully progressed.'
    before = condition(owner, "Progressing")
    if all(counts[part] == desired for part in ("replicas", "updatedReplicas", "availableReplicas")):
        return True, "NewReplicaSetAvailable", done
    if before is None:
        return True, "NewReplicaSetCreated", f'Created new replica set "{newest}"'
    if before["reason"] == "NewReplicaSetAvailable" and before["message"] == done:
        return True, before["reason"], before["message"]
    limit = owner["spec"].get("progressDeadlineSeconds")
    if not _moved(owner, counts):
        if before["reason"] == "ProgressDeadlineExceeded":
            return False, before["reason"], before["message"]
        if limit and before["reason"] in UNDER_WAY and now >= parse(before["lastUpdateTime"]) + limit:
            return False, "ProgressDeadlineExceeded", f'ReplicaSet "{newest}" has timed out progressing.'
    return True, "ReplicaSetUpdated", f'ReplicaSet "{newest}" is progressing.'


def _moved(owner: Raw, counts: Mapping[str, int]) -> bool:
    """Whether the rollout has made progress since the last status."""
    status = owner.get("status") or {}
    return any(
        counts[part] > status.get(part, 0) for part in ("updatedReplicas", "readyReplicas", "availableReplicas")
    ) or counts["replicas"] - counts["updatedReplicas"] < status.get("replicas", 0) - status.get("updatedReplicas", 0)


def _with(
    conditions: list[Raw], kind: str, status: bool, reason: str, message: str, now: float, moved: bool = False
) -> list[Raw]:
    """Set a condition; an unchanged one keeps its update time, unless the rollout has made progress."""
    new = (kind, str(status), reason, message)
    if not (moved and reason in UNDER_WAY):
        for one in conditions:
            if (one["type"], one["status"], one["reason"], one["message"]) == new:
                return conditions
    return with_condition(conditions, kind, status, reason, message, now, lastUpdateTime=stamp(now))
