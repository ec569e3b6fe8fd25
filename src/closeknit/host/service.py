"""The embedded cluster as a service: stored in a folder, on the real clock, reachable over REST on loopback.

    loop of the cluster ──▶ commit ──▶ watchers
       ▲ a request wrote, or a timer is due

Everything runs on one event loop. The cluster takes short turns, so that requests are answered in between; when idle it
sleeps until the next timer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from urllib.parse import parse_qs

from aiohttp import web

from ..cluster.embedded.certificate import credentials, write_kubeconfigs
from ..cluster.embedded.event_expiry import EventExpiry
from ..cluster.embedded.folder import Folder
from ..cluster.embedded.loop import Worker
from ..cluster.embedded.rest.server import Extra, Server, Tokens
from ..cluster.embedded.sqlite import SqliteLog
from ..cluster.embedded.store import NotKeptError
from ..dialects import timestamps
from ..observe.dump import Document, dump
from .clock import Clock
from .decisions import Decisions
from .embedded import EmbeddedCluster, EmbeddedOptions
from .endpoints import Endpoints
from .garbage import collect_rarely, keep_what_is_loaded
from .http_server import Answerer, Query
from .loop_monitor import LoopMonitor
from .metrics import Metrics

STATE = "state.db"
TURN = 80
"""Steps that the cluster takes before requests get a turn."""
LONGEST_SLEEP = 60.0
LOOK_EVERY = 0.5
"""Seconds between looks at the folder, which another process may delete."""


class Service:
    """The host of one folder. `begin` opens it, `run` returns after `stop`."""

    def __init__(self, folder: Folder, options: EmbeddedOptions, fsync: bool = False) -> None:
        self.folder, self.options = folder, options
        self.clock = Clock()
        self.log = SqliteLog(folder.path / STATE, fsync)
        self.decisions = Decisions(self.log)
        self.cluster = EmbeddedCluster(self.clock.now, options, self.log, self.decisions)
        self.metrics = Metrics(self.cluster)
        self.decisions.listeners.append(self.metrics.decided)
        self.store = self.cluster.store
        self.log.load(self.store)
        self.is_new = self.store.version == 1
        self.cluster.add(Worker(self.store, EventExpiry()))
        self.port = 0
        self._server: Server | None = None
        self._nudged = asyncio.Event()
        self._stopping = False
        self._lost: NotKeptError | None = None

    def begin(self) -> None:
        """Show the stored objects to all participants."""
        collect_rarely()
        self.cluster.begin()
        self.store.commit()
        keep_what_is_loaded()

    async def serve(self, port: int = 0, page: Callable[[], str] | None = None) -> int:
        """Listen and write the kubeconfig; returns the port. Raises OSError if the port is taken."""
        known = credentials(self.folder.path, self.clock.now())
        endpoints = Endpoints(self.decisions, self.metrics).by_path()
        extra = {path: _beside_the_api(answerer) for path, answerer in endpoints.items()}
        tokens = Tokens(known.token, known.view_token)
        self._server = Server(self.store, tokens, extra=extra, page=page, on_change=self.nudge)
        self.port = await self._server.start(known.tls(), port)
        write_kubeconfigs(self.folder.path, self.port)
        return self.port

    def nudge(self) -> None:
        """Wake the loop after a write."""
        self._nudged.set()

    def stop(self) -> None:
        self._stopping = True
        self.nudge()

    async def run(self) -> None:
        """Run until `stop` is called, then shut down in order.

        Raises NotKeptError if the file can no longer be written: it holds all acknowledged writes, and no others.
        """
        beside = [asyncio.create_task(LoopMonitor(self.metrics.late).run()), asyncio.create_task(self._look())]
        try:
            while not self._stopping:
                if self._lost is not None:
                    raise self._lost
                await self._turn()
        finally:
            for task in beside:
                task.cancel()
            try:
                self.settle()
            finally:
                if self._server is not None:
                    await self._server.stop()
                self.log.close()

    async def _look(self) -> None:
        """End the run soon after the folder was deleted, replaced or made read-only, even if nothing is written."""
        while self._lost is None:
            await asyncio.sleep(LOOK_EVERY)
            try:
                self.log.check_place()
            except NotKeptError as lost:
                self._lost = lost
                self.nudge()

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
        """Commit what was done so far, and send it to the watchers."""
        if self._server is not None:
            self._server.settle()
        else:
            self.store.commit()

    def dump(self) -> Document:
        """The state of the control plane's cache."""
        return {"time": timestamps.show(self.clock.now()), **dump(self.cluster.control_plane.cache)}


def _beside_the_api(answerer: Answerer) -> Extra:
    """An endpoint as the server of the Kubernetes API calls it."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        path, _, text = request.raw_path.partition("?")
        arguments = {name: values[-1] for name, values in parse_qs(text).items()}
        found = await answerer(Query(request.method, path, arguments, request.headers))
        headers = {"Content-Type": found.media}
        if isinstance(found.body, bytes):
            return web.Response(body=found.body, status=found.status, headers=headers)
        response = web.StreamResponse(status=found.status, headers=headers)
        async with aclosing(found.body) as pieces:
            await response.prepare(request)
            async for piece in pieces:
                await response.write(piece)
        return response

    return answer
