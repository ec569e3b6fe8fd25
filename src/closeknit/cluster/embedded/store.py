"""Objects with Kubernetes' semantics, in memory: versions, conflicts, finalizers, owners, and a history to watch.

The store is an ordered list of changes, and its objects are their result. If there is a log, every change is also
written to it, and its file always holds a prefix of that list: `commit` returns up to which version. No change is
visible outside the process before it is committed.

    write ──▶ prepare ──▶ rules ──▶ versions ──▶ objects + history ──▶ log ──▶ commit ──▶ watchers, answers

It reads no clock and generates no random ids: both are passed in, so that a run can be repeated exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, Protocol

import msgspec

from ...dialects import timestamps
from ..errors import AlreadyExists, BadRequest, Cause, Conflict, Forbidden, Invalid, NotFound, TooLarge
from ..kinds import EVENT, KINDS, NAMESPACE, POD, Kind
from ..port import (
    Bind,
    Change,
    Create,
    Delete,
    EvictPod,
    Key,
    Patch,
    PatchForm,
    Propagation,
    Raw,
    Update,
    Write,
    key_of,
)
from . import eviction, ownership, patching
from .deletion import is_held, marked
from .recent_changes import RecentChanges
from .strategy import is_next_generation, prepared, same_but_times

LARGEST = 3 << 19
"""The size of the largest object that a client can write, in bytes of JSON: 1.5 MiB, as with etcd."""

NAME_TAIL, NAME_LENGTH = 5, 63
"""The random suffix and the maximum length of a generated name, in characters."""


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options of a write. `manager` becomes the owner of the written fields; without one ownership is not tracked.

    `trusted` is for internal writers: their objects are not checked against the schema. `warnings` collects warnings
    for the client of a request that succeeded.
    """

    manager: str = ""
    trusted: bool = True
    dry_run: bool = False
    force: bool = False
    validation: Literal["Strict", "Warn", "Ignore"] = "Ignore"
    warnings: list[str] = field(default_factory=list)


PLAIN = WriteOptions()


class StoreRules(Protocol):
    """Defaulting and validation. `admit` returns the object with its defaults, or raises `errors.Refused`."""

    def admit(
        self, store: Store, kind: Kind, old: Raw | None, new: Raw, subresource: str, options: WriteOptions
    ) -> Raw: ...


class NoRules:
    """Rules that accept every object unchanged."""

    def admit(
        self, store: Store, kind: Kind, old: Raw | None, new: Raw, subresource: str, options: WriteOptions
    ) -> Raw:
        return new


class Log(Protocol):
    """Durable storage of changes. `commit` raises NotKeptError if it cannot write."""

    def append(self, change: Change) -> None: ...

    def commit(self, version: int) -> None: ...


class NotKeptError(Exception):
    """Changes could not be written and are in memory only, so they must not be visible to clients yet."""


class FolderLostError(NotKeptError):
    """The folder that holds the file was deleted, replaced or made read-only."""


class Ids(Protocol):
    """The source of uids and of the suffixes of generated names."""

    def uid(self) -> str: ...

    def tail(self, length: int) -> str: ...


