"""Following a kind: everything that is there, then every change, for as long as somebody asks.

    list ──▶ Listed ──▶ watch ──▶ changes … ──▶ the connection ends ──▶ watch on from the last version seen
      ▲                   │
      └── 410: too long ago to go on ── what is gone since is told as deleted

Whoever follows can rely on one thing: after `Listed`, the changes so far add up to what the server had. A missed
deletion would be counted as room in use for ever, so nothing is ever assumed to be still there. Every new attempt
waits longer than the last, and by chance, until something comes.

Whoever also writes need not wait for the stream to show it: `answered` takes the server's answer to a write as the
change that it is, and what the stream still shows from before is passed over.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing
from typing import Any, Literal, NamedTuple

import msgspec

from ..errors import Expired, Forbidden, Refused
from ..kinds import Kind
from ..port import ChangeType, Raw
from .answers import refusal_of
from .client import Client
from .pauses import Pauses
from .request import JSON, TABLE, path
from .retries import Failure, Retries
from .told import Bare, Event, Known, Meta, Place, Project, Told, number
from .unreachable import Unreachable

__all__ = ["Event", "Follower", "Listed"]

IDLE = 70.0
"""Servers send a bookmark every minute."""


class Listed(NamedTuple):
    """All that was there has been told; `columns` name the cells of rows, if rows were asked for."""

    version: str
    columns: list[Raw]


class _Row(msgspec.Struct):
    object: msgspec.Raw
    cells: list[Any]


class _Table(msgspec.Struct):
    rows: list[_Row]


class _Line(msgspec.Struct):
    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]
    object: msgspec.Raw


_line = msgspec.json.Decoder(_Line)
_bare = msgspec.json.Decoder(Bare)
_row = msgspec.json.Decoder(_Row)
_table = msgspec.json.Decoder(_Table)
_tree = msgspec.json.Decoder(Raw)


class Follower:
    """`rows`: with the cells that `kubectl get` shows. What `selectors` leave out is as good as not there.

    `project` makes of an object what is told and kept of it, so that of a hundred thousand pods those of others can be
    small. With `keeps_objects` off only names, uids and versions are kept: changes come without what was before, and
    what is found to be gone is told as its metadata alone.

    A refusal or a missing connection is raised only as long as nothing was ever listed; afterwards `complain` is told,
    and it is tried again. What is forbidden is raised whenever it is: nothing that was told is kept true any more, and
    the next time everything is listed anew.

    `retries` are those of lists, else the client's; `begun` is called whenever a watch stands.
    """

    def __init__(
        self,
        client: Client,
        kind: Kind,
        namespace: str = "",
        *,
        rows: bool = False,
        selectors: Mapping[str, str] | None = None,
        project: Project = _tree.decode,
        keeps_objects: bool = True,
        idle: float = IDLE,
        pauses: Pauses | None = None,
        complain: Callable[[Failure], None] = lambda _: None,
        retries: Retries | None = None,
        begun: Callable[[], None] = lambda: None,
    ) -> None:
        self.client, self.kind, self.rows, self.complain = client, kind, rows, complain
        self.retries, self.begun = retries, begun
        self.version = ""
        """From here the next watch goes on; empty if everything has to be listed."""
        self._was_silent = False
        """Whether the last watch showed nothing at all."""
        self._told = Told(kind, project, keeps_objects)
        self._takes_answers = not selectors and not rows
        self._where, self._namespace = path(kind, namespace), namespace
        self._query: dict[str, str] = {**(selectors or {}), **({"includeObject": "Object"} if rows else {})}
        self._accept, self._idle = TABLE if rows else JSON, idle
        self._pauses = pauses or Pauses()

    @property
    def known(self) -> Mapping[Place, Known]:
        return self._told.known

    def forget(self) -> list[Event]:
        """The kind is served no more: everything that was known of it is gone."""
        self.version = ""
        return [self._told.gone(place) for place in list(self.known)]

    async def events(self) -> AsyncGenerator[Event | Listed, None]:
        was_listed, asked_to_wait = False, 0.0
        while True:
            try:
                if not self.version:
                    async for told in self._list():
                        yield told
                    was_listed = True
                elif self._was_silent and await self._has_begun_anew():
                    raise Expired("the server was restored from a backup")
                async with aclosing(self._watch()) as stream:
                    async for event in stream:
                        yield event
            except Expired:
                self.version = ""
            except Forbidden:
                self.version = ""
                raise
            except (Refused, Unreachable) as error:
                if not was_listed:
                    raise
                asked_to_wait = float(getattr(error, "retry_after", 0) or 0)
                self.complain(error)
            await self._pauses.wait(asked_to_wait)
            asked_to_wait = 0.0

    def answered(self, raw: Raw) -> Event | None:
        """The answer to a write of ours as a change, if the stream has not come that far.

        Nothing if it has: then it has shown this or something later, its deletion perhaps. Nothing either where the
        stream has to come first: the place is still taken by another object of the same name, what selectors would say
        is not known here, or versions cannot be compared. And nothing if it is about a namespace that nobody follows.
        """
        is_elsewhere = bool(self._namespace) and (raw.get("metadata") or {}).get("namespace") != self._namespace
        return self._told.answered(raw) if self._takes_answers and not is_elsewhere else None

    # The stream

    async def _list(self) -> AsyncIterator[Event | Listed]:
        """All that is there, as far as it is news, and what is gone."""
        gone: dict[Place, None] | None = None
        version, columns = "", list[Raw]()
        async with aclosing(self.client.pages(self._where, self._accept, self._query, retries=self.retries)) as pages:
            async for page in pages:
                if gone is None:
                    gone = self._told.begun(page.version)
                version, columns = page.version, columns or page.columns
                for item in page.items:
                    data, cells = self._taken_apart(item)
                    meta = self.client.read(_bare, data).metadata
                    gone.pop(meta.place, None)
                    known = self.known.get(meta.place)
                    if known is None or known.version != meta.version:
                        for event in self._told.news("MODIFIED", meta, data, cells):
                            yield event
        for place in gone or ():
            if place in self.known:
                yield self._told.gone(place)
        self.version = version
        yield Listed(version, columns)

    async def _has_begun_anew(self) -> bool:
        """Whether the server's versions have fallen behind ours: then it shows nothing until they have caught up."""
        async with aclosing(self.client.pages(self._where, JSON, {}, 1, self.retries)) as pages:
            async for page in pages:
                return number(page.version) < number(self.version)
        return False

    async def _watch(self) -> AsyncGenerator[Event, None]:
        """What happens from the version on that was seen last, until the connection ends."""
        self._was_silent = True
        query = {**self._query, "watch": "true", "allowWatchBookmarks": "true", "resourceVersion": self.version}
        async with aclosing(self.client.lines(self._where, query, self._accept, self._idle, self.begun)) as lines:
            async for data in lines:
                line = self.client.read(_line, data)
                if line.type == "ERROR":
                    raise refusal_of(self.client.read(_tree, line.object))
                self._pauses.reset()
                self._was_silent = False
                meta = self.client.read(_bare, line.object).metadata
                self.version = meta.version or self.version
                self._told.reached(meta.version)
                if line.type != "BOOKMARK":
                    for event in self._read(line.type, meta, line.object):
                        yield event

    def _read(self, type_: ChangeType, meta: Meta, item: bytes) -> Iterator[Event]:
        if not self.rows:
            return self._told.news(type_, meta, item, None)
        row = self.client.read(_table, item).rows[0]
        return self._told.news(type_, self.client.read(_bare, row.object).metadata, row.object, row.cells)

    def _taken_apart(self, item: bytes) -> tuple[bytes, list[Any] | None]:
        if not self.rows:
            return item, None
        row = self.client.read(_row, item)
        return row.object, row.cells
