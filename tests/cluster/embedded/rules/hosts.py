"""A store with the rules of the host, ids that count, and ways to ask what it makes of an object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from closeknit.cluster.embedded.rules import AdmissionSettings, HostRules
from closeknit.cluster.embedded.store import Store, WriteOptions
from closeknit.cluster.errors import Invalid, Refused
from closeknit.cluster.kinds import LOCAL_QUEUE, NAMESPACE, Kind
from closeknit.cluster.port import Key, Raw

CONTAINER: Raw = {"name": "c", "image": "i:1"}
QUEUE = "kueue.x-k8s.io/queue-name"
KUEUE = "kueue.x-k8s.io/"
NOW = 1_700_000_000.0
"""2023-11-14T22:13:20Z."""


class Ids:
    def __init__(self) -> None:
        self.count = 0

    def uid(self) -> str:
        self.count += 1
        return f"uid-{self.count}"

    def tail(self, length: int) -> str:
        return "x" * length


class Host:
    def __init__(self, **settings: Any) -> None:
        self.store = Store(lambda: NOW, Ids(), HostRules(AdmissionSettings(**settings)))
        for name in ("default", "kube-system"):
            self.store.create(NAMESPACE, {"metadata": {"name": name}})

    def create(self, kind: Kind, body: Raw, trusted: bool = False) -> Raw:
        meta = {"name": "x", **body.get("metadata", {})}
        return self.store.create(kind, {**body, "metadata": meta}, WriteOptions(trusted=trusted))

    def patch(self, kind: Kind, body: Raw, subresource: str = "", trusted: bool = False, name: str = "x") -> Raw:
        key = Key(kind, "default" if kind.namespaced else "", name)
        return self.store.patch(key, body, "merge", subresource, WriteOptions(trusted=trusted))

    def default_queue(self, namespace: str = "default") -> None:
        body = {"metadata": {"name": "default", "namespace": namespace}, "spec": {"clusterQueue": "q"}}
        self.store.create(LOCAL_QUEUE, body)

    def refusal(self, kind: Kind, body: Raw) -> list[tuple[str, str]]:
        """The fields that are wrong with a new object, and why; nothing if it is taken."""
        return causes(lambda: self.create(kind, body))

    def change_refusal(self, kind: Kind, body: Raw, subresource: str = "") -> list[tuple[str, str]]:
        return causes(lambda: self.patch(kind, body, subresource))


def causes(act: Callable[[], Any]) -> list[tuple[str, str]]:
    """The fields that an Invalid names, and why; nothing if there is no refusal. Any other refusal is raised."""
    try:
        act()
    except Invalid as error:
        return [(one.field, one.reason.removeprefix("FieldValue")) for one in error.causes]
    return []


def refused(act: Callable[[], Any]) -> tuple[int, str]:
    """Code and message of a refusal, whatever it is."""
    try:
        act()
    except Refused as error:
        return error.code, error.message
    return 0, ""


def pod(**spec: Any) -> Raw:
    return {"spec": {"containers": [CONTAINER], **spec}}


def template(**spec: Any) -> Raw:
    return {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [CONTAINER], **spec}}


def job(labels: Raw | None = None, pods: Raw | None = None, **spec: Any) -> Raw:
    """A Job; `pods` is added to the spec of its pods."""
    body = {"template": {"spec": {"restartPolicy": "Never", "containers": [CONTAINER], **(pods or {})}}, **spec}
    return {"metadata": {"labels": labels} if labels else {}, "spec": body}


def a_set(**spec: Any) -> Raw:
    return {"spec": {"selector": {"matchLabels": {"app": "x"}}, "template": template(), **spec}}


def owner(raw: Raw, **more: Any) -> Raw:
    meta = raw["metadata"]
    return {
        "apiVersion": raw["apiVersion"],
        "kind": raw["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        **more,
    }
