"""The Kubernetes REST API over a store: HTTPS on loopback, for clients with the token.

    request ──▶ host, token ──▶ address ──▶ verb ──▶ store ──▶ commit ──▶ response
                                                                 └──────▶ watchers, on_change

No response is sent before the state that it shows is committed; what several requests write in one turn of the event
loop is committed together. A web page cannot reach the server: it has no token, and a DNS name that was rebound to
loopback is not one of the accepted hosts. The limits for connections are in `connections`.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from hmac import compare_digest
from typing import Any, NamedTuple

from aiohttp import web

from ...errors import BadRequest, Forbidden, NotFound, Refused, Unauthorized, UnsupportedMediaType
from ...port import Raw
from ..store import NotKeptError, Store
from . import bodies, discovery, forms, refusals, reviews, warnings
from .addresses import NOT_SERVED, ResourcePath, address, is_served, steps
from .connections import BACKLOG, ClientConnection, Connections, Listener
from .forms import ResponseForm
from .listing import Page
from .queries import QueryString
from .streams import WatchStream
from .verbs import ApiRequest, Reply, Verbs, selected
from .watching import Hub, WatchSubject

LOOPBACK, LOOPBACK_V6 = "127.0.0.1", "::1"
HEALTH = ("livez", "readyz", "healthz")
PIECE = 1 << 16
"""Bytes that are written at once: TLS passes the first write on whole, and would not wait for the client."""
READS = ("GET", "HEAD", "OPTIONS")
MOMENT = 0.03
"""Seconds for which changes are batched for watchers, because each write to a hundred connections is costly."""
BODY_TIME = 30.0
"""Seconds in which the body of a request has to arrive."""
LAST_WORDS_TIME = 0.3
"""Seconds between a refusal and the end of a connection whose body is not read."""
SHUTDOWN_TIME = 1.0
"""Seconds that a connection has to finish when the server stops."""

Extra = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
"""Answers a request to a path that is not Kubernetes'."""

log = logging.getLogger(__name__)


class Tokens(NamedTuple):
    """`full` permits everything, `view` only reading; an empty one is not accepted."""

    full: str
    view: str = ""


