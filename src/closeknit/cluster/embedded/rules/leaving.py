"""Warnings about queues, flavors and topologies that are being deleted while they are in use.

A finalizer keeps such an object until its last user is gone. Kubernetes does not report that: a deletion succeeds, the
object stays, and everything that refers to it waits forever. So a deletion, and a write of an object that refers to
one, get a warning that names the users.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ....dialects.kueue import keys
from ....dialects.kueue.objects import usage
from ...kinds import CLUSTER_QUEUE, LOCAL_QUEUE, RESOURCE_FLAVOR, TOPOLOGY, WORKLOAD, Kind
from ...port import Raw
from ..store import Store

SHOWN = 5
"""How many users are named; the others are counted."""


class Reference(NamedTuple):
    """A field that refers to an object."""

    field: str
    kind: Kind
    name: str


def why_it_stays(store: Store, kind: Kind, raw: Raw) -> str:
    """ClusterQueue "a" stays until its 2 workloads are gone: default/x, default/y. Empty if nothing holds it."""
    until = _until(store, kind, raw["metadata"]["name"])
    return f'{kind.kind} "{raw["metadata"]["name"]}" stays until {until}' if until else ""


def _until(store: Store, kind: Kind, name: str) -> str:
    found = list(_users(store, kind, name))
    if not found:
        return ""
    if kind is CLUSTER_QUEUE:
        until = f"its {len(found)} workloads are gone" if len(found) > 1 else "its workload is gone"
    else:
        until = f"no {_NEEDED_BY[kind]} refers to it"
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return f"{until}: {', '.join(found[:SHOWN])}{more}"


_NEEDED_BY = {RESOURCE_FLAVOR: "ClusterQueue", TOPOLOGY: "ResourceFlavor"}


def _users(store: Store, kind: Kind, name: str) -> Iterator[str]:
    if kind is CLUSTER_QUEUE:
        for one in store.all(WORKLOAD):
            if usage.has_quota(one, name):
                yield f"{one['metadata']['namespace']}/{one['metadata']['name']}"
    elif kind is RESOURCE_FLAVOR:
        yield from (one["metadata"]["name"] for one in store.all(CLUSTER_QUEUE) if name in usage.flavors(one))
    elif kind is TOPOLOGY:
        yield from (one["metadata"]["name"] for one in store.all(RESOURCE_FLAVOR) if usage.topology(one) == name)


# Warnings for writes


def warnings(store: Store, kind: Kind, raw: Raw) -> Iterator[str]:
    """A warning for each object it refers to that is being deleted, and for itself."""
    if "deletionTimestamp" in raw["metadata"] and (why := why_it_stays(store, kind, raw)):
        yield f"it is being deleted, which this write does not change: {why}"
    for field, of, name in _references(store, kind, raw):
        found = store.find(of, "", name)
        if found is not None and "deletionTimestamp" in found["metadata"]:
            until = _until(store, of, name)
            yield f'{field}: {of.kind} "{name}" is being deleted' + (f"; it stays until {until}" if until else "")


def _references(store: Store, kind: Kind, raw: Raw) -> Iterator[Reference]:
    if kind is CLUSTER_QUEUE:
        yield from (Reference(field, RESOURCE_FLAVOR, name) for name, field in usage.flavors(raw).items())
    elif kind is RESOURCE_FLAVOR:
        yield Reference("spec.topologyName", TOPOLOGY, usage.topology(raw))
    elif kind is LOCAL_QUEUE:
        yield Reference("spec.clusterQueue", CLUSTER_QUEUE, _at(raw, "spec").get("clusterQueue") or "")
    elif kind.namespaced:
        field, local = _queue_of(kind, raw)
        queue = store.find(LOCAL_QUEUE, raw["metadata"]["namespace"], local) if local else None
        if queue is not None:
            yield Reference(field, CLUSTER_QUEUE, queue["spec"]["clusterQueue"])


def _queue_of(kind: Kind, raw: Raw) -> tuple[str, str]:
    """The field in which a job or a Workload names its LocalQueue, and that name."""
    if kind is WORKLOAD:
        return "spec.queueName", _at(raw, "spec").get("queueName") or ""
    return f"metadata.labels[{keys.QUEUE}]", _at(raw, "metadata", "labels").get(keys.QUEUE) or ""


def _at(raw: Raw, *path: str) -> dict[str, Any]:
    for step in path:
        raw = raw.get(step) or {}
    return raw
