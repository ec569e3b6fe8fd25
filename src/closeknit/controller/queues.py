"""Reconciles what administrators create: writes queue status, and holds finalizers on objects in use.

Counts change with every workload, so the status of a queue is written at most once per second, and every five seconds
when the server is slow. That workloads have begun or ceased to wait is written before further scheduling. A slow server
delays neither the beginning of a wait nor the end of all work: clients that wait until all queues are empty rely on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..cluster import kinds
from ..cluster.errors import Refused
from ..cluster.kinds import Kind
from ..cluster.port import Change, Key, Raw
from ..decide.activity import (
    COHORT_READY,
    LOCAL_QUEUE_READY,
    QUEUE_READY,
    active_condition,
    inactive_cohort,
    inactive_local_queue,
)
from ..observe.cluster_cache import ClusterCache
from ..observe.queue_counts import QueueCount
from ..quota.share import share_of
from ..write import queues as write
from ..write.events import Recorder
from ..write.in_flight import Flight
from .placing import Batches
from .reconciler import Reconciler, Step, changes_more_than_status

BATCH, LONGEST_BATCH = 1.0, 5.0
"""Shortest and longest time between two status writes of a queue, in seconds."""
PROMPT = 0.25
"""Seconds after which scheduling waits until a queue's status shows that workloads have begun or ceased to wait."""
SPARING = 150
"""The time between two status writes is this many times what the last write took, within the limits above."""

QUEUES = (kinds.CLUSTER_QUEUE, kinds.LOCAL_QUEUE)
HELD = (kinds.CLUSTER_QUEUE, kinds.RESOURCE_FLAVOR, kinds.TOPOLOGY)
"""Kinds with a finalizer, kept while anything refers to the object."""
RULES = (kinds.RESOURCE_FLAVOR, kinds.TOPOLOGY, kinds.ADMISSION_CHECK, kinds.COHORT)


