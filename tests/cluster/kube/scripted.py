"""A server with scripted responses, for protocol faults that a good server never has, on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import msgspec
from aiohttp import web

from closeknit.cluster.kube.client import Client
from closeknit.cluster.kube.config import Config
from closeknit.cluster.port import Raw

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def scripted(answer: Answer, timeout: float = 5.0) -> AsyncIterator[Client]:
    """A client of a server on a free port that gives every request to `answer`."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    try:
        async with Client(Config(f"http://127.0.0.1:{port}"), timeout=timeout) as client:
            yield client
    finally:
        await runner.cleanup()


def listed(version: int, *objects: Raw) -> web.Response:
    body = {"kind": "PodList", "metadata": {"resourceVersion": str(version)}, "items": list(objects)}
    return web.Response(body=msgspec.json.encode(body), content_type="application/json")


async def streamed(request: web.Request, *events: tuple[str, Raw]) -> web.StreamResponse:
    """A watch that sends these events and ends."""
    response = web.StreamResponse()
    await response.prepare(request)
    for kind, raw in events:
        await response.write(msgspec.json.encode({"type": kind, "object": raw}) + b"\n")
    await response.write_eof()
    return response


def status(code: int, reason: str, message: str = "") -> Raw:
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "code": code, "reason": reason, "message": message}


def pod(name: str, version: int, uid: str = "") -> Raw:
    meta = {"name": name, "namespace": "default", "resourceVersion": str(version), "uid": uid or f"uid-{name}"}
    return {"metadata": meta, "spec": {}}
