"""How a controller does, for those who look after it: probes, metrics, and what our own commands ask for.

    /healthz               the event loop turns
    /readyz                everything is listed, and it decides or stands by
    /metrics               for Prometheus
    /closeknit/decisions   what was decided lately
    /closeknit/config      by which rules

All of it is read only, and says no more than whoever may list workloads can see. It listens where it is told to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from aiohttp import web
from aiohttp.typedefs import Handler

from ..model.address import Address
from . import decisions, rules
from .decisions import Decisions
from .following import NEEDED
from .kubernetes import KubernetesHost
from .metrics import MEDIA, Metrics
from .pulse import Pulse

LONGEST_GAP = 30.0
"""Seconds without a turn of the event loop, from which on something is wrong."""
BASE = "/closeknit"


class Health:
    """`host` and `options` are set as soon as they are known."""

    def __init__(self, told: Decisions) -> None:
        self.decisions, self.metrics = told, Metrics()
        self.pulse = Pulse(self.metrics.late)
        self.options: rules.Options | None = None
        self._runners: list[web.AppRunner] = []
        self._beating: asyncio.Task[None] | None = None

    @property
    def host(self) -> KubernetesHost | None:
        return self.metrics.host

    @host.setter
    def host(self, host: KubernetesHost) -> None:
        self.metrics.host = host

    async def start(self, health: Address | None, metrics: Address | None = None) -> list[int]:
        """Begin to listen; says on which ports. Raises OSError where that cannot be had."""
        self._beating = asyncio.create_task(self.pulse.run())
        routes: dict[str, Handler] = {
            "/healthz": self._alive,
            "/readyz": self._ready,
            "/metrics": self._metrics,
            f"{BASE}/{decisions.NAME}": self.decisions.serve,
            f"{BASE}/{rules.NAME}": self._rules,
        }
        ports = [] if health is None else [await self._listen(health, routes)]
        if metrics is not None and metrics != health:
            ports.append(await self._listen(metrics, {"/metrics": self._metrics}))
        return ports

    async def stop(self) -> None:
        if self._beating is not None:
            self._beating.cancel()
        for runner in self._runners:
            await runner.cleanup()

    async def _listen(self, address: Address, routes: Mapping[str, Handler]) -> int:
        app = web.Application()
        for path, handler in routes.items():
            app.router.add_get(path, handler)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        self._runners.append(runner)
        await runner.setup()
        await web.TCPSite(runner, address.host or None, address.port).start()
        port: int = runner.addresses[0][1]
        return port

    # Answers

    async def _alive(self, _: web.Request) -> web.Response:
        gap = self.pulse.gap
        return _said(f"the event loop did not turn for {gap:.0f} s" if gap > LONGEST_GAP else "")

    async def _ready(self, _: web.Request) -> web.Response:
        return _said(self.missing())

    def missing(self) -> str:
        """What it has to wait for before it is of use; empty if nothing."""
        if self.host is None:
            return "not connected to the API server yet"
        off = [f"{kind.resource}: {self.host.off[kind]}" for kind in NEEDED if kind in self.host.off]
        return "; ".join(off if self.host.is_synced else ["not everything is listed yet", *off])

    async def _metrics(self, _: web.Request) -> web.Response:
        return web.Response(body=self.metrics.text(), headers={"Content-Type": MEDIA})

    async def _rules(self, _: web.Request) -> web.Response:
        if self.options is None:
            return _said("not connected to the API server yet")
        return web.Response(body=rules.told(self.options), content_type="application/json")


def _said(trouble: str) -> web.Response:
    return web.Response(text=f"{trouble or 'ok'}\n", status=503 if trouble else 200)
