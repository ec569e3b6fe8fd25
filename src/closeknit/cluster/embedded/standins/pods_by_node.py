"""Which pods are on which node, updated incrementally, so that no stand-in has to iterate over all pods.

Applying a change twice has no effect: several stand-ins share one instance, and each applies the changes it observes.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...kinds import POD
from ...port import Change, Key, Raw
from ..store import Store


class PodsByNode:
    """Pods by node. An ended pod stays until it is deleted."""

    def __init__(self) -> None:
        self._on: dict[str, dict[Key, None]] = {}

    def see(self, change: Change) -> None:
        if change.kind is not POD:
            return
        node = change.object["spec"].get("nodeName")
        if not node:
            return
        if change.type != "DELETED":
            self._on.setdefault(node, {})[change.key] = None
            return
        pods = self._on.get(node)
        if pods is not None:
            pods.pop(change.key, None)
            if not pods:
                del self._on[node]

    def keys(self, node: str) -> Iterable[Key]:
        return tuple(self._on.get(node, ()))

    def pods(self, store: Store, node: str) -> list[Raw]:
        """The pods on a node, in the order of their bindings."""
        found = (store.find(POD, key.namespace, key.name) for key in self._on.get(node, ()))
        return [pod for pod in found if pod is not None and pod["spec"].get("nodeName") == node]
