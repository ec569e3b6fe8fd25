"""The rules of Namespaces and Nodes."""

from __future__ import annotations

import ipaddress
from typing import Any

from ....dialects.field import Field
from ....dialects.node_choice import EFFECTS
from ....model.label_names import is_label_value, is_qualified_name
from ....model.settings import NAMESPACE_NAME
from ...port import Raw
from .causes import Causes
from .names import label
from .pod_defaults import non_empty
from .pods import NOT_READY, with_times
from .quantities import canonical_all
from .rule import KindRule, Making
from .settings import AdmissionSettings

_FACTS = (
    "machineID",
    "systemUUID",
    "bootID",
    "kernelVersion",
    "osImage",
    "containerRuntimeVersion",
    "kubeletVersion",
    "kubeProxyVersion",
    "operatingSystem",
    "architecture",
)


def _filled_namespace(raw: Raw) -> Raw:
    """The namespace with its name as a label, so that selectors can match it."""
    meta = raw["metadata"]
    labels = {**(meta.get("labels") or {}), NAMESPACE_NAME: meta["name"]}
    return {**raw, "metadata": {**meta, "labels": labels}}


def _begun_namespace(_making: Making, raw: Raw) -> Raw:
    spec = raw.get("spec") or {}
    finalizers = spec.get("finalizers") or []
    if "kubernetes" not in finalizers:
        spec = {**spec, "finalizers": [*finalizers, "kubernetes"]}
    return {**raw, "spec": spec, "status": {"phase": "Active"}}


def _filled_status(_old: Raw, new: Raw) -> Raw:
    status = _status(new)
    if status.get("capacity") and not status.get("allocatable"):
        status = {**status, "allocatable": status["capacity"]}
    return {**new, "status": status}


def _status(raw: Raw) -> Raw:
    status: Raw = raw.get("status") or {}
    for key in ("capacity", "allocatable"):
        if status.get(key):
            status = {**status, key: canonical_all(status[key])}
    if status.get("conditions"):
        status = {**status, "conditions": with_times(status["conditions"], "lastHeartbeatTime")}
    return status


def _filled_node(raw: Raw) -> Raw:
    status = _status(raw)
    spec = non_empty(raw.get("spec") or {})
    if spec.get("podCIDR") and not spec.get("podCIDRs"):
        spec = {**spec, "podCIDRs": [spec["podCIDR"]]}
    return {**raw, "spec": spec, "status": status}


def _begun_node(making: Making, raw: Raw) -> Raw:
    """A new node is tainted as not ready until its status is known, unless a trusted writer created it."""
    spec, status = raw["spec"], raw["status"]
    taints = spec.get("taints") or []
    if not making.trusted and not any(one.get("key") == NOT_READY for one in taints):
        spec = {**spec, "taints": [*taints, {"key": NOT_READY, "effect": "NoSchedule"}]}
    info: Any = {**dict.fromkeys(_FACTS, ""), **(status.get("nodeInfo") or {})}
    endpoints = status.get("daemonEndpoints") or {"kubeletEndpoint": {"Port": 0}}
    return {**raw, "spec": spec, "status": {**status, "daemonEndpoints": endpoints, "nodeInfo": info}}


def _check_node(raw: Field, causes: Causes) -> None:
    _check_taints(raw.at("spec", "taints"), causes)
    for one in raw.at("spec", "podCIDRs").items():
        try:
            ipaddress.ip_network(one.text(), strict=False)
        except ValueError:
            causes.invalid(one, "must be a range of addresses such as 10.9.8.0/24")


def _check_taints(taints: Field, causes: Causes) -> None:
    """Check taints; like an API server, name them under metadata although they are in the spec."""
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints.items()):
        path = f"metadata.taints[{index}]"
        key, value, effect = (
            Field(taint.at(name).value, f"{path}.{name}", taint.report) for name in ("key", "value", "effect")
        )
        if not is_qualified_name(key.text()):
            causes.invalid(key, "must be a qualified name such as example.com/reason")
        if not is_label_value(value.text()):
            causes.invalid(value, "not a label value")
        causes.one_of(effect, EFFECTS)
        pair = (key.text(), effect.text())
        if pair in seen:
            causes.duplicate(Field(taint.value, path, taint.report))
        seen.add(pair)


def _check_node_change(old: Field, new: Field, causes: Causes) -> None:
    for key in ("podCIDR", "providerID"):
        before = old.at("spec", key).text()
        if before and before != new.at("spec", key).text():
            path = f"spec.{key}s" if key == "podCIDR" else f"spec.{key}"
            causes.forbidden(path, "cannot be changed once it is set")


def _prepared_namespace(_settings: AdmissionSettings, old: Raw, new: Raw) -> Raw:
    """Keep the namespace's finalizers, which only its controller removes."""
    return {**new, "spec": old.get("spec") or {}}


NAMESPACE_RULE = KindRule(_filled_namespace, _begun_namespace, _prepared_namespace, name=label)
NODE_RULE = KindRule(_filled_node, _begun_node, None, _check_node, _check_node_change, fill_status=_filled_status)
