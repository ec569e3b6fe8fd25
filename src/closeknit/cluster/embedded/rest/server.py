"""The Kubernetes REST API over a store: HTTPS on loopback, for clients with the token.

    request ──▶ host, token ──▶ address ──▶ verb ──▶ store ──▶ commit ──▶ response
                                                                 └──────▶ watchers, on_change

No response is sent before the state that it shows is committed; what several requests write in one turn of the event
loop is committed together. A web page cannot reach the server: it has no token, and a DNS name that was rebound to
loopback is not one of the accepted hosts.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from hmac import compare_digest
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import BadHttpMethod

from ...errors import BadRequest, Forbidden, MethodNotAllowed, NotFound, Refused, TooLarge, Unauthorized
from ...port import Raw
from ..store import NotKeptError, Store
from . import bodies, discovery, forms, warnings
from .addresses import NOT_ALLOWED, NOT_SERVED, ResourcePath, address, is_served, steps
from .forms import ResponseForm
from .listing import Page
from .queries import QueryString
from .streams import WatchStream
from .verbs import ApiRequest, Reply, Verbs, selected
from .watching import Hub, WatchSubject

LOOPBACK, LOOPBACK_V6 = "127.0.0.1", "::1"
HEALTH = ("livez", "readyz", "healthz")
LONGEST_LINE = 1 << 16
MOMENT = 0.03
"""Seconds for which changes are batched for watchers, because each write to a hundred connections is costly."""
LAST_WORDS = 1.0
"""Seconds that a connection has to finish when the server stops."""

Extra = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
"""Answers a request to a path that is not Kubernetes'."""

log = logging.getLogger(__name__)


class Server:
    """`extra` are further endpoints by path, such as closeknit/config; `page` returns the HTML at `/`.

    `on_change` is called after a write.
    """

    def __init__(
        self,
        store: Store,
        token: str,
        *,
        extra: Mapping[str, Extra] | None = None,
        page: Callable[[], str] | None = None,
        on_change: Callable[[], None] | None = None,
    ) -> None:
        self.store, self.hub, self.verbs = store, Hub(store), Verbs(store)
        self.extra, self.page, self.on_change = extra or {}, page, on_change
        self.port = 0
        self._credential = f"Bearer {token}".encode()
        self._hosts: frozenset[str] = frozenset()
        self._waiting: list[asyncio.Future[None]] = []
        self._is_telling = False
        self._runner: web.ServerRunner | None = None

    async def start(self, tls: ssl.SSLContext, port: int = 0) -> int:
        """Listen on loopback, also on IPv6 where available; port 0 means any free one. Returns the port."""
        listener = _Listener(self.handle, handler_cancellation=True)
        self._runner = web.ServerRunner(listener, shutdown_timeout=LAST_WORDS)
        await self._runner.setup()
        await web.TCPSite(self._runner, LOOPBACK, port, ssl_context=tls).start()
        self.port = int(self._runner.addresses[0][1])
        with suppress(OSError):  # no IPv6 here, or the port is taken there
            await web.TCPSite(self._runner, LOOPBACK_V6, self.port, ssl_context=tls).start()
        self._hosts = frozenset(f"{name}:{self.port}" for name in (LOOPBACK, f"[{LOOPBACK_V6}]", "localhost"))
        return self.port

    async def stop(self) -> None:
        """End all watches, then all connections."""
        self.hub.end()
        await asyncio.sleep(0)
        if self._runner is not None:
            await self._runner.cleanup()

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

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._answer(request)
        except Refused as refused:
            return _refusal(refused)
        except NotKeptError as error:
            return _refusal(Refused(str(error)))
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception as error:
            log.exception("%s %s", request.method, request.raw_path)
            return _refusal(Refused(f"{type(error).__name__}: {error}"))

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.headers.getall("Host", []) not in ([host] for host in self._hosts):
            raise Forbidden("this server is reached as localhost, 127.0.0.1 or [::1], with its port")
        path, _, text = request.raw_path.partition("?")
        where = steps(path)
        if where[0] in HEALTH and len(where) <= 2:
            return web.Response(text="ok")
        credential = request.headers.get("Authorization", "").encode("utf-8", "replace")
        if not compare_digest(credential, self._credential):
            return _not_let_in(request, where)
        query = QueryString(text)
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
        bodies.refuse_protobuf(media, is_create=request.method == "POST" and is_served(group, version))
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


class _Listener(web.Server):
    """Handles every connection by a `_Connection`."""

    def __call__(self) -> web.RequestHandler:
        settings: dict[str, Any] = {"max_line_size": LONGEST_LINE, "max_field_size": LONGEST_LINE, "access_log": None}
        return _Connection(self, loop=asyncio.get_running_loop(), **settings)


class _Connection(web.RequestHandler):
    """A connection that answers malformed HTTP with a Status object too."""

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
        response = _refusal(refused)
        response.force_close()
        return response


async def _read(request: web.BaseRequest) -> bytes:
    """The body, up to the size limit."""
    if (request.content_length or 0) > bodies.MOST_BYTES:
        raise _too_large()
    pieces, size = [], 0
    try:
        while piece := await request.content.readany():
            pieces.append(piece)
            size += len(piece)
            if size > bodies.MOST_BYTES:
                raise _too_large()
    except web.HTTPException as error:
        raise BadRequest(f"the body cannot be read: {error.reason}") from None
    return b"".join(pieces)


def _not_let_in(request: web.BaseRequest, where: list[str]) -> web.Response:
    """The response without a valid token; for a browser, a page that explains how to get access."""
    if where == [""] and forms.is_for_people(request.headers.get("Accept", "")):
        text = "<h1>closeknit</h1><p>This page requires the token. Run <code>kubectl proxy</code> with the "
        text += "kubeconfig of this cluster, and open the address that it prints.</p>"
        return _page(text, 401)
    return _refusal(Unauthorized("Unauthorized"))


def _page(text: str, status: int = 200) -> web.Response:
    """A page that may load nothing and run nothing, whatever text from objects is in it."""
    headers = {
        "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
    }
    return web.Response(text=text, status=status, content_type=forms.HTML, headers=headers)


def _too_large() -> TooLarge:
    return TooLarge(f"Request entity too large: limit is {bodies.MOST_BYTES}")


def _refusal(refused: Refused) -> web.Response:
    status = refused.status()
    status["message"] = status["message"].encode("utf-8", "replace").decode()
    response = web.Response(body=forms.encoded(status), status=refused.code, content_type=forms.JSON)
    if refused.retry_after is not None:
        response.headers["Retry-After"] = str(refused.retry_after)
    return response
