"""One run of the embedded host for `closeknit up`, from opening the folder to the final message.

    folder ──▶ service ──▶ live state ──▶ live view │ lines
                  ▲ for a new folder: a demo, or the nodes from --nodes

Output is written by a separate thread, so a slow reader never blocks the host.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from errno import EACCES, EADDRINUSE
from fcntl import F_GETFL, fcntl
from logging.handlers import RotatingFileHandler
from shlex import quote
from urllib.parse import urlsplit

import click
import msgspec

from .. import __version__
from ..cluster.embedded.certificate import KEY, KUBECONFIG, PRIVATE, TOKEN, VIEW_TOKEN
from ..cluster.embedded.folder import LOCK, Folder, make_private, write_private
from ..cluster.embedded.store import WriteOptions as Writing
from ..cluster.kinds import CLUSTER_QUEUE, NODE, kind_of
from ..controller.decision_log import Record
from ..host.demo_place import KEY as DEMO
from ..host.demo_place import place_in
from ..host.demos import DEMOS
from ..host.demos.player import Player, begin
from ..host.embedded import EmbeddedOptions
from ..host.live_state import LiveState
from ..host.service import STATE, Service
from ..model.mistake import refuse
from ..report.picture import Access
from .own_nodes import OwnCluster
from .target import NoCluster, data_folder
from .ticker import Ticker

log = logging.getLogger(__name__)

FIRST = "first-steps"
"""The demo that an empty folder starts with."""
LOOPBACK = "127.0.0.1"
RECALLED = 20
LOG, LOG_BYTES = "log", 1_000_000
DUMP = "dump.json"
"""The file to which SIGUSR2 dumps the state of the control plane."""
SECRETS = (KEY, TOKEN, VIEW_TOKEN)
OWN_FILES = {one.partition(".")[0] for one in (*PRIVATE, STATE, LOCK, LOG, DUMP)}
"""The first part of the names of our files."""
BY_USER = Writing("closeknit", trusted=False)


@dataclass(frozen=True, slots=True)
class UpOptions:
    """The options of the command line; `own` is the cluster made from --nodes."""

    port: int
    fsync: bool
    lines: bool
    demo: str
    own: OwnCluster
    host: EmbeddedOptions


class Hosting:
    """One run of the embedded host: construct it and await `live`."""

    def __init__(self, folder: Folder, wishes: UpOptions) -> None:
        self.folder, self.wishes = folder, wishes
        self.out: Ticker | None = Ticker(like=sys.stdout) if wishes.lines else None
        self.changed = asyncio.Event()
        self._log_to()
        self.service = Service(folder, wishes.host, wishes.fsync)
        path = str(folder.path)
        options = "" if folder.path == data_folder().absolute() else f"--data {quote(path)}"
        self.access = Access("", path, quote(f"{path}/{KUBECONFIG}"), options)
        cluster = self.service.cluster
        self.live_state = LiveState(cluster, self.access, self.changed.set)
        cluster.add(Player(self.service.store, DEMOS, self._said))
        cluster.watch(self.live_state)

    def _log_to(self) -> None:
        """Log warnings to stderr, or to a file while the live view owns the terminal."""
        if self.out is None:
            path = self.folder.path / LOG
            handler: logging.Handler = RotatingFileHandler(path, maxBytes=LOG_BYTES, backupCount=1, delay=True)
        else:
            handler = _ByTicker(Ticker(2, like=sys.stderr))
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)

    async def live(self) -> None:
        """Run until stopped."""
        loop = asyncio.get_running_loop()
        for one in stops():
            loop.add_signal_handler(one, self.service.stop)
        loop.add_signal_handler(signal.SIGUSR2, self._dump)
        self.service.begin()
        self._tighten()
        await self._listen()
        self._fill()
        self._recall()
        self._say_if_readable()
        self.service.decisions.listeners.append(self._decided)
        self.live_state.access = self.access = self.access._replace(address=f"https://{LOOPBACK}:{self.service.port}")
        if self.out is not None:
            await self._in_lines(self.out)
        else:
            await self._on_screen()

    # Startup

    def _fill(self) -> None:
        """Create the first objects of a new folder; a folder that holds a cluster continues with it."""
        store, wishes = self.service.store, self.wishes
        place = place_in(store.find(*DEMO))
        if place is not None or store.objects[NODE] or store.objects[CLUSTER_QUEUE]:
            self._say_ignored("" if place is None else place.demo)
            return
        for note in wishes.own.notes:
            click.echo(f"note: {note}", err=True)
        for raw in wishes.own.objects:
            kind = kind_of(raw["apiVersion"], raw["kind"])
            assert kind is not None
            store.create(kind, raw, BY_USER)
        if not wishes.own.objects:
            begin(store, DEMOS[wishes.demo or FIRST])
        self.service.settle()

    def _say_ignored(self, demo: str) -> None:
        ignored = "--nodes" if self.wishes.own.objects else f"--demo {self.wishes.demo}" if self.wishes.demo else ""
        if ignored and self.wishes.demo != (demo or None):
            continued = f"continuing the cluster in {self.folder.path}"
            self._note(f"{continued}: {ignored} is ignored; --data DIR starts a new one")

    def _tighten(self) -> None:
        """Take away other users' permissions on tokens, keys and state."""
        files = [self.folder.path / one for one in (*PRIVATE, STATE, f"{STATE}-wal", f"{STATE}-shm")]
        loose = [one.name for one in make_private(files)]
        if loose:
            remedy = f"if others used it, delete {' and '.join(SECRETS)}, and the next start issues new ones"
            self._note(f"other users could open {', '.join(loose)} in {self.folder.path}; now they cannot; {remedy}")

    def _say_if_readable(self) -> None:
        path = self.folder.path
        mode = path.stat().st_mode & 0o777
        if mode & 0o077:
            is_shared = any(one.name.partition(".")[0] not in OWN_FILES for one in path.iterdir())
            remedy = "a folder of its own with --data" if is_shared else "chmod 700"
            unread = "though they cannot read its tokens, key and state"
            self._note(f"other users can list {path} ({mode:04o}), {unread}; {remedy} prevents that")

    def _note(self, text: str) -> None:
        """Print a note to stderr and in the live view, which would cover stderr."""
        click.echo(f"note: {text}", err=True)
        self.live_state.notes = (*self.live_state.notes, text)

    def _recall(self) -> None:
        """Show the last decisions of the previous run."""
        for one in self.service.log.decisions()[-RECALLED:]:
            body = json.loads(one.body)
            self.live_state.add(Record(**{**body, "domains": tuple(body["domains"])}))

    async def _listen(self) -> None:
        page = self._page
        if self.wishes.port:
            try:
                await self.service.serve(self.wishes.port, page)
            except OSError as error:
                raise _port_error(self.wishes.port, error) from error
            return
        last = _last_port(self.folder)
        try:
            await self.service.serve(last, page)
        except OSError as error:
            if not last or error.errno != EADDRINUSE:
                raise
            self._note(f"port {last} of the previous run is in use; use the new kubeconfig")
            await self.service.serve(0, page)

    def _page(self) -> str:
        from ..report.page import page

        return page(self.live_state.picture())

    def _dump(self) -> None:
        """Write the state to a file, since the live view owns stdout."""
        try:
            write_private(self.folder.path / DUMP, msgspec.json.encode(self.service.dump()))
        except OSError as error:
            log.warning("SIGUSR2: cannot write %s: %s", self.folder.path / DUMP, error.strerror)

    # Output

    def _decided(self, record: Record) -> None:
        from ..report.lines import line_of

        line = self.live_state.add(record)
        if line is not None and self.out is not None:
            self.out.say(line_of(line))

    def _said(self, text: str) -> None:
        from ..report.lines import clock

        if self.out is not None:
            self.out.say(f"{clock(self.service.clock.now())}  demo       {self.access.typed(text)}")

    async def _in_lines(self, out: Ticker) -> None:
        out.say(f"closeknit {__version__} serves {self.access.address} and keeps its state in {self.access.folder}")
        out.say(f"export KUBECONFIG={self.access.kubeconfig}")
        _when_unread(self.service.stop)
        await self.service.run()
        out.say(self._farewell())
        if not out.end():
            os._exit(0)

    async def _on_screen(self) -> None:
        from .drawing import LiveDisplay

        drawing = LiveDisplay(self.live_state.picture, self.changed)
        task = asyncio.create_task(drawing.run())
        words, ended = "", False
        try:
            await self.service.run()
            words = self._farewell()
        finally:
            task.cancel()
            ended = drawing.end(words)
        if not ended:
            os._exit(0)

    def _farewell(self) -> str:
        again = f"closeknit up {self.access.options}".rstrip()
        return f"stopped; the cluster is saved in {self.access.folder}; continue with: {again}"


