"""Discovery in all its forms: the unaggregated documents, the aggregated one, and OpenAPI.

Everything follows from the table of kinds. kubectl requests the aggregated form and falls back to the old one; it
evicts pods only where `pods/eviction` is listed with group and version, and relies on server-side validation only
where the OpenAPI document has a patch of the kind with `fieldValidation`.

Kueue's older versions are listed after the served one, only so that kubectl sends their objects: the answer says how to
convert them, which kubectl would not.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from typing import NamedTuple

import msgspec

from ...kinds import KINDS, NAMESPACE, OLD_KINDS, POD, Kind
from ...port import Raw
from ..schema import openapi_v3
from .addresses import BINDINGS

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
KUBERNETES = ("1", "36")

_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
_PART_VERBS = ["get", "patch", "update"]


class Subresource(NamedTuple):
    """A subresource; `kind` is the kind of its request and response, if that is not the object itself."""

    name: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""
    kind: str = ""


def verbs(kind: Kind) -> list[str]:
    return [verb for verb in _VERBS if kind is not NAMESPACE or verb != "deletecollection"]


def parts(kind: Kind) -> Iterator[Subresource]:
    """The subresources of a kind, in the order of their names."""
    if kind is POD:
        yield Subresource("binding", ("create",), kind="Binding")
        yield Subresource("eviction", ("create",), "policy", "v1", "Eviction")
    if kind is NAMESPACE:
        yield Subresource("finalize", ("update",))
    if kind.scale:
        yield Subresource("scale", tuple(_PART_VERBS), "autoscaling", "v1", "Scale")
    if kind.status:
        yield Subresource("status", tuple(_PART_VERBS))


@cache
def group_versions() -> dict[tuple[str, str], list[Kind]]:
    """Kinds by group and version, each in the order of their names."""
    found: dict[tuple[str, str], list[Kind]] = {}
    for kind in sorted((*KINDS, *OLD_KINDS), key=lambda one: one.plural):
        found.setdefault((kind.group, kind.version), []).append(kind)
    return found


@cache
def groups() -> dict[str, list[str]]:
    """Named groups and their versions, in the order of KINDS, which has the preferred version first."""
    found: dict[str, list[str]] = {}
    for kind in (*KINDS, *OLD_KINDS):
        if kind.group and kind.version not in found.setdefault(kind.group, []):
            found[kind.group].append(kind.version)
    return found


def core_versions(host: str) -> Raw:
    """/api"""
    addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": host}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}


def group_list() -> Raw:
    """/apis"""
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(one) for one in groups()]}


def group(name: str) -> Raw | None:
    """/apis/GROUP"""
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name)} if name in groups() else None


def _group(name: str) -> Raw:
    versions = [{"groupVersion": f"{name}/{version}", "version": version} for version in groups()[name]]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def resource_list(name: str, version: str) -> Raw | None:
    """/api/v1 and /apis/GROUP/VERSION"""
    kinds = group_versions().get((name, version))
    if kinds is None:
        return None
    resources = [one for kind in kinds for one in _resources(kind)]
    if not name:
        resources.insert(0, _BINDINGS)
    of = f"{name}/{version}" if name else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": of, "resources": resources}


_BINDINGS = {
    "name": BINDINGS,
    "singularName": "binding",
    "namespaced": True,
    "kind": "Binding",
    "verbs": ["create"],
}


def _resources(kind: Kind) -> Iterator[Raw]:
    yield {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": verbs(kind),
        **({"shortNames": list(kind.short)} if kind.short else {}),
        **({"categories": list(kind.categories)} if kind.categories else {}),
    }
    for part in parts(kind):
        yield {
            "name": f"{kind.plural}/{part.name}",
            "singularName": "",
            "namespaced": kind.namespaced,
            **({"group": part.group, "version": part.version} if part.group else {}),
            "kind": part.kind or kind.kind,
            "verbs": list(part.verbs),
        }


def aggregated(core: bool) -> Raw:
    """/api or /apis in one document."""
    names = {"": ["v1"]} if core else groups()
    items = [
        {
            "metadata": {"name": name} if name else {},
            "versions": [
                {"version": version, "resources": [_aggregated(kind) for kind in group_versions()[name, version]]}
                | {"freshness": "Current"}
                for version in versions
            ],
        }
        for name, versions in names.items()
    ]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}


def _aggregated(kind: Kind) -> Raw:
    inner = [
        {
            "subresource": part.name,
            "responseKind": {"group": part.group, "version": part.version, "kind": part.kind or kind.kind},
            "verbs": list(part.verbs),
        }
        for part in parts(kind)
    ]
    return {
        "resource": kind.plural,
        "responseKind": {"group": "", "version": "", "kind": kind.kind},
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": verbs(kind),
        **({"shortNames": list(kind.short)} if kind.short else {}),
        **({"categories": list(kind.categories)} if kind.categories else {}),
        **({"subresources": inner} if inner else {}),
    }


def version() -> Raw:
    """/version"""
    major, minor = KUBERNETES
    return {
        "major": major,
        "minor": minor,
        "gitVersion": f"v{major}.{minor}.0+closeknit",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "",
    }


def root_paths() -> Raw:
    """/ for programs"""
    found = [_path(name, of) for name, of in group_versions()]
    return {"paths": sorted(["/api", "/apis", "/livez", "/openapi/v3", "/readyz", "/version", *found])}


@cache
def openapi_index() -> Raw:
    """/openapi/v3: the path of each document, which changes with its content."""
    paths = {}
    for name, of in group_versions():
        path, content = _path(name, of), sha256(msgspec.json.encode(openapi(name, of))).hexdigest()
        paths[path.removeprefix("/")] = {"serverRelativeURL": f"/openapi/v3{path}?hash={content}"}
    return {"paths": paths}


def _path(name: str, of: str) -> str:
    return f"/apis/{name}/{of}" if name else f"/api/{of}"


def openapi(name: str, of: str) -> Raw | None:
    """/openapi/v3/api/v1 and the like"""
    return openapi_v3(name, of) if (name, of) in group_versions() else None
