"""What an API server fills into pods and pod templates: policies, probes, ports, volumes, and quantities in one form.

Templates get what is true of any pod made from them; what depends on the one pod (host ports, requests from limits)
is filled in when that pod is made. Pods come mostly from templates that were filled before, so what is there already
costs a look and no more. Nothing is changed in place.
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
"""Mappings by free keys: an empty one is none, while an empty object still says that it is there."""

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
"""Where no, or nothing, is the same as saying nothing."""


def filled_pod(spec: Raw) -> Raw:
    """The spec of a pod, with what only pods have."""
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
    """A pod template; one that is missing is made, for its absence shows as what is missing in it."""
    template = template or {}
    return {
        **template,
        "metadata": said(template.get("metadata") or {}),
        "spec": filled_spec(template.get("spec") or {}),
    }


def filled_spec(spec: Raw) -> Raw:
    """A spec of its own, to be changed further by whoever asked."""
    spec = {**_SPEC, **said(spec)}
    for key in ("containers", "initContainers", "ephemeralContainers"):
        if key in spec:
            spec[key] = [filled_container(one) for one in spec[key]]
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


def said(raw: Raw) -> Raw:
    """Without what says nothing: null, empty texts, lists and mappings."""
    if all(raw.values()):
        return raw
    return {key: value for key, value in raw.items() if value or _says_something(key, value)}


def _says_something(key: str, value: Any) -> bool:
    """Of a value that Python takes for false."""
    if isinstance(value, dict):
        return key not in _MAPPINGS
    return value == 0 and key not in _PLAIN


def filled_container(container: Raw) -> Raw:
    container = {**_CONTAINER, **said(container)}
    if "imagePullPolicy" not in container:
        container["imagePullPolicy"] = "Always" if _is_latest(container.get("image") or "") else "IfNotPresent"
    if container["resources"]:
        container["resources"] = _needs(container["resources"])
    for key, fill in _PARTS.items():
        if key in container:
            container[key] = fill(container[key])
    return container


def _is_latest(image: str) -> bool:
    """Whether an image may mean another one tomorrow: repo:5000/a does, a:1 and a@sha256:… do not."""
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return tag == "latest" or not (tag or digest)


def _needs(resources: Raw) -> Raw:
    result = said(resources)
    for key in ("limits", "requests"):
        if key in result:
            quantities = canonical_all(result[key])
            if quantities is not result[key]:
                result = {**result, key: quantities}
    return result


def _ports(ports: list[Raw]) -> list[Raw]:
    return [{**said(one), "protocol": one.get("protocol") or "TCP"} for one in ports]


def _environment(entries: list[Raw]) -> list[Raw]:
    return [_variable(one) for one in entries]


def _variable(entry: Raw) -> Raw:
    entry = said(entry)
    source = entry.get("valueFrom")
    return {**entry, "valueFrom": _reference(source)} if source else entry


def _reference(source: Raw) -> Raw:
    """Where a value comes from: a field of the pod, or a share of its resources."""
    if source.get("fieldRef"):
        return {**source, "fieldRef": {"apiVersion": "v1", **said(source["fieldRef"])}}
    if source.get("resourceFieldRef"):
        part = source["resourceFieldRef"]
        return {**source, "resourceFieldRef": {**part, "divisor": written(part.get("divisor") or "0")}}
    return source


def _probe(probe: Raw) -> Raw:
    probe = _handler(probe)
    return {**probe, **{key: probe.get(key) or default for key, default in _PROBE.items()}}


def _handler(handler: Raw) -> Raw:
    handler = said(handler)
    if handler.get("httpGet"):
        return {**handler, "httpGet": {"path": "/", "scheme": "HTTP", **said(handler["httpGet"])}}
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
    """A limit without a request is a request."""
    limits = container["resources"].get("limits")
    if not limits:
        return container
    requests = container["resources"].get("requests") or {}
    if all(name in requests for name in limits):
        return container
    return {**container, "resources": {**container["resources"], "requests": {**limits, **requests}}}


def _with_host_ports(container: Raw) -> Raw:
    """On the network of the host, a port of the container is one of the host."""
    if not container.get("ports"):
        return container
    ports = [{**one, "hostPort": one.get("hostPort") or one.get("containerPort")} for one in container["ports"]]
    return {**container, "ports": ports}


def _whole_pod(spec: Raw) -> Raw:
    """Resources of the pod as a whole: what its containers ask for together, then its limits."""
    needs: Raw = spec["resources"]
    asked = total(amounts(one["resources"].get("requests") or {}) for one in spec.get("containers") or ())
    of_all = {name: canonical(name, value) for name, value in asked.items() if name in ("cpu", "memory")}
    requests = {**(needs.get("limits") or {}), **of_all, **(needs.get("requests") or {})}
    return {**needs, **({"requests": requests} if requests else {})}