class QueueStatusReconciler(Reconciler[Key]):
    def __init__(self, cache: ClusterCache, recorder: Recorder) -> None:
        super().__init__(cache, recorder)
        self.batches = Batches(BATCH)
        self.flipped: dict[Key, float] = {}
        """Queues whose status wrongly shows pending or admitted workloads, or none: the time by which to correct it."""

        self._leading: dict[str, list[str]] = {}
        """LocalQueues by the ClusterQueue their workloads wait in; cleared when a LocalQueue changes."""
        self._unusable: set[str] = set()
        """The cohorts that were too deep or in a cycle at the last change of a cohort."""

    def see(self, change: Change) -> None:
        now = self.cache.now()
        if change.kind is kinds.LOCAL_QUEUE:
            self._leading.clear()
        for key in self.keys_for(change):
            self.queue.add_after(key, self.batches.next(str(key), now))
            if key.kind in QUEUES and key not in self.flipped and (pause := self._pause_of_flip(key)) is not None:
                self.flipped[key] = max(now + PROMPT, self.batches.last(str(key)) + pause)

    def done(self, flight: Flight[Key], result: Raw | Refused, now: float) -> None:
        took = self.cache.now() - self.batches.last(str(flight.key))
        self.batches.seconds = min(LONGEST_BATCH, max(BATCH, SPARING * took))
        super().done(flight, result, now)

    def requeue(self, key: Key, now: float) -> None:
        self.queue.add_after(key, self.batches.next(str(key), self.cache.now()))

    def keys_for(self, change: Change) -> Iterable[Key]:
        kind, meta = change.kind, change.object["metadata"]
        if kind is kinds.WORKLOAD:
            return self._of_workload(change)
        if kind in QUEUES:
            found = [change.key]
            if kind is kinds.CLUSTER_QUEUE and changes_more_than_status(change):
                found += [one for one in self._all(kinds.LOCAL_QUEUE) if self._leads_to(one, meta["name"])]
                found += self._all(kinds.RESOURCE_FLAVOR) if change.type != "ADDED" else []
            return found
        if kind in RULES and (changes_more_than_status(change) or kind is kinds.ADMISSION_CHECK):
            related = [*self._all(kinds.CLUSTER_QUEUE), *self._all(kinds.LOCAL_QUEUE)]
            return [change.key, *related, *self._beside(kind)]
        return ()

    def _beside(self, kind: Kind) -> Iterator[Key]:
        """Objects of the same kind, or of the kind that it refers to, whose state a change may alter."""
        if kind is kinds.RESOURCE_FLAVOR:
            yield from self._all(kinds.TOPOLOGY)
        if kind is kinds.COHORT:
            tree = self.cache.world.tree
            before, self._unusable = self._unusable, tree.too_deep | tree.rootless
            changed = before ^ self._unusable | tree.rootless  # one that stays in a cycle names all of its cohorts
            yield from (Key(kinds.COHORT, "", name) for name in changed)

    def _of_workload(self, change: Change) -> Iterator[Key]:
        meta = change.object["metadata"]
        names: dict[tuple[str, str], None] = {}
        for raw in (change.old, change.object):
            if raw is not None:
                names[raw["spec"].get("queueName") or "", _queue_of(raw)] = None
        for local, queue in names:
            yield Key(kinds.LOCAL_QUEUE, meta["namespace"], local)
            found = self.cache.local_queues.get(f"{meta['namespace']}/{local}")
            for name in dict.fromkeys((queue, "" if found is None else found.cluster_queue)):
                if name:
                    yield Key(kinds.CLUSTER_QUEUE, "", name)

    def _all(self, kind: Kind) -> list[Key]:
        return [Key(kind, *place) for place in self.cache.raw[kind]]

    def _leads_to(self, key: Key, queue: str) -> bool:
        found = self.cache.local_queues.get(f"{key.namespace}/{key.name}")
        return found is not None and found.cluster_queue == queue

    def _pause_of_flip(self, key: Key) -> float | None:
        """The time between two status writes, if the status is wrong about whether anything waits or runs."""
        raw = self.cache.find(key)
        if raw is None or "status" not in raw:
            return None
        status = raw["status"]
        shown = bool(status.get("pendingWorkloads")), bool(status.get("reservingWorkloads"))
        tally, waits = self.cache.tally, any(one.pending for one in self._local_counts(key))
        own = tally.queues[key.name] if key.kind is kinds.CLUSTER_QUEUE else tally.local[f"{key.namespace}/{key.name}"]
        runs = own.reserving > 0
        if shown == (waits, runs):
            return None
        return BATCH if waits or not runs else self.batches.seconds

    def _local_counts(self, key: Key) -> Iterable[QueueCount]:
        """Counts of the LocalQueues whose workloads wait in this queue."""
        if key.kind is kinds.LOCAL_QUEUE:
            return [self.cache.tally.local[f"{key.namespace}/{key.name}"]]
        if not self._leading:
            for one in self.cache.local_queues.values():
                if one.stop == "None":
                    self._leading.setdefault(one.cluster_queue, []).append(one.key)
        return (self.cache.tally.local[name] for name in self._leading.get(key.name, ()))

    def reconcile(self, key: Key, now: float) -> Iterator[Step]:
        self.flipped.pop(key, None)
        self.batches.done(str(key), self.cache.now())
        raw = self.cache.find(key)
        if raw is None:
            return
        if key.kind in HELD:
            change = write.held(key.kind, raw, self._in_use(key))
            if change is not None:
                yield change
                return
        if key.kind is kinds.CLUSTER_QUEUE:
            yield from self._cluster_queue(key.name, raw, now)
        elif key.kind is kinds.LOCAL_QUEUE:
            yield from self._local_queue(f"{key.namespace}/{key.name}", raw, now)
        elif key.kind is kinds.COHORT:
            yield from self._cohort(key.name, raw, now)

    def _in_use(self, key: Key) -> bool:
        world = self.cache.world
        match key.kind:
            case kinds.CLUSTER_QUEUE:
                return self.cache.tally.queues[key.name].reserving > 0
            case kinds.RESOURCE_FLAVOR:
                return any(key.name in one.flavors for one in world.cluster_queues.values())
            case _:
                return any(one.topology == key.name for one in world.flavors.values())

    def _cluster_queue(self, name: str, raw: Raw, now: float) -> Iterator[Step]:
        world = self.cache.world
        queue = world.cluster_queues.get(name)
        if queue is None:
            return
        pending = sum(one.pending for one in self._local_counts(Key(kinds.CLUSTER_QUEUE, "", name)))
        node = world.tree.queues.get(name)
        share = share_of(node).rounded if self.cache.settings.fair_sharing and node is not None else None
        status = write.queue_status(queue, self.cache.tally.queues[name], pending, share)
        active = active_condition(world.inactive(name), QUEUE_READY, now, world.gates)
        change = write.with_status(kinds.CLUSTER_QUEUE, raw, status, active)
        if change is not None:
            yield change

    def _local_queue(self, key: str, raw: Raw, now: float) -> Iterator[Step]:
        world, queue = self.cache.world, self.cache.local_queues.get(key)
        if queue is None:
            return
        cluster_queue = world.cluster_queues.get(queue.cluster_queue)
        status = write.local_queue_status(cluster_queue, self.cache.tally.local[key])
        active = active_condition(inactive_local_queue(world, queue), LOCAL_QUEUE_READY, now, world.gates)
        change = write.with_status(kinds.LOCAL_QUEUE, raw, status, active)
        if change is not None:
            yield change

    def _cohort(self, name: str, raw: Raw, now: float) -> Iterator[Step]:
        """Write what is wrong with a cohort, or that it no longer is; a cohort that always worked has no condition."""
        found = inactive_cohort(self.cache.world, name)
        if found is None and not (raw.get("status") or {}).get("conditions"):
            return
        active = active_condition(found, COHORT_READY, now, self.cache.world.gates)
        change = write.with_status(kinds.COHORT, raw, {}, active)
        if change is not None:
            yield change


class PromptQueueStatus:
    """Writes the status of queues that became empty or non-empty; comes before the scheduler, which may be busy."""

    def __init__(self, queues: QueueStatusReconciler) -> None:
        self.queues = queues

    def see(self, change: Change) -> None:
        """Nothing to do: the queue reconciler sees the change."""

    def due(self) -> float | None:
        return min(self.queues.flipped.values(), default=None)

    def step(self, now: float) -> Sequence[Flight[Key]]:
        """Write every queue status that is due, including those that have flipped."""
        queues, made = self.queues, list[Flight[Key]]()
        for key in [key for key, at in queues.flipped.items() if at <= now]:
            del queues.flipped[key]
            queues.queue.add(key)
        while (at := queues.queue.due()) is not None and at <= now:
            made += queues.step(now)
        return made

    def done(self, flight: Flight[Key], result: Raw | Refused, now: float) -> None:
        self.queues.done(flight, result, now)


def _queue_of(raw: Raw) -> str:
    admission = (raw.get("status") or {}).get("admission") or {}
    queue: str = admission.get("clusterQueue", "")
    return queue
