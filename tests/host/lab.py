"""Helpers for tests of the embedded cluster in virtual time: write as a user would, and read concisely."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import yaml

from closeknit.cluster import kinds
from closeknit.cluster.embedded.store import WriteOptions
from closeknit.cluster.kinds import Kind, kind_of
from closeknit.cluster.port import Key
from closeknit.host.embedded import EmbeddedCluster, EmbeddedOptions
from closeknit.host.virtual import VirtualClock, VirtualHost

Raw = dict[str, Any]
START = 1_800_000_000.0
CLIENT = WriteOptions(trusted=False)


class Lab(VirtualHost):
    """An embedded cluster to which objects are sent as a user would send them."""

    def __init__(
        self,
        options: EmbeddedOptions | None = None,
        start: float = START,
        prepare: Callable[[EmbeddedCluster], None] = lambda _: None,
    ) -> None:
        super().__init__(VirtualClock(start), options, prepare=prepare)

    # Writing as a user would

    def create(self, raw: Raw) -> Raw:
        kind = kind_of(raw["apiVersion"], raw["kind"])
        assert kind is not None, raw["kind"]
        return self.cluster.store.create(kind, raw, CLIENT)

    def apply(self, manifests: str) -> list[Raw]:
        return [self.create(raw) for raw in yaml.safe_load_all(manifests) if raw]

    def patch(self, kind: Kind, namespace: str, name: str, body: Raw) -> None:
        if self.cluster.store.find(kind, namespace, name) is not None:
            self.cluster.store.patch(Key(kind, namespace, name), body, options=CLIENT)

    def delete(self, kind: Kind, namespace: str, name: str) -> None:
        if self.cluster.store.find(kind, namespace, name) is not None:
            self.cluster.store.delete(Key(kind, namespace, name), options=CLIENT)

    # Reading

    def get(self, kind: Kind, name: str, namespace: str = "default") -> Raw:
        found = self.cluster.store.find(kind, namespace if kind.namespaced else "", name)
        assert found is not None, f"there is no {kind.kind} {name}"
        return found

    def all(self, kind: Kind, namespace: str = "default") -> list[Raw]:
        return list(self.cluster.store.all(kind, namespace if kind.namespaced else ""))

    def workloads(self) -> list[Raw]:
        return self.all(kinds.WORKLOAD)

    def pods(self) -> list[Raw]:
        return sorted(self.all(kinds.POD), key=lambda pod: pod["metadata"]["name"])


def condition(raw: Raw, kind: str) -> bool:
    found: Iterable[Raw] = (raw.get("status") or {}).get("conditions") or ()
    for one in found:
        if one["type"] == kind:
            return bool(one["status"] == "True")
    return False
