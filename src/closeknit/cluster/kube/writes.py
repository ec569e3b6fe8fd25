"""Writes of the port as requests of the protocol, and how to know our own work again.

Whoever creates something names it, so a creation that is repeated because its answer got lost is refused as existing
already. It is ours if we are among the managers of what is there and everything that was sent is in it: then somebody
asked for this very object under our name, and it is the answer that was lost. A pod that is bound to the node that we
asked for is bound as we wanted, and a status that is exactly as we sent it is ours. Every other refusal stays one: a
Conflict means only that somebody has to look again.
"""

from __future__ import annotations

from typing import Any

from ...model.quantity import QuantityError, nanos
from ..errors import BadRequest
from ..kinds import POD, Kind
from ..port import Bind, Create, Delete, Evict, Key, Patch, Raw, Update, Write
from .request import MANAGER, PATCHES, Query, Request, path, priority_of

_NOT_KEPT = ("status",)
"""What a creation may send and a server drops."""


def request_of(write: Write, manager: str = MANAGER) -> Request:
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
        case Evict():
            return _evict(write)


def _create(write: Create, manager: str) -> Request:
    """A name that the server makes up is another one the next time."""
    kind, body = write.kind, typed(write.kind, write.body)
    where = path(kind, home(kind, body))
    is_named = bool((body.get("metadata") or {}).get("name"))
    return _sent("POST", kind, where, body, {"fieldManager": manager}, is_named)


def _update(write: Update, manager: str) -> Request:
    kind, body = write.kind, typed(write.kind, write.body)
    where = path(kind, home(kind, body), body["metadata"]["name"], write.subresource)
    return _sent("PUT", kind, where, body, {"fieldManager": manager}, repeatable=True)


def _patch(write: Patch, manager: str) -> Request:
    """Steps that are taken twice do harm, unless they begin with a look at what is there."""
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


def _delete(write: Delete) -> Request:
    """Who comes after it under the same name is not meant."""
    kind, namespace, name = write.key
    body: Raw = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": write.propagation}
    if write.grace is not None:
        body["gracePeriodSeconds"] = write.grace
    only_if = {"uid": write.uid, "resourceVersion": write.version}
    if any(only_if.values()):
        body["preconditions"] = {field: value for field, value in only_if.items() if value}
    return _sent("DELETE", kind, path(kind, namespace, name), body, {}, repeatable=bool(write.uid))


def _bind(write: Bind, manager: str) -> Request:
    meta = {"name": write.pod, "namespace": write.namespace, **({"uid": write.uid} if write.uid else {})}
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": meta,
        "target": {"apiVersion": "v1", "kind": "Node", "name": write.node},
    }
    where = path(POD, write.namespace, write.pod, "binding")
    return _sent("POST", POD, where, body, {"fieldManager": manager}, repeatable=bool(write.uid))


def _evict(write: Evict) -> Request:
    """Not to be repeated: it does not say which pod of this name is meant."""
    meta = {"name": write.pod, "namespace": write.namespace}
    body: Raw = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta}
    if write.grace is not None:
        body["deleteOptions"] = {"gracePeriodSeconds": write.grace}
    return _sent("POST", POD, path(POD, write.namespace, write.pod, "eviction"), body, {}, repeatable=False)


def _sent(
    method: str, kind: Kind, where: str, body: Any, query: Query, repeatable: bool, media: str = "application/json"
) -> Request:
    return Request(method, where, body, media, query, priority=priority_of(kind), repeatable=repeatable)


def typed(kind: Kind, body: Raw) -> Raw:
    return {"apiVersion": kind.api_version, "kind": kind.kind, **body}


def home(kind: Kind, body: Raw) -> str:
    """The namespace of an object; without one it is the default."""
    return ((body.get("metadata") or {}).get("namespace") or "default") if kind.namespaced else ""


def target(write: Write) -> Key | None:
    """What to look at to see whether a write that was refused had been carried out before."""
    match write:
        case Create() if (write.body.get("metadata") or {}).get("name"):
            return Key(write.kind, home(write.kind, write.body), write.body["metadata"]["name"])
        case Update(subresource="status"):
            return Key(write.kind, home(write.kind, write.body), write.body["metadata"]["name"])
        case Bind():
            return Key(POD, write.namespace, write.pod)
    return None


def is_done(write: Write, there: Raw, manager: str = MANAGER) -> bool:
    """Whether what is there is what `write` would have made of it."""
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
    """Whether all that is wanted is there; defaults may have come on top, and what is empty may have been dropped.

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
    """A server writes quantities in its own way: 1000m is 1."""
    try:
        return isinstance(there, str) and nanos(str(wanted)) == nanos(there)
    except QuantityError:
        return False
