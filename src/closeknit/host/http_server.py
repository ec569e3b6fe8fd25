"""A small HTTP/1.1 server: probes, metrics, the decision log; and questions of a scheduler, which are posted.

    connection ──▶ headers ──▶ route ──▶ guard ──▶ body ──▶ Answer ──▶ response ──▶ next request
                      └── too long, too slow, a body where none is read ──▶ refusal, and the connection is closed

Bodies are read only where something is posted. Everything that a client can occupy is bounded: connections, the size of
headers and bodies, the time that they take, and the time that a response may stay unread. Connections that were not let
in yet have a smaller limit; beyond it the oldest of them is closed.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import parse_qs

from ..model.address import Address

MOST_CONNECTIONS, MOST_STRANGERS = 128, 64
"""Connections in all, and those that were not let in yet."""
MOST_HEAD = 16 * 1024
"""Bytes of a request line and its headers."""
HEAD_TIME, IDLE_TIME = 10.0, 75.0
"""Seconds for the headers of the first request of a connection, and of each further one."""
BODY_TIME = 30.0
"""Seconds for the body of a request."""
LAST_WORDS_TIME = 0.3
"""Seconds between the refusal of a body and the end of the connection."""
MOST_BODIES = 4
"""How many bodies of the largest size are held at once."""
SMALL_BODY = 256 * 1024
"""Bytes up to which there is always room for a body."""
PATIENCE = 30.0
"""Seconds that a response may stay unread."""
TEXT = "text/plain; charset=utf-8"

log = logging.getLogger(__name__)


class Query(NamedTuple):
    """A request without its body; names of headers are in lower case, of several equal ones the last counts."""

    method: str
    path: str
    arguments: Mapping[str, str]
    headers: Mapping[str, str]
    keeps: bool = True
    """Whether the client keeps the connection for another request."""
    takes_chunks: bool = True
    length: int = 0
    """Bytes of the body, which is set once it is read."""
    body: bytes = b""


class Answer(NamedTuple):
    """A body of unknown length is sent in pieces as they are made."""

    body: bytes | AsyncGenerator[bytes, None]
    media: str = TEXT
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


Answerer = Callable[[Query], Awaitable[Answer]]
Guard = Callable[[Query], Awaitable[Answer | None]]
"""Returns the refusal of a request, or None to let it in."""


class BadQueryError(Exception):
    """A request that is refused; its connection is closed."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Posts(NamedTuple):
    """Routes to which bodies of at most `most` bytes are posted."""

    routes: Mapping[str, Answerer]
    most: int


class HttpServer:
    """Routes are paths without a leading slash. Without a guard they need no token."""

    def __init__(
        self,
        routes: Mapping[str, Answerer],
        guard: Guard | None = None,
        posts: Posts | None = None,
        most_connections: int = MOST_CONNECTIONS,
    ) -> None:
        self.routes, self.guard, self.posts = routes, guard, posts or Posts({}, 0)
        self.most_connections = most_connections
        self._room = MOST_BODIES * self.posts.most
        """Bytes of bodies that may still be taken on."""
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.Task[None], bool] = {}
        """Whether each was let in."""

    async def start(self, address: Address, tls: ssl.SSLContext | None = None) -> int:
        """Listen on the address; returns the port. Raises OSError if the address is not available."""
        self._server = await asyncio.start_server(
            self._accepted,
            address.host or None,
            address.port,
            limit=MOST_HEAD,
            start_serving=True,
            ssl=tls,
            ssl_handshake_timeout=HEAD_TIME if tls is not None else None,
        )
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._make_room()
        is_accepted = len(self._connections) < self.most_connections
        self._connections[task] = False
        try:
            if is_accepted:
                await self._serve(reader, writer)
            writer.close()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.CancelledError):
            writer.transport.abort()  # the client is gone or too slow, or the server stops
        finally:
            self._connections.pop(task, None)

    def _make_room(self) -> None:
        strangers = [task for task, is_let_in in self._connections.items() if not is_let_in]
        if len(strangers) >= MOST_STRANGERS or (strangers and len(self._connections) >= self.most_connections):
            del self._connections[strangers[0]]
            strangers[0].cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        limit = HEAD_TIME
        while True:
            try:
                async with asyncio.timeout(limit):
                    head = await reader.readuntil(b"\r\n\r\n")
                query = parsed(head, self._is_posted)
                answer = await self._answered(query, reader)
            except asyncio.LimitOverrunError:
                query, answer = None, Answer(b"the headers are too long\n", status=431)
            except BadQueryError as refused:
                query, answer = None, Answer(f"{refused}\n".encode(), status=refused.status)
            keeps = query is not None and query.keeps and isinstance(answer.body, bytes)
            await _send(reader, writer, query, answer, keeps)
            if query is None and self.posts.routes:
                await _discard(reader)
            if not keeps:
                return
            limit = IDLE_TIME

    def _is_posted(self, method: str, path: str) -> bool:
        return method == "POST" and path.lstrip("/") in self.posts.routes

    async def _answered(self, query: Query, reader: asyncio.StreamReader) -> Answer:
        path = query.path.lstrip("/")
        posted = self.posts.routes.get(path)
        answerer = posted or self.routes.get(path)
        if answerer is None:
            return Answer(b"there is nothing here\n", status=404)
        if posted is not None and query.method != "POST":
            return Answer(b"only POST is allowed\n", status=405, headers=(("Allow", "POST"),))
        if posted is None and query.method not in ("GET", "HEAD"):
            return Answer(b"only GET is allowed\n", status=405, headers=(("Allow", "GET, HEAD"),))
        try:
            refused = None if self.guard is None else await self.guard(query)
            if refused is not None and query.length:
                raise BadQueryError(refused.status, "the request is not allowed")  # its body is not read
            if refused is not None:
                return refused
            if posted is not None:
                return await self._posted(posted, query, reader)
            self._let_in()
            return await answerer(query)
        except (BadQueryError, asyncio.IncompleteReadError, ConnectionError):
            raise
        except Exception:
            log.exception("%s %s", query.method, query.path)
            return Answer(b"internal error\n", status=500)

    async def _posted(self, answerer: Answerer, query: Query, reader: asyncio.StreamReader) -> Answer:
        """Read the body, as far as there is room for it, and answer."""
        if query.length > self.posts.most:
            raise BadQueryError(413, f"the body has more than {self.posts.most} bytes")
        large = query.length if query.length > SMALL_BODY else 0
        if large > self._room:
            raise BadQueryError(503, "too many large bodies at once")
        self._room -= large
        try:
            async with asyncio.timeout(BODY_TIME):
                body = await reader.readexactly(query.length)
            self._let_in()
            return await answerer(query._replace(body=body))
        except TimeoutError:
            raise BadQueryError(408, f"the body did not arrive within {BODY_TIME:.0f} s") from None
        finally:
            self._room += large

    def _let_in(self) -> None:
        task = asyncio.current_task()
        if (self.guard is not None or self.posts.routes) and task in self._connections:
            self._connections[task] = True


