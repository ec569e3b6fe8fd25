"""A server with a configurable set of kinds, for tests of kinds that are added, removed or fail while watched."""

from __future__ import annotations

import asyncio
from collections import Counter

import msgspec
from aiohttp import web

from closeknit.cluster.kinds import Kind
from closeknit.cluster.kube.discovery import CRD
from closeknit.cluster.port import Raw
from cluster.kube.scripted import listed, status


class Kinds:
    """`refuses` has the errors that a list or a watch of a kind gets; `asked` counts the requests."""

    def __init__(self, *served: Kind) -> None:
        self.served = set(served)
        self.refuses: dict[tuple[str, Kind], Raw] = {}
        self.asked: Counter[tuple[str, Kind]] = Counter()
        self.discovered = 0
        self.version = 10
        self._streams: list[tuple[Kind, web.Request, web.StreamResponse]] = []

    def forbid(self, verb: str, kind: Kind) -> None:
        text = f'{kind.plural} is forbidden: User "we" cannot {verb} resource "{kind.plural}" at the cluster scope'
        self.refuses[verb, kind] = status(403, "Forbidden", text)

    def fail(self, kind: Kind, code: int = 500, reason: str = "InternalError") -> None:
        self.refuses["list", kind] = status(code, reason, "conversion webhook failed")

    async def show(self, kind: Kind, name: str) -> None:
        """Send a new object to all watches."""
        self.version += 1
        meta = {"name": name, "uid": name, "resourceVersion": str(self.version)}
        await self._send(kind, {"type": "ADDED", "object": {"metadata": meta, "spec": {}}})

    async def forget(self, kind: Kind) -> None:
        """Drop the history, so that every watch has to list again."""
        await self._send(kind, {"type": "ERROR", "object": status(410, "Expired")})

    async def define(self, name: str = "some") -> None:
        """Announce a changed CustomResourceDefinition."""
        await self.show(CRD, name)

    async def _send(self, kind: Kind, line: Raw) -> None:
        """Send to all watches, as soon as there is one."""
        while not (streams := [one for of, request, one in self._streams if of is kind and _is_open(request)]):
            await asyncio.sleep(0.005)
        for one in streams:
            await one.write(msgspec.json.encode(line) + b"\n")

    # What it answers

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.path == "/version":
            self.discovered += 1
            return web.json_response({"gitVersion": "v1.36.3"})
        if request.path in ("/api", "/apis"):
            return web.json_response(self._groups(request.path == "/api"))
        verb = "watch" if "watch" in request.query else "list"
        kind = next((one for one in (CRD, *self.served) if one.path() == request.path), None)
        if kind is None:
            return web.json_response(status(404, "NotFound"), status=404)
        self.asked[verb, kind] += 1
        if (verb, kind) in self.refuses:
            refusal = self.refuses[verb, kind]
            return web.json_response(refusal, status=refusal["code"])
        return await self._watched(request, kind) if verb == "watch" else listed(self.version)

    def _groups(self, core: bool) -> Raw:
        found = [_group(one) for one in self.served if (not one.group) is core]
        return {"kind": "APIGroupDiscoveryList", "items": found}

    async def _watched(self, request: web.Request, kind: Kind) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        self._streams.append((kind, request, response))
        await asyncio.Event().wait()
        return response


def _is_open(request: web.Request) -> bool:
    return request.transport is not None and not request.transport.is_closing()


def _group(kind: Kind) -> Raw:
    resource = {"resource": kind.plural, "verbs": ["list", "watch"]}
    return {"metadata": {"name": kind.group}, "versions": [{"version": kind.version, "resources": [resource]}]}
