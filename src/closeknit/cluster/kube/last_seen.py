"""The last state of each object that was delivered, and which changes are new.

Changes come from two sources: the watch, in the server's order, and the responses to our own writes, which may be ahead
of it. Here the two are merged: every event that leaves here is consistent with those before it.

    watch     ──▶ news      ─┐
    responses ──▶ answered  ─┼──▶ projection ──▶ ADDED, MODIFIED, DELETED
    new list  ──▶ begun, gone┘
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from ..kinds import Kind
from ..port import Change, ChangeType, Raw

Place = tuple[str, str]
"""Namespace and name."""

Project = Callable[[bytes | Raw], Raw | None]
"""What to store of an object, which is given as JSON, or decoded if it is a response; None: treat it as absent."""


class InformerEvent(NamedTuple):
    """A change of an object; `cells` is its table row, if rows were requested."""

    type: ChangeType
    object: Raw
    old: Raw | None = None
    cells: list[Any] | None = None

    def change(self, kind: Kind) -> Change:
        return Change(number(self.object["metadata"].get("resourceVersion")), self.type, kind, self.object, self.old)


class LastSeen(NamedTuple):
    """What was last delivered of an object; `object` is None where only its identity is stored."""

    uid: str
    version: str
    object: Raw | None


class SeenMeta(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    version: str = msgspec.field(name="resourceVersion", default="")

    @property
    def place(self) -> Place:
        return self.namespace, self.name


class Bare(msgspec.Struct):
    """An object of which only names, uid and version are decoded."""

    metadata: SeenMeta = msgspec.field(default_factory=SeenMeta)


class LastSeenObjects:
    """What one informer has delivered. `shown` is the newest version that the watch has reached."""

    def __init__(self, kind: Kind, project: Project, keeps_objects: bool) -> None:
        self.kind, self.project, self.keeps_objects = kind, project, keeps_objects
        self.known: dict[Place, LastSeen] = {}
        self.shown = 0
        self._ahead: dict[Place, int] = {}
        """Versions known from responses that the watch has not reached yet."""

    def reached(self, version: str) -> None:
        """Record that the watch has reached this version."""
        self.shown = max(self.shown, number(version))

    def begun(self, version: str) -> dict[Place, None]:
        """Start a new list at this version; returns the objects that may be gone.

        Those known from newer responses are not among them. From now on responses count only if they are newer.
        """
        self.shown = number(version)
        self._ahead = {place: at for place, at in self._ahead.items() if at > self.shown}
        return dict.fromkeys(place for place in self.known if place not in self._ahead)

    def answered(self, raw: Raw) -> InformerEvent | None:
        given = raw.get("metadata") or {}
        meta = SeenMeta(*(given.get(key) or "" for key in ("name", "namespace", "uid", "resourceVersion")))
        version, known = number(meta.version), self.known.get(meta.place)
        if version <= self.shown or not meta.uid:
            return None
        if known is not None and (known.uid != meta.uid or number(known.version) >= version):
            return None
        self._ahead[meta.place] = version
        return next(self._told("ADDED", meta, raw), None)

    def news(self, type_: ChangeType, meta: SeenMeta, data: bytes, cells: list[Any] | None) -> Iterator[InformerEvent]:
        """The events for a change from the server; none if a response was newer.

        A deletion has the same version as the response to the request that caused it.
        """
        ahead, version = self._ahead.get(meta.place), number(meta.version)
        if ahead is not None:
            if version < ahead:
                return
            del self._ahead[meta.place]
            if version == ahead and type_ != "DELETED":
                return
        yield from self._told(type_, meta, data, cells)

    def _told(
        self, type_: ChangeType, meta: SeenMeta, data: bytes | Raw, cells: list[Any] | None = None
    ) -> Iterator[InformerEvent]:
        """The change as events consistent with those before.

        Another object of this name may have been deleted unseen, or the projection may leave the object out.
        """
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
            yield InformerEvent("DELETED", raw, old, cells)
        else:
            self.known[place] = LastSeen(meta.uid, meta.version, raw if self.keeps_objects else None)
            yield InformerEvent("ADDED" if known is None else "MODIFIED", raw, old, cells)

    def gone(self, place: Place) -> InformerEvent:
        """The event for a deletion that no watch has shown."""
        known = self.known.pop(place)
        return InformerEvent("DELETED", known.object or self._identity(place, known), known.object)

    def _identity(self, place: Place, cache: LastSeen) -> Raw:
        namespace, name = place
        meta = {"name": name, "uid": cache.uid, "resourceVersion": cache.version}
        if namespace:
            meta["namespace"] = namespace
        return {"apiVersion": self.kind.api_version, "kind": self.kind.kind, "metadata": meta}


def number(version: Any) -> int:
    """A resourceVersion as a number, since those of one server can be compared; 0 for one that is not a number."""
    return int(version) if isinstance(version, str) and version.isascii() and version.isdigit() else 0
