"""The defaults that the API server and Kueue's webhooks set when an object is created.

A field that is present is not changed. A struct that only has defaults inside, such as `fairSharing`, is not created.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....model.gates import Gates
from ..keys import MAIN
from .wire import Raw

FINALIZER = "kueue.x-k8s.io/resource-in-use"

CLUSTER_QUEUE: Raw = {
    "queueingStrategy": "BestEffortFIFO",
    "stopPolicy": "None",
    "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
    "preemption": {
        "withinClusterQueue": "Never",
        "reclaimWithinCohort": "Never",
        "borrowWithinCohort": {"policy": "Never"},
    },
}
LOCAL_QUEUE: Raw = {"stopPolicy": "None"}
FAIR_SHARING: Raw = {"weight": 1}
WORKLOAD: Raw = {"active": True}
POD_SET: Raw = {"name": MAIN, "count": 1}
PROVISIONING: Raw = {
    "retryStrategy": {"backoffLimitCount": 3, "backoffBaseSeconds": 60, "backoffMaxSeconds": 1800},
}

_KUEUE = Gates.profile("kueue")


def with_defaults(raw: Raw, gates: Gates = _KUEUE) -> Raw:
    """The object as it would be stored, without changing the given one."""
    fill = _KINDS.get(raw.get("kind") or "")
    return raw if fill is None else fill(raw, gates)


def filled(raw: Any, defaults: Raw) -> Any:
    """A copy with defaults for absent or null fields, at any depth; values that are not mappings stay as they are."""
    if raw is not None and not isinstance(raw, dict):
        return raw
    result: Raw = dict(raw or {})
    for key, default in defaults.items():
        if isinstance(default, dict):
            result[key] = filled(result.get(key), default)
        elif result.get(key) is None:
            result[key] = default
    return result


def _flavor(raw: Raw, _: Gates) -> Raw:
    """Add the finalizer, which keeps a flavor while a queue uses it."""
    meta = raw.get("metadata") or {}
    finalizers = (meta.get("finalizers") or []) if isinstance(meta, dict) else None
    if not isinstance(finalizers, list) or FINALIZER in finalizers:
        return raw
    return {**raw, "metadata": {**meta, "finalizers": [*finalizers, FINALIZER]}}


def _cluster_queue(raw: Raw, _: Gates) -> Raw:
    return {**raw, "spec": _weighed(filled(raw.get("spec"), CLUSTER_QUEUE))}


def _local_queue(raw: Raw, _: Gates) -> Raw:
    return {**raw, "spec": _weighed(filled(raw.get("spec"), LOCAL_QUEUE))}


def _cohort(raw: Raw, _: Gates) -> Raw:
    return {**raw, "spec": _weighed(raw["spec"])} if raw.get("spec") else raw


def _weighed(spec: Any) -> Any:
    if not isinstance(spec, dict) or spec.get("fairSharing") is None:
        return spec
    return {**spec, "fairSharing": filled(spec["fairSharing"], FAIR_SHARING)}


def _workload(raw: Raw, gates: Gates) -> Raw:
    """Set the defaults, and drop minCount if PartialAdmission is disabled."""
    spec = filled(raw.get("spec"), WORKLOAD)
    if isinstance(spec, dict) and isinstance(spec.get("podSets"), list):
        spec["podSets"] = [_pod_set(one, "PartialAdmission" in gates) for one in spec["podSets"]]
    return {**raw, "spec": spec}


def _pod_set(raw: Any, may_be_partial: bool) -> Any:
    full = filled(raw, POD_SET)
    if may_be_partial or not isinstance(full, dict):
        return full
    return {key: value for key, value in full.items() if key != "minCount"}


def _provisioning(raw: Raw, _: Gates) -> Raw:
    return {**raw, "spec": filled(raw.get("spec"), PROVISIONING)}


_KINDS: dict[str, Callable[[Raw, Gates], Raw]] = {
    "ClusterQueue": _cluster_queue,
    "Cohort": _cohort,
    "LocalQueue": _local_queue,
    "ProvisioningRequestConfig": _provisioning,
    "ResourceFlavor": _flavor,
    "Workload": _workload,
}
