"""Watches: a change is matched and encoded once for all watchers of the same subject, and written to each of them.

Watchers of the same kind, namespace, selection and form are a group. After a commit every group gets its changes as one
chunk of bytes. The server does not wait for a watcher: one that does not read until its buffer is full is disconnected,
and can resume from the version that it saw last. All watchers together have one budget for data that is not read;
beyond it those that are furthest behind are disconnected.

    commit ──▶ publish ──▶ group: match, encode, join ──▶ watcher, watcher, …

A new watcher first gets current objects or missed changes at its own pace, and joins its group when nothing is left.
"""

from __future__ import annotations

from asyncio import Future, Transport, get_running_loop
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import msgspec

from ...errors import Expired, Refused
from ...kinds import Kind
from ...port import Change, Raw
from ..store import Store
from . import forms
from .forms import ResponseForm
from .selectors import Selection

FULL = 8 << 20
"""How many bytes may stay unread before a watcher is disconnected."""
BUDGET = 64 << 20
"""How many bytes may stay unread by all watchers together."""
SLICE = 1 << 16
"""How many bytes are written at once: TLS passes the first write to the socket's buffer, which is not counted."""

EventType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]
_Memo = dict[tuple[str, str, ResponseForm], bytes]


class WatchEvent(NamedTuple):
    type: EventType
    object: Raw


class WatchSubject(NamedTuple):
    """What a group watches."""

    selection: Selection
    form: ResponseForm


class Watcher:
    """One connection. `over` is done when the watch has ended."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.over: Future[None] = get_running_loop().create_future()
        self.is_begun = False

    def send(self, chunk: bytes) -> None:
        if self.transport.is_closing():
            self.end()
            return
        if len(chunk) <= SLICE:
            self.transport.write(chunk)
        else:
            view = memoryview(chunk)
            for start in range(0, len(chunk), SLICE):
                self.transport.write(view[start : start + SLICE])
        if self.unread > FULL:
            self.drop()

    @property
    def unread(self) -> int:
        return self.transport.get_write_buffer_size()

    def drop(self) -> None:
        """Disconnect a watcher that does not read."""
        self.transport.abort()
        self.end()

    def end(self) -> None:
        if not self.over.done():
            self.over.set_result(None)


class _Group:
    def __init__(self, subject: WatchSubject) -> None:
        self.subject = subject
        self.watchers: dict[Watcher, None] = {}
        self.events: list[WatchEvent] = []


class Hub:
    """All watchers. `seen` is the version up to which changes were published."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.seen = store.version
        self._groups: dict[WatchSubject, _Group] = {}
        self._by_place: dict[tuple[Kind, str, str], dict[_Group, None]] = {}
        self._unread: dict[Watcher, int] = {}

    @property
    def is_watched(self) -> bool:
        return bool(self._groups)

    def join(self, subject: WatchSubject, watcher: Watcher) -> None:
        group = self._groups.get(subject)
        if group is None:
            group = self._groups[subject] = _Group(subject)
            self._by_place.setdefault(_place(subject.selection), {})[group] = None
        group.watchers[watcher] = None

    def leave(self, subject: WatchSubject, watcher: Watcher) -> None:
        """Remove a watcher from its group; harmless if it is not in it."""
        self._unread.pop(watcher, None)
        group = self._groups.get(subject)
        if group is None:
            return
        group.watchers.pop(watcher, None)
        if not group.watchers:
            del self._groups[subject]
            place = _place(subject.selection)
            del self._by_place[place][group]
            if not self._by_place[place]:
                del self._by_place[place]

    def publish(self) -> None:
        """Send the changes since the last call to all watchers. Only call this after a commit."""
        if self.seen == self.store.version:
            return
        after, self.seen = self.seen, self.store.version
        if not self._groups:
            return
        try:
            changes = self.store.changes(after)
        except Expired as expired:
            self._end_all(expired)
            return
        concerned: dict[_Group, None] = {}
        for change in changes:
            for group in self._groups_at(change):
                event = transition(group.subject.selection, change)
                if event is not None:
                    group.events.append(event)
                    concerned[group] = None
        memo: _Memo = {}
        for group in concerned:
            self._send(group, memo)

    def deliver(self, watcher: Watcher, chunk: bytes) -> None:
        """Send to one watcher; if all together leave too much unread, disconnect those that are furthest behind."""
        watcher.send(chunk)
        if watcher.unread:
            self._unread[watcher] = watcher.unread
            if sum(self._unread.values()) > BUDGET:
                self._drop_furthest_behind()
        else:
            self._unread.pop(watcher, None)

    def _drop_furthest_behind(self) -> None:
        self._unread = {one: one.unread for one in self._unread if one.unread}
        total = sum(self._unread.values())
        for one in sorted(self._unread, key=self._unread.__getitem__, reverse=True):
            if total <= BUDGET:
                return
            total -= self._unread.pop(one)
            one.drop()

    def end(self) -> None:
        """End all watches, because the server stops."""
        for group in list(self._groups.values()):
            for watcher in group.watchers:
                watcher.end()

    def _groups_at(self, change: Change) -> Iterator[_Group]:
        kind, namespace, name = change.key
        places = [(kind, "", name), (kind, "", "")]
        if namespace:
            places += (kind, namespace, name), (kind, namespace, "")
        for place in places:
            yield from self._by_place.get(place, ())

    def _send(self, group: _Group, memo: _Memo) -> None:
        subject, events, group.events = group.subject, group.events, []
        now = self.store.now()
        chunk = framed(b"".join(_line(subject, event, now, memo) for event in events))
        first: bytes | None = None
        for watcher in list(group.watchers):
            if subject.form.shape == "table" and not watcher.is_begun:
                first = first or framed(lines(subject, events, now, is_first=True))
                self.deliver(watcher, first)
            else:
                self.deliver(watcher, chunk)
            watcher.is_begun = True

    def _end_all(self, why: Refused) -> None:
        chunk = framed(failure(why))
        for group in list(self._groups.values()):
            for watcher in group.watchers:
                self.deliver(watcher, chunk)
                watcher.end()


