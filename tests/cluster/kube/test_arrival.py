"""A starting server is waited for until its responses are final."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from aiohttp import web

from closeknit.cluster.errors import Unauthorized
from closeknit.cluster.kube.arrival import PATIENCE, arrival
from closeknit.cluster.kube.client import Client
from closeknit.cluster.kube.config import Config
from closeknit.cluster.kube.pauses import Pauses
from cluster.kube.scripted import scripted, status

READY, FORBIDDEN, FAILS = 200, 403, 500
NO = {FORBIDDEN: "Forbidden", FAILS: "InternalError", 401: "Unauthorized"}


class Waited:
    """How long it paused, on a clock that only pauses advance, and what it reported."""

    def __init__(self) -> None:
        self.time, self.said = 0.0, list[str]()

    async def sleep(self, seconds: float) -> None:
        self.time += seconds

    async def on(self, client: Client) -> None:
        await arrival(client, lambda error: self.said.append(str(error)), Pauses(lambda: 1, self.sleep), self.now)

    def now(self) -> float:
        return self.time


async def asked(codes: Sequence[int]) -> tuple[list[str], Waited]:
    """The paths requested from a server that answers with these codes and repeats the last."""
    paths: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        code = codes[min(len(paths), len(codes) - 1)]
        paths.append(request.path)
        if code == READY:
            return web.Response(text="ok")
        return web.json_response(status(code, NO[code], "not yet"), status=code)

    waited = Waited()
    async with scripted(answer) as client:
        await waited.on(client)
    return paths, waited


def test_a_server_that_is_ready_is_not_waited_for() -> None:
    paths, waited = asyncio.run(asked([READY]))
    assert paths == ["/readyz"]
    assert (waited.time, waited.said) == (0, [])


def test_a_server_that_forbids_everything_at_first_is_asked_again_and_reported_once() -> None:
    paths, waited = asyncio.run(asked([FORBIDDEN, FAILS, FORBIDDEN, READY]))
    assert len(paths) == 4
    assert [one for one in waited.said if "not yet" in one] == waited.said
    assert len(waited.said) == 1


def test_a_server_that_never_becomes_ready_is_used_after_a_while() -> None:
    paths, waited = asyncio.run(asked([FORBIDDEN]))
    assert len(paths) > 2
    assert PATIENCE < waited.time < 3 * PATIENCE


def test_an_unauthorized_client_does_not_wait() -> None:
    with pytest.raises(Unauthorized):
        asyncio.run(asked([401]))


def test_an_unreachable_server_is_waited_for_without_limit() -> None:
    async def waits() -> Waited:
        waited = Waited()
        async with Client(Config("http://127.0.0.1:1")) as client:
            task = asyncio.create_task(waited.on(client))
            while waited.time < 10 * PATIENCE:
                await asyncio.sleep(0.01)
            assert not task.done()
            task.cancel()
        return waited

    assert len(asyncio.run(waits()).said) == 1
