"""A watch from its request to its end: first the current objects or missed changes, then new ones, then a bookmark."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from itertools import count

from aiohttp import HttpVersion11, web

from ...errors import BadRequest, Expired
from . import listing, watching
from .connections import ClientConnection
from .queries import QueryString
from .watching import Hub, Watcher, WatchEvent, WatchSubject

INITIAL_END = {"k8s.io/initial-events-end": "true"}
BOOKMARK_EVERY = 60.0
LONGEST, SPREAD = 1800, 1800
"""A watch without a timeout ends after 30 to 60 minutes, at random, so that they do not all end together."""
PIECE = 1 << 16
"""How many bytes are encoded before other tasks get a turn, and before the client has to read."""

_numbers = count()


class WatchStream:
    """One watch. `settle` commits and publishes everything written so far."""

    def __init__(self, hub: Hub, settle: Callable[[], None], subject: WatchSubject, query: QueryString) -> None:
        listing.check(query, is_watch=True)
        self.hub, self.settle, self.subject = hub, settle, subject
        self.start = query.version() or 0
        self.wants_bookmarks = query.flag("allowWatchBookmarks")
        self.wants_initial = query.flag("sendInitialEvents")
        self.wants_present = self.wants_initial or (self.start == 0 and not query.has("sendInitialEvents"))
        seconds = query.number("timeoutSeconds") or 0
        self.seconds = seconds if seconds > 0 else LONGEST + next(_numbers) * 61 % SPREAD

    async def run(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.version < HttpVersion11:
            raise BadRequest("a watch needs HTTP/1.1")
        response = web.StreamResponse(
            headers={"Content-Type": "application/json", "Cache-Control": "no-cache, private"}
        )
        response.enable_chunked_encoding()
        await response.prepare(request)
        transport, connection = request.transport, request.protocol
        assert transport is not None  # or prepare would have failed
        assert isinstance(connection, ClientConnection)
        watcher = Watcher(transport)
        end = asyncio.get_running_loop().time() + self.seconds
        try:
            async with asyncio.timeout_at(end):
                await self._catch_up(connection, watcher)
            await self._wait(watcher, end)
        except Expired as expired:
            await response.write(watching.failure(expired))
        except TimeoutError:
            transport.abort()
        finally:
            self.hub.leave(self.subject, watcher)
            if transport.is_closing():
                transport.abort()  # or it would wait for the client to read what is left
        if not transport.is_closing():
            await response.write_eof()
        return response

    async def _catch_up(self, connection: ClientConnection, watcher: Watcher) -> None:
        """Send current objects or missed changes until nothing is left; then, without a gap, join the group."""
        self.settle()
        store, selection = self.hub.store, self.subject.selection
        if self.start > self.hub.seen:
            raise Expired(f"too large resource version: {self.start}, current: {self.hub.seen}")
        position = self.hub.seen if self.wants_present or self.start == 0 else self.start
        if self.wants_present:
            objects = listing.present(store, selection)
            await self._send(connection, watcher, (WatchEvent("ADDED", raw) for raw in objects))
        if self.wants_initial and self.wants_bookmarks:
            mark = watching.bookmark(self.subject, position, store.now(), INITIAL_END)
            self.hub.deliver(watcher, watching.framed(mark))
        while True:
            self.settle()
            changes, position = store.changes(position), self.hub.seen
            of_kind = (change for change in changes if change.kind is selection.kind)
            events = [event for change in of_kind if (event := watching.transition(selection, change)) is not None]
            if not events:
                break
            await self._send(connection, watcher, events)
        self.hub.join(self.subject, watcher)

    async def _send(self, connection: ClientConnection, watcher: Watcher, events: Iterable[WatchEvent]) -> None:
        lines: list[bytes] = []
        size = 0
        for event in events:
            lines.append(watching.lines(self.subject, [event], self.hub.store.now(), is_first=not watcher.is_begun))
            watcher.is_begun = True
            size += len(lines[-1])
            if size >= PIECE:
                await self._flush(connection, watcher, b"".join(lines))
                lines, size = [], 0
        await self._flush(connection, watcher, b"".join(lines))

    async def _flush(self, connection: ClientConnection, watcher: Watcher, data: bytes) -> None:
        if data:
            self.hub.deliver(watcher, watching.framed(data))
        if watcher.over.done():
            raise ConnectionResetError
        await connection.drained()
        await asyncio.sleep(0)

    async def _wait(self, watcher: Watcher, end: float) -> None:
        loop = asyncio.get_running_loop()
        while not watcher.over.done() and (left := end - loop.time()) > 0:
            await asyncio.wait([watcher.over], timeout=min(left, BOOKMARK_EVERY))
            if self.wants_bookmarks and not watcher.over.done():
                self.hub.deliver(
                    watcher, watching.framed(watching.bookmark(self.subject, self.hub.seen, self.hub.store.now()))
                )