class Store:
    """All objects by kind, then by namespace and name. Read them freely, but write only through the methods."""

    def __init__(
        self, now: Callable[[], float], ids: Ids, rules: StoreRules | None = None, log: Log | None = None
    ) -> None:
        self.now, self.ids, self.log = now, ids, log
        self.rules: StoreRules = rules or NoRules()
        self.objects: dict[Kind, dict[tuple[str, str], Raw]] = {kind: {} for kind in KINDS}
        self.history = RecentChanges()
        self.version = 1
        self._owned: dict[str, dict[Key, None]] = {}
        self._committed = 1

    # Reading

    def find(self, kind: Kind, namespace: str, name: str) -> Raw | None:
        return self.objects[kind].get((namespace, name))

    def get(self, kind: Kind, namespace: str, name: str) -> Raw:
        found = self.objects[kind].get((namespace, name))
        if found is None:
            raise NotFound(f'{kind.resource} "{name}" not found', group=kind.group, kind=kind.plural, name=name)
        return found

    def all(self, kind: Kind, namespace: str = "") -> Iterator[Raw]:
        """All objects of a kind, or those of a namespace, in order of creation."""
        if not namespace:
            return iter(self.objects[kind].values())
        return (one for (of, _), one in self.objects[kind].items() if of == namespace)

    def owned(self, uid: str, kind: Kind | None = None) -> list[Raw]:
        """The objects that have this one as an owner, in order of creation."""
        keys = self._owned.get(uid, ())
        return [self.objects[key.kind][key[1:]] for key in keys if kind is None or key.kind is kind]

    def changes(self, after: int) -> list[Change]:
        """The changes since a version; raises Expired if that is no longer in the history."""
        return self.history.after(after)

    # Writing

    def carry_out(self, write: Write, options: WriteOptions = PLAIN) -> Raw:
        match write:
            case Create():
                return self.create(write.kind, write.body, options)
            case Update():
                return self.update(write.kind, write.body, write.subresource, options)
            case Patch():
                return self.patch(write.key, write.body, write.form, write.subresource, _by(write, options))
            case Delete():
                return self.delete(
                    write.key, write.uid, write.version, write.propagation, grace=write.grace, options=options
                )
            case Bind():
                return self.bind(write.namespace, write.pod, write.node, write.uid, options)
            case EvictPod():
                return eviction.evict(self, write.namespace, write.pod, options, write.grace)

    def create(self, kind: Kind, body: Raw, options: WriteOptions = PLAIN, by_apply: bool = False) -> Raw:
        meta = dict(body.get("metadata") or {})
        name, prefix = meta.get("name"), meta.get("generateName") or ""
        if not name and not prefix:
            missing = Cause("metadata.name", "Required value: name or generateName is required", "FieldValueRequired")
            raise Invalid(f"{kind.kind} needs a name", group=kind.group, kind=kind.kind, causes=[missing])
        meta["name"] = name or f"{prefix[: NAME_LENGTH - NAME_TAIL]}{self.ids.tail(NAME_TAIL)}"
        namespace = self._home(kind, meta)
        for system in ("resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields"):
            meta.pop(system, None)
        meta["uid"], meta["creationTimestamp"] = self.ids.uid(), timestamps.stamp(self.now())
        if kind.counted:
            meta["generation"] = 1
        new = {"apiVersion": kind.api_version, "kind": kind.kind, **body, "metadata": meta}
        if kind.status and not kind.is_built_in:
            new.pop("status", None)
        new = self.rules.admit(self, kind, None, new, "", options)
        there = self.find(kind, namespace, new["metadata"]["name"])
        if there is not None:
            raise _taken(kind, there)
        if options.manager and by_apply:
            new = ownership.created(kind, body, new, options.manager, self.now())
        elif options.manager:
            new = ownership.updated(kind, None, new, options.manager, self.now(), "", body)
        return self._put(kind, None, new, options)

    def _home(self, kind: Kind, meta: Raw) -> str:
        """The namespace to create an object in; it must exist and not be terminating."""
        if not kind.namespaced:
            meta.pop("namespace", None)
            return ""
        namespace: str = meta.setdefault("namespace", "default")
        home = self.objects[NAMESPACE].get(("", namespace))
        if home is None:
            raise NotFound(f'namespaces "{namespace}" not found', kind="namespaces", name=namespace)
        if "deletionTimestamp" in home["metadata"] and kind is not EVENT:
            text = f"{kind.resource} {meta['name']!r} is forbidden: namespace {namespace} is being terminated"
            cause = Cause("metadata.namespace", f"namespace {namespace} is being terminated", "NamespaceTerminating")
            raise Forbidden(text, group=kind.group, kind=kind.plural, name=meta["name"], causes=[cause])
        return namespace

    def update(self, kind: Kind, body: Raw, subresource: str = "", options: WriteOptions = PLAIN) -> Raw:
        meta = body["metadata"]
        old = self.get(kind, meta.get("namespace", "") if kind.namespaced else "", meta["name"])
        return self._change(kind, old, body, subresource, options)

    def patch(
        self, key: Key, body: object, form: PatchForm = "merge", subresource: str = "", options: WriteOptions = PLAIN
    ) -> Raw:
        kind = key.kind
        old = self.find(kind, key.namespace, key.name)
        if form == "apply":
            return self._apply(key, old, body, subresource, options)
        if old is None:
            old = self.get(kind, key.namespace, key.name)
        new = patching.patched(kind, form, old, body)
        return self._change(kind, old, new, subresource, options)

    def _apply(self, key: Key, old: Raw | None, body: object, subresource: str, options: WriteOptions) -> Raw:
        kind = key.kind
        if not options.manager:
            raise BadRequest("an apply needs a fieldManager")
        if not isinstance(body, dict):
            raise BadRequest("an apply needs an object")
        if old is None and subresource:
            self.get(kind, key.namespace, key.name)
        if old is None:
            meta = {**(body.get("metadata") or {}), "name": key.name}
            if kind.namespaced:
                meta["namespace"] = key.namespace
            if meta.get("resourceVersion") or meta.get("uid"):
                raise _changed(key)
            return self.create(kind, {**body, "metadata": meta}, options, by_apply=True)
        self._check_version(key, old, body.get("metadata") or {})
        new = ownership.applied(kind, old, body, options.manager, options.force, self.now(), subresource)
        return self._change(kind, old, new, subresource, options, tracked=True)

    def _change(
        self, kind: Kind, old: Raw, body: Raw, subresource: str, options: WriteOptions, tracked: bool = False
    ) -> Raw:
        """Update an existing object to `body`, as far as its strategy allows. All updates go through here."""
        key = key_of(kind, old)
        self._check_version(key, old, body.get("metadata") or {})
        new = prepared(kind, old, body, subresource)
        if tracked and not new["metadata"].get("managedFields"):
            new["metadata"].pop("managedFields", None)
        new = self.rules.admit(self, kind, old, new, subresource, options)
        if kind.counted and is_next_generation(kind, old, new, subresource):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
        if options.manager and not tracked:
            new = ownership.updated(kind, old, new, options.manager, self.now(), subresource)
        if new == old or same_but_times(old, new):
            return old
        if "deletionTimestamp" in new["metadata"] and not is_held(kind, new):
            return self._remove(kind, new, options)
        return self._put(kind, old, new, options)

    def _check_version(self, key: Key, old: Raw, meta: Raw) -> None:
        version, uid = meta.get("resourceVersion"), meta.get("uid")
        if (version and version != old["metadata"]["resourceVersion"]) or (uid and uid != old["metadata"]["uid"]):
            raise _changed(key)

    def delete(
        self,
        key: Key,
        uid: str = "",
        version: str = "",
        propagation: Propagation = "Background",
        *,
        grace: int | None = None,
        options: WriteOptions = PLAIN,
    ) -> Raw:
        """Remove an object, or mark it as terminating while finalizers or a running pod's grace period hold it."""
        kind, old = key.kind, self.get(key.kind, key.namespace, key.name)
        before = old["metadata"]
        if (uid and uid != before["uid"]) or (version and version != before["resourceVersion"]):
            raise _changed(key, "the preconditions of the deletion do not hold")
        new = marked(kind, old, propagation, grace, self.now())
        if not is_held(kind, new):
            return self._remove(kind, new, options)
        if new == old:
            return old
        if kind.counted and "deletionTimestamp" not in before:
            new["metadata"]["generation"] = before.get("generation", 0) + 1
        return self._put(kind, old, new, options)

    def bind(self, namespace: str, pod: str, node: str, uid: str = "", options: WriteOptions = PLAIN) -> Raw:
        """Bind a pod to a node."""
        old = self.get(POD, namespace, pod)
        if uid and uid != old["metadata"]["uid"]:
            raise _changed(key_of(POD, old), "the pod is another one")
        if old["spec"].get("nodeName"):
            raise Conflict(
                f'Operation cannot be fulfilled on pods/binding "{pod}": pod {pod} is already assigned to node '
                f'"{old["spec"]["nodeName"]}"',
                kind="pods/binding",
                name=pod,
            )
        if "deletionTimestamp" in old["metadata"]:
            raise Conflict(f"pod {pod} is being deleted, cannot be assigned to a host", kind="pods/binding", name=pod)
        if old["spec"].get("schedulingGates"):
            raise Conflict(f"pod {pod} has non-empty .spec.schedulingGates", kind="pods/binding", name=pod)
        status = dict(old.get("status") or {})
        conditions = [one for one in status.get("conditions", ()) if one["type"] != "PodScheduled"]
        scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None}
        status["conditions"] = [*conditions, {**scheduled, "lastTransitionTime": timestamps.stamp(self.now())}]
        return self._put(POD, old, {**old, "spec": {**old["spec"], "nodeName": node}, "status": status}, options)

    # Every change passes here

    def _put(self, kind: Kind, old: Raw | None, new: Raw, options: WriteOptions) -> Raw:
        size = 0 if options.trusted else _checked_size(kind, new)
        if options.dry_run:
            return new if old is not None else {**new, "metadata": {**new["metadata"]}}
        self.version += 1
        new["metadata"] = {**new["metadata"], "resourceVersion": str(self.version)}
        key = key_of(kind, new)
        self.objects[kind][key[1:]] = new
        if old is None or old["metadata"].get("ownerReferences") != new["metadata"].get("ownerReferences"):
            self._disown(key, old)
            for owner in new["metadata"].get("ownerReferences") or ():
                self._owned.setdefault(owner["uid"], {})[key] = None
        self._record(Change(self.version, "ADDED" if old is None else "MODIFIED", kind, new, old), size)
        return new

    def _remove(self, kind: Kind, last: Raw, options: WriteOptions) -> Raw:
        key = key_of(kind, last)
        if options.dry_run:
            return last
        old = self.objects[kind].pop(key[1:])
        self._disown(key, old)
        self.version += 1
        gone = {**last, "metadata": {**last["metadata"], "resourceVersion": str(self.version)}}
        self._record(Change(self.version, "DELETED", kind, gone, old))
        return gone

    def _disown(self, key: Key, old: Raw | None) -> None:
        for owner in (old or _NOTHING)["metadata"].get("ownerReferences") or ():
            children = self._owned.get(owner["uid"])
            if children is not None:
                children.pop(key, None)
                if not children:
                    del self._owned[owner["uid"]]

    def _record(self, change: Change, size: int = 0) -> None:
        """`size` is what a client sent, in bytes."""
        self.history.append(change, size)
        if self.log is not None:
            self.log.append(change)

    # Durability

    def commit(self) -> int:
        """Write all changes so far; the version up to which they are durable."""
        if self._committed != self.version:
            if self.log is not None:
                self.log.commit(self.version)
            self._committed = self.version
        return self._committed

    def restore(self, kind: Kind, raw: Raw) -> None:
        """Load an object from the file unchanged."""
        key = key_of(kind, raw)
        self.objects[kind][key[1:]] = raw
        for owner in raw["metadata"].get("ownerReferences") or ():
            self._owned.setdefault(owner["uid"], {})[key] = None

    def resume(self, version: int) -> None:
        """Continue from the last version of the file."""
        self.version = self._committed = version
        self.history.clear(version)

    def compact(self) -> None:
        """Drop all history: clients that resume a watch have to list again."""
        self.history.clear(self.version)