class Server:
    """`extra` are further endpoints by path, such as closeknit/config; `page` returns the HTML at `/`.

    `on_change` is called after a write.
    """

    def __init__(
        self,
        store: Store,
        tokens: Tokens,
        *,
        extra: Mapping[str, Extra] | None = None,
        page: Callable[[], str] | None = None,
        on_change: Callable[[], None] | None = None,
    ) -> None:
        self.store, self.hub, self.verbs = store, Hub(store), Verbs(store)
        self.extra, self.page, self.on_change = extra or {}, page, on_change
        self.port = 0
        self._full, self._view = (f"Bearer {one}".encode() if one else b"" for one in tokens)
        self._hosts: frozenset[str] = frozenset()
        self._waiting: list[asyncio.Future[None]] = []
        self._is_telling = False
        self._connections: Connections | None = None

    async def start(self, tls: ssl.SSLContext, port: int = 0) -> int:
        """Listen on loopback, also on IPv6 where available; port 0 means any free one. Returns the port."""
        self._connections = Connections(Listener(self._serve, handler_cancellation=True), tls)
        first = socket.create_server((LOOPBACK, port), backlog=BACKLOG)
        self.port = first.getsockname()[1]
        self._connections.listen(first)
        with suppress(OSError):  # no IPv6 here, or the port is taken there
            address_v6 = (LOOPBACK_V6, self.port)
            self._connections.listen(socket.create_server(address_v6, family=socket.AF_INET6, backlog=BACKLOG))
        self._hosts = frozenset(f"{name}:{self.port}" for name in (LOOPBACK, f"[{LOOPBACK_V6}]", "localhost"))
        return self.port

    async def stop(self) -> None:
        """End all watches, then all connections."""
        self.hub.end()
        await asyncio.sleep(0)
        if self._connections is not None:
            await self._connections.close(SHUTDOWN_TIME)

    def settle(self) -> None:
        """Commit everything written so far, and publish it to watchers."""
        self.store.commit()
        self.hub.publish()

    def settle_soon(self) -> None:
        """Commit everything now, and publish it to watchers in a moment, in one batch."""
        self.store.commit()
        if not self.hub.is_watched:
            self.hub.publish()
        elif not self._is_telling:
            self._is_telling = True
            asyncio.get_running_loop().call_later(MOMENT, self._tell)

    def _tell(self) -> None:
        self._is_telling = False
        try:
            self.settle()
        except NotKeptError:
            self._say_changed()

    def _say_changed(self) -> None:
        """Notify the owner of this server, which commits too and handles a failed commit."""
        if self.on_change is not None:
            self.on_change()

    # Requests

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        """Handle a request of a connection; what is left of its body is not read."""
        connection = request.protocol
        assert isinstance(connection, ClientConnection)
        connection.begin(is_known=any(self._is_let_in(request)))
        try:
            response = await self.handle(request)
        finally:
            connection.end()
        if not request.content.is_eof():
            return await _last_words(request, response)
        if isinstance(response, web.Response) and request.method != "HEAD":
            return await _sent(request, response)
        return response

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._answer(request)
        except Refused as refused:
            return refusals.response(refused)
        except NotKeptError as error:
            return refusals.response(Refused(str(error)))
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception as error:
            log.exception("%s %s", request.method, request.raw_path)
            return refusals.response(Refused(f"{type(error).__name__}: {error}"))

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.headers.getall("Host", []) not in ([host] for host in self._hosts):
            raise Forbidden("this server is reached as localhost, 127.0.0.1 or [::1], with its port")
        if request.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
            raise UnsupportedMediaType("a compressed body is not supported; send it without Content-Encoding")
        path, _, text = request.raw_path.partition("?")
        where = steps(path)
        if where[0] in HEALTH and len(where) <= 2:
            return web.Response(text="ok")
        is_full, is_view = self._is_let_in(request)
        if not is_full and not is_view:
            return _not_let_in(request, where)
        query = QueryString(text)
        if request.method == "POST" and where[:-1] == ["apis", *reviews.SERVED]:
            return await self._review(request, query, where[-1], is_full)
        if not is_full:
            _check_view(request.method, where)
        own = self.extra.get("/".join(where[:2]))
        if own is not None:
            return await own(request)
        match where:
            case ["api", version, *rest] if rest:
                return await self._resource(request, query, "", version, rest)
            case ["apis", group, version, *rest] if rest:
                return await self._resource(request, query, group, version, rest)
        if request.method != "GET":
            raise NotFound(NOT_SERVED)
        return self._document(request, query, where)

    async def _review(
        self, request: web.BaseRequest, query: QueryString, plural: str, is_full: bool
    ) -> web.StreamResponse:
        media = bodies.media_type(request.headers.get("Content-Type", ""))
        answer = reviews.answer(plural, bodies.tree(await _read(request), media), is_full)
        return self._reply(answer, forms.accepted(request.headers.get("Accept", ""), query))

    def _is_let_in(self, request: web.BaseRequest) -> tuple[bool, bool]:
        """Whether the request has the token that permits everything, and whether it has the one for reading."""
        credential = request.headers.get("Authorization", "").encode("utf-8", "replace")
        is_view = bool(self._view) and compare_digest(credential, self._view)
        return compare_digest(credential, self._full), is_view

    def _document(self, request: web.BaseRequest, query: QueryString, where: list[str]) -> web.Response:
        """The documents about the server itself."""
        accept = request.headers.get("Accept", "")
        is_aggregated = discovery.AGGREGATED.replace(" ", "") in accept.replace(" ", "")
        found: Raw | None = None
        match where:
            case [""] if self.page is not None and forms.is_for_people(accept):
                return _page(self.page())
            case [""]:
                return web.Response(body=forms.encoded(discovery.root_paths()), content_type=forms.JSON)
            case ["api" | "apis" as root] if is_aggregated:
                data = forms.encoded(discovery.aggregated(core=root == "api"))
                return web.Response(body=data, headers={"Content-Type": discovery.AGGREGATED})
            case ["api"]:
                found = discovery.core_versions(request.headers["Host"])
            case ["apis"]:
                found = discovery.group_list()
            case ["apis", group]:
                found = discovery.group(group)
            case ["api", version]:
                found = discovery.resource_list("", version)
            case ["apis", group, version]:
                found = discovery.resource_list(group, version)
            case ["version"]:
                found = discovery.version()
            case ["openapi", "v3"]:
                found = discovery.openapi_index()
            case ["openapi", "v3", "api", version]:
                found = discovery.openapi("", version)
            case ["openapi", "v3", "apis", group, version]:
                found = discovery.openapi(group, version)
        if found is None:
            raise NotFound(NOT_SERVED)
        form = forms.accepted(accept, query)
        return web.Response(body=forms.encoded(found, form), content_type=form.media)

    async def _resource(
        self, request: web.BaseRequest, query: QueryString, group: str, version: str, rest: list[str]
    ) -> web.StreamResponse:
        media = bodies.media_type(request.headers.get("Content-Type", ""))
        if media == bodies.PROTOBUF and not is_served(group, version):
            raise bodies.unknown_protobuf(is_served=False)
        at = address(group, version, rest)
        verb = self.verbs.find(request.method, at)
        form = forms.accepted(request.headers.get("Accept", ""), query)
        if request.method == "GET":
            if not at.name and query.flag("watch"):
                return await self._watch(request, at, query, form)
            self.settle()
            return self._reply(verb(at, ApiRequest("GET", query)), form)
        sent = ApiRequest(request.method, query, request.headers.get("User-Agent", ""), media, await _read(request))
        before = self.store.version
        reply = verb(at, sent)
        if self.store.version != before:
            await self._kept()
        return self._reply(reply, form)

    async def _watch(
        self, request: web.BaseRequest, at: ResourcePath, query: QueryString, form: ResponseForm
    ) -> web.StreamResponse:
        if form.media != forms.JSON:
            raise BadRequest("a watch is only available in JSON")
        return await WatchStream(self.hub, self.settle, WatchSubject(selected(at, query), form), query).run(request)

    def _reply(self, reply: Reply, form: ResponseForm) -> web.Response:
        content: Any = reply.content
        if isinstance(content, Page):
            assert reply.kind is not None  # a list always has a kind
            content = forms.many(reply.kind, content.objects, content.meta, form, self.store.now())
        elif reply.kind is not None:
            content = forms.one(reply.kind, content, form, self.store.now())
        response = web.Response(body=forms.encoded(content, form), status=reply.code, content_type=form.media)
        response.headers["Cache-Control"] = "no-cache, private"
        for warning in warnings.headers(reply.warnings):
            response.headers.add("Warning", warning)
        return response

    # Commits

    async def _kept(self) -> None:
        """Wait until what was just written is committed, together with all other writes of this turn."""
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._keep)
        waiting = loop.create_future()
        self._waiting.append(waiting)
        await waiting

    def _keep(self) -> None:
        waiting, self._waiting = self._waiting, []
        try:
            self.settle_soon()
        except Exception as error:  # not committed, so every waiting request fails
            for one in waiting:
                if not one.done():
                    one.set_exception(error)
        for one in waiting:
            if not one.done():
                one.set_result(None)
        self._say_changed()


