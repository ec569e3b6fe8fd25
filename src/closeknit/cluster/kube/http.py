"""HTTP/1.1 to one server, over connections that are kept open and reused.

    ConnectionPool.send ──▶ idle or new connection ──▶ request
                                      │
                 with response: ◀─────┘ status, headers; then read() or pieces()

It does what a client of an API server needs: one request at a time on each connection; bodies with a length, in chunks
or until the connection ends; CONNECT through a proxy. There are no redirects, cookies or retries. A request costs about
a fifth of the CPU that it costs with a general library (docs/designs/own-http-client.md).

Every failure is an Unreachable, which says whether the request may have reached the server.
"""

from __future__ import annotations

import asyncio
import ssl
import zlib
from asyncio import sslproto
from base64 import b64encode
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from time import monotonic
from types import TracebackType
from urllib.parse import SplitResult, unquote, urlsplit

from .http_stream import TIMED_OUT, HttpStream, reason_of
from .proxies import PORTS
from .unreachable import Unreachable

CONNECT = 10.0
KEPT = 60.0
"""Seconds that an idle connection is kept open for the next request."""
FALLBACK = 0.25
"""Seconds after which the next address of a host name is tried as well."""
TLS_BUFFER = 32 * 1024
"""Bytes that asyncio reserves for each TLS connection and for every read. Its 256 KiB cost a controller with all its
watches 8 MB, and a read returns at most one TLS record of 16 KiB."""

Headers = Sequence[tuple[str, str]]


class ConnectionPool:
    """Connections to `server`, or to it through `proxy`; `server_name` is the name in its certificate if it differs."""

    def __init__(self, server: str, proxy: str = "", server_name: str = "") -> None:
        self.server, self._server_name = server, server_name
        self._url, self._proxy = urlsplit(server), urlsplit(proxy) if proxy else None
        self._idle: deque[HttpStream] = deque()
        self._open: set[HttpStream] = set()
        sslproto.SSLProtocol.max_size = TLS_BUFFER

    async def send(
        self,
        method: str,
        where: str,
        headers: Headers,
        body: bytes | None,
        tls: ssl.SSLContext | None,
        connect: float,
        idle: float,
    ) -> Response:
        """Send a request and wait for the headers of its response; use the result in a `with`.

        `where` is an encoded path with its query. `connect` and `idle` are time limits in seconds: for establishing a
        connection, and for the time without any data.
        """
        stream = self._reused(tls) or await self._connected(tls, min(connect, CONNECT))
        try:
            await stream.ask(self._head(method, where, headers, body, tls), body, idle)
        except BaseException:
            stream.abort()
            raise
        return Response(stream, self._released)

    async def close(self) -> None:
        for stream in list(self._open):
            stream.abort()
        await asyncio.sleep(0)

    def _head(self, method: str, where: str, headers: Headers, body: bytes | None, tls: ssl.SSLContext | None) -> bytes:
        target = self._url.path.rstrip("/") + where
        given = [("Host", _netloc(self._url)), *headers]
        if self._proxy is not None and tls is None:
            target = f"http://{_netloc(self._url)}{target}"
            given += _authorization(self._proxy)
        if body is not None:
            given.append(("Content-Length", str(len(body))))
        return _request_head(method, target, given)

    # Connections

    def _reused(self, tls: ssl.SSLContext | None) -> HttpStream | None:
        """The connection used last, if it has this TLS context: another one may have other credentials."""
        while self._idle:
            stream = self._idle.pop()
            if stream.tls is tls and not stream.is_closed and monotonic() - stream.idle_since < KEPT:
                return stream
            stream.abort()
        return None

    def _released(self, stream: HttpStream) -> None:
        if not stream.is_reusable:
            stream.abort()
            return
        stream.idle_since = monotonic()
        self._idle.append(stream)
        while self._idle[0].is_closed or monotonic() - self._idle[0].idle_since >= KEPT:
            self._idle.popleft().abort()

    async def _connected(self, tls: ssl.SSLContext | None, seconds: float) -> HttpStream:
        stream = HttpStream(self.server, tls, self._open)
        try:
            async with asyncio.timeout(seconds):
                if self._proxy is None:
                    await self._direct(stream, self._url, tls)
                else:
                    await self._through(stream, self._proxy, tls, seconds)
        except (OSError, TimeoutError) as error:
            stream.abort()
            raise Unreachable(self.server, self._why_not_connected(error)) from error
        except BaseException:
            stream.abort()
            raise
        return stream

    async def _direct(self, stream: HttpStream, url: SplitResult, tls: ssl.SSLContext | None) -> None:
        await asyncio.get_running_loop().create_connection(
            lambda: stream,
            url.hostname or "",
            url.port or PORTS[url.scheme],
            ssl=tls,
            server_hostname=None if tls is None else self._server_name or url.hostname,
            happy_eyeballs_delay=FALLBACK,
        )

    async def _through(
        self, stream: HttpStream, proxy: SplitResult, tls: ssl.SSLContext | None, seconds: float
    ) -> None:
        await self._direct(stream, proxy, None)
        if tls is None:
            return
        host = f"{_bracketed(self._url.hostname or '')}:{self._url.port or PORTS['https']}"
        try:
            await stream.ask(
                _request_head("CONNECT", host, [("Host", host), *_authorization(proxy)]), None, seconds, tunnel=True
            )
        except Unreachable as error:
            raise OSError(f"the proxy closed the connection: {error.why}") from error
        if stream.status != 200:
            raise OSError(f"the proxy answered {stream.status} {stream.reason}")
        await stream.secure(tls, self._server_name or self._url.hostname or "")

    def _why_not_connected(self, error: Exception) -> str:
        """The error in a few words; the library's own messages repeat the address."""
        if isinstance(error, ConnectionRefusedError):
            return "connection refused" if self._proxy is None else "the proxy refused the connection"
        if isinstance(error, TimeoutError):
            return TIMED_OUT
        if isinstance(error, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted: {error.verify_message}"
        return reason_of(error)


class Response:
    """A response whose headers have arrived; at the end of a `with` its connection is released."""

    def __init__(self, stream: HttpStream, released: Callable[[HttpStream], None]) -> None:
        self.status, self.headers = stream.status, stream.headers
        self._stream, self._released = stream, released

    def __enter__(self) -> Response:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._released(self._stream)

    def header(self, name: str) -> str:
        return next(iter(self.all(name)), "")

    def all(self, name: str) -> list[str]:
        """The values of a header, whose name is given in lower case."""
        return [value for one, value in self.headers if one == name]

    async def read(self) -> bytes:
        """The whole body."""
        body = await self._stream.rest()
        if self.header("content-encoding") != "gzip":
            return body
        try:
            return zlib.decompress(body, wbits=31)
        except zlib.error as error:
            raise Unreachable(self._stream.server, f"its response cannot be decompressed: {error}", sent=True) from None

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body as it arrives."""
        while (piece := await self._stream.piece()) is not None:
            yield piece


def _request_head(method: str, target: str, headers: Headers) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    if any("\r" in line or "\n" in line for line in lines):
        raise ValueError("a header contains a line break")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _netloc(url: SplitResult) -> str:
    """Host and port without credentials."""
    return url.netloc.rpartition("@")[2]


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _authorization(proxy: SplitResult) -> Headers:
    if proxy.username is None:
        return []
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return [("Proxy-Authorization", f"Basic {b64encode(pair.encode()).decode()}")]
