"""Refusals of kubelets, and the time at which what is known of NUMA zones changes by itself.

A kubelet refuses a pod that was promised a place only if it knows what its report does not show. The pod gets an event
with both views, and no pod of its shape is sent to the node for a while, which doubles with each refusal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ..cluster.kinds import NODE_TOPOLOGY, POD
from ..cluster.port import Change, Key
from ..model.event import Event
from ..numa.refusal import REASONS
from ..numa.zone_names import zones_text
from ..observe.cluster_cache import ClusterCache
from ..queue.wake import WakeEvent
from ..write.events import Recorder, RecordEvent
from .reconciler import Reconciler, RequeueAt, Step

REASON = "RefusedByKubelet"
MOST_TOLD = 10_000


class ZoneRefusals(Reconciler[Key | str]):
    """Keyed by pod; the empty key stands for the time. `counts` are refusals by the kubelet's reason."""

    def __init__(self, cache: ClusterCache, recorder: Recorder) -> None:
        super().__init__(cache, recorder)
        self.counts: Counter[str] = Counter()
        self._told: dict[str, None] = {}

    def see(self, change: Change) -> None:
        super().see(change)
        due = self.cache.world.zoning.due() if change.kind in (POD, NODE_TOPOLOGY) else None
        if due is not None:
            self.queue.add_after("", due)

    def keys_for(self, change: Change) -> Iterable[Key]:
        status = change.object.get("status") or {}
        refused = change.kind is POD and change.type != "DELETED" and status.get("phase") == "Failed"
        return (change.key,) if refused and status.get("reason") in REASONS else ()

    def reconcile(self, key: Key | str, now: float) -> Iterator[Step]:
        zoning = self.cache.world.zoning
        if isinstance(key, Key):
            yield from self._refused(key, now)
        elif zoning.settle():
            self.cache.wakes.note(WakeEvent.NODE_CHANGED)
        due = zoning.due()
        if due is not None and isinstance(key, str):
            yield RequeueAt(due)
        elif due is not None:
            self.queue.add_after("", due)

    def _refused(self, key: Key, now: float) -> Iterator[Step]:
        raw, pod = self.cache.find(key), self.cache.pods.all.get(f"{key.namespace}/{key.name}")
        plans = self.cache.world.zoning.plans
        if raw is None or pod is None or plans is None or pod.uid in self._told or pod.node not in plans.nodes:
            return
        demand = plans.demand_of_pod(pod.key)
        if demand is None:
            return
        self._told[pod.uid] = None
        while len(self._told) > MOST_TOLD:
            del self._told[next(iter(self._told))]
        status = raw["status"]
        self.counts[status["reason"]] += 1
        free = zones_text(plans.free_on(pod.node))
        seconds = self.cache.world.zoning.refused(pod.node, demand)
        text = (
            f"The kubelet of node {pod.node} refused it: {status.get('message') or status['reason']}. "
            f"By the node's report and what happened since, these were free: {free}. "
            f"Pods like it are not sent there for {seconds:.0f} s"
        )
        yield RecordEvent(raw, Event(pod.key, "Warning", REASON, text), now)
