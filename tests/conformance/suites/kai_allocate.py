"""KAI's allocate action: groups placed one after another, compared as its README recommends.

Whether a pod is scheduled must match; required levels hold; a group uses no more preferred domains than KAI; and where
only one result is possible, equal pods get the same nodes together.
"""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from typing import Any

from .case import Case, Prepared
from .gangs import GangCluster, Raw

Homes = dict[str, str | None]


def allocate(case: Case) -> Prepared:
    given, expected = case["input"], case["expected"]
    return Prepared(lambda: _homes(deepcopy(given)), lambda homes: list(_faults(given, expected, homes)), [])


def _homes(given: Raw) -> Homes:
    """The node of every pod after one pass."""
    topologies = [{"apiVersion": "kai.scheduler/v1alpha1", "kind": "Topology", **one} for one in given["topologies"]]
    oldest_first = sorted(given["podGroups"], key=lambda one: one["metadata"]["creationTimestamp"])
    groups = [_group(one) for one in sorted(oldest_first, key=lambda one: -one["spec"]["priority"])]
    cluster = GangCluster(given["nodes"], [*topologies, *groups], [_pod(one) for one in given["pods"]])
    cluster.bind()
    faults = cluster.faults()
    assert not faults, faults
    return {pod["metadata"]["name"]: pod["spec"].get("nodeName") for pod in cluster.pods}


def _group(given: Raw) -> Raw:
    """The PodGroup as KAI's API has it: without the queue's outcome, and without fields that are null."""
    spec = {key: given["spec"][key] for key in ("queue", "minMember", "topologyConstraint") if given["spec"].get(key)}
    subs = [{key: value for key, value in one.items() if value is not None} for one in given["spec"]["subGroups"]]
    if subs:
        spec = {**spec, "subGroups": subs}
        spec.pop("minMember", None)
    meta = {**given["metadata"], "name": _name(given["metadata"]["name"])}
    return {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": meta, "spec": spec}


def _name(given: str) -> str:
    """The cases have names with underscores, which no API server accepts."""
    return given.replace("_", "-")


def _pod(given: Raw) -> Raw:
    labels = {"kai.scheduler/subgroup-name": given["subGroup"]} if given.get("subGroup") else {}
    meta = {**given["metadata"], "annotations": {"pod-group-name": _name(given["podGroup"])}, "labels": labels}
    return {"metadata": meta, "spec": given["spec"], "status": given["status"]}


def _faults(given: Raw, expected: Raw, homes: Homes) -> Any:
    for name, want in (expected["pods"] or {}).items():
        if bool(homes[name]) != want["scheduled"]:
            yield f"{name} on {homes[name]}"
    for name, want in (expected["podGroups"] or {}).items():
        mine = [homes[pod["metadata"]["name"]] for pod in given["pods"] if pod["podGroup"] == name]
        if want["allScheduled"] is not None and any(bool(home) != want["allScheduled"] for home in mine):
            yield f"{name} on {mine}"
        if want["nodeName"] and set(mine) != {want["nodeName"]}:
            yield f"{name} on {mine}, not {want['nodeName']}"
    derived = expected.get("derived") or {}
    for group in derived.get("groups") or ():
        yield from _too_many(given, group, homes)
    if derived.get("onlyFeasible"):
        for one in derived.get("interchangeable") or ():
            if Counter(homes[pod] for pod in one["pods"]) != Counter(one["nodes"]):
                yield f"{one['pods']} on {[homes[pod] for pod in one['pods']]}"


def _too_many(given: Raw, group: Raw, homes: Homes) -> Any:
    """Preferred domains beyond those that KAI used; the required one is checked with every placement."""
    listed = group.get("preferredLevelDomains")
    if not listed:
        return
    of = next(one["spec"] for one in given["podGroups"] if one["metadata"]["name"] == group["podGroup"])
    entry = next((one for one in of["subGroups"] if one["name"] == group["subGroup"]), of)
    named = entry["topologyConstraint"]["topology"]
    levels = next(one["spec"]["levels"] for one in given["topologies"] if one["metadata"]["name"] == named)
    keys = [level["nodeLabel"] for level in levels]
    keys = keys[: keys.index(group["preferredLevel"]) + 1]
    labels = {one["metadata"]["name"]: one["metadata"]["labels"] for one in given["nodes"]}
    used = {tuple(labels[homes[pod] or ""][key] for key in keys) for pod in group["pods"] if homes[pod]}
    if len(used) > len(listed):
        yield f"{group['podGroup']} uses {sorted(used)}"
