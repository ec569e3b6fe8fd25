"""A job and one of its pods to the PodGroup that is made for them, seen from that pod."""

from __future__ import annotations

from typing import Any

from closeknit.dialects.kai import keys
from closeknit.dialects.kai.grouper import Grouped, group_pods

from .case import Case, Prepared

Raw = dict[str, Any]


def segments(case: Case) -> Prepared:
    job, pod = case["input"]["workload"], {"apiVersion": "v1", "kind": "Pod", **case["input"]["pod"]}
    wanted = case["expected"]

    def decide() -> Grouped:
        return group_pods([("job", job)], [("pod", pod)])

    def show(grouped: Grouped) -> Any:
        return "error" if grouped.mistakes else _shown(grouped, wanted)

    return Prepared(decide, show, "error" if wanted.get("error") else _wanted(wanted))


def _wanted(wanted: Raw) -> Raw:
    """What is compared: an absent key is not, and null is not either, except in the entries."""
    root: Raw = {key: wanted[key] for key in ("minMember", "topologyConstraint") if key in wanted}
    entries = {entry["name"]: {**entry, "pods": len(entry["pods"])} for entry in wanted["subGroups"]}
    return {**root, "subGroups": entries, "name": wanted.get("podGroupNameContains")}


def _shown(grouped: Grouped, wanted: Raw) -> Raw:
    [made] = grouped.groupings
    spec, name = made.pod_group["spec"], made.pod_group["metadata"]["name"]
    joined = made.pods[0]["metadata"]["labels"].get(keys.SUB_GROUP)
    part = wanted.get("podGroupNameContains")
    root: Raw = {key: spec.get(key) for key in ("minMember", "topologyConstraint") if key in wanted}
    sums = {entry["name"]: entry["minMember"] for entry in wanted["subGroups"]}
    listed = spec.get("subGroups", [])
    entries = {entry["name"]: _entry(entry, listed, sums, joined) for entry in listed}
    return {**root, "subGroups": entries, "name": part if part and part in name else None}


def _entry(entry: Raw, listed: list[Raw], sums: Raw, joined: str | None) -> Raw:
    """As expected; on a parent, a minimum of all its children stands for the number that older versions wrote."""
    name = entry["name"]
    children = sum(other.get("parent") == name for other in listed)
    least = entry.get("minMember")
    if least is None and entry.get("minSubGroup") == children:
        least = sums.get(name)
    return {
        "name": name,
        "parent": entry.get("parent"),
        "minMember": least,
        "topologyConstraint": entry.get("topologyConstraint"),
        "pods": 1 if name == joined else 0,
    }
