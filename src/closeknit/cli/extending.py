"""One run of the extender process, from its first request to its exit code.

    listen ──▶ reach the server ──▶ list nodes, pods and reports ──▶ answer ──▶ stop signal

It listens first, so that probes are answered and the scheduler learns that it is not ready yet.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import ssl
from dataclasses import dataclass
from ipaddress import ip_address

from .. import __version__
from ..cluster.kube.arrival import arrival
from ..cluster.kube.client import Client
from ..cluster.kube.config import Config
from ..extender.extender import Extender
from ..extender.zones import Zones
from ..host.extender import MOST_CONNECTIONS, ExtenderHost
from ..host.http_server import HttpServer
from ..model.address import Address
from ..model.mistake import refuse
from .controlling import log_to_stderr
from .exit_codes import YES
from .target import NoCluster

log = logging.getLogger("closeknit")

BIND_TIME = 10.0
"""Seconds for the API server to answer."""


@dataclass(frozen=True, slots=True)
class ExtenderOptions:
    listen: Address
    certificate: str | None
    key: str | None
    client_ca: str | None
    reservation: float
    log_level: str

    @property
    def tls(self) -> ssl.SSLContext | None:
        if self.certificate is None:
            return None
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            context.load_cert_chain(self.certificate, self.key)
            if self.client_ca is not None:
                context.load_verify_locations(self.client_ca)
                context.verify_mode = ssl.CERT_REQUIRED
        except (OSError, ssl.SSLError) as error:
            text = f"cannot be read: {error.strerror or error}"
            raise refuse(text, "give PEM files with a certificate and its key", what="--tls-cert") from None
        return context


class Extending:
    """One run of the extender: construct it and await `live`."""

    def __init__(self, config: Config, zones: Zones, options: ExtenderOptions) -> None:
        self.config, self.options, self.tls = config, options, options.tls
        self.host = ExtenderHost(Extender(zones, options.reservation))
        self.server = HttpServer(self.host.routes(), posts=self.host.posts(), most_connections=MOST_CONNECTIONS)
        self._stopped = asyncio.Event()

    async def live(self) -> int:
        """Run until stopped; return the exit code."""
        log_to_stderr(self.options.log_level)
        for one in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(one, self._stopped.set)
        await self._listen()
        running = asyncio.create_task(self._run())
        stopping = asyncio.create_task(self._stopped.wait())
        try:
            await asyncio.wait([running, stopping], return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                running.result()
        finally:
            stopping.cancel()
            running.cancel()
            await asyncio.gather(running, stopping, return_exceptions=True)
            await self.server.stop()
        log.info("stopped")
        return YES

    async def _listen(self) -> None:
        address = self.options.listen
        try:
            port = await self.server.start(address, self.tls)
        except OSError as error:
            raise NoCluster(f"cannot listen on {address}: {error.strerror or error}; choose another --listen") from None
        log.info("closeknit %s answers on %s", __version__, Address(address.host, port))
        if self.options.client_ca is None and not _is_loopback(address.host):
            log.warning(
                "anyone who reaches %s can have pods bound: give --tls-cert and --tls-client-ca, or listen on loopback",
                address,
            )

    async def _run(self) -> None:
        async with Client(self.config, lambda text: log.debug("server warning: %s", text), BIND_TIME) as client:
            await arrival(
                client, lambda why: log.warning("waiting for the API server, which does not answer yet: %s", why)
            )
            async with self.host.informers(client).running():
                self.host.extender.zones.refresh()
                self.host.is_synced = True
                log.info("nodes, pods and reports are listed: answering")
                await asyncio.Event().wait()


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
