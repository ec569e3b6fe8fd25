"""The connections of the server, and everything that a client can occupy by holding one.

    accept ──▶ TLS ──▶ first request ──▶ valid token ──▶ further requests
    └──────────── before authentication ───────────┘

The number of connections is bounded, and the number of those that have not sent the token is bounded by a smaller
limit: beyond it the oldest of them is closed, so that clients with the token get in during a flood. TLS, headers and
unread responses have time limits. Bodies are never inflated, and never read after a refusal.
"""

from __future__ import annotations

import asyncio
import resource
import socket
import ssl
from contextlib import suppress
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import BadHttpMethod

from ...errors import BadRequest, MethodNotAllowed, Refused
from . import refusals
from .addresses import NOT_ALLOWED

MOST_CONNECTIONS, MOST_STRANGERS = 512, 128
"""Connections in all, and those that have not sent a valid token yet."""
HEAD_TIME, IDLE_TIME = 10.0, 90.0
"""Seconds for TLS, then again for the first request's headers; and for the headers of each further request."""
PATIENCE = 30.0
"""Seconds for which a response may stay unread."""
LONGEST_LINE = 1 << 16
MOST_HEAD = 1 << 20
"""Bytes that may arrive before a request begins; bodies that arrive with their headers are included."""
BACKLOG = 128
NO_DESCRIPTORS_PAUSE = 0.2
"""Seconds until the next try if the process has no file descriptor left."""


def most_connections() -> int:
    """The limit, or half of the file descriptors that the process may open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if soft == resource.RLIM_INFINITY else min(MOST_CONNECTIONS, soft // 2)


class Connections:
    """Accepts connections and passes them to `listener`; `close` ends them all."""

    def __init__(self, listener: Listener, tls: ssl.SSLContext) -> None:
        self.listener, self.tls, self.most = listener, tls, most_connections()
        self._held: dict[ClientConnection, asyncio.Task[None]] = {}
        self._accepting: list[asyncio.Task[None]] = []

    def listen(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._accepting.append(asyncio.create_task(self._accept(sock)))

    async def close(self, timeout: float) -> None:
        """Stop accepting, give running requests this many seconds, then end all connections."""
        for task in self._accepting:
            task.cancel()
        await asyncio.gather(*self._accepting, return_exceptions=True)
        await self.listener.shutdown(timeout)
        held = list(self._held.values())
        for task in held:
            task.cancel()
        await asyncio.gather(*held, return_exceptions=True)

    async def _accept(self, sock: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with sock:
            while True:
                try:
                    accepted, _ = await loop.sock_accept(sock)
                except OSError:  # no file descriptor left, or the client is gone already
                    await asyncio.sleep(NO_DESCRIPTORS_PAUSE)
                    continue
                self._make_room()
                if len(self._held) >= self.most:
                    accepted.close()
                    continue
                connection = self.listener()
                self._held[connection] = asyncio.create_task(self._hold(connection, accepted))

    def _make_room(self) -> None:
        strangers = [one for one in self._held if not one.is_known]
        if len(strangers) >= MOST_STRANGERS or (strangers and len(self._held) >= self.most):
            self._held.pop(strangers[0]).cancel()

    async def _hold(self, connection: ClientConnection, accepted: socket.socket) -> None:
        """One connection from its acceptance until it is lost."""
        loop = asyncio.get_running_loop()
        try:
            with suppress(OSError, TimeoutError):  # among them ssl.SSLError
                await loop.connect_accepted_socket(
                    lambda: connection, accepted, ssl=self.tls, ssl_handshake_timeout=HEAD_TIME
                )
                await connection.lost.wait()
        finally:
            connection.abort()
            self._held.pop(connection, None)


class Listener(web.Server):
    """Makes a `ClientConnection` for every client."""

    def __call__(self) -> ClientConnection:
        settings: dict[str, Any] = {"max_line_size": LONGEST_LINE, "max_field_size": LONGEST_LINE, "access_log": None}
        return ClientConnection(
            self,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=IDLE_TIME,
            lingering_time=0,
            auto_decompress=False,
            **settings,
        )


class ClientConnection(web.RequestHandler):
    """A connection with limits. It answers malformed HTTP with a Status object too."""

    __slots__ = ("_raw", "_timer", "_unparsed", "_writable", "is_known", "lost")

    def __init__(self, manager: web.Server, **settings: Any) -> None:
        super().__init__(manager, **settings)
        self.is_known = False
        self.lost = asyncio.Event()
        self._raw: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._unparsed: int | None = 0
        self._writable = asyncio.Event()
        self._writable.set()

    def begin(self, is_known: bool) -> None:
        """A request has begun: its headers have arrived, and they have a valid token or not."""
        self.is_known = self.is_known or is_known
        self._unparsed = None
        self._stop_timer()

    def end(self) -> None:
        self._unparsed = 0

    async def drained(self) -> None:
        """Wait until the client has read what was written."""
        await self._writable.wait()

    def abort(self) -> None:
        self._stop_timer()
        if self._raw is not None:
            self._raw.abort()

    # Called by the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._raw = transport
        self._timer = asyncio.get_running_loop().call_later(HEAD_TIME, self.abort)
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._stop_timer()
        self._writable.set()
        self.lost.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._unparsed is not None:
            self._unparsed += len(data)
            if self._unparsed > MOST_HEAD:
                self.abort()
                return
        super().data_received(data)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._writable.clear()
        self._stop_timer()
        self._timer = asyncio.get_running_loop().call_later(PATIENCE, self.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._writable.set()
        self._stop_timer()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        if isinstance(exc, BadHttpMethod):
            refused: Refused = MethodNotAllowed(NOT_ALLOWED)
        else:
            refused = BadRequest(f"the request cannot be read: {message or exc}")
        response = refusals.response(refused)
        response.force_close()
        return response
