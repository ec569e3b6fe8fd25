"""Kubelets' topology managers and zone agents for simulated nodes of a real API server.

    informers ──▶ SimulatedNodes ──▶ a task for each node ──▶ admitted: status.startTime   ──▶ KWOK starts the pod
                                            │             └─▶ refused: phase Failed, and an event
                                            └── after the delay ──▶ NodeResourceTopology

KWOK simulates the rest of the kubelet. The pods of one node are decided on one after another, nodes concurrently.
Nothing is decided before everything is listed. A write that fails is not repeated as it was: the node is looked at
again.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic, time
from typing import NamedTuple

from ..cluster.errors import Conflict, NotFound, Refused
from ..cluster.kinds import EVENT, NODE, NODE_TOPOLOGY, POD
from ..cluster.kube.client import Client
from ..cluster.kube.unreachable import Unreachable
from ..cluster.port import Change, Create, Raw, Update, Write
from ..model.number import number_of
from .informers import InformerSet
from .simulated_nodes import SimulatedNodes
from .trimming import Whole

KINDS = (NODE, NODE_TOPOLOGY, POD)
AT_ONCE = 8
"""Nodes that are written for at the same time."""
PAUSE, LONG_PAUSE = 0.5, 5.0
"""Seconds before a node is looked at again after a failed write: a conflict, and any other failure."""
NEWS = 5.0
"""Seconds between two lines about progress."""

log = logging.getLogger(__name__)


class Delay(NamedTuple):
    """Seconds from a change until it is reported; None: it never is."""

    seconds: float | None


@dataclass(slots=True)
class SimulationTurn:
    """What is to be done for one node: `report_at` is when its report is due, by the monotonic clock."""

    task: asyncio.Task[None] | None = None
    report_at: float | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def come(self) -> None:
        """Wait for a change, or until the report is due."""
        left = None if self.report_at is None else max(0.0, self.report_at - monotonic())
        with suppress(TimeoutError):
            await asyncio.wait_for(self.changed.wait(), left)
        self.changed.clear()

    @property
    def is_due(self) -> bool:
        return self.report_at is not None and self.report_at <= monotonic()


class NumaSimulation:
    """`delay` applies to all nodes; without one, each node's annotation says."""

    def __init__(self, client: Client, labels: Mapping[str, str], delay: Delay | None = None) -> None:
        self.client, self.delay = client, delay
        self.nodes = SimulatedNodes(labels)
        self.informers = InformerSet(client, KINDS, self._told, self.nodes.find, Whole())
        self.done: Counter[str] = Counter()
        self._turns: dict[str, SimulationTurn] = {}
        self._synced = asyncio.Event()
        self._lanes = asyncio.Semaphore(AT_ONCE)
        self._complaints: set[str] = set()

    async def run(self) -> None:
        """Run until cancelled."""
        try:
            async with self.informers.running():
                self._synced.set()
                await self._tell_progress()
        finally:
            tasks = [turn.task for turn in self._turns.values() if turn.task is not None]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    # Changes

    def _told(self, change: Change) -> None:
        touched = self.nodes.see(change)
        name = change.key.name if touched is None else touched.node
        if touched is None:
            if change.kind is NODE and name not in self.nodes.zones:
                self._leave(name)
            return
        turn = self._turns.get(name)
        if turn is None:
            turn = self._turns[name] = SimulationTurn()
            turn.task = asyncio.create_task(self._keep(name, turn))
        if touched.stale and turn.report_at is None:
            turn.report_at = self._due(name)
        turn.changed.set()

    def _leave(self, name: str) -> None:
        turn = self._turns.pop(name, None)
        if turn is not None and turn.task is not None:
            turn.task.cancel()

    def _due(self, name: str) -> float | None:
        zones = self.nodes.zones[name]
        seconds = self.delay.seconds if self.delay is not None else zones.delay if zones is not None else 0.0
        return None if seconds is None else monotonic() + seconds

    # One node

    async def _keep(self, name: str, turn: SimulationTurn) -> None:
        await self._synced.wait()
        while True:
            await turn.come()
            try:
                async with self._lanes:
                    await self._write(name, self.nodes.admissions(name, time()))
                    if turn.is_due:
                        turn.report_at = None
                        await self._report(name, turn)
            except (Conflict, NotFound) as error:
                log.debug("node %s is looked at again: %s", name, error)
                await self._again(turn, PAUSE)
            except (Refused, Unreachable) as error:
                self._complain(str(error))
                await self._again(turn, LONG_PAUSE)

    async def _again(self, turn: SimulationTurn, pause: float) -> None:
        await asyncio.sleep(pause)
        turn.changed.set()

    async def _report(self, name: str, turn: SimulationTurn) -> None:
        try:
            await self._write(name, self.nodes.report(name))
        except (Refused, Unreachable) as error:
            turn.report_at = monotonic() + LONG_PAUSE
            missing = f"{NODE_TOPOLOGY.kind} is not served: `closeknit install` adds its definition; retrying"
            self._complain(missing if isinstance(error, NotFound) else f"the report of node {name}: {error}")

    async def _write(self, name: str, steps: Iterable[Write]) -> None:
        for write in steps:
            if isinstance(write, Create) and write.kind is EVENT:
                await self._say(name, write)
                continue
            raw = await self.client.carry_out(write)
            if isinstance(write, Create | Update):
                self.informers.answered(write.kind, raw)
                self.done[_outcome(raw)] += 1

    async def _say(self, name: str, event: Create) -> None:
        """Log the refusal, and write its event; one that cannot be written is no reason to stop."""
        about = event.body["involvedObject"]
        where = f"{about['namespace']}/{about['name']}"
        log.info("node %s refuses pod %s: %s: %s", name, where, event.body["reason"], event.body["message"])
        try:
            await self.client.carry_out(event)
        except (Refused, Unreachable) as error:
            self._complain(f"no event about pod {where}: {error}")

    # Progress

    async def _tell_progress(self) -> None:
        zones = self.nodes.zones.values()
        zoned = sum(1 for one in zones if one is not None)
        log.info("simulating %s, %d of them with NUMA zones", number_of(len(zones), "node"), zoned)
        told = Counter[str]()
        while True:
            await asyncio.sleep(NEWS)
            if self.done != told:
                told = Counter(self.done)
                log.info("%(admitted)d pods admitted, %(refused)d refused, %(reports)d reports written", told)

    def _complain(self, text: str) -> None:
        """Log a failure, once while it is the same."""
        if text not in self._complaints and len(self._complaints) < 1000:
            self._complaints.add(text)
            log.warning("%s", text)


def _outcome(written: Raw) -> str:
    if written.get("kind") == NODE_TOPOLOGY.kind:
        return "reports"
    return "refused" if written["status"].get("phase") == "Failed" else "admitted"
