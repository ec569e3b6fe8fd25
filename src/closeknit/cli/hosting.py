"""One run of the embedded host for `closeknit up`, from the folder to the last word.

    folder ──▶ service ──▶ scene ──▶ live view │ lines
                  ▲ demo, or the nodes that were given, where the folder is new

Whatever is shown is written by threads of its own, so that a reader who does not read holds nobody up.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from errno import EACCES, EADDRINUSE
from logging.handlers import RotatingFileHandler
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from .. import __version__
from ..cluster.embedded.certificate import KUBECONFIG
from ..cluster.embedded.folder import Folder
from ..cluster.embedded.store import Options as Writing
from ..cluster.kinds import CLUSTER_QUEUE, NODE, kind_of
from ..cluster.port import Raw
from ..controller.records import Record
from ..host.demos import DEMOS
from ..host.demos.player import KEY as DEMO
from ..host.demos.player import Player, begin, place_in
from ..host.embedded import Options
from ..host.scene import Scene
from ..host.service import Service
from ..model.mistake import refuse
from ..report.picture import Access
from .target import NoCluster, data_folder
from .ticker import Ticker

if TYPE_CHECKING:
    from .screen import Screen

FIRST = "first-steps"
"""What an empty folder begins with."""
REDRAW = 0.25
"""Seconds between two pictures, at least."""
RECALLED = 20
LOG, LOG_BYTES = "log", 1_000_000
BY_USER = Writing("closeknit", trusted=False)


@dataclass(frozen=True, slots=True)
class Wishes:
    """What was asked for on the command line; `objects` are what the nodes that were given need."""

    port: int
    fsync: bool
    lines: bool
    demo: str
    objects: Sequence[Raw]
    host: Options


class Hosting:
    """Make it, and `live`."""

    def __init__(self, folder: Folder, wishes: Wishes) -> None:
        self.folder, self.wishes = folder, wishes
        self.out: Ticker | None = Ticker() if wishes.lines else None
        self.changed = asyncio.Event()
        self._log_to()
        self.service = Service(folder, wishes.host, wishes.fsync)
        path = str(folder.path)
        options = "" if folder.path == data_folder().absolute() else f"--data {path}"
        self.access = Access("", path, f"{path}/{KUBECONFIG}", options)
        cluster = self.service.cluster
        self.scene = Scene(cluster.control_plane, self.service.clock.now, self.access, self.changed.set)
        cluster.add(Player(self.service.store, DEMOS, self._said))
        cluster.add(self.scene)

    def _log_to(self) -> None:
        """Where warnings go: to stderr, or to a file where the terminal is drawn on."""
        if self.out is None:
            path = self.folder.path / LOG
            handler: logging.Handler = RotatingFileHandler(path, maxBytes=LOG_BYTES, backupCount=1, delay=True)
        else:
            handler = _ByTicker(Ticker(2))
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)

    async def live(self) -> None:
        """Until somebody ends it."""
        loop = asyncio.get_running_loop()
        for one in stops():
            loop.add_signal_handler(one, self.service.stop)
        self.service.begin()
        self._fill()
        self._recall()
        self.service.decisions.listeners.append(self._decided)
        await self._listen()
        self.scene.access = self.access = self.access._replace(address=f"https://127.0.0.1:{self.service.port}")
        if self.out is not None:
            await self._in_lines(self.out)
        else:
            await self._on_screen()

    # The beginning

    def _fill(self) -> None:
        """What a new folder begins with; one that holds a cluster goes on with it."""
        store, wishes = self.service.store, self.wishes
        place = place_in(store.find(*DEMO))
        if place is not None or store.objects[NODE] or store.objects[CLUSTER_QUEUE]:
            self._say_ignored("" if place is None else place.demo)
            return
        for raw in wishes.objects:
            kind = kind_of(raw["apiVersion"], raw["kind"])
            assert kind is not None
            store.create(kind, raw, BY_USER)
        if not wishes.objects:
            begin(store, DEMOS[wishes.demo or FIRST])
        self.service.settle()

    def _say_ignored(self, demo: str) -> None:
        ignored = "--nodes" if self.wishes.objects else f"--demo {self.wishes.demo}" if self.wishes.demo else ""
        if ignored and self.wishes.demo != (demo or None):
            goes_on = f"{self.folder.path} holds a cluster already, which goes on"
            click.echo(f"note: {goes_on}: {ignored} is ignored; --data DIR begins another", err=True)

    def _recall(self) -> None:
        """The last decisions of the run before."""
        for one in self.service.log.decisions()[-RECALLED:]:
            body = json.loads(one.body)
            self.scene.tell(Record(**{**body, "domains": tuple(body["domains"])}))

    async def _listen(self) -> None:
        page = self._page
        if self.wishes.port:
            try:
                await self.service.serve(self.wishes.port, page)
            except OSError as error:
                raise _not_to_be_had(self.wishes.port, error) from error
            return
        last = _last_port(self.folder)
        try:
            await self.service.serve(last, page)
        except OSError as error:
            if not last or error.errno != EADDRINUSE:
                raise
            click.echo(f"note: port {last} of last time is taken; use the new kubeconfig", err=True)
            await self.service.serve(0, page)

    def _page(self) -> str:
        from ..report.page import page

        return page(self.scene.picture())

    # What is shown

    def _decided(self, record: Record) -> None:
        from ..report.lines import line_of

        told = self.scene.tell(record)
        if told is not None and self.out is not None:
            self.out.say(line_of(told))

    def _said(self, text: str) -> None:
        from ..report.lines import clock

        if self.out is not None:
            self.out.say(f"{clock(self.service.clock.now())}  demo       {text}")

    async def _in_lines(self, out: Ticker) -> None:
        out.say(f"closeknit {__version__} serves {self.access.address}, and keeps its state in {self.access.folder}")
        out.say(f"export KUBECONFIG={self.access.kubeconfig}")
        await self.service.run()
        if not out.end():
            os._exit(0)

    async def _on_screen(self) -> None:
        from .screen import Screen

        screen = Screen()
        asyncio.get_running_loop().add_signal_handler(signal.SIGWINCH, self.changed.set)
        drawing = asyncio.create_task(self._draw(screen))
        try:
            await self.service.run()
            screen.show(self.scene.picture())
        finally:
            drawing.cancel()
            ended = screen.end()
        if not ended:
            os._exit(0)

    async def _draw(self, screen: Screen) -> None:
        while True:
            await self.changed.wait()
            self.changed.clear()
            screen.show(self.scene.picture())
            await asyncio.sleep(REDRAW)


def stops() -> list[signal.Signals]:
    """Signals that ask to end, but for those that somebody has switched off, as nohup does."""
    every = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return [one for one in every if signal.getsignal(one) is not signal.SIG_IGN]


class _ByTicker(logging.Handler):
    def __init__(self, ticker: Ticker) -> None:
        super().__init__()
        self._ticker = ticker

    def emit(self, record: logging.LogRecord) -> None:
        self._ticker.say(self.format(record))


def _last_port(folder: Folder) -> int:
    """That of the kubeconfig which the last run left; 0 if there is none."""
    with suppress(OSError, ValueError, LookupError, TypeError):
        config = json.loads((folder.path / KUBECONFIG).read_text())
        return urlsplit(config["clusters"][0]["cluster"]["server"]).port or 0
    return 0


def _not_to_be_had(port: int, error: OSError) -> Exception:
    if error.errno == EADDRINUSE:
        return NoCluster(f"port {port} is in use; choose another by --port, or leave it out")
    if error.errno == EACCES:
        return refuse(f"{port} may not be used", "choose one above 1023", what="--port")
    return error
