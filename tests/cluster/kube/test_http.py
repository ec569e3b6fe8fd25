"""Responses as a server may send them: in any pieces, of any form, late, broken or not HTTP at all."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.cluster.kube import http_stream
from closeknit.cluster.kube.http import ConnectionPool, Response
from closeknit.cluster.kube.unreachable import Unreachable

T = TypeVar("T")
END = None
"""In a script: close the connection."""
LONG = 5.0


@dataclass
class Scripted:
    """A server that answers the requests of each connection with these pieces, then waits for the next request."""

    answers: list[list[bytes | None]]
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while self.answers:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    (int(one[15:]) for one in head.lower().split(b"\r\n") if one.startswith(b"content-length:")), 0
                )
                self.requests.append(head + await reader.readexactly(length))
                for piece in self.answers.pop(0):
                    if piece is END:
                        return
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(0)
            await reader.read()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def with_server(
    answers: list[list[bytes | None]], use: Callable[[ConnectionPool], Awaitable[T]], script: Scripted | None = None
) -> T:
    async def play() -> T:
        scripted = script or Scripted(answers)
        server = await asyncio.start_server(scripted.serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        pool = ConnectionPool(f"http://127.0.0.1:{port}/base")
        try:
            async with asyncio.timeout(30):
                return await use(pool)
        finally:
            await pool.close()
            server.close()

    return asyncio.run(play())


def get(pool: ConnectionPool, idle: float = LONG) -> Awaitable[Response]:
    return pool.send("GET", "/where?a=b", [("Accept", "x/y")], None, None, LONG, idle)


async def body_of(pool: ConnectionPool) -> tuple[int, bytes]:
    with await get(pool) as response:
        return response.status, await response.read()


SIZED = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;ext=1\r\nllo\r\n0\r\nTrailer: a\r\n\r\n"
CLOSING = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello"
CONTINUED = b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" + SIZED
EMPTY = b"HTTP/1.1 204 No Content\r\n\r\n"
LACKING = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


def cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({min(one, len(data)) for one in places} | {len(data)})
    return [data[begin:end] for begin, end in zip([0, *ends], ends, strict=False) if end > begin]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(
        [
            (SIZED, b"hello"),
            (CHUNKED, b"hello"),
            (CONTINUED, b"hello"),
            (EMPTY, b""),
            (LACKING, b""),
            (CLOSING, b"hello"),
        ]
    ),
    st.lists(st.integers(1, 120), max_size=6),
)
def test_a_response_is_read_whatever_pieces_it_arrives_in(case: tuple[bytes, bytes], places: list[int]) -> None:
    data, body = case
    pieces: list[bytes | None] = [*cut(data, places)]
    if data is CLOSING:
        pieces.append(END)
    status, found = with_server([pieces], body_of)
    assert (found, status) == (body, 204 if data is EMPTY else 200)


def test_a_request_carries_its_headers_and_the_length_of_its_body() -> None:
    async def use(pool: ConnectionPool) -> None:
        with await pool.send("PUT", "/a", [("Accept", "x/y")], b"body", None, LONG, LONG) as response:
            await response.read()

    script = Scripted([[SIZED]])
    with_server([], use, script)
    head, body = script.requests[0].split(b"\r\n\r\n")
    first, host, *rest = head.split(b"\r\n")
    assert first == b"PUT /base/a HTTP/1.1"
    assert host.startswith(b"Host: 127.0.0.1:")
    assert rest == [b"Accept: x/y", b"Content-Length: 4"]
    assert body == b"body"


def test_a_header_with_a_line_break_is_not_sent() -> None:
    async def use(pool: ConnectionPool) -> None:
        with pytest.raises(ValueError, match="line break"):
            await pool.send("GET", "/a", [("Authorization", "Bearer a\r\nX-Admin: yes")], None, None, LONG, LONG)

    script = Scripted([[SIZED]])
    with_server([], use, script)
    assert script.requests == []


@pytest.mark.parametrize("first", [SIZED, CHUNKED, EMPTY, LACKING])
def test_a_connection_is_reused_after_a_complete_response(first: bytes) -> None:
    async def use(pool: ConnectionPool) -> None:
        await body_of(pool)
        assert await body_of(pool) == (200, b"hello")

    script = Scripted([[first], [SIZED]])
    with_server([], use, script)
    assert script.connections == 1


@pytest.mark.parametrize("first", [[CLOSING, END], [SIZED, END], [SIZED + b"more"]])
def test_a_connection_that_is_over_is_not_reused(first: list[bytes | None]) -> None:
    async def use(pool: ConnectionPool) -> None:
        await body_of(pool)
        await asyncio.sleep(0.05)
        assert await body_of(pool) == (200, b"hello")

    script = Scripted([first, [SIZED]])
    with_server([], use, script)
    assert script.connections == 2


def test_a_connection_whose_response_was_not_read_to_its_end_is_not_reused() -> None:
    async def use(pool: ConnectionPool) -> None:
        with await get(pool):
            pass
        assert await body_of(pool) == (200, b"hello")

    script = Scripted([[CHUNKED[:60]], [SIZED]])
    with_server([], use, script)
    assert script.connections == 2


def test_a_connection_is_not_reused_with_other_credentials() -> None:
    async def use(pool: ConnectionPool) -> None:
        await body_of(pool)
        (stream,) = pool._idle
        stream.tls = object()  # type: ignore[assignment]
        await body_of(pool)

    script = Scripted([[SIZED], [SIZED]])
    with_server([], use, script)
    assert script.connections == 2


@pytest.mark.parametrize(
    ("pieces", "why"),
    [
        ([END], "the server closed the connection without a response"),
        ([b"HTTP/1.1 200", END], "the server closed the connection without a response"),
        ([SIZED[:-1], END], "the connection broke in the middle of a response"),
        ([CHUNKED[:-4], END], "the connection broke in the middle of a response"),
        ([b"SSH-2.0-OpenSSH_9.2\r\n"], "its response is not HTTP"),
        ([b"HTTP/1.1 abc OK\r\n\r\n"], "its response is not HTTP"),
        ([b"HTTP/2 200\r\n\r\n"], "its response is not HTTP"),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"], "its response is not HTTP"),
        ([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"], "its response is not HTTP"),
        ([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc"], "its response is not HTTP"),
        ([b"HTTP/1.1 200 OK\r\nX: " + b"a" * 300_000], "its response is not HTTP"),
    ],
)
def test_a_broken_response_is_a_failure_of_a_request_that_was_sent(pieces: list[bytes | None], why: str) -> None:
    async def use(pool: ConnectionPool) -> None:
        with pytest.raises(Unreachable) as caught:
            await body_of(pool)
        assert caught.value.why == why
        assert caught.value.sent

    with_server([pieces], use)


def test_a_server_that_is_silent_for_too_long_is_given_up() -> None:
    async def use(pool: ConnectionPool) -> None:
        with pytest.raises(Unreachable, match="timed out") as caught:
            await get(pool, idle=0.05)
        assert caught.value.sent

    with_server([[b"HTTP/1.1 200 OK\r\n"]], use)


def test_a_response_that_takes_longer_than_that_but_is_never_silent_is_read() -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for at in range(len(SIZED)):
            writer.write(SIZED[at : at + 1])
            await asyncio.sleep(0.01)
        await reader.read()
        writer.close()

    async def play() -> bytes:
        server = await asyncio.start_server(drip, "127.0.0.1", 0)
        pool = ConnectionPool(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        try:
            with await get(pool, idle=0.3) as response:
                return await response.read()
        finally:
            await pool.close()
            server.close()

    assert asyncio.run(play()) == b"hello"


def test_no_connection_means_that_nothing_was_sent() -> None:
    async def play() -> None:
        with pytest.raises(Unreachable, match="connection refused") as caught:
            await body_of(ConnectionPool("http://127.0.0.1:1"))
        assert not caught.value.sent

    asyncio.run(play())


def test_a_compressed_body_is_decompressed() -> None:
    packed = gzip.compress(b"hello" * 100)
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n".encode()
    assert with_server([[head + packed]], body_of) == (200, b"hello" * 100)


def test_a_body_that_does_not_decompress_is_a_failure() -> None:
    async def use(pool: ConnectionPool) -> None:
        with pytest.raises(Unreachable, match="cannot be decompressed"):
            await body_of(pool)

    with_server([[b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello"]], use)


def test_a_stream_that_is_not_taken_is_not_received_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_stream, "MUCH", 100_000)
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    count = 200

    async def use(pool: ConnectionPool) -> tuple[int, int]:
        with await get(pool) as response:
            await asyncio.sleep(0.3)
            waiting, total = response._stream._size, 0
            async for piece in response.pieces():
                total += len(piece)
            return waiting, total

    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    waiting, total = with_server([[head, *[chunk] * count, b"0\r\n\r\n"]], use)
    assert waiting < 1_000_000
    assert total == count * 0x10000


def test_a_request_that_is_cancelled_leaves_no_connection_behind() -> None:
    async def use(pool: ConnectionPool) -> None:
        task = asyncio.ensure_future(body_of(pool))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0.01)
        assert not pool._open
        assert await body_of(pool) == (200, b"hello")

    with_server([[b"HTTP/1.1 200 OK\r\n"], [SIZED]], use)


def test_several_requests_at_once_have_a_connection_each() -> None:
    async def use(pool: ConnectionPool) -> list[tuple[int, bytes]]:
        return await asyncio.gather(*(body_of(pool) for _ in range(5)))

    script = Scripted([[SIZED] for _ in range(5)])
    assert with_server([], use, script) == [(200, b"hello")] * 5
    assert script.connections == 5
