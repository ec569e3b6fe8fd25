"""Warns about pods, and sets of pods, that name a queue on a server that cannot gate pods.

A scheduling gate can be added only when a pod is created, and only by the server. Without the admission policies such
pods start immediately, regardless of their queue; the controller records an event on each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..cluster.port import Change, Key
from ..model.event import Event
from ..observe.cluster_cache import ClusterCache
from ..observe.live_jobs import Managed, is_on_its_own, names_queue, ungated_kinds
from ..write.events import Recorder, RecordEvent
from .reconciler import Reconciler, Step

REASON = "NotQueued"
TEXT = (
    "It does not wait in queue {queue}: this server cannot gate pods when they are created. "
    "Install Closeknit's admission policies, or submit a Job"
)


class UngateableReporter(Reconciler[Key]):
    def __init__(self, cache: ClusterCache, recorder: Recorder, managed: Managed) -> None:
        super().__init__(cache, recorder)
        self.managed, self.kinds = managed, ungated_kinds(managed)

    def keys_for(self, change: Change) -> Iterable[Key]:
        is_new = change.kind in self.kinds and change.type == "ADDED"
        return [change.key] if is_new and names_queue(change.object) and is_on_its_own(change.object) else ()

    def reconcile(self, key: Key, now: float) -> Iterator[Step]:
        raw = self.cache.find(key)
        if raw is None or not self.managed.is_in(self.cache, key.namespace):
            return
        text = TEXT.format(queue=names_queue(raw))
        yield RecordEvent(raw, Event(f"{key.namespace}/{key.name}", "Warning", REASON, text), now)
