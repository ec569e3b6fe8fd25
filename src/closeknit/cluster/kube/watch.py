"""Following a kind: everything that is there, then every change, for as long as somebody asks.

    list ──▶ Listed ──▶ watch ──▶ changes … ──▶ the connection ends ──▶ watch on from the last version seen
      ▲                   │
      └── 410: too long ago to go on ── what is gone since is told as deleted

Whoever follows can rely on one thing: after `Listed`, the changes so far add up to what the server had. A missed
deletion would be counted as room in use for ever, so nothing is ever assumed to be still there. Every new attempt
waits longer than the last, and by chance, until something comes.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any, Literal, NamedTuple

import msgspec

from ..errors import Expired, Refused
from ..kinds import Kind
from ..port import Change, ChangeType, Raw
from .answers import refusal_of
from .client import JSON, TABLE, Client, path
from .unreachable import Unreachable

IDLE = 70.0
"""Servers send a bookmark every minute."""
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 30.0


class Listed(NamedTuple):
    """All that was there has been told; `columns` name the cells of rows, if rows were asked for."""

    version: str
    columns: list[Raw]


class Event(NamedTuple):
    """What became of an object; `cells` is its row, if rows were asked for."""

    type: ChangeType
    object: Raw
    old: Raw | None = None
    cells: list[Any] | None = None

    def change(self, kind: Kind) -> Change:
        version = self.object["metadata"].get("resourceVersion", "")
        return Change(int(version) if version.isdigit() else 0, self.type, kind, self.object, self.old)


class _Line(msgspec.Struct):
    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]
    object: Raw


_line = msgspec.json.Decoder(_Line)


class Pauses:
    """How long to wait before the next attempt."""

    def __init__(
        self,
        chance: Callable[[], float] = random.random,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._chance, self._sleep = chance, sleep
        self._next = FIRST_PAUSE

    async def wait(self) -> None:
        """Between half of it and all of it, so that not everybody comes back at the same moment."""
        pause, self._next = self._next, min(LONGEST_PAUSE, self._next * 2)
        await self._sleep(pause * (0.5 + 0.5 * self._chance()))

    def reset(self) -> None:
        self._next = FIRST_PAUSE


class Follower:
    """`rows`: with the cells that `kubectl get` shows. What `selectors` leave out is as good as not there.

    A refusal or a missing connection is raised only as long as nothing was ever listed; afterwards `complain` is told,
    and it is tried again.
    """

    def __init__(
        self,
        client: Client,
        kind: Kind,
        namespace: str = "",
        *,
        rows: bool = False,
        selectors: Mapping[str, str] | None = None,
        pauses: Pauses | None = None,
        complain: Callable[[Exception], None] = lambda _: None,
    ) -> None:
        self.client, self.kind, self.rows, self.complain = client, kind, rows, complain
        self.known: dict[tuple[str, str], Raw] = {}
        self.version = ""
        self._where = path(kind, namespace)
        self._query: dict[str, str] = {**(selectors or {}), **({"includeObject": "Object"} if rows else {})}
        self._accept = TABLE if rows else JSON
        self._pauses = pauses or Pauses()

    async def events(self) -> AsyncGenerator[Event | Listed, None]:
        was_listed = False
        while True:
            try:
                if not self.version:
                    async for told in self._list():
                        yield told
                    was_listed = True
                async with aclosing(self._watch()) as stream:
                    async for event in stream:
                        self._pauses.reset()
                        yield event
            except Expired:
                self.version = ""
            except (Refused, Unreachable) as error:
                if not was_listed:
                    raise
                self.complain(error)
            await self._pauses.wait()

    async def _list(self) -> AsyncIterator[Event | Listed]:
        """All that is there, as far as it is news, and what is gone."""
        listing = await self.client.listing(self._where, self._accept, self._query)
        gone = dict(self.known)
        for item in listing.items:
            raw, cells = self._taken_apart(msgspec.json.decode(item))
            old = gone.pop(_place(raw), None)
            if old is None or old["metadata"].get("resourceVersion") != raw["metadata"].get("resourceVersion"):
                is_other = old is not None and old["metadata"].get("uid") != raw["metadata"].get("uid")
                if old is not None and is_other:
                    yield self._noted("DELETED", old)
                yield self._noted("ADDED" if old is None or is_other else "MODIFIED", raw, cells)
        for raw in gone.values():
            yield self._noted("DELETED", raw)
        self.version = listing.version
        yield Listed(listing.version, listing.columns)

    async def _watch(self) -> AsyncGenerator[Event, None]:
        """What happens from the version on that was seen last, until the connection ends."""
        query = {**self._query, "watch": "true", "allowWatchBookmarks": "true", "resourceVersion": self.version}
        async with aclosing(self.client.lines(self._where, query, self._accept, IDLE)) as lines:
            async for data in lines:
                line = self.client.read(_line, data)
                if line.type == "ERROR":
                    raise refusal_of(line.object)
                self.version = line.object["metadata"].get("resourceVersion") or self.version
                if line.type != "BOOKMARK":
                    item = line.object["rows"][0] if self.rows else line.object
                    yield self._noted(line.type, *self._taken_apart(item))

    def _taken_apart(self, item: Raw) -> tuple[Raw, list[Any] | None]:
        raw, cells = (item["object"], item["cells"]) if self.rows else (item, None)
        return {"apiVersion": self.kind.api_version, "kind": self.kind.kind, **raw}, cells

    def _noted(self, type_: ChangeType, raw: Raw, cells: list[Any] | None = None) -> Event:
        place = _place(raw)
        old = self.known.pop(place, None) if type_ == "DELETED" else self.known.get(place)
        if type_ != "DELETED":
            self.known[place] = raw
        return Event(type_, raw, old, cells)


def _place(raw: Raw) -> tuple[str, str]:
    meta = raw["metadata"]
    return meta.get("namespace", ""), meta["name"]
