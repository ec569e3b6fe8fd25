"""Reads a running cluster: lists every object that scheduling depends on, as other commands read them from files.

With `-w`, informers deliver the same objects as changes to a cluster cache, the one that the control plane uses.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from contextlib import aclosing
from time import monotonic, time

import click
import msgspec

from ..cluster import kinds
from ..cluster.errors import Forbidden, NotFound
from ..cluster.kinds import KINDS, Kind
from ..cluster.kube.client import Client, Listing, path
from ..cluster.kube.informer import Informer, InformerEvent, Listed
from ..cluster.port import Change
from ..cluster.volumes import VOLUME_KINDS
from ..model.escaping import escaped
from ..model.gates import Gates
from ..model.settings import Settings
from ..observe.cluster_cache import ClusterCache
from ..observe.manifests import KEPT, Manifests, listed_manifests
from .escaped_stream import unescaped
from .progress import Progress

AT_ONCE = 6
"""How many lists are read at once: each needs a connection, and most lists are short."""
READ = tuple(kind for kind in KINDS if (kind.group, kind.kind) in KEPT or kind in (kinds.NODE, kinds.POD))
"""The kinds that make up a whole cluster."""

OPTIONAL = {**dict.fromkeys(VOLUME_KINDS, "volumes"), kinds.NODE_TOPOLOGY: "NUMA zones"}
"""Kinds without which there still is an answer, and what is left out of it."""

Draw = Callable[[ClusterCache], Sequence[str]]

PAUSE = 0.5
"""Minimum number of seconds between redraws."""

_HOME, _CLEAR_LINE, _CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"


async def _all(client: Client, of: Sequence[Kind], unread: list[str] | None = None) -> list[Listing]:
    """List these kinds; a kind that is not served has no objects. `unread` gets those that may not be listed."""
    count, turns = 0, asyncio.Semaphore(AT_ONCE)
    with Progress("objects") as progress:

        def tick(more: int) -> None:
            nonlocal count
            count += more
            progress.tell(lambda: f"reading the cluster: {count:,} objects")

        async def one(kind: Kind) -> Listing:
            try:
                async with turns:
                    return await client.listing(path(kind), tick=tick)
            except NotFound:
                return Listing("", [], [])
            except Forbidden as error:
                if kind not in OPTIONAL or unread is None:
                    raise
                click.echo(f"note: {error}: {OPTIONAL[kind]} are not considered", err=True)
                unread.append(kind.kind)
                return Listing("", [], [])

        return list(await asyncio.gather(*map(one, of)))


def lost(error: Exception) -> None:
    click.echo(f"note: {error}; retrying", err=True)


async def manifests(client: Client, all_pods: bool = False) -> Manifests:
    """The whole cluster, as if it had just been saved to files."""
    unread: list[str] = []
    found = await _all(client, READ, unread)
    listed = [(kind.api_version, kind.kind, one.items) for kind, one in zip(READ, found, strict=True)]
    result = listed_manifests(listed, all_pods)
    result.newest, result.unread = time(), tuple(unread)
    return result


async def known(client: Client, of: Sequence[Kind], gates: Gates, settings: Settings) -> ClusterCache:
    """A cluster cache of these kinds, filled in their order."""
    result = ClusterCache(gates, settings, time, all_pods=True)
    for kind, listing in zip(of, await _all(client, of), strict=True):
        for data in listing.items:
            raw = {"apiVersion": kind.api_version, "kind": kind.kind, **msgspec.json.decode(data)}
            result.see(Change(0, "ADDED", kind, raw))
    return result


class Watching:
    """Draws the cluster cache, and redraws it after every change."""

    def __init__(
        self, client: Client, of: Sequence[Kind], knows: ClusterCache, draw: Callable[[ClusterCache], Sequence[str]]
    ) -> None:
        self.client, self.knows, self.draw = client, knows, draw
        self._queue: asyncio.Queue[tuple[Kind, InformerEvent | Listed]] = asyncio.Queue()
        self._missing: set[Kind] = set(of)
        self._of = of
        self._shown: list[str] = []

    async def run(self) -> None:
        """Run until cancelled; raise the first error."""
        try:
            async with asyncio.TaskGroup() as group:
                for kind in self._of:
                    group.create_task(self._follow(kind))
                group.create_task(self._show())
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None

    async def _follow(self, kind: Kind) -> None:
        try:
            async with aclosing(Informer(self.client, kind, complain=lost).events()) as events:
                async for event in events:
                    await self._queue.put((kind, event))
        except NotFound:  # the kind is not served, so it has no objects
            await self._queue.put((kind, Listed("", [])))

    async def _show(self) -> None:
        """Draw once every kind is listed, since objects refer to each other, then after changes."""
        early: dict[Kind, list[Change]] = {kind: [] for kind in self._of}
        while self._missing:
            kind, event = await self._queue.get()
            if isinstance(event, Listed):
                self._missing.discard(kind)
            else:
                early[kind].append(event.change(kind))
        for changes in early.values():
            for change in changes:
                self.knows.see(change)
        while True:
            begin = monotonic()
            self._picture()
            self._take(*await self._queue.get())
            await asyncio.sleep(max(0.0, PAUSE - (monotonic() - begin)))
            while not self._queue.empty():
                self._take(*self._queue.get_nowait())

    def _take(self, kind: Kind, event: InformerEvent | Listed) -> None:
        if not isinstance(event, Listed):
            self.knows.see(event.change(kind))

    def _picture(self) -> None:
        """Redraw in place on a terminal; elsewhere print each picture that differs from the last."""
        lines = [escaped(line) for line in self.draw(self.knows)]
        if lines != self._shown:
            draw_again(lines, is_first=not self._shown)
            self._shown = lines


def draw_again(lines: Sequence[str], is_first: bool) -> None:
    """Draw escaped lines over those before on a terminal; elsewhere print them below."""
    stream = unescaped(sys.stdout)
    if stream.isatty():
        start = "\x1b[2J" + _HOME if is_first else _HOME
        stream.write(start + "".join(f"{line}{_CLEAR_LINE}\n" for line in lines) + _CLEAR_BELOW)
    else:
        stream.write(("" if is_first else "\n") + "".join(f"{line}\n" for line in lines))
    stream.flush()
