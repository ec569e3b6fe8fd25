"""Which pods are on which node, kept up to date change by change, so that nobody has to look through all pods.

Seeing a change twice does no harm: several stand-ins share one instance, and each shows it what it sees.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...kinds import POD
from ...port import Change, Key, Raw
from ..store import Store


class Seats:
    """Pods by node. A pod that has ended keeps its seat until it is removed."""

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
        """The pods on a node, in the order in which they came."""
        found = (store.find(POD, key.namespace, key.name) for key in self._on.get(node, ()))
        return [pod for pod in found if pod is not None and pod["spec"].get("nodeName") == node]
