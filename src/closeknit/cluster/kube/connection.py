"""HTTP: send one authenticated request and return its response; every failure is an exception.

The HTTP library is loaded when a connection is opened, so that importing this module is cheap. A request that is
refused as Unauthorized is sent once more if there are newer credentials than those it was sent with.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import msgspec

from ... import __version__
from .answers import refusal
from .config import Config
from .credentials import Credentials, Fixed, Identity, TokenFile
from .exec_plugin import ExecCredentials
from .proxies import proxy_for
from .request import MANAGER, ApiCall
from .unreachable import Unreachable

if TYPE_CHECKING:
    import aiohttp

CONNECT = 10.0
KEPT = 60.0
"""Seconds that an idle connection is kept open for the next request."""


def credentials_of(config: Config) -> Credentials:
    if config.token_file:
        return TokenFile(config.token_file, config.server)
    if config.plugin is not None and not config.token:
        return ExecCredentials(config.plugin, config.server)
    return Fixed(Identity(config.token))


class Connection:
    """A session with one server. `warn` is called with the Warning headers of responses."""

    def __init__(self, config: Config, warn: Callable[[str], None], timeout: float) -> None:
        self.config, self.warn, self.timeout = config, warn, timeout
        self._credentials = credentials_of(config)
        self._proxy = proxy_for(config.server, config.proxy, os.environ) or None
        self._session: aiohttp.ClientSession | None = None
        self._secured: tuple[str, ssl.SSLContext | None] | None = None

    async def open(self) -> None:
        import aiohttp

        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=KEPT)
        self._session = aiohttp.ClientSession(
            connector=connector,
            headers={"User-Agent": f"{MANAGER}/{__version__}"},
            cookie_jar=aiohttp.DummyCookieJar(),  # client-go keeps no cookies either, and looking them up takes time
        )
        # aiohttp would resend a PUT after a lost response by itself; retries are decided in `retries` alone.
        self._session._retry_connection = False

    async def close(self) -> None:
        assert self._session is not None
        await self._session.close()

    @asynccontextmanager
    async def answered(self, request: ApiCall) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a request; its response can be read within this context."""
        import aiohttp

        try:
            response = await self._sent(request)
            async with response:
                for warning in response.headers.getall("Warning", []):
                    self.warn(_warning(warning))
                if response.status >= 300:
                    later = response.headers.get("Retry-After", "")
                    raise refusal(response.status, await response.read(), later, request.where)
                yield response
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise Unreachable(self.config.server, _why(error), sent=_was_sent(error)) from error

    async def _sent(self, request: ApiCall) -> aiohttp.ClientResponse:
        identity = await self._credentials.current()
        response = await self._send(request, identity)
        if response.status == 401 and await self._credentials.renewed(identity):
            response.close()
            response = await self._send(request, await self._credentials.current())
        return response

    async def _send(self, request: ApiCall, identity: Identity) -> aiohttp.ClientResponse:
        import aiohttp
        from yarl import URL

        assert self._session is not None, "the client is used outside its `async with`"
        headers = [("Accept", request.accept), *self.config.acting_as]
        if identity.token:
            headers.append(("Authorization", f"Bearer {identity.token}"))
        if request.body is not None:
            headers.append(("Content-Type", request.media))
        tls = self._tls(identity)
        return await self._session.request(
            request.method,
            URL(self.config.server + request.where, encoded=True).update_query(dict(request.query)),
            data=None if request.body is None else msgspec.json.encode(request.body),
            headers=headers,
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=min(CONNECT, self.timeout), sock_read=request.idle or self.timeout
            ),
            ssl=True if tls is None else tls,
            server_hostname=self.config.server_name or None,
            proxy=self._proxy,
            allow_redirects=False,
        )

    def _tls(self, identity: Identity) -> ssl.SSLContext | None:
        """The TLS context of an identity; the same object for the same certificate, since aiohttp pools by it."""
        if self._secured is None or self._secured[0] != identity.certificate:
            self._secured = identity.certificate, self.config.tls(identity.certificate, identity.key)
        return self._secured[1]


def _warning(header: str) -> str:
    """_warning('299 - "unknown field"') == "unknown field"."""
    text = header.split('"', 1)[-1].rsplit('"', 1)[0]
    return text.replace('\\"', '"').replace("\\\\", "\\")


def _was_sent(error: Exception) -> bool:
    """Whether the request may have reached the server: not if no connection was established."""
    import aiohttp

    return not isinstance(
        error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError | aiohttp.ClientHttpProxyError
    )


def _why(error: Exception) -> str:
    """The error in a few words; the libraries' own messages are long and repeat the server's address."""
    import aiohttp

    inner = getattr(error, "os_error", None) or getattr(error, "certificate_error", None) or error
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy answered {error.status} {error.message}"
    if isinstance(inner, ConnectionRefusedError):
        is_proxy = isinstance(error, aiohttp.ClientProxyConnectionError)
        return "the proxy refused the connection" if is_proxy else "connection refused"
    if isinstance(inner, TimeoutError):
        return "timed out"
    if isinstance(inner, aiohttp.ClientPayloadError):
        return "the connection broke in the middle of a response"
    if isinstance(inner, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {inner.verify_message}"
    return str(getattr(inner, "strerror", None) or inner) or type(inner).__name__
