"""The embedded cluster as a service: in a folder of its own, on the real clock, reachable by REST on loopback.

    loop of the cluster ──▶ commit ──▶ watchers
       ▲ a request wrote, or time is up

Everything runs on one event loop. The cluster takes short turns, so that requests are answered in between; when it has
nothing to do it sleeps until the next thing is due.
"""

from __future__ import annotations

import asyncio
import gc
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from aiohttp import web

from ..cluster.embedded.certificate import credentials, write_kubeconfig
from ..cluster.embedded.event_expiry import EventExpiry
from ..cluster.embedded.folder import Folder
from ..cluster.embedded.loop import Worker
from ..cluster.embedded.rest.server import Server
from ..cluster.embedded.sqlite import SqliteLog
from ..controller.records import Record
from .embedded import EmbeddedCluster, Options

STATE = "state.db"
TURN = 80
"""Steps that the cluster takes before requests get their turn."""
LONGEST_SLEEP = 60.0
RARELY = (50_000, 20, 100)
"""How often Python looks for garbage: a store of many small objects makes little of it, and looking costs."""


class Clock:
    """The time of day, which never goes back."""

    def __init__(self) -> None:
        self._last = 0.0

    def now(self) -> float:
        self._last = max(self._last, time.time())
        return self._last


@dataclass(slots=True)
class Decisions:
    """What was decided: kept in the file, and passed on to whoever listens."""

    log: SqliteLog
    listeners: list[Callable[[Record], None]] = field(default_factory=list)

    def keep(self, record: Record) -> None:
        self.log.decide(json.dumps(record._asdict(), separators=(",", ":")).encode())
        for listen in self.listeners:
            listen(record)

    def read(self, since: float = 0.0, workload: str = "") -> list[bytes]:
        found = []
        for one in self.log.decisions():
            body = json.loads(one.body)
            if body["at"] >= since and workload in ("", body["workload"]):
                found.append(one.body)
        return found


class Service:
    """One host for a folder. `begin` opens it, `run` lives until `stop` is called."""

    def __init__(self, folder: Folder, options: Options, fsync: bool = False) -> None:
        self.folder = folder
        self.clock = Clock()
        self.log = SqliteLog(folder.path / STATE, fsync)
        self.decisions = Decisions(self.log)
        self.cluster = EmbeddedCluster(self.clock.now, options, self.log, self.decisions.keep)
        self.store = self.cluster.store
        self.log.load(self.store)
        self.is_new = self.store.version == 1
        self.cluster.add(Worker(self.store, EventExpiry()))
        self.port = 0
        self._server: Server | None = None
        self._nudged = asyncio.Event()
        self._stopping = False

    def begin(self) -> None:
        """Show everybody what the folder holds."""
        self.cluster.begin()
        self.store.commit()
        gc.collect()
        gc.freeze()
        gc.set_threshold(*RARELY)

    async def serve(self, port: int = 0, page: Callable[[], str] | None = None) -> int:
        """Listen, and write the kubeconfig; says on which port. Raises OSError if that is taken."""
        known = credentials(self.folder.path, self.clock.now())
        extra = {"decisions": self._decisions}
        self._server = Server(self.store, known.token, extra=extra, page=page, on_change=self.nudge)
        self.port = await self._server.start(known.tls(), port)
        write_kubeconfig(self.folder.path, self.port)
        return self.port

    def nudge(self) -> None:
        """Something was written: there may be something to do."""
        self._nudged.set()

    def stop(self) -> None:
        self._stopping = True
        self.nudge()

    async def run(self) -> None:
        """Live on until told to stop, then end in good order."""
        try:
            while not self._stopping:
                await self._turn()
        finally:
            self.settle()
            if self._server is not None:
                await self._server.stop()
            self.log.close()

    async def _turn(self) -> None:
        due = self.cluster.run(TURN)
        if self._server is not None:
            self._server.settle_soon()
        else:
            self.store.commit()
        wait = LONGEST_SLEEP if due is None else due - self.clock.now()
        if wait <= 0:
            await asyncio.sleep(0)
            return
        self._nudged.clear()
        if self.cluster.loop.seen != self.store.version:
            return
        try:
            await asyncio.wait_for(self._nudged.wait(), min(wait, LONGEST_SLEEP))
        except TimeoutError:
            return

    def settle(self) -> None:
        """What was done so far is kept, and told to those who watch."""
        if self._server is not None:
            self._server.settle()
        else:
            self.store.commit()

    # What our own commands ask for

    async def _decisions(self, request: web.BaseRequest) -> web.StreamResponse:
        """Records as lines of JSON; with `watch=true` those that are still to come, too."""
        query = {key: values[-1] for key, values in parse_qs(urlsplit(request.raw_path).query).items()}
        since = _number(query.get("since", ""))
        workload = query.get("workload", "")
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        queue: asyncio.Queue[Record] = asyncio.Queue(maxsize=10_000)
        watches = query.get("watch") == "true"

        def listen(record: Record) -> None:
            if queue.full():
                queue.get_nowait()  # whoever reads too slowly misses the oldest
            queue.put_nowait(record)

        kept = self.decisions.read(since, workload)
        if watches:
            self.decisions.listeners.append(listen)
        try:
            await response.prepare(request)
            for body in kept:
                await response.write(body + b"\n")
            while watches:
                record = await queue.get()
                if workload in ("", record.workload):
                    await response.write(json.dumps(record._asdict(), separators=(",", ":")).encode() + b"\n")
        finally:
            if watches:
                self.decisions.listeners.remove(listen)
        return response


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
