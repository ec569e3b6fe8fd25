"""An informer: list a kind, then watch it, and deliver every change.

    list ──▶ Listed ──▶ watch ──▶ changes … ──▶ the connection ends ──▶ watch again from the last version seen
      ▲                   │
      └── 410: the version has expired ── objects that are gone since are delivered as DELETED

The guarantee: after `Listed`, the changes so far add up to what the server had. A missed deletion would count as used
capacity forever, so no object is assumed to still exist after a new list. Attempts are made with exponential backoff
and jitter until an event arrives.

A caller that also writes need not wait for the watch to show its write: `answered` turns the server's response into a
change, and older events that the watch still delivers are dropped.
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
from .last_seen import Bare, InformerEvent, LastSeen, LastSeenObjects, Place, Project, SeenMeta, number
from .pauses import Pauses
from .request import JSON, TABLE, path
from .retries import Failure, Retries
from .unreachable import Unreachable

__all__ = ["Informer", "InformerEvent", "Listed"]

IDLE = 70.0
"""Seconds without an event after which a watch counts as dead; servers send a bookmark every minute."""


class Listed(NamedTuple):
    """The list has been delivered completely; `columns` name the cells of rows, if rows were requested."""

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


def _whole(data: bytes | Raw) -> Raw:
    return data if isinstance(data, dict) else _tree.decode(data)


class Informer:
    """An informer for one kind. `rows`: with the cells that `kubectl get` shows. `selectors` limit what it sees.

    `project` decides what is delivered and stored of an object, so that pods of other schedulers use little memory.
    With `keeps_objects` off only names, uids and versions are stored: changes come without the old object, and a
    deletion found by a new list comes with its metadata alone.

    An error is raised only before the first complete list; afterwards it is passed to `complain` and retried. Forbidden
    is always raised: what was delivered is no longer kept up to date, and the next `events` begins with a new list.

    `retries` are those of lists, else the client's; `begun` is called whenever a watch is established.
    """

    def __init__(
        self,
        client: Client,
        kind: Kind,
        namespace: str = "",
        *,
        rows: bool = False,
        selectors: Mapping[str, str] | None = None,
        project: Project = _whole,
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
        """The version from which the next watch starts; empty if a list is needed first."""
        self._was_silent = False
        """Whether the last watch delivered no event at all."""
        self._told = LastSeenObjects(kind, project, keeps_objects)
        self._takes_answers = not selectors and not rows
        self._where, self._namespace = path(kind, namespace), namespace
        self._query: dict[str, str] = {**(selectors or {}), **({"includeObject": "Object"} if rows else {})}
        self._accept, self._idle = TABLE if rows else JSON, idle
        self._pauses = pauses or Pauses()

    @property
    def known(self) -> Mapping[Place, LastSeen]:
        return self._told.known

    def forget(self) -> list[InformerEvent]:
        """The deletion of every known object, for a kind that is no longer served."""
        self.version = ""
        return [self._told.gone(place) for place in list(self.known)]

    async def events(self) -> AsyncGenerator[InformerEvent | Listed, None]:
        was_listed, asked_to_wait = False, 0.0
        while True:
            try:
                if not self.version:
                    async for told in self._list():
                        yield told
                    was_listed = True
                elif self._was_silent and await self._was_restored():
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

    def answered(self, raw: Raw) -> InformerEvent | None:
        """The response to one of our writes as a change, if the watch has not reached its version.

        None if it has: the watch has then delivered this state or a later one, perhaps a deletion. None also where the
        watch has to come first: another object of the same name is still known, selectors would have to be evaluated,
        or versions cannot be compared. And None for an object of a namespace that is not watched.
        """
        is_elsewhere = bool(self._namespace) and (raw.get("metadata") or {}).get("namespace") != self._namespace
        return self._told.answered(raw) if self._takes_answers and not is_elsewhere else None

    # The stream

    async def _list(self) -> AsyncIterator[InformerEvent | Listed]:
        """List all objects; yields those that are new or changed, and the deletions since the last list."""
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

    async def _was_restored(self) -> bool:
        """Whether the server's versions are behind ours: then a watch shows nothing until they have caught up."""
        async with aclosing(self.client.pages(self._where, JSON, {}, 1, self.retries)) as pages:
            async for page in pages:
                return number(page.version) < number(self.version)
        return False

    async def _watch(self) -> AsyncGenerator[InformerEvent, None]:
        """Watch from the last version seen until the connection ends."""
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

    def _read(self, type_: ChangeType, meta: SeenMeta, item: bytes) -> Iterator[InformerEvent]:
        if not self.rows:
            return self._told.news(type_, meta, item, None)
        row = self.client.read(_table, item).rows[0]
        return self._told.news(type_, self.client.read(_bare, row.object).metadata, row.object, row.cells)

    def _taken_apart(self, item: bytes) -> tuple[bytes, list[Any] | None]:
        if not self.rows:
            return item, None
        row = self.client.read(_row, item)
        return row.object, row.cells
