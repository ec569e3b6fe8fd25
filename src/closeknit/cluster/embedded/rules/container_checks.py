"""Validation of containers: names, images, resources, ports, variables, probes, mounts."""

from __future__ import annotations

import re
from collections.abc import Collection

from ....dialects.field import Field
from ....model.label_names import is_qualified_name
from ....model.quantity import QuantityError, nanos
from .causes import Causes, entries
from .names import label

PULL_POLICIES = ("Always", "IfNotPresent", "Never")
MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
PROTOCOLS = ("TCP", "UDP", "SCTP")
HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
MAX_PORT = 65535
STANDARD = ("cpu", "memory", "ephemeral-storage")
SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_NANO = 10**9

_FIELD_PATH = re.compile(
    r"metadata\.(?:name|namespace|uid|(?:labels|annotations)\['[^']+'\])"
    r"|spec\.(?:nodeName|serviceAccountName)|status\.(?:hostIPs?|podIPs?)"
)
_PORT_NAME = re.compile(r"(?=.*[a-z])[a-z0-9]+(?:-[a-z0-9]+)*")


def check_containers(
    containers: Field, causes: Causes, taken: set[str], volumes: Collection[str], filled: bool, init: bool = False
) -> None:
    """Check all containers of one list; `taken` are names used elsewhere in the pod, `volumes` those to mount.

    `filled`: defaults have been applied, so a missing field is an error.
    """
    for one in containers.items():
        _check_name(one.at("name"), causes, taken)
        if not one.at("image").text():
            causes.required(one.at("image"))
        elif one.at("image").text() != one.at("image").text().strip():
            causes.invalid(one.at("image"), "must not begin or end with whitespace")
        causes.one_of(one.at("imagePullPolicy"), PULL_POLICIES, filled)
        causes.one_of(one.at("terminationMessagePolicy"), MESSAGE_POLICIES, filled)
        check_resources(one.at("resources"), causes)
        _check_ports(one.at("ports"), causes, filled)
        _check_environment(one.at("env"), causes)
        _check_mounts(one.at("volumeMounts"), causes, volumes)
        for key in ("livenessProbe", "readinessProbe", "startupProbe"):
            if one.at(key).given and (not init or one.at("restartPolicy").value == "Always"):
                _check_probe(one.at(key), causes, key)
            elif one.at(key).given:
                causes.forbidden(one.at(key), "only allowed for init containers with restartPolicy Always")
        for key in ("postStart", "preStop"):
            if one.at("lifecycle", key).given:
                _check_handler(one.at("lifecycle", key), causes)
        if one.at("restartPolicy").given and init:
            causes.one_of(one.at("restartPolicy"), ("Always", "OnFailure", "Never"))


def _check_name(name: Field, causes: Causes, taken: set[str]) -> None:
    text = name.text()
    if not text:
        causes.required(name)
        return
    wrong = label(text)
    if wrong:
        causes.invalid(name, wrong)
    elif text in taken:
        causes.duplicate(name)
    taken.add(text)


def check_resources(resources: Field, causes: Causes) -> None:
    """Check the names and amounts of resources, and that requests do not exceed limits."""
    limits, requests = resources.at("limits"), resources.at("requests")
    amounts = {
        key: {name: _amount(name, field, causes) for name, field in entries(part).items()}
        for key, part in (("limits", limits), ("requests", requests))
    }
    if any(name.startswith("hugepages-") for name in limits.mapping()) and not _has_plain(limits, requests):
        causes.forbidden(resources, "huge pages require cpu or memory")
    for name, asked in amounts["requests"].items():
        most = amounts["limits"].get(name)
        if asked is None:
            continue
        if most is None:
            if _is_whole(name) and name not in limits.mapping():
                causes.required(limits, f"a request for {name} requires a limit")
        elif _is_whole(name) and asked != most:
            causes.invalid(requests, f"must be equal to the {name} limit", requests.mapping()[name])
        elif asked > most:
            text = f"must not exceed the {name} limit of {limits.mapping()[name]}"
            causes.invalid(requests, text, requests.mapping()[name])


def _has_plain(*parts: Field) -> bool:
    return any(name in part.mapping() for part in parts for name in ("cpu", "memory"))


def _amount(name: str, field: Field, causes: Causes) -> int | None:
    """The amount in nano-units; None if it is invalid, which is reported."""
    if not is_qualified_name(name):
        causes.invalid(field, "not the name of a resource", name)
        return None
    if "/" not in name and name not in STANDARD and not name.startswith("hugepages-"):
        causes.invalid(field, "must be cpu, memory, ephemeral-storage, hugepages-… or have a domain", name)
        return None
    try:
        exact = nanos(str(field.value))
    except (QuantityError, ValueError) as error:
        causes.invalid(field, str(error))
        return None
    if exact < 0:
        causes.invalid(field, "must be at least 0")
        return None
    if _is_extended(name) and exact % _NANO:
        causes.invalid(field, "must be an integer")
        return None
    return exact


