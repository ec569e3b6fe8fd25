"""The port to a cluster: which changes come in and which writes go out, independent of the cluster behind it.

A `Change` is what happened to an object; a `Write` is a request as a value. The control plane returns writes and a host
carries them out, so deciding needs no I/O and one host can be exchanged for another. Objects are plain trees of JSON
values and are never changed in place, so a reference to one can be kept.
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
    """The identity of an object; `namespace` is empty for cluster-scoped kinds."""

    kind: Kind
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind.kind} {self.name}"


class Change(NamedTuple):
    """A watch event. `old` is the object before, if any; a deleted object is its last state, at the new version."""

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
    """Replace the whole object; a Conflict if `metadata.resourceVersion` is set and outdated."""

    kind: Kind
    body: Raw
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Patch:
    """Change part of an object, by one of Kubernetes' patch types; `apply` needs an owner, the field manager."""

    key: Key
    body: Any
    form: PatchForm = "merge"
    subresource: str = ""
    owner: str = ""
    force: bool = True


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete an object. `uid` and `version` are preconditions; `grace` is in seconds, None for the object's own."""

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
class EvictPod:
    """Delete a pod, unless a PodDisruptionBudget forbids it. `grace` as in `Delete`."""

    namespace: str
    pod: str
    grace: int | None = None


Write = Create | Update | Patch | Delete | Bind | EvictPod


def target_of(write: Write) -> Key:
    """The object that a write is for; its name is empty if the server is to generate it."""
    match write:
        case Create(kind, body) | Update(kind, body):
            meta = body["metadata"]
            return Key(kind, meta.get("namespace", ""), meta.get("name", ""))
        case Patch(key) | Delete(key):
            return key
        case Bind(namespace, pod) | EvictPod(namespace, pod):
            return Key(POD, namespace, pod)


def key_of(kind: Kind, raw: Raw) -> Key:
    meta = raw["metadata"]
    return Key(kind, meta.get("namespace", ""), meta["name"])
