"""Requests to a server of the Kubernetes protocol: one method a verb, objects as plain trees, refusals as exceptions.

The library that speaks HTTP is loaded when a connection is made, so that importing this costs nothing. Lists come in
pages, which is how a server can give out a hundred thousand objects; a list that grew stale between two pages is
begun anew.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import msgspec

from ... import __version__
from ..errors import BadRequest, Expired
from ..kinds import POD, Kind
from ..port import PatchForm, Propagation, Raw
from .answers import refusal
from .config import Config
from .unreachable import Unreachable

if TYPE_CHECKING:
    import aiohttp

JSON = "application/json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
PATCHES: dict[PatchForm, str] = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
MANAGER = "closeknit"
PAGE = 500
TRIES = 4
"""So often a list is begun before a server that keeps forgetting its pages is believed."""
TIMEOUT, CONNECT = 60.0, 10.0

Query = Mapping[str, str | int]
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
    """What there was at `version`, each as JSON; `columns` are there if a table was asked for."""

    version: str
    items: list[msgspec.Raw]
    columns: list[Raw]


_page = msgspec.json.Decoder(_Page)
_tree = msgspec.json.Decoder(Raw)


class Client:
    """Use it in an `async with`. `warn` is called with what the server says besides its answer."""

    def __init__(self, config: Config, warn: Callable[[str], None] = lambda _: None, timeout: float = TIMEOUT) -> None:
        self.config, self.warn, self.timeout = config, warn, timeout
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Client:
        import aiohttp

        tls = self.config.tls()
        connector = aiohttp.TCPConnector(limit=0, ssl=True if tls is None else tls)
        headers = {"User-Agent": f"{MANAGER}/{__version__}"}
        limits = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT, sock_read=self.timeout)
        self._session = aiohttp.ClientSession(connector=connector, headers=headers, timeout=limits)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._session is not None
        await self._session.close()

    # One object

    async def get(self, kind: Kind, namespace: str, name: str) -> Raw:
        return await self.tree("GET", path(kind, namespace, name))

    async def create(self, kind: Kind, namespace: str, body: Raw, **query: str | int) -> Raw:
        return await self.tree("POST", path(kind, namespace), body, query={"fieldManager": MANAGER, **query})

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
        return await self.tree("PATCH", where, body, PATCHES[form], {"fieldManager": MANAGER, **query})

    async def delete(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        *,
        propagation: Propagation = "Background",
        grace: int | None = None,
        uid: str = "",
        **query: str | int,
    ) -> Raw:
        body: Raw = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation}
        if grace is not None:
            body["gracePeriodSeconds"] = grace
        if uid:
            body["preconditions"] = {"uid": uid}
        return await self.tree("DELETE", path(kind, namespace, name), body, query=query)

    async def evict(self, namespace: str, pod: str) -> Raw:
        """Delete a pod, unless a PodDisruptionBudget forbids it: then this raises TooManyRequests."""
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": namespace}}
        return await self.tree("POST", path(POD, namespace, pod, "eviction"), body)

    # Lists

    async def list(self, kind: Kind, namespace: str = "", *, accept: str = JSON, **query: str | int) -> list[Raw]:
        """All objects, whole; the kinds of Kubernetes' own leave it to the list to say what they are."""
        listing = await self.listing(path(kind, namespace), accept, query)
        kept = {"apiVersion": kind.api_version, "kind": kind.kind}
        return [{**kept, **msgspec.json.decode(one)} for one in listing.items]

    async def listing(
        self, where: str, accept: str = JSON, query: Query | None = None, tick: Callable[[int], None] | None = None
    ) -> Listing:
        """All of a list, page by page; `tick` is called with the size of each."""
        for last in range(TRIES):
            try:
                return await self._pages(where, accept, query or {}, tick or (lambda _: None))
            except Expired:
                if last == TRIES - 1:
                    raise
        raise AssertionError

    async def _pages(self, where: str, accept: str, query: Query, tick: Callable[[int], None]) -> Listing:
        found, token = Listing("", [], []), ""
        while True:
            asked = {**query, "limit": PAGE, **({"continue": token} if token else {})}
            answer = await self.request("GET", where, query=asked, accept=accept)
            page = self.read(_page, answer)
            found.version = page.metadata.resource_version
            items = page.items or page.rows or []
            found.items += items
            tick(len(items))
            found.columns = found.columns or page.columns or []
            token = page.metadata.go_on
            if not token:
                return found

    # Whatever else

    async def tree(
        self, method: str, where: str, body: Any = None, media: str = JSON, query: Query | None = None
    ) -> Raw:
        return self.read(_tree, await self.request(method, where, body, media, query))

    def read(self, decoder: msgspec.json.Decoder[T], answer: bytes) -> T:
        """An answer in the form that it has to have; whoever answers otherwise is no server that we know."""
        try:
            return decoder.decode(answer)
        except msgspec.DecodeError as error:
            raise Unreachable(self.config.server, f"it does not answer as Kubernetes does: {error}") from None

    async def request(
        self,
        method: str,
        where: str,
        body: Any = None,
        media: str = JSON,
        query: Query | None = None,
        accept: str = JSON,
    ) -> bytes:
        """Send a request; the body of its answer."""
        async with self._sent(method, where, body, media, query, accept) as response:
            return await response.read()

    async def lines(
        self, where: str, query: Query | None = None, accept: str = JSON, idle: float | None = None
    ) -> AsyncGenerator[bytes, None]:
        """The lines of an answer as they come; nothing for `idle` seconds is as good as no connection."""
        async with self._sent("GET", where, None, JSON, query, accept, idle) as response:
            pieces: list[bytes] = []
            async for chunk in response.content.iter_any():
                first, *others = chunk.split(b"\n")
                pieces.append(first)
                for one in others:
                    yield b"".join(pieces)
                    pieces = [one]

    @asynccontextmanager
    async def _sent(
        self,
        method: str,
        where: str,
        body: Any = None,
        media: str = JSON,
        query: Query | None = None,
        accept: str = JSON,
        idle: float | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        import aiohttp
        from yarl import URL

        assert self._session is not None, "the client is used outside of its `async with`"
        url = URL(self.config.server + where, encoded=True).update_query(dict(query or {}))
        headers = {"Accept": accept}
        token = self.config.bearer()
        if token:
            headers["Authorization"] = f"Bearer {token}"
        data = None if body is None else msgspec.json.encode(body)
        if data is not None:
            headers["Content-Type"] = media
        limits = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT, sock_read=idle or self.timeout)
        name = self.config.server_name or None
        try:
            async with self._session.request(
                method, url, data=data, headers=headers, timeout=limits, server_hostname=name, allow_redirects=False
            ) as response:
                for warning in response.headers.getall("Warning", []):
                    self.warn(_warning(warning))
                if response.status >= 300:
                    later = response.headers.get("Retry-After", "")
                    raise refusal(response.status, await response.read(), later, where)
                yield response
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise Unreachable(self.config.server, _why(error)) from error


def path(kind: Kind, namespace: str = "", name: str = "", subresource: str = "") -> str:
    """Where objects are served, with names that cannot lead elsewhere."""
    if {".", ".."} & {namespace, name}:
        raise BadRequest(f'"{name or namespace}" is not the name of an object')
    return kind.path(quote(namespace, safe=""), quote(name, safe=""), subresource)


def _warning(header: str) -> str:
    """_warning('299 - "unknown field"') == "unknown field"."""
    text = header.split('"', 1)[-1].rsplit('"', 1)[0]
    return text.replace('\\"', '"').replace("\\\\", "\\")


def _why(error: Exception) -> str:
    """In a few words; the libraries' own are long and name the server again."""
    inner = getattr(error, "os_error", None) or getattr(error, "certificate_error", None) or error
    if isinstance(inner, ConnectionRefusedError):
        return "nobody listens there"
    if isinstance(inner, TimeoutError):
        return "no answer in time"
    if isinstance(inner, ssl.SSLCertVerificationError):
        return f"its certificate is not to be trusted: {inner.verify_message}"
    return str(getattr(inner, "strerror", None) or inner) or type(inner).__name__
