"""The client against the embedded host's server, and against one that misbehaves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from email.utils import formatdate
from time import time
from typing import TypeVar

import pytest
from aiohttp import web

from closeknit.cluster.errors import (
    AlreadyExists,
    BadRequest,
    Expired,
    InternalError,
    Invalid,
    NotFound,
    Refused,
    ServerTimeout,
    ServiceUnavailable,
    Timeout,
    TooManyRequests,
)
from closeknit.cluster.kinds import CONFIG_MAP, NODE, POD
from closeknit.cluster.kube.answers import refusal
from closeknit.cluster.kube.client import METADATA, Client
from closeknit.cluster.kube.config import Config, read_config
from closeknit.cluster.kube.unreachable import Unreachable
from cluster.embedded.rest.running import Running
from cluster.kube.scripted import listed, pod, scripted, status

T = TypeVar("T")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with Running(tmp_path_factory.mktemp("host")) as server:
        yield server


def asked(running: Running, work: Callable[[Client], Awaitable[T]], warnings: list[str] | None = None) -> T:
    async def run() -> T:
        config = read_config([running.kubeconfig])
        async with Client(config, (warnings if warnings is not None else []).append) as client:
            return await work(client)

    return asyncio.run(run())


def test_an_object_is_created_read_changed_and_deleted(running: Running) -> None:
    async def work(client: Client) -> None:
        made = await client.create(CONFIG_MAP, "default", {"metadata": {"name": "one"}, "data": {"a": "1"}})
        assert made["metadata"]["uid"]
        changed = await client.patch(CONFIG_MAP, "default", "one", {"data": {"b": "2"}})
        assert changed["data"] == {"a": "1", "b": "2"}
        assert (await client.get(CONFIG_MAP, "default", "one"))["data"] == {"a": "1", "b": "2"}
        await client.delete(CONFIG_MAP, "default", "one", uid=made["metadata"]["uid"])
        with pytest.raises(NotFound, match='configmaps "one" not found'):
            await client.get(CONFIG_MAP, "default", "one")

    asked(running, work)


def test_an_apply_names_us_as_the_manager_of_its_fields(running: Running) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": {"a": "1"}}
    made = asked(running, lambda client: client.patch(CONFIG_MAP, "default", "applied", body, "apply"))
    assert [(one["manager"], one["operation"]) for one in made["metadata"]["managedFields"]] == [("closeknit", "Apply")]


def test_a_long_list_comes_in_pages_and_none_is_missing(running: Running) -> None:
    def fill(store: object) -> None:
        for number in range(1201):
            running.store.create(CONFIG_MAP, {"metadata": {"name": f"page-{number:04}", "labels": {"of": "pages"}}})

    running.do(fill)
    found = asked(running, lambda client: client.list(CONFIG_MAP, "default", labelSelector="of=pages"))
    assert [one["metadata"]["name"] for one in found] == [f"page-{number:04}" for number in range(1201)]
    assert found[0]["kind"] == "ConfigMap"


def test_metadata_alone_can_be_asked_for(running: Running) -> None:
    running.do(lambda store: store.create(NODE, {"metadata": {"name": "n1", "labels": {"rack": "r1"}}}))
    (found,) = asked(running, lambda client: client.list(NODE, accept=METADATA))
    assert found["metadata"]["labels"] == {"rack": "r1"}
    assert "status" not in found


def test_an_error_carries_the_message_of_the_server(running: Running) -> None:
    async def work(client: Client) -> None:
        await client.create(CONFIG_MAP, "default", {"metadata": {"name": "twice"}})
        with pytest.raises(AlreadyExists) as error:
            await client.create(CONFIG_MAP, "default", {"metadata": {"name": "twice"}})
        assert (error.value.name, error.value.kind) == ("twice", "configmaps")

    asked(running, work)


def test_a_name_cannot_lead_to_another_path(running: Running) -> None:
    running.do(lambda store: store.create(CONFIG_MAP, {"metadata": {"name": "kept"}}))

    async def work(client: Client) -> None:
        with pytest.raises(Refused):
            await client.delete(CONFIG_MAP, "default", "x/../kept")
        with pytest.raises(BadRequest):
            await client.get(CONFIG_MAP, "default", "..")

    asked(running, work)
    assert running.do(lambda store: store.find(CONFIG_MAP, "default", "kept")) is not None


def test_a_wrong_token_is_refused(running: Running) -> None:
    async def run() -> None:
        async with Client(replace(read_config([running.kubeconfig]), token="wrong")) as client:
            await client.get(NODE, "", "n1")

    with pytest.raises(Refused) as error:
        asyncio.run(run())
    assert error.value.code == 401


def test_a_self_signed_certificate_is_not_trusted(running: Running) -> None:
    async def run() -> None:
        async with Client(replace(read_config([running.kubeconfig]), authority="")) as client:
            await client.get(NODE, "", "n1")

    with pytest.raises(Unreachable, match="its certificate is not trusted: self-signed certificate"):
        asyncio.run(run())


def test_a_refused_connection_is_reported() -> None:
    async def run() -> None:
        async with Client(Config("http://127.0.0.1:1")) as client:
            await client.get(NODE, "", "n1")

    with pytest.raises(Unreachable, match=r"http://127.0.0.1:1: connection refused"):
        asyncio.run(run())


def test_a_connection_that_breaks_within_a_response_is_reported() -> None:
    async def cut_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{")
        await writer.drain()
        writer.close()

    async def run() -> None:
        async with await asyncio.start_server(cut_off, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            async with Client(Config(f"http://127.0.0.1:{port}")) as client:
                async for _ in client.lines("/lines", {}, idle=5.0):
                    pass

    with pytest.raises(Unreachable, match=r": the connection broke in the middle of a response$"):
        asyncio.run(run())


def test_a_server_that_does_not_answer_is_given_up() -> None:
    async def silent(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(5)
        return web.Response()

    async def run() -> None:
        async with scripted(silent, timeout=0.2) as client:
            await client.get(NODE, "", "n1")

    with pytest.raises(Unreachable, match="timed out"):
        asyncio.run(run())


def test_a_web_page_is_not_taken_for_an_api_server() -> None:
    async def page(request: web.Request) -> web.StreamResponse:
        return web.Response(text="<html>")

    async def run() -> None:
        async with scripted(page) as client:
            await client.get(NODE, "", "n1")

    with pytest.raises(Unreachable, match="its response is not that of a Kubernetes API server"):
        asyncio.run(run())


def test_warnings_of_the_server_are_passed_on() -> None:
    async def warned(request: web.Request) -> web.StreamResponse:
        return web.json_response({}, headers={"Warning": '299 - "unknown field \\"spec.x\\""'})

    async def run() -> list[str]:
        said: list[str] = []
        async with scripted(warned) as client:
            client.warn = said.append
            await client.get(NODE, "", "n1")
        return said

    assert asyncio.run(run()) == ['unknown field "spec.x"']


def test_a_list_whose_continue_token_expires_is_started_over() -> None:
    asked_for: list[str] = []

    async def forgetful(request: web.Request) -> web.StreamResponse:
        asked_for.append(request.query.get("continue", ""))
        if len(asked_for) == 1:
            body = {"metadata": {"resourceVersion": "7", "continue": "next"}, "items": [pod("stale", 1)]}
            return web.json_response(body)
        if len(asked_for) == 2:
            return web.json_response(status(410, "Expired"), status=410)
        return listed(9, pod("fresh", 8))

    async def run() -> list[str]:
        async with scripted(forgetful) as client:
            return [one["metadata"]["name"] for one in await client.list(POD)]

    assert asyncio.run(run()) == ["fresh"]
    assert asked_for == ["", "next", ""]


def test_a_list_whose_continue_token_always_expires_is_given_up() -> None:
    async def forgetful(request: web.Request) -> web.StreamResponse:
        return web.json_response(status(410, "Expired"), status=410)

    async def run() -> None:
        async with scripted(forgetful) as client:
            await client.list(POD)

    with pytest.raises(Expired):
        asyncio.run(run())


@pytest.mark.parametrize(
    ("code", "body", "kind", "message"),
    [
        (422, b'{"kind":"Status","reason":"Invalid","code":422,"message":"is wrong"}', Invalid, "is wrong"),
        (429, b"", TooManyRequests, "the server answered 429 without a message"),
        (404, b"404 page not found\n", NotFound, "404 page not found"),
        (503, b'{"kind":"Status","reason":"ServiceUnavailable","message":"later"}', ServiceUnavailable, "later"),
        (500, b'{"kind":"Status","reason":"ServerTimeout","message":"later","code":500}', ServerTimeout, "later"),
        (500, b'{"kind":"Status","code":500,"message":"oh"}', InternalError, "oh"),
        (502, b"bad gateway", InternalError, "bad gateway"),
        (504, b"", Timeout, "the server answered 504 without a message"),
        (418, b"no", Refused, "no"),
    ],
)
def test_the_class_of_an_error_follows_from_reason_else_code(
    code: int, body: bytes, kind: type[Refused], message: str
) -> None:
    found = refusal(code, body, "3")
    assert type(found) is kind
    assert (found.message, found.retry_after) == (message, 3)


def test_when_to_ask_again_may_be_a_date_as_proxies_write_it() -> None:
    later = formatdate(time() + 30, usegmt=True)
    assert (refusal(503, b"", later).retry_after or 0) in range(28, 32)
    assert refusal(503, b"", formatdate(time() - 30, usegmt=True)).retry_after == 0
    assert refusal(503, b"", "soon").retry_after is None


def test_causes_name_the_fields() -> None:
    body = (
        b'{"kind":"Status","reason":"Invalid","message":"m","details":{"name":"x","causes":'
        b'[{"field":"spec.a","message":"Required value","reason":"FieldValueRequired"}]}}'
    )
    (cause,) = refusal(422, body).causes
    assert cause == ("spec.a", "Required value", "FieldValueRequired")
