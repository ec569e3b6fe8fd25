"""Writes of the port as HTTP requests, and how to recognize a write of ours that was already carried out.

Objects are created with a fixed name, so a creation that is repeated because its response was lost fails with
AlreadyExists. The object is ours if our field manager is among its managers and it contains everything that was sent.
Likewise a pod that is bound to the requested node is bound as requested, and a status that equals the one sent is ours.
Every other error stays one: a Conflict only means that the object has to be reconciled again.
"""

from __future__ import annotations

from typing import Any

from ...model.quantity import QuantityError, nanos
from ..errors import BadRequest
from ..kinds import POD, Kind
from ..port import Bind, Create, Delete, EvictPod, Key, Patch, Raw, Update, Write
from .request import MANAGER, PATCHES, ApiCall, Query, path, priority_of

_NOT_KEPT = ("status",)
"""Fields that a creation may send and a server drops."""


def request_of(write: Write, manager: str = MANAGER) -> ApiCall:
    match write:
        case Create():
            return _create(write, manager)
        case Update():
            return _update(write, manager)
        case Patch():
            return _patch(write, manager)
        case Delete():
            return _delete(write)
        case Bind():
            return _bind(write, manager)
        case EvictPod():
            return _evict(write)


def _create(write: Create, manager: str) -> ApiCall:
    """A creation is repeatable if it names its object: a generated name would differ the next time."""
    kind, body = write.kind, typed(write.kind, write.body)
    where = path(kind, home(kind, body))
    is_named = bool((body.get("metadata") or {}).get("name"))
    return _sent("POST", kind, where, body, {"fieldManager": manager}, is_named)


def _update(write: Update, manager: str) -> ApiCall:
    kind, body = write.kind, typed(write.kind, write.body)
    where = path(kind, home(kind, body), body["metadata"]["name"], write.subresource)
    return _sent("PUT", kind, where, body, {"fieldManager": manager}, repeatable=True)


def _patch(write: Patch, manager: str) -> ApiCall:
    """A patch is repeatable, except a JSON patch without a `test` operation."""
    kind, namespace, name = write.key
    query: dict[str, str | int] = {"fieldManager": write.owner or manager}
    body = write.body
    if write.form == "apply":
        if not write.owner:
            raise BadRequest("an apply needs a fieldManager")
        if not isinstance(body, dict):
            raise BadRequest("an apply needs an object")
        query["force"] = "true" if write.force else "false"
        meta = {**(body.get("metadata") or {}), "name": name, **({"namespace": namespace} if kind.namespaced else {})}
        body = typed(kind, {**body, "metadata": meta})
    is_repeatable = write.form != "json" or any(one.get("op") == "test" for one in body)
    where = path(kind, namespace, name, write.subresource)
    return _sent("PATCH", kind, where, body, query, is_repeatable, PATCHES[write.form])


def _delete(write: Delete) -> ApiCall:
    """A deletion is repeatable only with a uid: without one it could hit a successor of the same name."""
    kind, namespace, name = write.key
    body: Raw = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": write.propagation}
    if write.grace is not None:
        body["gracePeriodSeconds"] = write.grace
    only_if = {"uid": write.uid, "resourceVersion": write.version}
    if any(only_if.values()):
        body["preconditions"] = {field: value for field, value in only_if.items() if value}
    return _sent("DELETE", kind, path(kind, namespace, name), body, {}, repeatable=bool(write.uid))


def _bind(write: Bind, manager: str) -> ApiCall:
    meta = {"name": write.pod, "namespace": write.namespace, **({"uid": write.uid} if write.uid else {})}
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": meta,
        "target": {"apiVersion": "v1", "kind": "Node", "name": write.node},
    }
    where = path(POD, write.namespace, write.pod, "binding")
    return _sent("POST", POD, where, body, {"fieldManager": manager}, repeatable=bool(write.uid))


def _evict(write: EvictPod) -> ApiCall:
    """An eviction is not repeatable: without a uid it could hit a successor of the same name."""
    meta = {"name": write.pod, "namespace": write.namespace}
    body: Raw = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta}
    if write.grace is not None:
        body["deleteOptions"] = {"gracePeriodSeconds": write.grace}
    return _sent("POST", POD, path(POD, write.namespace, write.pod, "eviction"), body, {}, repeatable=False)


def _sent(
    method: str, kind: Kind, where: str, body: Any, query: Query, repeatable: bool, media: str = "application/json"
) -> ApiCall:
    return ApiCall(method, where, body, media, query, priority=priority_of(kind), repeatable=repeatable)


def typed(kind: Kind, body: Raw) -> Raw:
    return {"apiVersion": kind.api_version, "kind": kind.kind, **body}


def home(kind: Kind, body: Raw) -> str:
    """The namespace of an object, `default` if it has none."""
    return ((body.get("metadata") or {}).get("namespace") or "default") if kind.namespaced else ""


def target(write: Write) -> Key | None:
    """The object to read to see whether a write that was refused had been carried out before; None if unknown."""
    match write:
        case Create() if (write.body.get("metadata") or {}).get("name"):
            return Key(write.kind, home(write.kind, write.body), write.body["metadata"]["name"])
        case Update(subresource="status"):
            return Key(write.kind, home(write.kind, write.body), write.body["metadata"]["name"])
        case Bind():
            return Key(POD, write.namespace, write.pod)
    return None


def is_done(write: Write, there: Raw, manager: str = MANAGER) -> bool:
    """Whether the object on the server is what `write` would have produced."""
    match write:
        case Create():
            managers = {one.get("manager") for one in there["metadata"].get("managedFields") or ()}
            wanted = {part: value for part, value in write.body.items() if part not in _NOT_KEPT}
            return manager in managers and is_within(wanted, there)
        case Update():
            is_same = there["metadata"].get("uid") == write.body["metadata"].get("uid")
            return bool(is_same and there.get("status") == write.body.get("status"))
        case Bind():
            is_same = not write.uid or there["metadata"].get("uid") == write.uid
            return bool(is_same and there["spec"].get("nodeName") == write.node)
    return False


def is_within(wanted: Any, there: Any) -> bool:
    """Whether everything wanted is there; the server may have added defaults and dropped empty fields.

    is_within({"a": [{"b": 1}]}, {"a": [{"b": 1, "c": 2}], "d": 3})
    """
    if isinstance(wanted, dict):
        return isinstance(there, dict) and all(
            value in (None, {}, []) or is_within(value, there.get(part)) for part, value in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        others = there if isinstance(there, list) else []
        return len(wanted) == len(others) and all(map(is_within, wanted, others))
    return bool(wanted == there) or _is_same_amount(wanted, there)


def _is_same_amount(wanted: Any, there: Any) -> bool:
    """Whether two quantities are equal, since a server normalizes them: 1000m is 1."""
    try:
        return isinstance(there, str) and nanos(str(wanted)) == nanos(there)
    except QuantityError:
        return False