def _when_unread(stop: Callable[[], None]) -> None:
    """Stop when the reader of a pipe, such as `| head`, closes it."""
    way = fcntl(1, F_GETFL) & os.O_ACCMODE
    if stat.S_ISFIFO(os.fstat(1).st_mode) and way == os.O_WRONLY:
        asyncio.get_running_loop().add_reader(1, _unread, stop)


def _unread(stop: Callable[[], None]) -> None:
    asyncio.get_running_loop().remove_reader(1)
    stop()


def stops() -> list[signal.Signals]:
    """The stop signals, except those that are ignored, as under nohup."""
    every = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return [one for one in every if signal.getsignal(one) is not signal.SIG_IGN]


class _ByTicker(logging.Handler):
    def __init__(self, ticker: Ticker) -> None:
        super().__init__()
        self._ticker = ticker

    def emit(self, record: logging.LogRecord) -> None:
        self._ticker.say(self.format(record))


def _last_port(folder: Folder) -> int:
    """The port in the previous run's kubeconfig; 0 if there is none."""
    with suppress(OSError, ValueError, LookupError, TypeError):
        config = json.loads((folder.path / KUBECONFIG).read_text())
        return urlsplit(config["clusters"][0]["cluster"]["server"]).port or 0
    return 0


def check_port(port: int) -> None:
    """Raise if the port cannot be used, before a folder is created for a host that could not start."""
    try:
        with socket.create_server((LOOPBACK, port)):
            return
    except OSError as error:
        raise _port_error(port, error) from error


def _port_error(port: int, error: OSError) -> Exception:
    if error.errno == EADDRINUSE:
        return NoCluster(f"port {port} is in use; choose another --port, or omit it")
    if error.errno == EACCES:
        return refuse(f"no permission to use port {port}", "choose one above 1023", what="--port")
    return error
