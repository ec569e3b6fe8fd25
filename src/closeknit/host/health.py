"""The two ports of the controller: probes for the kubelet, and everything else for users with a token.

    --health-address    /healthz               the event loop is not blocked
                        /readyz                all informers have synced; the controller leads or stands by
    --metrics-address   /metrics               for Prometheus
                        /closeknit/decisions   the decision log
                        /closeknit/config      the configuration in force
                        /closeknit/numa        what is known of NUMA zones

Probes have a port of their own, so that clients of the other cannot occupy it. They need no token and reveal nothing:
why the controller is not ready is in its log. Access to the other port is checked in `access`.
"""

from __future__ import annotations

import asyncio
import logging

from ..model.address import Address
from .access import TokenAccess
from .decisions import Decisions
from .endpoints import Endpoints
from .http_server import Answer, HttpServer, Query
from .informers import NEEDED
from .kubernetes import KubernetesHost
from .loop_monitor import LoopMonitor
from .metrics import Metrics

LONGEST_GAP = 30.0
"""Seconds for which the event loop may be blocked before the liveness probe fails."""

log = logging.getLogger(__name__)


class Health:
    """`host` is set once the controller is connected."""

    def __init__(self, kept: Decisions) -> None:
        self.decisions, self.metrics = kept, Metrics()
        self.endpoints = Endpoints(kept, self.metrics)
        self.access = TokenAccess()
        self.pulse = LoopMonitor(self.metrics.late)
        self._host: KubernetesHost | None = None
        self._servers: list[HttpServer] = []
        self._beating: asyncio.Task[None] | None = None
        self._complaint = ""

    @property
    def host(self) -> KubernetesHost | None:
        return self._host

    @host.setter
    def host(self, host: KubernetesHost) -> None:
        self._host = self.metrics.runtime = host

    async def start(self, health: Address | None, metrics: Address | None = None) -> list[int]:
        """Listen on the addresses; returns the ports. Raises OSError if an address is not available."""
        self._beating = asyncio.create_task(self.pulse.run())
        probes = HttpServer({"healthz": self._alive, "readyz": self._ready})
        guarded = HttpServer(self.endpoints.by_path(), self.access.refusal)
        ports = []
        for server, address in ((probes, health), (guarded, metrics)):
            if address is not None:
                self._servers.append(server)
                ports.append(await server.start(address))
        return ports

    async def stop(self) -> None:
        if self._beating is not None:
            self._beating.cancel()
        for server in self._servers:
            await server.stop()

    # Responses

    async def _alive(self, _: Query) -> Answer:
        gap = self.pulse.gap
        return self._probed("/healthz", f"the event loop was blocked for {gap:.0f} s" if gap > LONGEST_GAP else "")

    async def _ready(self, _: Query) -> Answer:
        return self._probed("/readyz", self.missing())

    def _probed(self, probe: str, problem: str) -> Answer:
        """The answer of a probe; what is wrong is logged once."""
        if problem and problem != self._complaint:
            log.info("%s fails: %s", probe, problem)
        self._complaint = problem
        return Answer(b"ok\n") if not problem else Answer(b"not ok\n", status=503)

    def missing(self) -> str:
        """What the controller waits for before it is ready; "" if nothing."""
        if self.host is None:
            return "not connected to the API server yet"
        off = [f"{kind.resource}: {self.host.off[kind]}" for kind in NEEDED if kind in self.host.off]
        return "; ".join(off if self.host.is_synced else ["informers have not synced yet", *off])
