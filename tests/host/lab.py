"""An embedded cluster whose clock stands still until it is told to go on: for tests that look at every moment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import yaml

from closeknit.cluster import kinds
from closeknit.cluster.embedded.store import Options as WriteOptions
from closeknit.cluster.kinds import Kind, kind_of
from closeknit.cluster.port import Key
from closeknit.host.embedded import EmbeddedCluster, Options

Raw = dict[str, Any]
START = 1_800_000_000.0
CLIENT = WriteOptions(trusted=False)


class Restless(AssertionError):  # noqa: N818 - it is what a test ends with
    """The loop does not come to rest."""


class Lab:
    """Objects go in as a user would send them."""

    most_turns = 4_000
    """So many steps of the loop at one moment are a sign that it never ends; where there is much to do, many more."""

    def __init__(self, options: Options | None = None) -> None:
        self.clock = START
        self.options = options or Options(seed=1)
        self.cluster = EmbeddedCluster(lambda: self.clock, self.options)
        self.cluster.begin()

    def restart(self) -> None:
        """As after a kill: all that is kept is the objects. Ids differ from start to start, as they would."""
        old, self.options = self.store, replace(self.options, seed=(self.options.seed or 0) + 1)
        self.cluster = EmbeddedCluster(lambda: self.clock, self.options)
        for kind in kinds.KINDS:
            for raw in old.all(kind):
                self.store.restore(kind, raw)
        self.store.resume(old.version)
        self.cluster.begin()

    def run_until(self, changes: int) -> bool:
        """At this moment, up to so many changes of the store; whether there were as many."""
        last = self.store.version + changes
        while self.store.version < last:
            due = self.cluster.run(1)
            if due is None or due > self.clock:
                break
        return bool(self.store.version >= last)

    @property
    def store(self) -> Any:
        return self.cluster.store

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

    # Time

    def settle(self) -> float | None:
        """Everything that is to be done at this moment."""
        due = self.cluster.run(self.most_turns)
        if due is not None and due <= self.clock:
            raise Restless(f"more than {self.most_turns} turns at one moment")
        return due

    def advance(self, seconds: float) -> None:
        """To every moment at which something is due, up to the last."""
        end = self.clock + seconds
        while (due := self.settle()) is not None and due <= end:
            self.clock = max(self.clock, due)
        self.clock = end
        self.settle()


def condition(raw: Raw, kind: str) -> bool:
    found: Iterable[Raw] = (raw.get("status") or {}).get("conditions") or ()
    for one in found:
        if one["type"] == kind:
            return bool(one["status"] == "True")
    return False
