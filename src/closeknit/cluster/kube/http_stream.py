"""One HTTP/1.1 connection: sends a request, then parses the response as it arrives.

    _head ──▶ _sized                        body of a known length
         ├──▶ _chunk_line ⇄ _chunk          body in chunks
         │        └──▶ _trailer
         └──▶ _until_closed                 body that ends with the connection

Each of these consumes received data and sets what comes next. Data is parsed when it arrives and bodies are not copied,
because a controller receives hundreds of responses and events per second.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import Callable

from .unreachable import Unreachable

MOST_HEAD = 256 * 1024
"""Bytes of status line and headers, or of the line before a chunk, that are accepted."""
MUCH = 1024 * 1024
"""Bytes of a body that may wait to be taken piece by piece before no more are received."""

BROKE = "the connection broke in the middle of a response"
CLOSED = "the server closed the connection without a response"
NOT_HTTP = "its response is not HTTP"
TIMED_OUT = "timed out"


class HttpStream(asyncio.Protocol):
    """One connection, and the response that it is receiving."""

    def __init__(self, server: str, tls: ssl.SSLContext | None, opened: set[HttpStream]) -> None:
        self.server, self.tls = server, tls
        self.idle_since = 0.0
        self.status, self.reason = 0, ""
        self.headers: list[tuple[str, str]] = []
        self.is_closed = False
        self._open = opened
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parse: Callable[[bytes], bytes] = self._unexpected
        """Consumes received data; returns what it could not consume yet."""
        self._left_over = b""
        self._keeps = False
        self._tunnel = False
        self._has_ended = True
        self._remaining = 0
        """Bytes until the end of the body, or of the current chunk."""
        self._body: deque[bytes] = deque()
        self._size = 0
        self._is_paused = False
        self._takes_pieces = True
        self._error: Unreachable | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._limit, self._heard = 0.0, 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_reusable(self) -> bool:
        return self._has_ended and self._keeps and not self.is_closed and not self._left_over and not self._body

    # Requests

    async def ask(self, head: bytes, body: bytes | None, idle: float, tunnel: bool = False) -> None:
        """Send a request; returns when the headers of the response have arrived."""
        assert self._transport is not None
        self.status, self._tunnel = 0, tunnel
        self._has_ended, self._takes_pieces, self._error = False, True, None
        self._parse = self._head
        self._limit, self._heard = idle, self._loop.time()
        self._watch_the_clock()
        self._transport.write(head if body is None else head + body)
        while not self.status:
            await self._more()

    async def rest(self) -> bytes:
        """All of the body that has not been taken."""
        self._takes_pieces = False
        self._resume()
        while not self._has_ended:
            await self._more()
        taken = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        self._body.clear()
        self._size = 0
        return taken

    async def piece(self) -> bytes | None:
        """The next part of the body, once there is one; None at its end."""
        while not self._body:
            if self._has_ended:
                return None
            await self._more()
        taken = self._body.popleft()
        self._size -= len(taken)
        if self._size < MUCH:
            self._resume()
        return taken

    async def secure(self, tls: ssl.SSLContext, name: str) -> None:
        """Start TLS, inside a tunnel that a proxy has opened."""
        assert self._transport is not None
        self._transport = await self._loop.start_tls(self._transport, self, tls, server_hostname=name)

    def abort(self) -> None:
        self.is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._transport is not None:
            self._transport.abort()

    async def _more(self) -> None:
        """Wait until something has been received; raises if the connection has failed."""
        if self.is_closed and self._error is None:
            self._fail(BROKE if self.status else CLOSED)
        if self._error is None:
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        if self._error is not None:
            raise self._error

    # Called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._open.add(self)
        if self.is_closed:
            transport.abort()
            return
        connected: socket.socket | None = transport.get_extra_info("socket")
        if connected is not None:
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def data_received(self, data: bytes) -> None:
        self._heard = self._loop.time()
        data = self._left_over + data if self._left_over else data
        try:
            while data:
                before = self._parse
                rest = self._parse(data)
                if len(rest) == len(data) and self._parse == before:
                    break
                data = rest
            self._left_over = data
            if len(data) > MOST_HEAD:
                raise ValueError(NOT_HTTP)
        except ValueError as error:
            self._fail(str(error))
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_closed = True
        self._open.discard(self)
        if not self._has_ended:
            if self._parse == self._until_closed and exc is None:
                self._has_ended = True
            elif self._error is None:
                self._fail(BROKE if self.status else CLOSED if exc is None else reason_of(exc))
        if self._timer is not None:
            self._timer.cancel()
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail(self, why: str) -> None:
        self._error = Unreachable(self.server, why, sent=True)
        self.abort()
        self._wake()

    def _watch_the_clock(self) -> None:
        """Have a timer run while a response is awaited.

        It survives the exchange, so that a series of short requests does not create one timer each.
        """
        due = self._heard + self._limit
        if self._timer is not None:
            if self._timer.when() <= due:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(due, self._look_at_the_clock)

    def _look_at_the_clock(self) -> None:
        self._timer = None
        if self._has_ended or self._is_paused:
            self._heard = self._loop.time()
            if self._has_ended:
                return
        if self._heard + self._limit <= self._loop.time():
            self._fail(TIMED_OUT)
        else:
            self._watch_the_clock()

    # The parts of a response

    def _unexpected(self, data: bytes) -> bytes:
        """Data although no request is under way: what it belongs to is unknown, so the connection is of no use."""
        self.abort()
        return b""

    def _head(self, data: bytes) -> bytes:
        end = data.find(b"\r\n\r\n")
        if end < 0:
            if not data.startswith(b"HTTP/1."[: len(data)]):
                raise ValueError(NOT_HTTP)
            return data
        first, *lines = data[:end].decode("latin-1").split("\r\n")
        version, _, rest = first.partition(" ")
        code, _, reason = rest.partition(" ")
        if version not in ("HTTP/1.1", "HTTP/1.0") or len(code) != 3 or not code.isdecimal():
            raise ValueError(NOT_HTTP)
        body = data[end + 4 :]
        if code < "200":
            return body
        pairs = (line.partition(":") for line in lines)
        self.headers = [(name.strip().lower(), value.strip()) for name, _, value in pairs]
        self.status, self.reason = int(code), reason
        found = dict(self.headers)
        is_close = "close" in found.get("connection", "").lower()
        self._keeps = version == "HTTP/1.1" and not is_close
        if (self._tunnel and code == "200") or code in ("204", "304"):
            self._end()
        elif "chunked" in found.get("transfer-encoding", "").lower():
            self._parse = self._chunk_line
        elif (length := found.get("content-length")) is not None:
            if not (length.isascii() and length.isdecimal()):
                raise ValueError(NOT_HTTP)
            self._remaining = int(length)
            self._parse = self._sized
            if not self._remaining:
                self._end()
        else:
            self._keeps = False
            self._parse = self._until_closed
        return body

    def _sized(self, data: bytes) -> bytes:
        rest = self._take(data)
        if not self._remaining:
            self._end()
        return rest

    def _until_closed(self, data: bytes) -> bytes:
        self._give(data)
        return b""

    def _chunk_line(self, data: bytes) -> bytes:
        end = data.find(b"\r\n")
        if end < 0:
            return data
        size = data[:end].partition(b";")[0].strip()
        try:
            self._remaining = int(size, 16)
        except ValueError:
            raise ValueError(NOT_HTTP) from None
        self._parse = self._chunk if self._remaining else self._trailer
        return data[end + 2 :]

    def _chunk(self, data: bytes) -> bytes:
        rest = self._take(data) if self._remaining else data
        if self._remaining or len(rest) < 2:
            return rest
        if not rest.startswith(b"\r\n"):
            raise ValueError(NOT_HTTP)
        self._parse = self._chunk_line
        return rest[2:]

    def _trailer(self, data: bytes) -> bytes:
        end = data.find(b"\r\n")
        if end < 0:
            return data
        if end == 0:
            self._end()
        return data[end + 2 :]

    def _take(self, data: bytes) -> bytes:
        """Move what belongs to the body or chunk to the body; returns the rest."""
        piece, rest = data[: self._remaining], data[self._remaining :]
        self._remaining -= len(piece)
        self._give(piece)
        return rest

    def _give(self, piece: bytes) -> None:
        self._body.append(piece)
        self._size += len(piece)
        if self._takes_pieces and self._size > MUCH and not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()

    def _resume(self) -> None:
        if self._is_paused and self._transport is not None:
            self._is_paused, self._heard = False, self._loop.time()
            self._transport.resume_reading()

    def _end(self) -> None:
        self._has_ended = True
        self._parse = self._unexpected


def reason_of(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error) or type(error).__name__
