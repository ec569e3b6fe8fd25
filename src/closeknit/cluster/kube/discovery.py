"""Which of our kinds a server serves, in which versions, and with which verbs and subresources.

/api, /apis in the aggregated form (apidiscovery.k8s.io/v2)          two requests
an older server answers in the unaggregated form: then one request per version of our groups
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from ..errors import NotFound
from ..kinds import KINDS, Kind
from .client import Client
from .request import JSON

CRD = Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", False, ("crd",))
"""The kind that defines kinds; not one of those that the embedded host serves."""

AGGREGATED = ",".join(
    [f"{JSON};g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList" for version in ("v2", "v2beta1")] + [JSON]
)

Verbs = Mapping[str, frozenset[str]]
"""Verbs by resource or subresource: `pods`, `pods/eviction`."""


class ServedKind(NamedTuple):
    """How a kind is served. `versions`: all, the preferred one first; `verbs` and `parts` are those of our version."""

    versions: tuple[str, ...]
    verbs: frozenset[str]
    parts: Verbs


class Served(NamedTuple):
    """What a server serves. `version` is its own, as in v1.36.3. A kind may be served, but not in our version."""

    version: str
    kinds: Mapping[Kind, ServedKind]

    def can(self, kind: Kind, verb: str = "watch", part: str = "") -> bool:
        found = self.kinds.get(kind)
        if found is None:
            return False
        return verb in (found.parts.get(part, ()) if part else found.verbs)


class _Part(msgspec.Struct):
    subresource: str
    verbs: list[str] = []


class _Resource(msgspec.Struct):
    resource: str
    verbs: list[str] = []
    subresources: list[_Part] = []


class _Version(msgspec.Struct):
    version: str
    resources: list[_Resource] = []


class _Meta(msgspec.Struct):
    name: str = ""


class _Group(msgspec.Struct):
    """A group in the aggregated form, or in the old one, where the name is elsewhere and resources are missing."""

    versions: list[_Version] = []
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    name: str = ""


class _Groups(msgspec.Struct):
    """The response of /api or /apis, in either form."""

    kind: str
    items: list[_Group] = []
    groups: list[_Group] = []
    versions: list[str] = []


class _OldResource(msgspec.Struct):
    name: str
    verbs: list[str] = []


class _OldResources(msgspec.Struct):
    resources: list[_OldResource] = []


class _ServerVersion(msgspec.Struct):
    git_version: str = msgspec.field(name="gitVersion", default="")


_groups = msgspec.json.Decoder(_Groups)
_resources = msgspec.json.Decoder(_OldResources)
_server_version = msgspec.json.Decoder(_ServerVersion)

_Found = dict[tuple[str, str], Verbs]
"""By group and version, the preferred version of a group first."""


async def served(client: Client, kinds: Iterable[Kind] = KINDS) -> Served:
    kinds = tuple(kinds)
    names = {kind.group for kind in kinds}
    said, core, named = await asyncio.gather(
        client.request("GET", "/version"), _all(client, "/api", names), _all(client, "/apis", names)
    )
    found = {**core, **named}
    return Served(
        client.read(_server_version, said).git_version,
        {kind: serving for kind in kinds if (serving := _serving(kind, found)) is not None},
    )


def _serving(kind: Kind, found: _Found) -> ServedKind | None:
    versions = tuple(
        version for (group, version), verbs in found.items() if group == kind.group and kind.plural in verbs
    )
    if not versions:
        return None
    ours = found.get((kind.group, kind.version), {})
    prefix = f"{kind.plural}/"
    parts = {name.removeprefix(prefix): verbs for name, verbs in ours.items() if name.startswith(prefix)}
    return ServedKind(versions, ours.get(kind.plural, frozenset()), parts)


async def _all(client: Client, where: str, names: set[str]) -> _Found:
    answer = client.read(_groups, await client.request("GET", where, accept=AGGREGATED))
    if answer.kind == "APIGroupDiscoveryList":
        return {
            (group.metadata.name, version.version): dict(_verbs(version))
            for group in answer.items
            for version in group.versions
        }
    asked = [("", version) for version in answer.versions if "" in names]
    asked += [(group.name, one.version) for group in answer.groups if group.name in names for one in group.versions]
    return dict(zip(asked, await asyncio.gather(*(_of_old(client, *one) for one in asked)), strict=True))


def _verbs(version: _Version) -> Iterable[tuple[str, frozenset[str]]]:
    for one in version.resources:
        yield one.resource, frozenset(one.verbs)
        for part in one.subresources:
            yield f"{one.resource}/{part.subresource}", frozenset(part.verbs)


async def _of_old(client: Client, group: str, version: str) -> Verbs:
    """The verbs of one version in the old form; empty if the version has vanished since the first request."""
    where = f"/apis/{group}/{version}" if group else f"/api/{version}"
    try:
        answer = client.read(_resources, await client.request("GET", where))
    except NotFound:
        return {}
    return {one.name: frozenset(one.verbs) for one in answer.resources}
