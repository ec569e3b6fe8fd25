"""How a controller does, for its operators: probes, and what every host answers.

    /healthz               the event loop turns
    /readyz                everything is listed, and it decides or stands by
    /metrics               for Prometheus
    /closeknit/decisions   what was decided lately
    /closeknit/config      by which rules

It listens where it is told to; the last three are in `endpoints`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from aiohttp import web
from aiohttp.typedefs import Handler

from ..model.address import Address
from .decisions import Decisions
from .endpoints import METRICS, Endpoints, said
from .following import NEEDED
from .kubernetes import KubernetesHost
from .metrics import Metrics
from .pulse import Pulse

LONGEST_GAP = 30.0
"""Seconds without a turn of the event loop, from which on something is wrong."""


class Health:
    """`host` is set as soon as it is known."""

    def __init__(self, told: Decisions) -> None:
        self.decisions, self.metrics = told, Metrics()
        self.endpoints = Endpoints(told, self.metrics)
        self.pulse = Pulse(self.metrics.late)
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
        """Begin to listen; says on which ports. Raises OSError where that cannot be had."""
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

    # Answers

    async def _alive(self, _: web.Request) -> web.Response:
        gap = self.pulse.gap
        return said(f"the event loop did not turn for {gap:.0f} s" if gap > LONGEST_GAP else "")

    async def _ready(self, _: web.Request) -> web.Response:
        return said(self.missing())

    def missing(self) -> str:
        """What it has to wait for before it is of use; empty if nothing."""
        if self.host is None:
            return "not connected to the API server yet"
        off = [f"{kind.resource}: {self.host.off[kind]}" for kind in NEEDED if kind in self.host.off]
        return "; ".join(off if self.host.is_synced else ["not everything is listed yet", *off])
