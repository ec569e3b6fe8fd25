"""Validation of pods and pod templates."""

from __future__ import annotations

from ....dialects.field import INT32_MAX, Field
from .causes import Causes
from .container_checks import check_containers, check_resources
from .metadata import check_annotations, check_labels
from .names import label, subdomain
from .placing_checks import check_placing

RESTART_POLICIES = ("Always", "OnFailure", "Never")
DNS_POLICIES = ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")


def check_pod(pod: Field, causes: Causes) -> None:
    check_pod_spec(pod.at("spec"), causes)


def check_template(template: Field, causes: Causes, filled: bool = True) -> None:
    """Check a pod template; `filled` is false in a custom kind, where the defaults of pods are not applied."""
    meta = template.at("metadata")
    check_labels(_named(meta.at("labels"), f"{template.path}.labels"), causes)
    check_annotations(_named(meta.at("annotations"), f"{template.path}.annotations"), causes)
    check_pod_spec(template.at("spec"), causes, filled)
    if template.at("spec", "ephemeralContainers").items():
        causes.forbidden(template.at("spec", "ephemeralContainers"), "not allowed in a pod template")


def _named(field: Field, path: str) -> Field:
    """A field of a template's metadata with the path that an API server reports, which omits `metadata`."""
    return Field(field.value, path, field.report)


def check_pod_spec(spec: Field, causes: Causes, filled: bool = True) -> None:
    volumes = _volumes(spec.at("volumes"), causes)
    names: set[str] = set()
    if not spec.at("containers").items():
        causes.required(spec.at("containers"))
    check_containers(spec.at("containers"), causes, names, volumes, filled)
    check_containers(spec.at("initContainers"), causes, names, volumes, filled, init=True)
    check_resources(spec.at("resources"), causes)
    causes.one_of(spec.at("restartPolicy"), RESTART_POLICIES, filled)
    causes.one_of(spec.at("dnsPolicy"), DNS_POLICIES, filled)
    _check_names(spec, causes)
    _check_deadline(spec.at("activeDeadlineSeconds"), causes)
    check_placing(spec, causes)
    _check_host_ports(spec, causes)
    _check_claims(spec, causes)


def _volumes(volumes: Field, causes: Causes) -> set[str]:
    """Check volumes; returns the names that can be mounted."""
    names: set[str] = set()
    for one in volumes.items():
        name = one.at("name")
        if not name.text():
            causes.required(name)
        elif label(name.text()):
            causes.invalid(name, label(name.text()))
        elif name.text() in names:
            causes.duplicate(name)
        names.add(name.text())
        sources = [key for key in one.mapping() if key != "name"]
        if len(sources) > 1:
            causes.forbidden(one.at(sources[1]), "may not specify more than 1 volume type")
    return names


def _check_names(spec: Field, causes: Causes) -> None:
    """Check the names of other objects, and of hosts."""
    for key, form in (
        ("nodeName", subdomain),
        ("serviceAccountName", subdomain),
        ("priorityClassName", subdomain),
        ("runtimeClassName", subdomain),
        ("hostname", label),
        ("subdomain", label),
    ):
        wrong = form(spec.at(key).text()) if spec.at(key).text() else ""
        if wrong:
            causes.invalid(spec.at(key), wrong)


def _check_host_ports(spec: Field, causes: Causes) -> None:
    """Check that host ports are unique, and equal to the container port on the host network."""
    seen: set[tuple[str, str]] = set()
    for container in spec.at("containers").items():
        for port in container.at("ports").items():
            host = port.at("hostPort")
            if not host.value:
                continue
            if spec.at("hostNetwork").value is True and host.value != port.at("containerPort").value:
                causes.invalid(host, "must match `containerPort` when `hostNetwork` is true")
            taken = (str(host.value), f"{port.at('protocol').value} {port.at('hostIP').value}")
            if taken in seen:
                causes.duplicate(host)
            seen.add(taken)


def _check_claims(spec: Field, causes: Causes) -> None:
    known = [one.at("name").text() for one in spec.at("resourceClaims").items()]
    for key in ("containers", "initContainers"):
        for container in spec.at(key).items():
            for claim in container.at("resources", "claims").items():
                if claim.at("name").text() not in known:
                    causes.not_found(claim)


def _check_deadline(deadline: Field, causes: Causes) -> None:
    if deadline.given and (not isinstance(deadline.value, int) or not 1 <= deadline.value <= INT32_MAX):
        causes.invalid(deadline, f"must be a number from 1 to {INT32_MAX}")
