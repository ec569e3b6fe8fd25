"""The pod garbage collector: it fails and removes the pods of a deleted node, which no longer has a kubelet."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from ...kinds import NODE, POD
from ...port import Change, Delete, Raw, key_of
from ..loop import ReconcileAt, Step
from ..store import Store
from .children import is_ended, status_write, with_condition
from .pods_by_node import PodsByNode
from .settings import DEFAULTS, StandinSettings


class PodGc:
    watches = (POD, NODE)

    def __init__(self, settings: StandinSettings = DEFAULTS, pods_by_node: PodsByNode | None = None) -> None:
        self.settings = settings
        self.pods_by_node = pods_by_node or PodsByNode()
        self._gone: dict[str, float] = {}
        """Missing nodes, and since when."""

    def concerns(self, store: Store, change: Change) -> Iterable[Hashable]:
        if change.kind is POD:
            self.pods_by_node.see(change)
            node = change.object["spec"].get("nodeName")
            bound = change.type == "ADDED" or (change.old is not None and change.old["spec"].get("nodeName") != node)
            return (node,) if node and bound and store.find(NODE, "", node) is None else ()
        if change.kind is NODE and change.type == "DELETED":
            return (change.object["metadata"]["name"],)
        return ()

    def reconcile(self, store: Store, key: Hashable, now: float) -> Iterator[Step]:
        name = str(key)
        if store.find(NODE, "", name) is not None:
            self._gone.pop(name, None)
            return
        at = self._gone.setdefault(name, now) + self.settings.gone_node_grace
        if at > now:
            yield ReconcileAt(at)
            return
        del self._gone[name]
        for pod in self.pods_by_node.pods(store, name):
            yield from _collect(pod, now)


def _collect(pod: Raw, now: float) -> Iterator[Step]:
    if not is_ended(pod):
        status = pod.get("status") or {}
        conditions = with_condition(
            status.get("conditions"),
            "DisruptionTarget",
            True,
            "DeletionByPodGC",
            "PodGC: node no longer exists",
            now,
            lastProbeTime=None,
        )
        yield from status_write(POD, pod, {**status, "phase": "Failed", "conditions": conditions})
    yield Delete(key_of(POD, pod), uid=pod["metadata"]["uid"], grace=0)
