"""The defaults of pods and pod templates: policies, probes, ports, volumes, and quantities in canonical form.

Templates get the defaults that hold for every pod made from them; those that depend on the pod (host ports, requests
from limits) are applied when the pod is created. Most pods come from templates with defaults applied, so fields that
are set cost only a lookup. Nothing is changed in place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....model.resources import amounts, canonical, total
from ...port import Raw
from .quantities import canonical_all, written

_SPEC: Raw = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
}
_CONTAINER: Raw = {
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_PROBE: Raw = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_MODE = {"defaultMode": 0o644}
_MAPPINGS = frozenset({"nodeSelector", "labels", "annotations", "limits", "requests", "matchLabels"})
"""Mappings with free keys: an empty one counts as absent, while an empty object counts as present."""

_PLAIN = frozenset(
    {
        "hostNetwork",
        "hostPID",
        "hostIPC",
        "hostPort",
        "initialDelaySeconds",
        "minReadySeconds",
        "paused",
        "stdin",
        "stdinOnce",
        "tty",
        "unschedulable",
    }
)
"""Fields for which false or zero is the same as absent."""


def filled_pod(spec: Raw) -> Raw:
    """The spec of a pod with defaults, including those that only pods get."""
    spec = filled_spec(spec)
    spec.setdefault("enableServiceLinks", True)
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    for key in ("containers", "initContainers"):
        if key in spec:
            spec[key] = [_with_requests(one) for one in spec[key]]
    if spec.get("hostNetwork"):
        for key in ("containers", "initContainers"):
            if key in spec:
                spec[key] = [_with_host_ports(one) for one in spec[key]]
    if spec.get("resources"):
        spec["resources"] = _whole_pod(spec)
    return spec


def filled_template(template: Any) -> Raw:
    """A pod template with defaults; a missing one is created, so that its required fields are reported as missing."""
    template = template or {}
    return {
        **template,
        "metadata": non_empty(template.get("metadata") or {}),
        "spec": filled_spec(template.get("spec") or {}),
    }


def filled_spec(spec: Raw) -> Raw:
    """A spec with defaults: a new mapping that the caller may modify."""
    spec = {**_SPEC, **non_empty(spec)}
    for key in ("containers", "initContainers", "ephemeralContainers"):
        if key in spec:
            spec[key] = [filled_container(one) for one in spec[key]]
    if None in spec.get("nodeSelector", {}).values():  # Kubernetes reads null as an empty string
        spec["nodeSelector"] = {key: value or "" for key, value in spec["nodeSelector"].items()}
    if "volumes" in spec:
        spec["volumes"] = [_volume(one) for one in spec["volumes"]]
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    if "overhead" in spec:
        spec["overhead"] = canonical_all(spec["overhead"])
    if spec.get("resources"):
        spec["resources"] = _needs(spec["resources"])
    return spec


def non_empty(raw: Raw) -> Raw:
    """The fields that are set: without null and empty strings, lists and mappings."""
    if all(raw.values()):
        return raw
    return {key: value for key, value in raw.items() if value or _says_something(key, value)}


def _says_something(key: str, value: Any) -> bool:
    """Whether a value that is false in Python still counts as set."""
    if isinstance(value, dict):
        return key not in _MAPPINGS
    return value == 0 and key not in _PLAIN


def filled_container(container: Raw) -> Raw:
    container = {**_CONTAINER, **non_empty(container)}
    if "imagePullPolicy" not in container:
        container["imagePullPolicy"] = "Always" if _is_latest(container.get("image") or "") else "IfNotPresent"
    if container["resources"]:
        container["resources"] = _needs(container["resources"])
    for key, fill in _PARTS.items():
        if key in container:
            container[key] = fill(container[key])
    return container


def _is_latest(image: str) -> bool:
    """Whether the tag of an image is latest or missing: true for repo:5000/a, false for a:1 and a@sha256:…."""
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return tag == "latest" or not (tag or digest)


def _needs(resources: Raw) -> Raw:
    result = non_empty(resources)
    for key in ("limits", "requests"):
        if key in result:
            quantities = canonical_all(result[key])
            if quantities is not result[key]:
                result = {**result, key: quantities}
    return result


def _ports(ports: list[Raw]) -> list[Raw]:
    return [{**non_empty(one), "protocol": one.get("protocol") or "TCP"} for one in ports]


def _environment(entries: list[Raw]) -> list[Raw]:
    return [_variable(one) for one in entries]


def _variable(entry: Raw) -> Raw:
    entry = non_empty(entry)
    source = entry.get("valueFrom")
    return {**entry, "valueFrom": _reference(source)} if source else entry


def _reference(source: Raw) -> Raw:
    """The source of a value with defaults: a field of the pod, or one of its resources."""
    if source.get("fieldRef"):
        return {**source, "fieldRef": {"apiVersion": "v1", **non_empty(source["fieldRef"])}}
    if source.get("resourceFieldRef"):
        part = source["resourceFieldRef"]
        return {**source, "resourceFieldRef": {**part, "divisor": written(part.get("divisor") or "0")}}
    return source


def _probe(probe: Raw) -> Raw:
    probe = _handler(probe)
    return {**probe, **{key: probe.get(key) or default for key, default in _PROBE.items()}}


def _handler(handler: Raw) -> Raw:
    handler = non_empty(handler)
    if handler.get("httpGet"):
        return {**handler, "httpGet": {"path": "/", "scheme": "HTTP", **non_empty(handler["httpGet"])}}
    if handler.get("grpc"):
        return {**handler, "grpc": {"service": "", **handler["grpc"]}}
    return handler


def _lifecycle(lifecycle: Raw) -> Raw:
    return {key: _handler(value) if isinstance(value, dict) else value for key, value in lifecycle.items()}


_PARTS: dict[str, Callable[[Any], Any]] = {
    "ports": _ports,
    "env": _environment,
    "livenessProbe": _probe,
    "readinessProbe": _probe,
    "startupProbe": _probe,
    "lifecycle": _lifecycle,
}


def _volume(volume: Raw) -> Raw:
    if len(volume) == 1:
        return {**volume, "emptyDir": {}}
    for source, fill in _SOURCES.items():
        if isinstance(volume.get(source), dict):
            return {**volume, source: fill(volume[source])}
    return volume


def _empty_dir(source: Raw) -> Raw:
    return {**source, "sizeLimit": written(source["sizeLimit"])} if source.get("sizeLimit") is not None else source


def _downward(source: Raw) -> Raw:
    items = [_reference(one) for one in source.get("items") or ()]
    return {**source, **({"items": items} if items else {})}


def _projected(source: Raw) -> Raw:
    return {**_MODE, **source, "sources": [_projection(one) for one in source.get("sources") or ()]}


def _projection(one: Raw) -> Raw:
    if one.get("serviceAccountToken"):
        return {**one, "serviceAccountToken": {"expirationSeconds": 3600, **one["serviceAccountToken"]}}
    return {**one, "downwardAPI": _downward(one["downwardAPI"])} if one.get("downwardAPI") else one


_SOURCES: dict[str, Callable[[Raw], Raw]] = {
    "emptyDir": _empty_dir,
    "configMap": lambda source: {**_MODE, **source},
    "secret": lambda source: {**_MODE, **source},
    "downwardAPI": lambda source: {**_MODE, **_downward(source)},
    "projected": _projected,
    "hostPath": lambda source: {"type": "", **source},
}


def _with_requests(container: Raw) -> Raw:
    """The container with requests; they default to the limits."""
    limits = container["resources"].get("limits")
    if not limits:
        return container
    requests = container["resources"].get("requests") or {}
    if all(name in requests for name in limits):
        return container
    return {**container, "resources": {**container["resources"], "requests": {**limits, **requests}}}


def _with_host_ports(container: Raw) -> Raw:
    """The container with host ports; on the host network they default to the container ports."""
    if not container.get("ports"):
        return container
    ports = [{**one, "hostPort": one.get("hostPort") or one.get("containerPort")} for one in container["ports"]]
    return {**container, "ports": ports}


def _whole_pod(spec: Raw) -> Raw:
    """Pod-level requests: they default to the sum of the containers' requests, then to the pod-level limits."""
    needs: Raw = spec["resources"]
    asked = total(amounts(one["resources"].get("requests") or {}) for one in spec.get("containers") or ())
    of_all = {name: canonical(name, value) for name, value in asked.items() if name in ("cpu", "memory")}
    requests = {**(needs.get("limits") or {}), **of_all, **(needs.get("requests") or {})}
    return {**needs, **({"requests": requests} if requests else {})}