def _place(selection: Selection) -> tuple[Kind, str, str]:
    """The key under which a group is found for a change; an empty namespace or name means any."""
    return selection.kind, selection.namespace, selection.name


def transition(selection: Selection, change: Change) -> WatchEvent | None:
    """The event for a watcher of the selection: an object that enters it is ADDED, one that leaves it DELETED."""
    is_in = change.type != "DELETED" and selection.matches(change.object)
    was_in = change.old is not None and selection.matches(change.old)
    if is_in:
        return WatchEvent("MODIFIED" if was_in else "ADDED", change.object)
    if change.old is None or not was_in:
        return None
    if change.type == "DELETED":
        return WatchEvent("DELETED", change.object)
    last = {**change.old["metadata"], "resourceVersion": str(change.version)}
    return WatchEvent("DELETED", {**change.old, "metadata": last})


def lines(subject: WatchSubject, events: Iterable[WatchEvent], now: float, is_first: bool) -> bytes:
    """Events as they are sent; a table has its columns only in the first event of a watcher."""
    result = []
    for event in events:
        result.append(_line(subject, event, now, None, is_first))
        is_first = False
    return b"".join(result)


def bookmark(subject: WatchSubject, version: int, now: float, annotations: Raw | None = None) -> bytes:
    """A bookmark: the watcher has seen everything up to this version."""
    kind, meta = subject.selection.kind, {"resourceVersion": str(version)}
    bare = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": meta}
    if annotations:
        bare["metadata"] = {**meta, "annotations": annotations}
    return _line(subject, WatchEvent("BOOKMARK", bare), now)


def failure(why: Refused) -> bytes:
    return _written("ERROR", why.status())


def framed(data: bytes) -> bytes:
    """The data as one HTTP/1.1 chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def _line(
    subject: WatchSubject, event: WatchEvent, now: float, memo: _Memo | None = None, is_first: bool = False
) -> bytes:
    form, raw = subject.form, event.object
    if memo is None:
        return _written(event.type, _shown(subject.selection.kind, raw, form, now, is_first))
    key = event.type, raw["metadata"]["resourceVersion"], form
    line = memo.get(key)
    if line is None:
        line = memo[key] = _written(event.type, _shown(subject.selection.kind, raw, form, now, is_first))
    return line


def _shown(kind: Kind, raw: Raw, form: ResponseForm, now: float, has_columns: bool) -> Raw:
    if form.shape == "table":
        meta = {"resourceVersion": raw["metadata"].get("resourceVersion", "")}
        return forms.table(kind, [raw], meta, form, now, has_columns)
    return forms.metadata(raw, form) if form.shape == "metadata" else raw


def _written(event: EventType, raw: Raw) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (event.encode(), msgspec.json.encode(raw))
