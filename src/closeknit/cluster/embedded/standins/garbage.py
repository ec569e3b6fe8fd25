"""Garbage collection: dependents of a deleted object are deleted or orphaned.

    Background   the owner is gone: dependents without another owner are deleted
    Foreground   the owner waits with a finalizer until the dependents that block it are gone
    Orphan       the owner waits with a finalizer until no object refers to it as an owner

An owner exists if there is an object of that kind, name and uid. An owner of a kind that is not served here counts as
existing, since its absence cannot be proven.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import NamedTuple

from ...kinds import EVENT, Kind, kind_of
from ...port import Change, Delete, Key, Patch, Propagation, Raw, key_of
from ..deletion import FOREGROUND, ORPHAN
from ..loop import Step
from ..store import Store
from .children import is_deleting


class Dependent(NamedTuple):
    """An object that may have lost an owner."""

    key: Key


class FinalizedOwner(NamedTuple):
    """An object that is held by a finalizer of the garbage collector."""

    key: Key


class GarbageCollector:
    watches: tuple[Kind, ...] = ()

    def concerns(self, store: Store, change: Change) -> Iterable[Hashable]:
        if change.kind is EVENT:
            return ()
        meta = change.object["metadata"]
        if change.type == "DELETED":
            return self._gone(store, change)
        found: list[Hashable] = []
        if "deletionTimestamp" in meta and _finalizer(change.object):
            found.append(FinalizedOwner(change.key))
        references = meta.get("ownerReferences")
        if references and (change.old is None or change.old["metadata"].get("ownerReferences") != references):
            found += self._claims(store, change)
        return found

    def _gone(self, store: Store, change: Change) -> Iterator[Hashable]:
        """The keys of a deletion: dependents that have lost an owner, and owners that may have waited for it."""
        meta = change.object["metadata"]
        for raw in store.owned(meta["uid"]):
            yield Dependent(key_of(_kind(raw), raw))
        for reference in meta.get("ownerReferences") or ():
            owner = owner_of(store, change.object, reference)
            if owner is not None and _finalizer(owner) == FOREGROUND:
                yield FinalizedOwner(key_of(_kind(owner), owner))

    def _claims(self, store: Store, change: Change) -> Iterator[Hashable]:
        """The keys of new owner references to owners that are gone or terminating."""
        for reference in change.object["metadata"]["ownerReferences"]:
            owner = owner_of(store, change.object, reference)
            if owner is None:
                yield Dependent(change.key)
            elif is_deleting(owner) and _finalizer(owner):
                yield FinalizedOwner(key_of(_kind(owner), owner))

    def reconcile(self, store: Store, key: Hashable, now: float) -> Iterator[Step]:
        assert isinstance(key, Dependent | FinalizedOwner)
        raw = store.find(key.key.kind, key.key.namespace, key.key.name)
        if raw is None:
            return
        if isinstance(key, Dependent):
            yield from _collect(store, key.key, raw)
        elif is_deleting(raw) and (finalizer := _finalizer(raw)):
            yield from _orphan(store, key.key, raw) if finalizer == ORPHAN else _foreground(store, key.key, raw)


def _collect(store: Store, key: Key, raw: Raw) -> Iterator[Step]:
    """Delete an object without owners; if some remain, remove the references to those that are gone."""
    references = raw["metadata"].get("ownerReferences") or []
    alive = [one for one in references if _kind_named(one) is None or owner_of(store, raw, one) is not None]
    if len(alive) == len(references):
        return
    if alive:
        yield Patch(key, {"metadata": {"ownerReferences": alive, "uid": raw["metadata"]["uid"]}})
    elif not is_deleting(raw):
        yield Delete(key, uid=raw["metadata"]["uid"], propagation=_manner(raw))


def _foreground(store: Store, key: Key, raw: Raw) -> Iterator[Step]:
    """Delete the dependents without other owners; release the owner when no dependent blocks its deletion."""
    uid, waits = raw["metadata"]["uid"], False
    for child in store.owned(uid):
        kind, references = _kind(child), child["metadata"]["ownerReferences"]
        others = [one for one in references if one["uid"] != uid and owner_of(store, child, one) is not None]
        if others:
            yield Patch(key_of(kind, child), {"metadata": {"ownerReferences": others}})
            continue
        waits = waits or any(one["uid"] == uid and one.get("blockOwnerDeletion") for one in references)
        if not is_deleting(child):
            manner: Propagation = "Foreground" if store.owned(child["metadata"]["uid"]) else _manner(child)
            yield Delete(key_of(kind, child), uid=child["metadata"]["uid"], propagation=manner)
    if not waits:
        yield _without(key, raw, FOREGROUND)


def _orphan(store: Store, key: Key, raw: Raw) -> Iterator[Step]:
    uid = raw["metadata"]["uid"]
    for child in store.owned(uid):
        others = [one for one in child["metadata"]["ownerReferences"] if one["uid"] != uid]
        yield Patch(key_of(_kind(child), child), {"metadata": {"ownerReferences": others or None}})
    yield _without(key, raw, ORPHAN)


def owner_of(store: Store, raw: Raw, reference: Raw) -> Raw | None:
    """The object of an owner reference, if it exists."""
    kind = _kind_named(reference)
    if kind is None:
        return None
    namespace = raw["metadata"].get("namespace", "") if kind.namespaced else ""
    found = store.find(kind, namespace, reference["name"])
    return found if found is not None and found["metadata"]["uid"] == reference["uid"] else None


def _kind_named(reference: Raw) -> Kind | None:
    return kind_of(reference["apiVersion"], reference["kind"])


def _kind(raw: Raw) -> Kind:
    kind = kind_of(raw["apiVersion"], raw["kind"])
    assert kind is not None
    return kind


def _finalizer(raw: Raw) -> str:
    """The garbage collector's finalizer on an object; empty if there is none."""
    for one in raw["metadata"].get("finalizers") or ():
        if one in (FOREGROUND, ORPHAN):
            return str(one)
    return ""


def _manner(raw: Raw) -> Propagation:
    """The propagation policy of a deletion, by the finalizers that the object has already."""
    match _finalizer(raw):
        case "foregroundDeletion":
            return "Foreground"
        case "orphan":
            return "Orphan"
    return "Background"


def _without(key: Key, raw: Raw, finalizer: str) -> Patch:
    kept = [one for one in raw["metadata"]["finalizers"] if one != finalizer]
    return Patch(key, {"metadata": {"finalizers": kept or None}})
