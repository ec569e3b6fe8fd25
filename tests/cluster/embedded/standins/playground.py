"""A host for tests: a store with a manual clock, stand-ins, and objects to start from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from closeknit.cluster.embedded.ids import RandomIds
from closeknit.cluster.embedded.loop import Loop, Standin, Worker
from closeknit.cluster.embedded.rules.host import HostRules
from closeknit.cluster.embedded.store import Store, StoreRules
from closeknit.cluster.kinds import JOB, NAMESPACE, NODE, POD, Kind
from closeknit.cluster.port import Change, Key, Raw

START = 1_700_000_000.0
"""2023-11-14T22:13:20Z."""


class Playground:
    """`run` reconciles until nothing is due, and advances the clock to the next due time."""

    def __init__(self, *standins: Standin, rules: StoreRules | None = None) -> None:
        self.time = START
        self.store = Store(lambda: self.time, RandomIds(7), HostRules() if rules is None else rules)
        for name in ("default", "kube-system", "kube-node-lease"):
            self.store.create(NAMESPACE, {"metadata": {"name": name}})
        self.start(standins)

    def start(self, standins: Iterable[Standin]) -> None:
        """Start new stand-ins on the existing store, as after a restart of the process."""
        self.workers = [Worker(self.store, one) for one in standins]
        for kind, objects in self.store.objects.items():
            for raw in objects.values():
                for worker in self.workers:
                    worker.see(Change(int(raw["metadata"]["resourceVersion"]), "ADDED", kind, raw))
        self.loop = Loop(self.store, self.workers)

    def settle(self) -> None:
        """Reconcile everything that is due now."""
        self.loop.run(self.time, most=100_000)

    def run(self, seconds: float) -> None:
        """Advance the clock by so many seconds, and reconcile on the way."""
        end = self.time + seconds
        while (due := self.loop.run(self.time, most=100_000)) is not None and due <= end:
            assert due > self.time, "something is never done"
            self.time = due
        self.time = end

    # Objects

    def create(self, kind: Kind, body: Raw) -> Raw:
        return self.store.create(kind, body)

    def get(self, kind: Kind, name: str, namespace: str = "default") -> Raw:
        return self.store.get(kind, namespace if kind.namespaced else "", name)

    def find(self, kind: Kind, name: str, namespace: str = "default") -> Raw | None:
        return self.store.find(kind, namespace if kind.namespaced else "", name)

    def all(self, kind: Kind) -> list[Raw]:
        return list(self.store.all(kind))

    def names(self, kind: Kind) -> list[str]:
        return [one["metadata"]["name"] for one in self.store.all(kind)]

    def patch(self, kind: Kind, name: str, body: Raw, subresource: str = "", namespace: str = "default") -> Raw:
        return self.store.patch(
            Key(kind, namespace if kind.namespaced else "", name), body, "merge", subresource=subresource
        )

    def delete(self, kind: Kind, name: str, namespace: str = "default", **how: Any) -> Raw:
        return self.store.delete(Key(kind, namespace if kind.namespaced else "", name), **how)

    def node(self, name: str, labels: dict[str, str] | None = None, **allocatable: str) -> Raw:
        """A ready node; keywords such as `cpu="4"` are its allocatable resources."""
        room = {"cpu": "64", "memory": "256Gi", "pods": "110", **allocatable}
        return self.create(
            NODE,
            {
                "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
                "status": {
                    "allocatable": room,
                    "capacity": room,
                    "conditions": [{"type": "Ready", "status": "True"}],
                },
            },
        )

    def pod(self, name: str, annotations: dict[str, str] | None = None, **spec: Any) -> Raw:
        body = {"metadata": {"name": name, "annotations": annotations or {}}, "spec": {**containers(), **spec}}
        return self.create(POD, body)

    def job(self, name: str, annotations: dict[str, str] | None = None, **spec: Any) -> Raw:
        """A Job whose pods have these annotations."""
        return self.create(JOB, {"metadata": {"name": name}, "spec": {"template": template(annotations), **spec}})

    def pods(self) -> list[Raw]:
        return self.all(POD)


def containers(**requests: str) -> Raw:
    """The spec of a pod that ends."""
    resources = {"requests": requests} if requests else {}
    return {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox:1", "resources": resources}]}


def template(annotations: dict[str, str] | None = None, labels: dict[str, str] | None = None, **spec: Any) -> Raw:
    return {"metadata": {"annotations": annotations or {}, "labels": labels or {}}, "spec": {**containers(), **spec}}


def condition(raw: Raw, kind: str) -> Raw | None:
    return next((one for one in raw.get("status", {}).get("conditions", ()) if one["type"] == kind), None)


def states(raw: Raw) -> dict[str, str]:
    """Its conditions: type to status."""
    return {one["type"]: one["status"] for one in raw.get("status", {}).get("conditions", ())}
