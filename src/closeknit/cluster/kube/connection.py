"""Send one authenticated request and return its response; every failure is an exception.

A request that is refused as Unauthorized is sent once more if there are newer credentials than those it was sent with.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable
from urllib.parse import urlencode

import msgspec

from ... import __version__
from .answers import refusal
from .config import Config
from .credentials import Credentials, Fixed, Identity, TokenFile
from .exec_plugin import ExecCredentials
from .http import ConnectionPool, Response
from .proxies import proxy_for
from .request import MANAGER, ApiCall

AGENT = f"{MANAGER}/{__version__}"


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
        self._pool = ConnectionPool(
            config.server, proxy_for(config.server, config.proxy, os.environ), config.server_name
        )
        self._secured: tuple[str, ssl.SSLContext | None] | None = None

    async def close(self) -> None:
        await self._pool.close()

    async def token(self) -> str:
        return (await self._credentials.current()).token

    async def answered(self, request: ApiCall) -> Response:
        """Send a request; its response is to be read in a `with`. A response with an error status is raised."""
        response = await self._sent(request)
        if response.status < 300 and not response.all("warning"):
            return response
        for warning in response.all("warning"):
            self.warn(_warning(warning))
        if response.status < 300:
            return response
        with response:
            raise refusal(response.status, await response.read(), response.header("retry-after"), request.where)

    async def _sent(self, request: ApiCall) -> Response:
        identity = await self._credentials.current()
        response = await self._send(request, identity)
        if response.status == 401 and await self._credentials.renewed(identity):
            with response:
                pass
            response = await self._send(request, await self._credentials.current())
        return response

    async def _send(self, request: ApiCall, identity: Identity) -> Response:
        headers = [("User-Agent", AGENT), ("Accept", request.accept)]
        headers += [*self.config.acting_as, *self.config.headers]
        if identity.token:
            headers.append(("Authorization", f"Bearer {identity.token}"))
        if request.body is not None:
            headers.append(("Content-Type", request.media))
        elif request.idle is None:
            headers.append(("Accept-Encoding", "gzip"))
        where = f"{request.where}?{urlencode(request.query)}" if request.query else request.where
        body = None if request.body is None else msgspec.json.encode(request.body)
        tls = self._tls(identity)
        return await self._pool.send(
            request.method, where, headers, body, tls, self.timeout, request.idle or self.timeout
        )

    def _tls(self, identity: Identity) -> ssl.SSLContext | None:
        """The TLS context of an identity; connections are reused by it, so it is made once for each certificate."""
        if self._secured is None or self._secured[0] != identity.certificate:
            self._secured = identity.certificate, self.config.tls(identity.certificate, identity.key)
        return self._secured[1]


def _warning(header: str) -> str:
    """_warning('299 - "unknown field"') == "unknown field"."""
    text = header.split('"', 1)[-1].rsplit('"', 1)[0]
    return text.replace('\\"', '"').replace("\\\\", "\\")
