"""Conversion of v1beta1 and v1alpha1 objects to v1beta2.

Only renamed fields change; everything else stays as it is, known to us or not. A v1beta2 object is returned as it is:
an old name in it is not a field of that version, and Kubernetes drops it. An object without a version may use the
names of either.
"""

from __future__ import annotations

from collections.abc import Callable

from ....model.encoding import encode
from .status import placement
from .wire import GROUP, Raw

V1ALPHA1 = f"{GROUP}/v1alpha1"
"""Had the kinds Topology and Cohort, until Kueue 0.13."""
V1BETA1 = f"{GROUP}/v1beta1"
V1BETA2 = f"{GROUP}/v1beta2"
OLD_VERSIONS = (V1ALPHA1, V1BETA1)

PRIORITY_SOURCES = {
    f"{GROUP}/workloadpriorityclass": (GROUP, "WorkloadPriorityClass"),
    "scheduling.k8s.io/priorityclass": ("scheduling.k8s.io", "PriorityClass"),
}
"""`priorityClassSource` of v1beta1 as group and kind."""

LAYERS = "podsetSliceRequiredTopologyConstraints"
"""Not a field of v1beta1, whose API server drops it silently."""

_FUNGIBILITY = {"Borrow": "MayStopSearch", "Preempt": "MayStopSearch"}
_FUNGIBILITY_KEYS = ("whenCanBorrow", "whenCanPreempt")


def to_v1beta2(raw: Raw) -> Raw:
    """The same object in v1beta2, without changing the given one; other groups pass through."""
    if raw.get("apiVersion") not in (None, "", *OLD_VERSIONS):
        return raw
    change = _CHANGES.get(raw.get("kind") or "")
    changed = raw if change is None else change(raw)
    return {**changed, "apiVersion": V1BETA2} if raw.get("apiVersion") else changed


def cluster_queue_to_v1beta2(raw: Raw) -> Raw:
    """Convert `cohort`, the flat list of checks, and the enum values of flavorFungibility."""
    if raw.get("apiVersion") == V1BETA2:
        return raw
    return _within(_within(raw, "spec", _cluster_queue_spec), "status", _cluster_queue_status)


def _cluster_queue_spec(old: Raw) -> Raw:
    spec = _without(_renamed(old, "cohort", "cohortName"), "admissionChecks")
    checks = old.get("admissionChecks")
    if isinstance(checks, list) and checks and not spec.get("admissionChecksStrategy"):
        spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": name} for name in checks]}
    return _within(spec, "flavorFungibility", _fungibility)


def _fungibility(old: Raw) -> Raw:
    return {**old, **{key: _FUNGIBILITY.get(str(old[key]), old[key]) for key in _FUNGIBILITY_KEYS if key in old}}


def _cluster_queue_status(old: Raw) -> Raw:
    return _without(old, "pendingWorkloadsStatus")


def _cohort(raw: Raw) -> Raw:
    return _within(raw, "spec", lambda old: _renamed(old, "parent", "parentName"))


def _local_queue(raw: Raw) -> Raw:
    return _within(raw, "status", lambda old: _without(_renamed(old, "flavorUsage", "flavorsUsage"), "flavors"))


def _workload(raw: Raw) -> Raw:
    new = _within(_within(raw, "spec", _workload_spec), "status", _workload_status)
    return _within(new, "spec", _without_layers) if raw.get("apiVersion") == V1BETA1 else new


def _workload_spec(old: Raw) -> Raw:
    """Convert the priority class; one with an unknown source keeps its old fields, so that the rules can report it."""
    reference = PRIORITY_SOURCES.get(str(old.get("priorityClassSource")))
    if not old.get("priorityClassName") or reference is None or old.get("priorityClassRef"):
        return old
    group, kind = reference
    new = {"group": group, "kind": kind, "name": old["priorityClassName"]}
    return {**_without(old, "priorityClassName", "priorityClassSource"), "priorityClassRef": new}


def _without_layers(spec: Raw) -> Raw:
    return _within_each(spec, "podSets", "topologyRequest", _unlayered)


def _unlayered(request: Raw) -> Raw:
    return _without(request, LAYERS)


def _workload_status(old: Raw) -> Raw:
    status = _renamed(old, "accumulatedPastExexcutionTimeSeconds", "accumulatedPastExecutionTimeSeconds")
    return _within(status, "admission", _admission)


def _admission(old: Raw) -> Raw:
    return _within_each(old, "podSetAssignments", "topologyAssignment", _topology_assignment)


def _topology_assignment(old: Raw) -> Raw:
    """Convert the flat list of domains to slices."""
    return {**_without(old, "domains"), **encode(placement(old))} if old.get("domains") else old


def _within(raw: Raw, key: str, change: Callable[[Raw], Raw]) -> Raw:
    """A copy with one nested mapping changed, if present."""
    part = raw.get(key) if isinstance(raw, dict) else None
    return {**raw, key: change(part)} if part and isinstance(part, dict) else raw


def _within_each(raw: Raw, key: str, inner: str, change: Callable[[Raw], Raw]) -> Raw:
    """A copy with one nested mapping changed in each item of a list."""
    items = raw.get(key)
    return {**raw, key: [_within(one, inner, change) for one in items]} if isinstance(items, list) else raw


def _without(mapping: Raw, *keys: str) -> Raw:
    return {key: value for key, value in mapping.items() if key not in keys}


def _renamed(mapping: Raw, old: str, new: str) -> Raw:
    """A copy with one key renamed in its position; an existing value under the new name is kept."""
    if mapping.get(new) is not None:
        return _without(mapping, old)
    return {new if key == old else key: value for key, value in mapping.items() if key != new or old not in mapping}


_CHANGES: dict[str, Callable[[Raw], Raw]] = {
    "Cohort": _cohort,
    "ClusterQueue": cluster_queue_to_v1beta2,
    "LocalQueue": _local_queue,
    "Workload": _workload,
}
