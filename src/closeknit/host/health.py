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

from ..model.address import Address
from .decisions import Decisions
from .endpoints import METRICS, Endpoints, status_answer
from .http_server import Answer, Answerer, HttpServer, Query
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
        self._servers: list[HttpServer] = []
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
        routes: dict[str, Answerer] = {"healthz": self._alive, "readyz": self._ready, **answers}
        ports = [] if health is None else [await self._listen(health, routes)]
        if metrics is not None and metrics != health:
            ports.append(await self._listen(metrics, {METRICS: answers[METRICS]}))
        return ports

    async def stop(self) -> None:
        if self._beating is not None:
            self._beating.cancel()
        for server in self._servers:
            await server.stop()

    async def _listen(self, address: Address, routes: Mapping[str, Answerer]) -> int:
        server = HttpServer(routes)
        self._servers.append(server)
        return await server.start(address)

    # Responses

    async def _alive(self, _: Query) -> Answer:
        gap = self.pulse.gap
        return status_answer(f"the event loop was blocked for {gap:.0f} s" if gap > LONGEST_GAP else "")

    async def _ready(self, _: Query) -> Answer:
        return status_answer(self.missing())

    def missing(self) -> str:
        """What the controller waits for before it is ready; "" if nothing."""
        if self.host is None:
            return "not connected to the API server yet"
        off = [f"{kind.resource}: {self.host.off[kind]}" for kind in NEEDED if kind in self.host.off]
        return "; ".join(off if self.host.is_synced else ["informers have not synced yet", *off])