async def _read(request: web.BaseRequest) -> bytes:
    """The body, up to the size limit."""
    if (request.content_length or 0) > bodies.MOST_BYTES:
        raise bodies.too_large()
    pieces, size = [], 0
    try:
        async with asyncio.timeout(BODY_TIME):
            while piece := await request.content.readany():
                pieces.append(piece)
                size += len(piece)
                if size > bodies.MOST_BYTES:
                    raise bodies.too_large()
    except web.HTTPException as error:
        raise BadRequest(f"the body cannot be read: {error.reason}") from None
    except TimeoutError:
        raise BadRequest(f"the body did not arrive within {BODY_TIME:.0f} s") from None
    return b"".join(pieces)


async def _last_words(request: web.BaseRequest, response: web.StreamResponse) -> web.StreamResponse:
    """Send a response to a client that is still sending, and give it a moment to read it before the connection ends."""
    response.force_close()
    await response.prepare(request)
    await response.write_eof()
    await asyncio.sleep(LAST_WORDS_TIME)
    return response


async def _sent(request: web.BaseRequest, response: web.Response) -> web.StreamResponse:
    """A large response, sent piece by piece as the client reads it, so that one that does not read is noticed."""
    body = response.body
    if not isinstance(body, bytes) or len(body) <= PIECE:
        return response
    streamed = web.StreamResponse(status=response.status, headers=response.headers)
    streamed.content_length = len(body)
    if response.keep_alive is False:
        streamed.force_close()
    await streamed.prepare(request)
    for start in range(0, len(body), PIECE):
        await streamed.write(memoryview(body)[start : start + PIECE])
    await streamed.write_eof()
    return streamed


def _check_view(method: str, where: list[str]) -> None:
    """Raise for what the read-only token does not permit: writes, and Secrets, as the role `view` of Kubernetes."""
    resource = where[4:5] if where[:3] == ["api", "v1", "namespaces"] else where[2:3]
    if method not in READS or resource == [reviews.HIDDEN]:
        allowed = "the read-only token permits only get, list and watch, and no access to Secrets"
        raise Forbidden(f"{allowed}; use the file kubeconfig in the folder of kubeconfig-view")


def _not_let_in(request: web.BaseRequest, where: list[str]) -> web.Response:
    """The response without a valid token; for a browser, a page that explains how to get access."""
    if where == [""] and forms.is_for_people(request.headers.get("Accept", "")):
        text = "<h1>closeknit</h1><p>This page requires the token. Run <code>kubectl proxy</code> with the "
        text += "kubeconfig of this cluster, and open the address that it prints.</p>"
        return _page(text, 401)
    return refusals.response(Unauthorized("Unauthorized"))


def _page(text: str, status: int = 200) -> web.Response:
    """A page that may load nothing and run nothing, whatever text from objects is in it."""
    headers = {
        "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
    }
    return web.Response(text=text, status=status, content_type=forms.HTML, headers=headers)