def parsed(head: bytes, is_posted: Callable[[str, str], bool] = lambda *_: False) -> Query:
    """A request from its line and headers; raises BadQueryError if it cannot be read, or has a body that is not read.

    `is_posted` tells by method and path whether a body is expected.
    """
    first, *lines = head[:-4].decode("latin-1").split("\r\n")
    method, _, rest = first.partition(" ")
    target, _, version = rest.rpartition(" ")
    if version not in ("HTTP/1.1", "HTTP/1.0") or not target.startswith("/"):
        raise BadQueryError(400, "the request is not HTTP/1.1")
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise BadQueryError(415, "a compressed body is not supported")
    path, _, text = target.partition("?")
    length = _length(headers) if is_posted(method, path) else 0
    if not length and (headers.get("content-length", "0") != "0" or "transfer-encoding" in headers):
        raise BadQueryError(413, "a request must not have a body")
    arguments = {name: values[-1] for name, values in parse_qs(text).items()}
    wishes = headers.get("connection", "").lower()
    keeps = "close" not in wishes if version == "HTTP/1.1" else "keep-alive" in wishes
    return Query(method, path, arguments, headers, keeps, version == "HTTP/1.1", length)


def _length(headers: Mapping[str, str]) -> int:
    """The announced length of a body."""
    text = headers.get("content-length", "")
    if "transfer-encoding" in headers or not (text.isascii() and text.isdigit() and len(text) < 16):
        raise BadQueryError(411, "the body needs a Content-Length")
    return int(text)


async def _send(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, query: Query | None, answer: Answer, keeps: bool
) -> None:
    body, has_chunks = answer.body, query is not None and query.takes_chunks
    has_body = query is None or query.method != "HEAD"
    lines = [
        f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}",
        f"Content-Type: {answer.media}",
        *([f"Content-Length: {len(body)}"] if isinstance(body, bytes) else []),
        *(["Transfer-Encoding: chunked"] if has_chunks and not isinstance(body, bytes) else []),
        *(f"{name}: {value}" for name, value in answer.headers),
        *([] if keeps else ["Connection: close"]),
    ]
    head = ("\r\n".join(lines) + "\r\n\r\n").encode()
    if isinstance(body, bytes):
        await _write(writer, head + body if has_body else head)
        return
    await _write(writer, head)
    async with aclosing(_while_open(reader, body)) as pieces:
        async for piece in pieces:
            if not has_body:
                break
            await _write(writer, b"%x\r\n%b\r\n" % (len(piece), piece) if has_chunks else piece)
    if has_chunks and has_body:
        await _write(writer, b"0\r\n\r\n")


async def _discard(reader: asyncio.StreamReader) -> None:
    """Drop what a refused client still sends for a moment: closing at once would take the refusal from it."""
    with suppress(TimeoutError):
        async with asyncio.timeout(LAST_WORDS_TIME):
            while await reader.read(MOST_HEAD):
                pass


async def _write(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(data)
    async with asyncio.timeout(PATIENCE):
        await writer.drain()


async def _while_open(reader: asyncio.StreamReader, body: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """The pieces until the client closes the connection or sends more."""
    closed = asyncio.ensure_future(reader.read(1))
    piece: asyncio.Future[bytes | None] | None = None
    try:
        while True:
            piece = asyncio.ensure_future(anext(body, None))
            await asyncio.wait({closed, piece}, return_when=asyncio.FIRST_COMPLETED)
            if not piece.done():
                raise ConnectionResetError
            if (found := piece.result()) is None:
                return
            yield found
    finally:
        under_way = [one for one in (closed, piece) if one is not None]
        for one in under_way:
            one.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        await body.aclose()
