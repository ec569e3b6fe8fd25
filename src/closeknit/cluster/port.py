"""The port to a cluster: what changes come in, what writes go out, and nothing about who is behind it.

A `Change` says what became of an object; a `Write` is a value that says what to do to one. Whoever decides makes
writes, whoever hosts carries them out, so that deciding needs no I/O and every host can be exchanged for another.
Objects are plain trees of JSON values and are never changed in place: whoever holds one may keep it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from .kinds import POD, Kind

Raw = dict[str, Any]
ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]
Propagation = Literal["Background", "Foreground", "Orphan"]
PatchForm = Literal["merge", "json", "strategic", "apply"]


class Key(NamedTuple):
    """What an object is called; `namespace` is empty for those of the whole cluster."""

    kind: Kind
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind.kind} {self.name}"


class Change(NamedTuple):
    """`old` is the object before, if there was one; a deleted object is shown as it was last, at its new version."""

    version: int
    type: ChangeType
    kind: Kind
    object: Raw
    old: Raw | None = None

    @property
    def key(self) -> Key:
        meta = self.object["metadata"]
        return Key(self.kind, meta.get("namespace", ""), meta["name"])


@dataclass(frozen=True, slots=True)
class Create:
    kind: Kind
    body: Raw


@dataclass(frozen=True, slots=True)
class Update:
    """The whole object; refused if `metadata.resourceVersion` is there and no longer true."""

    kind: Kind
    body: Raw
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Patch:
    """Part of an object, in one of the forms of Kubernetes; `apply` needs an owner."""

    key: Key
    body: Any
    form: PatchForm = "merge"
    subresource: str = ""
    owner: str = ""
    force: bool = True


@dataclass(frozen=True, slots=True)
class Delete:
    """`uid` and `version`: only if it is still this very object. `grace` in seconds; None: what the object says."""

    key: Key
    uid: str = ""
    version: str = ""
    propagation: Propagation = "Background"
    grace: int | None = None


@dataclass(frozen=True, slots=True)
class Bind:
    namespace: str
    pod: str
    node: str
    uid: str = ""


@dataclass(frozen=True, slots=True)
class Evict:
    """Delete a pod, unless a PodDisruptionBudget forbids it. `grace` as of `Delete`."""

    namespace: str
    pod: str
    grace: int | None = None


Write = Create | Update | Patch | Delete | Bind | Evict


def target_of(write: Write) -> Key:
    """The object that a write is for; one whose name the server is to make has none yet."""
    match write:
        case Create(kind, body) | Update(kind, body):
            meta = body["metadata"]
            return Key(kind, meta.get("namespace", ""), meta.get("name", ""))
        case Patch(key) | Delete(key):
            return key
        case Bind(namespace, pod) | Evict(namespace, pod):
            return Key(POD, namespace, pod)


def key_of(kind: Kind, raw: Raw) -> Key:
    meta = raw["metadata"]
    return Key(kind, meta.get("namespace", ""), meta["name"])