_NOTHING: Raw = {"metadata": {}}


def _by(write: Patch, options: WriteOptions) -> WriteOptions:
    """The options of a write; a patch may name its own field manager."""
    if not write.owner:
        return options
    return WriteOptions(
        write.owner, options.trusted, options.dry_run, write.force, options.validation, options.warnings
    )


def _checked_size(kind: Kind, new: Raw) -> int:
    """The bytes of an object as JSON; raises for one that is too large or nested too deeply to be stored."""
    try:
        size = len(msgspec.json.encode(new))
    except RecursionError:
        raise BadRequest(f"{kind.kind} is nested too deeply") from None
    if size > LARGEST:
        text = f"{kind.resource} {new['metadata']['name']!r} has {size} bytes, and at most {LARGEST} are stored"
        raise TooLarge(f"request is too large: {text}", group=kind.group, kind=kind.plural)
    return size


def _taken(kind: Kind, there: Raw) -> AlreadyExists:
    name = there["metadata"]["name"]
    going = "object is being deleted: " if "deletionTimestamp" in there["metadata"] else ""
    text = f'{going}{kind.resource} "{name}" already exists'
    return AlreadyExists(text, group=kind.group, kind=kind.plural, name=name)


def _changed(key: Key, why: str = "") -> Conflict:
    resource = key.kind.resource
    text = why or "the object has been modified; please apply your changes to the latest version and try again"
    message = f'Operation cannot be fulfilled on {resource} "{key.name}": {text}'
    return Conflict(message, group=key.kind.group, kind=key.kind.plural, name=key.name)
