"""Requests to a Kubernetes API server: one method per verb, objects as plain trees, errors as exceptions.

    carry_out(write) ──▶ request ──▶ limits ──▶ connection ──▶ answer
                            ▲                       │
                            └── retries ◀── 429, 5xx, no response

Lists are read in pages, so that a server can return a hundred thousand objects; a list is started over if its continue
token expires between two pages.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from types import TracebackType
from typing import Any, TypeVar

import msgspec

from ..errors import Conflict, Expired, Refused
from ..kinds import EVENT, Kind
from ..port import Create, Delete, EvictPod, Key, PatchForm, Propagation, Raw, Write
from .config import Config
from .connection import Connection
from .limits import Limits
from .request import JSON, MANAGER, METADATA, PATCHES, TABLE, ApiCall, Query, path, priority_of
from .retries import ASKED_TO_WAIT, Attempts, Retries
from .unreachable import Unreachable
from .writes import is_done, request_of, target

__all__ = ["JSON", "METADATA", "TABLE", "Client", "Listing", "path"]

PAGE = 500
TRIES = 4
"""How often a list is started before an expired continue token becomes an error."""
TIMEOUT = 60.0

Lane = AbstractAsyncContextManager[object]
OPEN: Lane = nullcontext()
"""A lane without any limit."""

T = TypeVar("T")


class _Meta(msgspec.Struct):
    resource_version: str = msgspec.field(name="resourceVersion", default="")
    go_on: str = msgspec.field(name="continue", default="")


class _Page(msgspec.Struct):
    """A list of objects, or a table of them."""

    metadata: _Meta = msgspec.field(default_factory=_Meta)
    items: list[msgspec.Raw] | None = None
    rows: list[msgspec.Raw] | None = None
    columns: list[Raw] | None = msgspec.field(name="columnDefinitions", default=None)


class Listing(msgspec.Struct):
    """The objects at `version`, each as JSON; `columns` are set if a table was requested."""

    version: str
    items: list[msgspec.Raw]
    columns: list[Raw]


_page = msgspec.json.Decoder(_Page)
_tree = msgspec.json.Decoder(Raw)


class Client:
    """A client to be used in an `async with`. `warn` is called with the Warning headers of responses.

    `manager` is the field manager of its writes. The defaults are for commands; a controller passes `retries` with
    more patience, and `limits`.
    """

    def __init__(
        self,
        config: Config,
        warn: Callable[[str], None] = lambda _: None,
        timeout: float = TIMEOUT,
        *,
        retries: Retries = ASKED_TO_WAIT,
        limits: Limits | None = None,
        manager: str = MANAGER,
    ) -> None:
        self.config, self.warn, self.retries, self.limits, self.manager = config, warn, retries, limits, manager
        self._connection = Connection(config, lambda text: self.warn(text), timeout)

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._connection.close()

    async def token(self) -> str:
        """The bearer token that this client sends; empty if it has none."""
        return await self._connection.token()

    # One object

    async def get(self, kind: Kind, namespace: str, name: str) -> Raw:
        return self.read(
            _tree, await self.send(ApiCall("GET", path(kind, namespace, name), priority=priority_of(kind)))
        )

    async def carry_out(self, write: Write, lane: Lane = OPEN) -> Raw:
        """Send a write; returns the object, or a Status where the server sends none (for Bind, Evict, most Deletes).

        If the response to a first attempt was lost and the second is refused because the first was carried out, returns
        the object as it is on the server. Each attempt is made in the `lane`, which is free between two attempts.
        """
        request = request_of(write, self.manager)
        attempts = Attempts(request, self.retries)
        try:
            return self.read(_tree, await self._attempted(request, attempts, lane))
        except Conflict as refused:
            if attempts.in_doubt and isinstance(write, Create) and write.kind is EVENT:
                return write.body  # its name is unique to this process, and no caller reads the response
            found = await self._found(target(write)) if attempts.in_doubt else None
            if found is None or not is_done(write, found, self.manager):
                raise refused
            return found

    async def _found(self, key: Key | None) -> Raw | None:
        try:
            return None if key is None else await self.get(*key)
        except (Refused, Unreachable):
            return None

    async def create(self, kind: Kind, namespace: str, body: Raw, **query: str | int) -> Raw:
        return await self.tree("POST", path(kind, namespace), body, query={"fieldManager": self.manager, **query})

    async def patch(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        body: Any,
        form: PatchForm = "merge",
        subresource: str = "",
        **query: str | int,
    ) -> Raw:
        where = path(kind, namespace, name, subresource)
        return await self.tree("PATCH", where, body, PATCHES[form], {"fieldManager": self.manager, **query})

    async def delete(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        *,
        propagation: Propagation = "Background",
        grace: int | None = None,
        uid: str = "",
    ) -> Raw:
        return await self.carry_out(Delete(Key(kind, namespace, name), uid, "", propagation, grace))

    async def evict(self, namespace: str, pod: str) -> Raw:
        """Delete a pod, unless a PodDisruptionBudget forbids it: then this raises TooManyRequests."""
        return await self.carry_out(EvictPod(namespace, pod))

    # Lists

    async def list(self, kind: Kind, namespace: str = "", *, accept: str = JSON, **query: str | int) -> list[Raw]:
        """All objects in full, with the apiVersion and kind that items of built-in lists lack."""
        listing = await self.listing(path(kind, namespace), accept, query)
        kept = {"apiVersion": kind.api_version, "kind": kind.kind}
        return [{**kept, **msgspec.json.decode(one)} for one in listing.items]

    async def listing(
        self, where: str, accept: str = JSON, query: Query | None = None, tick: Callable[[int], None] | None = None
    ) -> Listing:
        """A whole list; `tick` is called with the size of each page."""
        for last in range(TRIES):
            found = Listing("", [], [])
            try:
                async for page in self.pages(where, accept, query):
                    found.version = page.version
                    found.items += page.items
                    found.columns = found.columns or page.columns
                    if tick is not None:
                        tick(len(page.items))
                return found
            except Expired:
                if last == TRIES - 1:
                    raise
        raise AssertionError

    async def pages(
        self,
        where: str,
        accept: str = JSON,
        query: Query | None = None,
        size: int = PAGE,
        retries: Retries | None = None,
    ) -> AsyncGenerator[Listing, None]:
        """A list page by page, all of the same version; raises Expired if the continue token expires meanwhile."""
        token = ""
        while True:
            asked = {**(query or {}), "limit": size, **({"continue": token} if token else {})}
            page = self.read(_page, await self.send(ApiCall("GET", where, query=asked, accept=accept), retries))
            yield Listing(page.metadata.resource_version, page.items or page.rows or [], page.columns or [])
            token = page.metadata.go_on
            if not token:
                return

    # Any request

    async def tree(
        self, method: str, where: str, body: Any = None, media: str = JSON, query: Query | None = None
    ) -> Raw:
        return self.read(_tree, await self.request(method, where, body, media, query))

    def read(self, decoder: msgspec.json.Decoder[T], answer: bytes) -> T:
        """Decode a response; one of another form does not come from a Kubernetes API server."""
        try:
            return decoder.decode(answer)
        except msgspec.DecodeError as error:
            why = f"its response is not that of a Kubernetes API server: {error}"
            raise Unreachable(self.config.server, why) from None

    async def request(
        self,
        method: str,
        where: str,
        body: Any = None,
        media: str = JSON,
        query: Query | None = None,
        accept: str = JSON,
    ) -> bytes:
        """Send a request; returns the body of the response."""
        return await self.send(ApiCall(method, where, body, media, query or {}, accept))

    async def send(self, request: ApiCall, retries: Retries | None = None) -> bytes:
        return await self._attempted(request, Attempts(request, retries or self.retries))

    async def _attempted(self, request: ApiCall, attempts: Attempts, lane: Lane = OPEN) -> bytes:
        while True:
            try:
                async with lane:
                    await self._turn(request)
                    with await self._connection.answered(request) as response:
                        return await response.read()
            except (Refused, Unreachable) as error:
                if not await attempts.again(error):
                    raise

    async def _turn(self, request: ApiCall) -> None:
        if self.limits is not None:
            await self.limits.take(request)

    async def lines(
        self,
        where: str,
        query: Query | None = None,
        accept: str = JSON,
        idle: float | None = None,
        begun: Callable[[], None] = lambda: None,
    ) -> AsyncGenerator[bytes, None]:
        """The lines of a response as they arrive; `idle` seconds without any count as a lost connection.

        `begun` is called when the response headers arrive, which may be long before the first line.
        """
        request = ApiCall("GET", where, query=query or {}, accept=accept, idle=idle)
        await self._turn(request)
        with await self._connection.answered(request) as response:
            begun()
            pieces: list[bytes] = []
            async for chunk in response.pieces():
                first, *others = chunk.split(b"\n")
                pieces.append(first)
                for one in others:
                    yield b"".join(pieces)
                    pieces = [one]
