"""What is tried again, when, and what is not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from math import inf

import pytest
from aiohttp import web

from closeknit.cluster.errors import (
    Conflict,
    InternalError,
    Refused,
    ServiceUnavailable,
    TooManyRequests,
)
from closeknit.cluster.kinds import NODE
from closeknit.cluster.kube.client import Client
from closeknit.cluster.kube.pauses import Pauses
from closeknit.cluster.kube.request import ApiCall
from closeknit.cluster.kube.retries import ASKED_TO_WAIT, Attempts, Failure, Retries
from closeknit.cluster.kube.unreachable import NoCredentials, Unreachable
from cluster.kube.scripted import scripted, status

READ, WRITE, SAFE = ApiCall("GET", "/x"), ApiCall("POST", "/x"), ApiCall("PUT", "/x", repeatable=True)
EVICTION = ApiCall("POST", "/api/v1/namespaces/a/pods/b/eviction", repeatable=False)
LOST, AWAY = Unreachable("s", "lost", sent=True), Unreachable("s", "connection refused")
BUSY, ASKED = TooManyRequests("later"), ServiceUnavailable("later", retry_after=2)


async def tried(request: ApiCall, error: Failure, retries: Retries, times: int = 1) -> tuple[bool, list[float]]:
    """Whether it is retried after this many failures, and how long each pause was; with jitter in the middle."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    attempts = Attempts(request, retries, Pauses(lambda: 0.5), lambda: sum(slept), sleep)
    again = True
    for _ in range(times):
        again = await attempts.again(error)
    return again, slept


@pytest.mark.parametrize(
    ("request_", "error", "again"),
    [
        (READ, LOST, True),
        (WRITE, LOST, False),
        (SAFE, LOST, True),
        (WRITE, AWAY, True),
        (WRITE, NoCredentials("s", "log in"), True),
        (READ, InternalError("oh"), True),
        (WRITE, InternalError("oh"), False),
        (SAFE, ServiceUnavailable("oh"), True),
        (WRITE, BUSY, True),
        (EVICTION, BUSY, False),
        (EVICTION, AWAY, True),
        (READ, Conflict("oh"), False),
        (READ, Refused("oh"), False),
    ],
)
def test_a_transient_failure_is_retried_where_that_is_harmless(request_: ApiCall, error: Failure, again: bool) -> None:
    assert asyncio.run(tried(request_, error, Retries()))[0] is again


@pytest.mark.parametrize(
    ("error", "again"), [(BUSY, True), (ASKED, True), (ServiceUnavailable("no"), False), (LOST, False), (AWAY, False)]
)
def test_commands_wait_only_where_a_server_asks_for_it(error: Failure, again: bool) -> None:
    assert asyncio.run(tried(READ, error, ASKED_TO_WAIT))[0] is again


def test_pauses_grow_and_end_with_the_attempts() -> None:
    again, slept = asyncio.run(tried(READ, AWAY, Retries(attempts=4), times=4))
    assert again is False
    assert slept == pytest.approx([0.15, 0.3, 0.6])


def test_a_request_retried_for_long_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    asyncio.run(tried(SAFE, InternalError("failed calling webhook"), Retries(2**62, inf), times=3))
    assert caplog.messages == []
    asyncio.run(tried(SAFE, InternalError("failed calling webhook"), Retries(2**62, inf), times=20))
    assert caplog.messages == ["still retrying PUT /x: failed calling webhook"]


def test_a_server_that_says_when_is_not_asked_before() -> None:
    assert asyncio.run(tried(READ, ASKED, Retries()))[1] == pytest.approx([2.15])


def test_a_retry_after_beyond_the_time_limit_is_not_waited_for() -> None:
    patient = TooManyRequests("later", retry_after=3600)
    assert asyncio.run(tried(READ, patient, Retries(seconds=60))) == (False, [])


@pytest.mark.parametrize(("error", "doubt"), [(LOST, True), (InternalError("oh"), True), (AWAY, False), (BUSY, False)])
def test_a_request_is_in_doubt_once_it_may_have_been_carried_out(error: Failure, doubt: bool) -> None:
    async def run() -> bool:
        attempts = Attempts(SAFE, Retries(first=0.001))
        await attempts.again(error)
        await attempts.again(BUSY)
        return attempts.in_doubt

    assert asyncio.run(run()) is doubt


def asked(answers: list[Callable[[web.Request], web.StreamResponse]], work: Callable[[Client], Awaitable[None]]) -> int:
    """How many requests came; each is answered by the next of `answers`, the last one by all that are left."""
    count = 0

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal count
        count += 1
        return answers[min(count, len(answers)) - 1](request)

    async def run() -> None:
        async with scripted(answer) as other, Client(other.config, retries=Retries(4, first=0.01)) as client:
            await work(client)

    asyncio.run(run())
    return count


def refused(code: int, reason: str) -> Callable[[web.Request], web.StreamResponse]:
    return lambda _: web.json_response(status(code, reason, reason), status=code)


def fine(_: web.Request) -> web.StreamResponse:
    return web.json_response({"kind": "Node"})


def dropped(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


def test_over_the_wire_busy_broken_and_dropped_pass() -> None:
    async def work(client: Client) -> None:
        assert await client.get(NODE, "", "n") == {"kind": "Node"}

    assert asked([refused(429, "TooManyRequests"), refused(503, "ServiceUnavailable"), fine], work) == 3
    assert asked([dropped, dropped, fine], work) >= 3


def test_over_the_wire_what_does_not_pass_is_raised_in_the_end() -> None:
    async def work(client: Client) -> None:
        with pytest.raises(InternalError, match="InternalError"):
            await client.get(NODE, "", "n")

    assert asked([refused(500, "InternalError")], work) == 4


def test_over_the_wire_a_budget_is_an_answer() -> None:
    async def work(client: Client) -> None:
        with pytest.raises(TooManyRequests):
            await client.evict("default", "p")

    assert asked([refused(429, "TooManyRequests")], work) == 1
