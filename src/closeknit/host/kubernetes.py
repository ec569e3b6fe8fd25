"""The control plane on a real API server: informers feed it, an outbox sends its writes, one of several replicas leads.

    informers ──▶ control plane ──▶ outbox ──▶ server
        ▲                              │ responses
        └──────────────────────────────┘

A standby replica runs its informers too, so that it can take over at once. The control plane is the same as in the
embedded cluster, and takes short turns on the one event loop.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field

from ..cluster.errors import Refused
from ..cluster.kinds import WORKLOAD, Kind
from ..cluster.kube.client import Client
from ..cluster.kube.election import Elector
from ..cluster.port import Change, Raw, Write
from ..cluster.volumes import VOLUME_KINDS
from ..controller.control_plane import ControlPlane
from ..controller.pending_reporter import ReportPolicy
from ..dialects import timestamps
from ..model.gates import Gates
from ..model.settings import PodsReady, Settings
from ..observe.dump import Document, dump
from ..observe.live_jobs import Managed
from ..write.token_bucket import Rate
from .clock import Clock
from .decisions import Decisions, Memory
from .garbage import collect_rarely, keep_what_is_loaded
from .informers import InformerSet
from .lanes import WATCHFUL
from .outbox import Outbox
from .runtime import ChangeListener, Role, Vitals
from .trimming import Trimmer

log = logging.getLogger(__name__)

TURN = 0.02
"""Seconds for which the control plane may work before other tasks of the event loop get a turn."""
ROUNDS = 6
"""Iterations of the event loop given to other tasks: data needs several of them from the socket to its consumer."""
GATHERING, BETWEEN_TURNS = 0.005, 0.025
"""Seconds between the first input and a turn of the control plane, and at least between two turns: events and answers
arrive in batches."""
LONGEST_SLEEP = 60.0
LAST_WRITES = 5.0
"""Seconds for which a stop waits for the writes in flight."""


@dataclass(frozen=True, slots=True)
class KubernetesOptions:
    """`pace` limits events, `reports` limits reports on pending workloads, `rest` is the pause between cycles."""

    gates: Gates = field(default_factory=Gates.profile)
    settings: Settings = field(default_factory=lambda: Settings(pods_ready=PodsReady()))
    managed: Managed = field(default_factory=Managed)
    pace: Rate = Rate(20, 100)  # noqa: RUF009 - a value
    reports: ReportPolicy = ReportPolicy(1.0, 30.0, Rate(20, 100))  # noqa: RUF009 - a value
    rest: float = 0.1


class KubernetesHost:
    """`run` returns after `stop`, or when leadership is lost. Without an `elector` it runs alone.

    Implements `Runtime`.
    """

    def __init__(
        self,
        client: Client,
        options: KubernetesOptions | None = None,
        elector: Elector | None = None,
        decisions: Decisions | None = None,
    ) -> None:
        self.options = options = options or KubernetesOptions()
        self.decisions = decisions or Decisions(Memory())
        self.clock = Clock()
        self.control_plane = ControlPlane(
            options.gates,
            options.settings,
            self.clock.now,
            time.perf_counter,
            options.managed,
            self.decisions.keep,
            options.pace,
            options.reports,
            options.rest,
        )
        trim = Trimmer(options.managed.without_queue, "AllPodFilters" in options.gates)
        self.informers = InformerSet(
            client, self.control_plane.watches, self._tell, self.control_plane.cache.find, trim
        )
        self.control_plane.cache.world.volumes.is_known = self._knows_volumes
        self.outbox = Outbox(client, self.informers.answered, self._done, self._may_write)
        self.elector = elector
        self.is_synced = self.is_working = False
        self._watchers: list[ChangeListener] = []
        self._nudged = asyncio.Event()
        self._turned = 0.0
        """When the last turn began."""
        self._stopping = asyncio.Event()

    def _knows_volumes(self) -> bool:
        return not any(kind in self.informers.off for kind in VOLUME_KINDS)

    def stop(self) -> None:
        self._stopping.set()
        self._nudged.set()

    async def run(self) -> None:
        collect_rarely()
        async with self.informers.running():
            self.is_synced = True
            keep_what_is_loaded()
            if self.elector is None:
                await self._work()
            else:
                await self._by_turns(self.elector)

    async def _by_turns(self, elector: Elector) -> None:
        """Stand by until elected or stopped, then work."""
        leading = asyncio.create_task(elector.run(self._work))
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait([leading, stopping], return_when=asyncio.FIRST_COMPLETED)
            if self.is_working:
                await asyncio.wait([leading])
            if leading.done():
                leading.result()
        finally:
            for task in (leading, stopping):
                task.cancel()
            await asyncio.gather(leading, stopping, return_exceptions=True)

    async def _work(self) -> None:
        self.is_working = True
        try:
            await self.informers.refresh(WORKLOAD)
            while not self._stopping.is_set():
                await self._sleep(self._turn())
            if not await self.outbox.drain(LAST_WRITES):
                log.warning("stopping with %d writes still in flight", self.outbox.size)
        finally:
            self.is_working = False
            await self.outbox.close()

    def _turn(self) -> float | None:
        """Work for a short while; returns when something is next due."""
        self._turned = time.monotonic()
        if not self._may_write():
            return self.clock.now() + WATCHFUL
        end = time.perf_counter() + TURN
        while not self.outbox.is_full:
            now, due = self.clock.now(), self.control_plane.due()
            if due is None or due > now:
                return due
            self.outbox.send(self.control_plane.step(now))
            if time.perf_counter() > end:
                return now
        return self.clock.now() + WATCHFUL

    async def _sleep(self, due: float | None) -> None:
        wait = LONGEST_SLEEP if due is None else min(LONGEST_SLEEP, due - self.clock.now())
        if wait <= 0:
            for _ in range(ROUNDS):
                await asyncio.sleep(0)
            return
        timer = asyncio.get_running_loop().call_later(wait, self._nudged.set)
        try:
            await self._nudged.wait()
        finally:
            timer.cancel()
        soonest = self._turned + BETWEEN_TURNS - time.monotonic()
        await asyncio.sleep(min(wait, max(GATHERING, soonest)))
        self._nudged.clear()

    def _may_write(self) -> bool:
        """Whether no other replica can lead: this process may have been suspended for longer than its lease."""
        return self.elector is None or self.elector.is_leader

    # As a runtime

    def now(self) -> float:
        return self.clock.now()

    def watch(self, watcher: ChangeListener) -> None:
        self._watchers.append(watcher)

    def vitals(self) -> Vitals:
        role: Role = "standalone" if self.elector is None else "leader" if self.is_working else "follower"
        restarts = {kind.resource: count for kind, count in self.informers.restarts.items()}
        return Vitals(role, self.is_working, restarts)

    # Changes and results

    def _tell(self, change: Change) -> None:
        self.control_plane.see(change)
        for watcher in self._watchers:
            if change.kind in watcher.watches:
                try:
                    watcher.see(change)
                except Exception:  # one object must not stop the others
                    log.exception("%s failed for a change of %s", type(watcher).__name__, change.key)
        self._nudged.set()

    def _done(self, write: Write, result: Raw | Refused) -> None:
        self.control_plane.done(write, result, self.clock.now())
        self._nudged.set()

    def dump(self) -> Document:
        """The cached state; while writes are in flight it may be ahead of what the server has shown."""
        head = {"time": timestamps.show(self.clock.now()), "leads": self.is_working, "writesInFlight": self.outbox.size}
        return {**head, **dump(self.control_plane.cache)}

    @property
    def off(self) -> dict[Kind, str]:
        """Kinds that are not watched, and why."""
        return self.informers.off
