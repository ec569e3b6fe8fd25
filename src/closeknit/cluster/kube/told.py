"""What was told of each object last, and what is news.

Changes come on two ways: in the server's order by the stream, and as answers to writes of ours, which may be ahead of
it. This is where the two become one: every event that leaves here fits those before it.

    stream   ──▶ news      ─┐
    answers  ──▶ answered  ─┼──▶ projection ──▶ ADDED, MODIFIED, DELETED
    new list ──▶ begun, gone┘
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from ..kinds import Kind
from ..port import Change, ChangeType, Raw

Place = tuple[str, str]
"""Namespace and name."""

Project = Callable[[bytes], Raw | None]
"""What to keep of an object, which is given as JSON; None: it is as good as not there."""


class Event(NamedTuple):
    """What became of an object; `cells` is its row, if rows were asked for."""

    type: ChangeType
    object: Raw
    old: Raw | None = None
    cells: list[Any] | None = None

    def change(self, kind: Kind) -> Change:
        return Change(number(self.object["metadata"].get("resourceVersion")), self.type, kind, self.object, self.old)


class Known(NamedTuple):
    """What was told of an object last; `object` is None where only its identity is kept."""

    uid: str
    version: str
    object: Raw | None


class Meta(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    version: str = msgspec.field(name="resourceVersion", default="")

    @property
    def place(self) -> Place:
        return self.namespace, self.name


class Bare(msgspec.Struct):
    """An object of which only the names are read."""

    metadata: Meta = msgspec.field(default_factory=Meta)


_bare = msgspec.json.Decoder(Bare)


class Told:
    """`shown` is the newest version that the server has told us of."""

    def __init__(self, kind: Kind, project: Project, keeps_objects: bool) -> None:
        self.kind, self.project, self.keeps_objects = kind, project, keeps_objects
        self.known: dict[Place, Known] = {}
        self.shown = 0
        self._ahead: dict[Place, int] = {}
        """Versions that we know from answers, and that the stream has yet to come to."""

    def reached(self, version: str) -> None:
        """The stream has come to this."""
        self.shown = max(self.shown, number(version))

    def begun(self, version: str) -> dict[Place, None]:
        """A new list comes. From now on answers count only if they are newer. What may be gone: all but those."""
        self.shown = number(version)
        self._ahead = {place: at for place, at in self._ahead.items() if at > self.shown}
        return dict.fromkeys(place for place in self.known if place not in self._ahead)

    def answered(self, raw: Raw) -> Event | None:
        meta = raw.get("metadata") or {}
        version, place = number(meta.get("resourceVersion")), (meta.get("namespace", ""), meta.get("name", ""))
        if version <= self.shown or not meta.get("uid"):
            return None
        known = self.known.get(place)
        if known is not None and (known.uid != meta["uid"] or number(known.version) >= version):
            return None
        data = msgspec.json.encode(raw)
        self._ahead[place] = version
        return next(self._told("ADDED", _bare.decode(data).metadata, data), None)

    def news(self, type_: ChangeType, meta: Meta, data: bytes, cells: list[Any] | None) -> Iterator[Event]:
        """What the server tells, unless an answer told more already.

        The deletion that an answer was about has the version of the answer.
        """
        ahead, version = self._ahead.get(meta.place), number(meta.version)
        if ahead is not None:
            if version < ahead:
                return
            del self._ahead[meta.place]
            if version == ahead and type_ != "DELETED":
                return
        yield from self._told(type_, meta, data, cells)

    def _told(self, type_: ChangeType, meta: Meta, data: bytes, cells: list[Any] | None = None) -> Iterator[Event]:
        """As events that fit what was told before: one of this name may have gone unnoticed, or be of no interest."""
        place, known = meta.place, self.known.get(meta.place)
        if known is not None and known.uid != meta.uid:
            yield self.gone(place)
            known = None
        raw = self.project(data)
        if raw is None:
            if known is not None:
                yield self.gone(place)
            return
        raw = {"apiVersion": self.kind.api_version, "kind": self.kind.kind, **raw}
        old = None if known is None else known.object
        if type_ == "DELETED":
            self.known.pop(place, None)
            yield Event("DELETED", raw, old, cells)
        else:
            self.known[place] = Known(meta.uid, meta.version, raw if self.keeps_objects else None)
            yield Event("ADDED" if known is None else "MODIFIED", raw, old, cells)

    def gone(self, place: Place) -> Event:
        """A deletion that nobody saw."""
        known = self.known.pop(place)
        return Event("DELETED", known.object or self._identity(place, known), known.object)

    def _identity(self, place: Place, known: Known) -> Raw:
        namespace, name = place
        meta = {"name": name, "uid": known.uid, "resourceVersion": known.version}
        if namespace:
            meta["namespace"] = namespace
        return {"apiVersion": self.kind.api_version, "kind": self.kind.kind, "metadata": meta}


def number(version: Any) -> int:
    """Versions of one server can be compared; 0 where somebody's cannot."""
    return int(version) if isinstance(version, str) and version.isascii() and version.isdigit() else 0