def _is_extended(name: str) -> bool:
    """Whether it is an extended resource, such as a device, which comes in whole numbers."""
    return "/" in name and "kubernetes.io/" not in name


def _is_whole(name: str) -> bool:
    """Whether it cannot be overcommitted."""
    return _is_extended(name) or name.startswith("hugepages-")


def _check_ports(ports: Field, causes: Causes, filled: bool) -> None:
    names: set[str] = set()
    for port in ports.items():
        name = port.at("name").text()
        if name and (len(name) > 15 or not _PORT_NAME.fullmatch(name)):
            causes.invalid(port.at("name"), "use at most 15 lower-case letters, digits and '-', with a letter")
        elif name and name in names:
            causes.duplicate(port.at("name"))
        names.add(name)
        number = port.at("containerPort")
        if not number.value:
            causes.required(number)
        else:
            check_port(number, causes)
        if port.at("hostPort").value:
            check_port(port.at("hostPort"), causes)
        causes.one_of(port.at("protocol"), PROTOCOLS, filled)


def check_port(port: Field, causes: Causes) -> None:
    if not isinstance(port.value, int) or isinstance(port.value, bool) or not 1 <= port.value <= MAX_PORT:
        causes.invalid(port, f"must be a number from 1 to {MAX_PORT}")


def _check_environment(entries: Field, causes: Causes) -> None:
    for entry in entries.items():
        name, source = entry.at("name"), entry.at("valueFrom")
        if not name.text():
            causes.required(name)
        elif "=" in name.text() or any(not 32 <= ord(sign) < 127 for sign in name.text()):
            causes.invalid(name, "use printable ASCII characters other than '='")
        if source.given:
            if entry.at("value").text():
                causes.invalid(source, "may not be specified together with a value", "")
            _check_source(source, causes)


def _check_source(source: Field, causes: Causes) -> None:
    """Check that a variable has exactly one source."""
    given = [key for key in SOURCES if source.at(key).given]
    if not given:
        causes.invalid(source, f"must specify one of: {', '.join(f'`{key}`' for key in SOURCES)}", "")
    elif len(given) > 1:
        causes.invalid(source, "may not have more than one source", "")
    path = source.at("fieldRef", "fieldPath")
    if source.at("fieldRef").given and not _FIELD_PATH.fullmatch(path.text()):
        causes.invalid(path, "not a supported field of a pod")
    for key in ("configMapKeyRef", "secretKeyRef"):
        if source.at(key).given and not source.at(key, "key").text():
            causes.required(source.at(key, "key"))


def _check_mounts(mounts: Field, causes: Causes, volumes: Collection[str]) -> None:
    paths: set[str] = set()
    for mount in mounts.items():
        name, path = mount.at("name"), mount.at("mountPath")
        if not name.text():
            causes.required(name)
        elif name.text() not in volumes:
            causes.not_found(name)
        if not path.text():
            causes.required(path)
        elif path.text() in paths:
            causes.invalid(path, "must be unique")
        paths.add(path.text())


def _check_probe(probe: Field, causes: Causes, key: str) -> None:
    _check_handler(probe, causes)
    for name in ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"):
        causes.at_least(probe.at(name), 0)
    times = probe.at("successThreshold")
    if key != "readinessProbe" and isinstance(times.value, int) and times.value > 1:
        causes.invalid(times, "must be 1")


def _check_handler(handler: Field, causes: Causes) -> None:
    given = [key for key in HANDLERS if handler.at(key).given]
    if not given:
        causes.required(handler, "must specify a handler type")
    for more in given[1:]:
        causes.forbidden(handler.at(more), "may not specify more than one handler type")
    if given == ["exec"] and not handler.at("exec", "command").items():
        causes.required(handler.at("exec", "command"))
    for key in given[:1]:
        if key in ("httpGet", "tcpSocket", "grpc"):
            check_target(handler.at(key, "port"), causes)


def check_target(port: Field, causes: Causes) -> None:
    """Check that a port is a number or the name of a port."""
    if isinstance(port.value, str):
        if len(port.value) > 15 or not _PORT_NAME.fullmatch(port.value):
            causes.invalid(port, "must be a number or the name of a port")
    else:
        check_port(port, causes)
