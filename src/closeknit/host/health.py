"""Probes of the controller, served together with the endpoints that every host has.

    /healthz               the event loop is not blocked
    /readyz                all informers have synced; the controller leads or stands by
    /metrics               for Prometheus
    /closeknit/decisions   the decision log
    /closeknit/config      the configuration in force

The addresses are options of the command; the last three endpoints are in `endpoints`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from aiohttp import web
from aiohttp.typedefs import Handler

from ..model.address import Address
from .decisions import Decisions
from .endpoints import METRICS, Endpoints, status_response
from .informers import NEEDED
from .kubernetes import KubernetesHost
from .loop_monitor import LoopMonitor
from .metrics import Metrics

LONGEST_GAP = 30.0
"""Seconds for which the event loop may be blocked before the liveness probe fails."""


class Health:
    """`host` is set once the controller is connected."""

    def __init__(self, kept: Decisions) -> None:
        self.decisions, self.metrics = kept, Metrics()
        self.endpoints = Endpoints(kept, self.metrics)
        self.pulse = LoopMonitor(self.metrics.late)
        self._host: KubernetesHost | None = None
        self._runners: list[web.AppRunner] = []
        self._beating: asyncio.Task[None] | None = None

    @property
    def host(self) -> KubernetesHost | None:
        return self._host

    @host.setter
    def host(self, host: KubernetesHost) -> None:
        self._host = self.metrics.runtime = host

    async def start(self, health: Address | None, metrics: Address | None = None) -> list[int]:
        """Listen on the addresses; returns the ports. Raises OSError if an address is not available."""
        self._beating = asyncio.create_task(self.pulse.run())
        answers = self.endpoints.by_path()
        routes: dict[str, Handler] = {"healthz": self._alive, "readyz": self._ready, **answers}
        ports = [] if health is None else [await self._listen(health, routes)]
        if metrics is not None and metrics != health:
            ports.append(await self._listen(metrics, {METRICS: answers[METRICS]}))
        return ports

    async def stop(self) -> None:
        if self._beating is not None:
            self._beating.cancel()
        for runner in self._runners:
            await runner.cleanup()

    async def _listen(self, address: Address, routes: Mapping[str, Handler]) -> int:
        app = web.Application()
        for path, handler in routes.items():
            app.router.add_get(f"/{path}", handler)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        self._runners.append(runner)
        await runner.setup()
        await web.TCPSite(runner, address.host or None, address.port).start()
        port: int = runner.addresses[0][1]
        return port

    # Responses

    async def _alive(self, _: web.Request) -> web.Response:
        gap = self.pulse.gap
        return status_response(f"the event loop was blocked for {gap:.0f} s" if gap > LONGEST_GAP else "")

    async def _ready(self, _: web.Request) -> web.Response:
        return status_response(self.missing())

    def missing(self) -> str:
        """What the controller waits for before it is ready; "" if nothing."""
        if self.host is None:
            return "not connected to the API server yet"
        off = [f"{kind.resource}: {self.host.off[kind]}" for kind in NEEDED if kind in self.host.off]
        return "; ".join(off if self.host.is_synced else ["informers have not synced yet", *off])
