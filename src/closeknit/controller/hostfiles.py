"""Reconciles the ConfigMaps with host files for launchers, one for each workload that requests it.

It needs no permission to read ConfigMaps: the first write creates one, later ones change it only if the Workload owns
it. After a restart the first write is refused, because the ConfigMap exists, and is repeated as a change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..cluster import kinds
from ..cluster.errors import AlreadyExists, Invalid, NotFound, Refused
from ..cluster.port import Change, Raw, Write, target_of
from ..lifecycle.ranks import hosts_by_rank
from ..model.event import Event
from ..observe.cluster_cache import ClusterCache
from ..observe.launching import hostfile_form, job_of, unranked
from ..observe.pod_cache import workload_of
from ..write import hostfiles
from ..write.events import Recorder, RecordEvent
from .reconciler import Reconciler, Step

GATE = "PlacesOnPods"
NOT_OURS = "ConfigMap {name} is not owned by this Workload, so the host file was not written: delete or rename it"


class HostfileReconciler(Reconciler[str]):
    """Keyed by workload."""

    def __init__(self, cache: ClusterCache, recorder: Recorder) -> None:
        super().__init__(cache, recorder)
        self._written: dict[str, tuple[str, Raw]] = {}
        """The uid of the Workload and the data last written, by workload."""
        self._exists: set[str] = set()
        """Workloads whose ConfigMap exists, though not with the data of this process."""

    def keys_for(self, change: Change) -> Iterable[str]:
        if GATE not in self.cache.gates:
            return ()
        meta = change.object["metadata"]
        if change.kind is kinds.WORKLOAD:
            key = f"{meta['namespace']}/{meta['name']}"
            if change.type == "DELETED":
                self._forget(key)
                return ()
            return [key] if hostfile_form(self.cache, change.object) else ()
        if change.kind is kinds.POD:
            key = f"{meta['namespace']}/{workload_of(change.object)}"
            return [key] if key in self._written else ()
        return ()

    def _forget(self, key: str) -> None:
        self._written.pop(key, None)
        self._exists.discard(key)

    def reconcile(self, key: str, now: float) -> Iterator[Step]:
        workload, raw = self.cache.workloads.get(key), self.cache.raw_workload(key)
        if workload is None or raw is None or workload.finished or not workload.admitted or workload.evicted:
            return
        form, job = hostfile_form(self.cache, raw), job_of(self.cache, raw)
        if not form or job is None:
            return
        pods = self.cache.pods.of_workload(f"{workload.namespace}/{self.cache.family_of(raw) or workload.name}")
        data = hostfiles.data(form, hosts_by_rank(workload, pods, unranked(self.cache, raw)))
        before = self._written.get(key)
        if before == (workload.uid, data):
            return
        is_there = key in self._exists or (before is not None and before[0] == workload.uid)
        self._written[key] = workload.uid, data
        yield (hostfiles.changed if is_there else hostfiles.created)(raw, job["metadata"]["name"], data)

    def on_refused(self, key: str, write: Write, why: Refused, now: float) -> None:
        self._written.pop(key, None)
        if isinstance(why, AlreadyExists):
            self._exists.add(key)
            self.queue.add(key)
            return
        self._exists.discard(key)
        raw = self.cache.raw_workload(key)
        if isinstance(why, Invalid) and raw is not None:
            text = NOT_OURS.format(name=target_of(write).name)
            self.recorder.record(RecordEvent(raw, Event(key, "Warning", "HostfileNotWritten", text), now))
        if not isinstance(why, NotFound) or raw is not None:
            self.queue.add_rate_limited(key, now)
