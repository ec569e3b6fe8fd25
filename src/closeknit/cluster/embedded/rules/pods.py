"""Admission of new pods: service account, priority, default tolerations, runtime class, limit ranges.

These are the admission plugins of an API server, in their order. They read other objects (PriorityClasses,
RuntimeClasses, LimitRanges) from the store; defaults that need no other object are in `pod_defaults`.
"""

from __future__ import annotations

from typing import Any

from ....dialects import timestamps
from ....dialects.field import Field
from ...errors import Forbidden
from ...kinds import POD, PRIORITY_CLASS, RUNTIME_CLASS
from ...port import Raw
from ..store import Store
from .causes import Causes
from .limit_ranges import limited
from .quantities import canonical_all
from .rule import IMMUTABLE, Making

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
SYSTEM_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
PREEMPTS = "PreemptLowerPriority"
DEFAULT_ACCOUNT = "default"


def begun_pod(making: Making, pod: Raw) -> Raw:
    """A new pod after admission; its spec already has its defaults."""
    store, settings, meta = making.store, making.settings, pod["metadata"]
    spec = {**pod["spec"]}
    if not spec.get("serviceAccountName"):
        spec["serviceAccountName"] = spec["serviceAccount"] = DEFAULT_ACCOUNT
    _set_priority(store, meta["name"], spec)
    spec["tolerations"] = with_tolerations(spec.get("tolerations") or [], settings.toleration_seconds)
    pod = limited(store, {**pod, "spec": spec})
    spec = pod["spec"]
    if spec.get("runtimeClassName") or spec.get("overhead") is not None:
        pod = {**pod, "spec": _with_runtime(store, meta["name"], spec)}
    return {**pod, "status": _status(store, pod["spec"])}


def forbidden(name: str, text: str) -> Forbidden:
    return Forbidden(f'pods "{name}" is forbidden: {text}', kind=POD.plural, name=name)


def _set_priority(store: Store, name: str, spec: Raw) -> None:
    """Set the priority from the pod's class, or the global default; a number set by the user must agree."""
    given = spec.get("priorityClassName") or ""
    found = store.find(PRIORITY_CLASS, "", given) if given else _default_class(store)
    if found is not None:
        value, policy = found.get("value") or 0, found.get("preemptionPolicy") or PREEMPTS
        spec["priorityClassName"] = found["metadata"]["name"]
    elif given in SYSTEM_CLASSES:
        value, policy = SYSTEM_CLASSES[given], PREEMPTS
    elif given:
        raise forbidden(name, f"no PriorityClass with name {given} was found")
    else:
        value, policy = 0, PREEMPTS
    for key, right in (("priority", value), ("preemptionPolicy", policy)):
        if spec.get(key, right) != right:
            raise forbidden(name, f"{key} must not be {spec[key]}: its priority class sets it to {right}")
        spec[key] = right


def _default_class(store: Store) -> Raw | None:
    """The global default class; the lowest if there are several."""
    found = [one for one in store.all(PRIORITY_CLASS) if one.get("globalDefault")]
    return min(found, key=lambda one: (one.get("value") or 0, one["metadata"]["name"])) if found else None


def with_tolerations(given: list[Raw], seconds: int) -> list[Raw]:
    """The tolerations with defaults for not-ready and unreachable nodes, unless the pod has its own."""
    missing = [key for key in (NOT_READY, UNREACHABLE) if not any(_tolerates(one, key) for one in given)]
    more = ({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds} for key in missing)
    return [*given, *more]


def _tolerates(toleration: Raw, key: str) -> bool:
    return toleration.get("key") in (key, None, "") and toleration.get("effect") in ("NoExecute", None, "")


def _with_runtime(store: Store, name: str, spec: Raw) -> Raw:
    """The spec with the overhead and the scheduling constraints of its RuntimeClass."""
    class_name = spec.get("runtimeClassName") or ""
    found = store.find(RUNTIME_CLASS, "", class_name) if class_name else None
    if class_name and found is None:
        raise forbidden(name, f"no RuntimeClass with name {class_name} was found")
    overhead = canonical_all(((found or {}).get("overhead") or {}).get("podFixed"))
    if spec.get("overhead") is not None and spec["overhead"] != overhead:
        raise forbidden(name, "its overhead is not that of its RuntimeClass")
    spec = {**spec, **({"overhead": overhead} if overhead else {})}
    scheduling = (found or {}).get("scheduling") or {}
    selector = spec.get("nodeSelector") or {}
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        if selector.get(key, value) != value:
            raise forbidden(name, f"its nodeSelector has {key}={selector[key]}, its RuntimeClass {key}={value}")
        selector = {**selector, key: value}
    tolerations = spec["tolerations"]
    more = [one for one in scheduling.get("tolerations") or () if one not in tolerations]
    return {**spec, **({"nodeSelector": selector} if selector else {}), "tolerations": [*tolerations, *more]}


def _status(store: Store, spec: Raw) -> Raw:
    status: Raw = {"phase": "Pending", "qosClass": quality(spec)}
    if spec.get("schedulingGates"):
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": None,
                "lastTransitionTime": timestamps.stamp(store.now()),
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
        ]
    return status


def filled_pod_status(old: Raw, new: Raw) -> Raw:
    """The new status with immutable fields kept and derived ones set; ownerReferences do not change with a status."""
    status = dict(new.get("status") or {})
    before = (old.get("status") or {}).get("qosClass")
    if before:
        status.setdefault("qosClass", before)
    if status.get("podIP") and not status.get("podIPs"):
        status["podIPs"] = [{"ip": status["podIP"]}]
    if status.get("conditions"):
        status["conditions"] = with_times(status["conditions"], "lastProbeTime")
    meta, owners = new["metadata"], old["metadata"].get("ownerReferences")
    if meta.get("ownerReferences") != owners:
        meta = {key: value for key, value in meta.items() if key != "ownerReferences"}
        meta = {**meta, **({"ownerReferences": owners} if owners else {})}
    return {**new, "metadata": meta, "status": status}


def with_times(conditions: list[Raw], key: str) -> list[Raw]:
    """The conditions with missing times as null, not absent."""
    if all(key in one and "lastTransitionTime" in one for one in conditions):
        return conditions
    return [{key: None, "lastTransitionTime": None, **one} for one in conditions]


def check_pod_status(old: Field, new: Field, causes: Causes) -> None:
    before, after = old.at("status", "qosClass"), new.at("status", "qosClass")
    if before.given and before.value != after.value:
        causes.invalid(after, IMMUTABLE)


def quality(spec: Raw) -> str:
    """The QoS class: Guaranteed if requests equal limits everywhere, BestEffort if there are none, else Burstable."""
    owners = [spec] if spec.get("resources") else [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    asked, guaranteed = False, True
    for owner in owners:
        needs: Any = owner.get("resources") or {}
        requests, limits = needs.get("requests") or {}, needs.get("limits") or {}
        for name in ("cpu", "memory"):
            request, limit = _some(requests.get(name)), _some(limits.get(name))
            asked = asked or bool(request or limit)
            guaranteed = guaranteed and bool(limit) and request == limit
    if not asked:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _some(quantity: Any) -> str:
    """The quantity as text; empty if it is zero."""
    return quantity if quantity and quantity != "0" else ""
