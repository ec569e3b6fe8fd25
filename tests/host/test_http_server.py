"""The server of probes and metrics, with clients that are wrong, slow or many."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress

import pytest

from closeknit.host import http_server
from closeknit.host.http_server import Answer, Answerer, HttpServer, Query
from closeknit.model.address import Address

Connect = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


async def hello(query: Query) -> Answer:
    return Answer(f"hello {query.arguments.get('name', '')}\n".encode())


async def broken(_: Query) -> Answer:
    raise KeyError("secret")


ROUTES: dict[str, Answerer] = {"hello": hello, "broken": broken}


def served(use: Callable[[Connect], Awaitable[None]], routes: dict[str, Answerer] | None = None) -> None:
    async def play() -> None:
        server = HttpServer(routes or ROUTES)
        port = await server.start(Address("127.0.0.1", 0))
        try:
            async with asyncio.timeout(20):
                await use(lambda: asyncio.open_connection("127.0.0.1", port))
        finally:
            await server.stop()

    asyncio.run(play())


def answered(request: bytes, routes: dict[str, Answerer] | None = None) -> bytes:
    """Everything that the server sends until it closes the connection."""
    found = b""

    async def use(connect: Connect) -> None:
        nonlocal found
        reader, writer = await connect()
        writer.write(request)
        found = await reader.read()
        writer.close()

    served(use, routes)
    return found


def get(path: str, *headers: str, method: str = "GET", version: str = "1.1") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/{version}", "Host: a", *headers, "", ""]).encode()


CLOSE = "Connection: close"


def test_a_request_is_answered_with_its_arguments() -> None:
    assert answered(get("/hello?name=a%20b&name=c", CLOSE)) == (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 8\r\n"
        b"Connection: close\r\n\r\nhello c\n"
    )


def test_a_connection_serves_several_requests() -> None:
    found = answered(get("/hello?name=a") + get("/hello?name=b") + get("/hello?name=c", CLOSE))
    assert [part.split(b"\n")[0] for part in found.split(b"hello ")[1:]] == [b"a", b"b", b"c"]


@pytest.mark.parametrize(
    ("request_", "first"),
    [
        (get("/nothing", CLOSE), b"HTTP/1.1 404 Not Found"),
        (get("/hello", CLOSE, method="POST"), b"HTTP/1.1 405 Method Not Allowed"),
        (get("/broken", CLOSE), b"HTTP/1.1 500 Internal Server Error"),
        (b"GET /hello\r\n\r\n", b"HTTP/1.1 400 Bad Request"),
        (b"\x16\x03\x01\x02\x00\r\n\r\n", b"HTTP/1.1 400 Bad Request"),
        (get("http://elsewhere/hello"), b"HTTP/1.1 400 Bad Request"),
        (get("/hello", "Content-Length: 5"), b"HTTP/1.1 413 Request Entity Too Large"),
        (get("/hello", "Content-Length: a"), b"HTTP/1.1 413 Request Entity Too Large"),
        (get("/hello", "Transfer-Encoding: chunked"), b"HTTP/1.1 413 Request Entity Too Large"),
        (get("/hello", "Content-Encoding: gzip"), b"HTTP/1.1 415 Unsupported Media Type"),
        (get("/hello", "A: " + "a" * 20_000), b"HTTP/1.1 431 Request Header Fields Too Large"),
    ],
)
def test_what_is_refused_ends_the_connection(request_: bytes, first: bytes) -> None:
    found = answered(request_)
    assert found.startswith(first)
    assert b"Connection: close" in found
    assert b"secret" not in found


def test_a_body_is_not_read() -> None:
    """The client goes on sending; the connection is closed instead of drained."""

    async def use(connect: Connect) -> None:
        _, writer = await connect()
        writer.write(get("/hello", "Content-Encoding: gzip", "Content-Length: 1000000000", method="POST"))
        sent = 0
        with suppress(ConnectionError):
            while sent < 1_000_000_000:
                writer.write(b"x" * 65536)
                sent += 65536
                await writer.drain()
        assert sent < 50_000_000

    served(use)


def test_head_has_no_body() -> None:
    found = answered(get("/hello", CLOSE, method="HEAD"))
    assert b"Content-Length: 7\r\n" in found
    assert found.endswith(b"\r\n\r\n")


def test_an_old_client_is_answered_and_the_connection_closed() -> None:
    assert answered(get("/hello", version="1.0")).endswith(b"hello \n")


@pytest.mark.parametrize("sent", [b"", b"GET /hello HTTP/1.1\r\nA: b\r\n"])
def test_headers_that_do_not_arrive_end_the_connection(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "HEAD_TIME", 0.05)

    async def use(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(sent)
        assert await reader.read() == b""
        writer.close()

    served(use)


def test_connections_beyond_the_limit_are_closed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """If all others were let in, the new one is closed; else the oldest stranger is."""
    monkeypatch.setattr(http_server, "MOST_CONNECTIONS", 3)

    async def guard(_: Query) -> Answer | None:
        return None

    async def play() -> None:
        server = HttpServer(ROUTES, guard)
        port = await server.start(Address("127.0.0.1", 0))
        try:
            held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
            for reader, writer in held:
                writer.write(get("/hello"))
                await reader.readuntil(b"hello \n")
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            assert await reader.read() == b""
            writer.close()
            held[0][1].close()
            await asyncio.sleep(0.02)
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(get("/hello", CLOSE))
            assert (await reader.read()).endswith(b"hello \n")
            for _, one in held:
                one.close()
        finally:
            await server.stop()

    asyncio.run(play())


class Endless:
    """A stream without end that knows whether it is still read."""

    def __init__(self, piece: bytes, pause: float) -> None:
        self.piece, self.pause = piece, pause
        self.is_closed = False

    async def answer(self, _: Query) -> Answer:
        return Answer(self._pieces(), "text/plain")

    async def _pieces(self) -> AsyncGenerator[bytes, None]:
        try:
            while True:
                yield self.piece
                await asyncio.sleep(self.pause)
        finally:
            self.is_closed = True


async def until_closed(stream: Endless) -> None:
    while not stream.is_closed:
        await asyncio.sleep(0.01)


def test_a_stream_is_sent_in_chunks_and_ends_with_its_client() -> None:
    stream = Endless(b"line\n", 3600)

    async def use(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(get("/stream"))
        head = await reader.readuntil(b"\r\n\r\n")
        assert b"Transfer-Encoding: chunked" in head
        assert await reader.readexactly(10) == b"5\r\nline\n\r\n"
        writer.close()
        await until_closed(stream)

    served(use, {"stream": stream.answer})


def test_a_stream_that_is_not_read_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "PATIENCE", 0.1)
    stream = Endless(b"x" * 1_000_000, 0)

    async def use(connect: Connect) -> None:
        _, writer = await connect()
        writer.write(get("/stream"))
        await until_closed(stream)
        writer.close()

    served(use, {"stream": stream.answer})


def test_a_stop_ends_streams() -> None:
    stream = Endless(b"line\n", 3600)

    async def use(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(get("/stream"))
        await reader.readuntil(b"line")

    served(use, {"stream": stream.answer})
    assert stream.is_closed


def test_an_old_client_gets_a_stream_without_chunks() -> None:
    async def three() -> AsyncGenerator[bytes, None]:
        for number in range(3):
            yield f"{number}\n".encode()

    async def answer(_: Query) -> Answer:
        return Answer(three())

    found = answered(get("/stream", version="1.0"), {"stream": answer})
    assert found.endswith(b"\r\n\r\n0\n1\n2\n")
    assert b"chunked" not in found


def test_the_oldest_stranger_makes_room_for_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "MOST_STRANGERS", 3)

    async def use(connect: Connect) -> None:
        held = [await connect() for _ in range(3)]
        await asyncio.sleep(0.02)
        reader, writer = await connect()
        writer.write(get("/hello", CLOSE))
        assert (await reader.read()).endswith(b"hello \n")
        assert await held[0][0].read() == b""
        for _, one in held:
            one.close()

    served(use)


def test_a_guard_refuses_and_lets_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that was let in is no stranger: it stays connected when strangers are closed."""
    monkeypatch.setattr(http_server, "MOST_STRANGERS", 2)

    async def guard(query: Query) -> Answer | None:
        return None if query.headers.get("authorization") == "yes" else Answer(b"no\n", status=401)

    async def play() -> None:
        server = HttpServer(ROUTES, guard)
        port = await server.start(Address("127.0.0.1", 0))
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(get("/hello", "Authorization: yes"))
            assert b"200 OK" in await reader.readuntil(b"hello \n")
            lines = [await asyncio.open_connection("127.0.0.1", port) for _ in range(6)]
            lines[-1][1].write(get("/hello", CLOSE))
            assert b"401 Unauthorized" in await lines[-1][0].read()
            writer.write(get("/hello", "Authorization: yes", CLOSE))
            assert b"200 OK" in await reader.read()
            for _, one in lines:
                one.close()
        finally:
            await server.stop()

    asyncio.run(play())
