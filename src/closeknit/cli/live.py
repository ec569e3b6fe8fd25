"""A running cluster as the other commands read one from files: every object that scheduling goes by, listed once.

Where something is to be followed, the same objects come as changes, and what is known of the cluster is kept up to date
by the code that the control plane itself runs on.
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
from ..cluster.errors import NotFound
from ..cluster.kinds import KINDS, Kind
from ..cluster.kube.client import Client, Listing, path
from ..cluster.kube.watch import Event, Follower, Listed
from ..cluster.port import Change
from ..model.gates import Gates
from ..model.settings import Settings
from ..observe.known import Known
from ..observe.manifests import KEPT, Manifests, listed_manifests
from .progress import Progress

READ = tuple(kind for kind in KINDS if (kind.group, kind.kind) in KEPT or kind in (kinds.NODE, kinds.POD))
"""What a whole cluster is made of."""

Draw = Callable[[Known], Sequence[str]]

PAUSE = 0.5
"""Seconds between two pictures, however much happens."""

_HOME, _CLEAR_LINE, _CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"


async def _all(client: Client, of: Sequence[Kind]) -> list[Listing]:
    """Of each kind what there is; nothing where it is not served."""
    count = 0
    with Progress("objects") as progress:

        def tick(more: int) -> None:
            nonlocal count
            count += more
            progress.tell(lambda: f"reading the cluster: {count:,} objects")

        async def one(kind: Kind) -> Listing:
            try:
                return await client.listing(path(kind), tick=tick)
            except NotFound:
                return Listing("", [], [])

        return list(await asyncio.gather(*map(one, of)))


def lost(error: Exception) -> None:
    click.echo(f"note: {error}; trying again", err=True)


async def manifests(client: Client, all_pods: bool = False) -> Manifests:
    """All of it, as if it had been written down this moment."""
    found = await _all(client, READ)
    listed = [(kind.api_version, kind.kind, one.items) for kind, one in zip(READ, found, strict=True)]
    result = listed_manifests(listed, all_pods)
    result.newest = time()
    return result


async def known(client: Client, of: Sequence[Kind], gates: Gates, settings: Settings) -> Known:
    """What there is of these kinds, in their order."""
    result = Known(gates, settings, time, all_pods=True)
    for kind, listing in zip(of, await _all(client, of), strict=True):
        for data in listing.items:
            raw = {"apiVersion": kind.api_version, "kind": kind.kind, **msgspec.json.decode(data)}
            result.see(Change(0, "ADDED", kind, raw))
    return result


class Watching:
    """Shows a picture of what is known, and a new one whenever something has changed."""

    def __init__(
        self, client: Client, of: Sequence[Kind], knows: Known, draw: Callable[[Known], Sequence[str]]
    ) -> None:
        self.client, self.knows, self.draw = client, knows, draw
        self._queue: asyncio.Queue[tuple[Kind, Event | Listed]] = asyncio.Queue()
        self._missing: set[Kind] = set(of)
        self._of = of
        self._shown: list[str] = []

    async def run(self) -> None:
        """Until it is cancelled; whatever goes wrong first is raised."""
        try:
            async with asyncio.TaskGroup() as group:
                for kind in self._of:
                    group.create_task(self._follow(kind))
                group.create_task(self._show())
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None

    async def _follow(self, kind: Kind) -> None:
        try:
            async with aclosing(Follower(self.client, kind, complain=lost).events()) as events:
                async for event in events:
                    await self._queue.put((kind, event))
        except NotFound:  # not served here: then there is nothing of it
            await self._queue.put((kind, Listed("", [])))

    async def _show(self) -> None:
        """Objects refer to each other, so nothing is drawn before everything was there once."""
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

    def _take(self, kind: Kind, event: Event | Listed) -> None:
        if not isinstance(event, Listed):
            self.knows.see(event.change(kind))

    def _picture(self) -> None:
        """In place on a terminal; elsewhere a picture after the other, as far as they differ."""
        lines = list(self.draw(self.knows))
        if lines == self._shown:
            return
        stream = sys.stdout
        if stream.isatty():
            start = _HOME if self._shown else "\x1b[2J" + _HOME
            stream.write(start + "".join(f"{line}{_CLEAR_LINE}\n" for line in lines) + _CLEAR_BELOW)
        else:
            stream.write(("\n" if self._shown else "") + "".join(f"{line}\n" for line in lines))
        stream.flush()
        self._shown = lines
