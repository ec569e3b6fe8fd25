"""Reconciles maintenance windows at the two times that matter: when one begins and when it ends.

Placement needs no timer, since it compares a window with the time of each decision. At the begin the workloads inside a
window that drains its nodes are reconciled, which evicts them; at the end those that wait for its nodes are woken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..cluster import kinds
from ..cluster.port import Change
from ..observe.cluster_cache import ClusterCache
from ..write.events import Recorder
from .reconciler import Reconciler, RequeueAt, Step
from .workloads import WorkloadReconciler


class MaintenanceReconciler(Reconciler[str]):
    """Keyed by the name of the window. It writes nothing itself."""

    def __init__(self, cache: ClusterCache, recorder: Recorder, workloads: WorkloadReconciler) -> None:
        super().__init__(cache, recorder)
        self.workloads = workloads

    def keys_for(self, change: Change) -> Iterable[str]:
        return [change.object["metadata"]["name"]] if change.kind is kinds.MAINTENANCE else ()

    def reconcile(self, key: str, now: float) -> Iterator[Step]:
        window = self.cache.world.windows.get(key)
        if window is None:
            return
        if now < window.begins:
            yield RequeueAt(window.begins)
        elif now < window.ends:
            self._drain(now)
            yield RequeueAt(window.ends)
        else:
            self.cache.end_maintenance(key)

    def _drain(self, now: float) -> None:
        for key, holding in self.cache.world.ledger.holdings.items():
            if self.cache.world.drained_by(holding.workload, now) is not None:
                self.workloads.queue.add(key)
