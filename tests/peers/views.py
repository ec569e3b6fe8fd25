"""The parts of a workload that have to be equal on both sides: admission, conditions, and why it is pending.

Placement, flavors, counts and usage are in the admission. Of conditions the status and the reason count, and the
message if it names preemptor and victim. The messages of pending workloads are compared separately.
"""

from __future__ import annotations

from collections.abc import Mapping

from .worlds import Object

LEFT_OUT = frozenset({"PodsReady"})
"""Conditions that follow the pods, which have a pace of their own."""
WORDS = frozenset({("Preempted", "True"), ("Evicted", "True")})
PARTS = ("admission", "unhealthyNodes")


def view(workload: Object) -> Object:
    status = workload.get("status") or {}
    spec = workload["spec"]
    conditions = {one["type"]: said(one) for one in status.get("conditions", []) if one["type"] not in LEFT_OUT}
    parts = {part: status[part] for part in PARTS if status.get(part)}
    sets = [{"name": one["name"], "count": one["count"], **pick(one)} for one in spec["podSets"]]
    return {**parts, "conditions": conditions, "priority": spec.get("priority"), "podSets": sets}


def pick(pod_set: Object) -> Object:
    return {key: pod_set[key] for key in ("minCount", "topologyRequest") if key in pod_set}


def said(condition: Object) -> list[str]:
    words = [condition["status"], condition["reason"]]
    return [*words, condition["message"]] if (condition["type"], condition["status"]) in WORDS else words


def words(workload: Object | None) -> str | None:
    """The message of a pending workload."""
    conditions = ((workload or {}).get("status") or {}).get("conditions", [])
    found = (one["message"] for one in conditions if (one["type"], one["status"]) == ("QuotaReserved", "False"))
    return next(found, None)


def views(workloads: Mapping[str, Object]) -> dict[str, Object]:
    return {job: view(body) for job, body in workloads.items()}


def reason(view: Object) -> str | None:
    """The reason of a pending workload."""
    status, *said = view["conditions"].get("QuotaReserved", ("Unknown",))
    return said[0] if status == "False" else None


def steady(workload: Object) -> Object:
    """The view without the pending reason."""
    found = view(workload)
    return found if reason(found) is None else without_reason(found)


def without_reason(view: Object) -> Object:
    return {**view, "conditions": {**view["conditions"], "QuotaReserved": ["False"]}}


def without_eviction(view: Object) -> Object:
    """The view without what is left of an eviction once it is over."""
    left = {kind: said for kind, said in view["conditions"].items() if kind not in ("Evicted", "Preempted", "Requeued")}
    return {**view, "conditions": left}


def is_moving(workload: Object) -> bool:
    """Whether it is being evicted, or waits for victims."""
    conditions = view(workload)["conditions"]
    holds = {kind for kind, said in conditions.items() if said[0] == "True"}
    leaving = {"Evicted", "QuotaReserved"} <= holds and "Finished" not in holds
    return leaving or reason(view(workload)) == "WaitingForPreemptedWorkloads"
