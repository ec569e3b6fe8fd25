"""A server in memory that installations can be tried on: objects, server-side apply, discovery, reviews.

It knows no schema and no other manager; what a real server makes of all this is asked in tests/real.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import msgspec

from closeknit.cluster.errors import Forbidden, NotFound
from closeknit.cluster.kinds import KINDS, Kind
from closeknit.cluster.kube.client import Client, Listing
from closeknit.deploy import kinds as server_kinds
from closeknit.deploy.kinds import kind_of

Raw = dict[str, Any]
VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]
ALL = (*KINDS, *(one for one in vars(server_kinds).values() if isinstance(one, Kind)))


class Server(Client):
    """`done` is what was written, in order: ("patch", "deployment/x"). `absent` kinds are not served.

    `suspends` and `hash` are what its policies make of a Job that is tried.
    """

    def __init__(self, *objects: Raw, absent: Iterable[Kind] = (), version: str = "v1.36.3") -> None:
        self.version, self.absent = version, set(absent)
        self.config: Any = SimpleNamespace(acting_as=("somebody",))
        self.objects: dict[tuple[Kind, str, str], Raw] = {}
        self.done: list[tuple[str, str]] = []
        self.denied: set[tuple[str, str]] = set()
        self.suspends, self.hash = True, ""
        self._count = 0
        for one in objects:
            self.add(one)

    def add(self, raw: Raw) -> Raw:
        kind, meta = kind_of(raw), raw["metadata"]
        self._count += 1
        stored = {**copy.deepcopy(raw), "metadata": {**meta, "uid": f"u{self._count}", "resourceVersion": "1"}}
        if kind is server_kinds.CRD and "status" not in raw:
            versions = [one["name"] for one in raw["spec"]["versions"] if one["storage"]]
            established = [{"type": "Established", "status": "True"}]
            stored["status"] = {"storedVersions": versions, "conditions": established}
        self.objects[kind, meta.get("namespace", ""), meta["name"]] = stored
        return stored

    def named(self, kind: Kind, name: str, namespace: str = "") -> Raw:
        return self.objects[kind, namespace, name]

    # What a client does

    async def get(self, kind: Kind, namespace: str, name: str) -> Raw:
        found = self.objects.get((kind, namespace if kind.namespaced else "", name))
        if found is None:
            raise NotFound(f'{kind.resource} "{name}" not found')
        return copy.deepcopy(found)

    async def list(self, kind: Kind, namespace: str = "", *, accept: str = "", **query: str | int) -> list[Raw]:
        found = [one for (of, home, _), one in self.objects.items() if of is kind and namespace in ("", home)]
        return [copy.deepcopy(one) for one in found if _is_selected(one, query)]

    async def listing(self, where: str, accept: str = "", query: Any = None, tick: Any = None) -> Listing:
        found = [one for (of, _, _), one in self.objects.items() if of.path() == where]
        return Listing("1", [msgspec.Raw(json.dumps(one).encode()) for one in found], [])

    async def patch(
        self, kind: Kind, namespace: str, name: str, body: Any, form: Any = "merge", subresource: str = "", **query: Any
    ) -> Raw:
        old = self.objects.get((kind, namespace if kind.namespaced else "", name))
        base = old or {"metadata": {"name": name}}
        merged = _merged(base, body)
        if "dryRun" in query:
            return merged
        self.done.append(("patch", f"{kind.singular}/{name}"))
        if old is None:
            return self.add(merged)
        self.objects[kind, namespace if kind.namespaced else "", name] = merged
        return merged

    async def create(self, kind: Kind, namespace: str, body: Raw, **query: Any) -> Raw:
        assert query["dryRun"] == "All"
        if ("create", kind.plural) in self.denied:
            raise Forbidden(f'{kind.resource} is forbidden: User "somebody" cannot create it')
        tried = "closeknit.dev/trial" in body["metadata"]["labels"]
        notes = {"closeknit.dev/policies-hash": self.hash} if tried and self.hash else {}
        return _merged(body, {"spec": {"suspend": self.suspends}, "metadata": {"annotations": notes}})

    async def delete(self, kind: Kind, namespace: str, name: str, **_: Any) -> Raw:
        await self.get(kind, namespace, name)
        self.done.append(("delete", f"{kind.singular}/{name}"))
        return self.objects.pop((kind, namespace if kind.namespaced else "", name))

    async def tree(self, method: str, where: str, body: Any = None, media: str = "", query: Any = None) -> Raw:
        """Reviews of access: everything is allowed that was not denied."""
        asked = body["spec"]["resourceAttributes"]
        resource = asked["resource"] + (f"/{asked['subresource']}" if "subresource" in asked else "")
        return {"status": {"allowed": (asked["verb"], resource) not in self.denied}}

    async def request(
        self, method: str, where: str, body: Any = None, media: str = "", query: Any = None, accept: str = ""
    ) -> bytes:
        if where == "/version":
            return json.dumps({"gitVersion": self.version}).encode()
        core = where == "/api"
        items = [_discovered(kind) for kind in ALL if kind not in self.absent and bool(kind.group) is not core]
        return json.dumps({"kind": "APIGroupDiscoveryList", "items": _grouped(items)}).encode()


def _discovered(kind: Kind) -> Raw:
    resource = {"resource": kind.plural, "verbs": VERBS}
    return {"metadata": {"name": kind.group}, "versions": [{"version": kind.version, "resources": [resource]}]}


def _grouped(items: Iterable[Raw]) -> list[Raw]:
    found: dict[tuple[str, str], Raw] = {}
    for one in items:
        [version] = one["versions"]
        same = found.setdefault((one["metadata"]["name"], version["version"]), one)
        if same is not one:
            same["versions"][0]["resources"] += version["resources"]
    return list(found.values())


def _is_selected(raw: Raw, query: Any) -> bool:
    key, _, value = str(query.get("labelSelector", "")).partition("=")
    field, _, wanted = str(query.get("fieldSelector", "")).partition("=")
    has_field = {"metadata.name": raw["metadata"]["name"], "status.phase": (raw.get("status") or {}).get("phase")}
    return (not key or (raw["metadata"].get("labels") or {}).get(key) == value) and (
        not field or has_field[field] == wanted
    )


def _merged(old: Any, new: Any) -> dict[str, Any]:
    found: dict[str, Any] = _merge(old, new)
    return found


def _merge(old: Any, new: Any) -> Any:
    if isinstance(old, dict) and isinstance(new, dict):
        both = {key: _merge(old.get(key), value) for key, value in new.items() if value is not None}
        return {key: copy.deepcopy(value) for key, value in {**old, **both}.items() if new.get(key, "") is not None}
    return copy.deepcopy(new)
