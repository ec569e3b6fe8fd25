"""The pending workloads of all ClusterQueues.

A workload reaches the queue of its ClusterQueue through a LocalQueue. A cycle takes the head of every queue; a head
that is not admitted is requeued or parked.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from heapq import heappop, heappush

from ..model.cluster_queue import ClusterQueue, LocalQueue
from ..model.gates import Gates
from ..model.settings import Settings
from ..model.workload import Status, Workload
from .pending_queue import PendingQueue, always
from .pending_workload import PendingWorkload, pending_workload
from .wake import PARKS_ITS_CLASS, RETRIES_AT_ONCE, RULES, Reach, RequeueReason, WaitStage, WakeEvent

Matches = Callable[[PendingWorkload], bool]


class PendingQueues:
    """Every pending workload is in the queue of its ClusterQueue, or `without_queue` if no LocalQueue leads to one."""

    def __init__(self, settings: Settings, gates: Gates) -> None:
        self.settings, self.gates = settings, gates
        self.queues: dict[str, PendingQueue] = {}
        self.local_queues: dict[str, LocalQueue] = {}
        self.queue_name_of: dict[str, str] = {}
        self.without_queue: dict[str, Workload] = {}
        """Workloads whose LocalQueue or ClusterQueue is missing or stopped."""
        self.bypassed: dict[tuple[str, Hashable], None] = {}
        """Parked classes, by queue and equivalence key, with members that may lack a reported reason."""
        self._waiting_for_local_queue: dict[str, set[str]] = {}
        self._timers: list[tuple[float, str]] = []

    # Queues

    def put_queue(self, queue: ClusterQueue) -> None:
        pending = self.queues.get(queue.name)
        if pending is None:
            self.queues[queue.name] = PendingQueue(queue.name, queue.strategy)
            self._enqueue_waiting(key for key, one in self.local_queues.items() if one.cluster_queue == queue.name)
        else:
            pending.strategy = queue.strategy

    def drop_queue(self, name: str) -> None:
        pending = self.queues.pop(name, None)
        if pending is not None:
            for entry in [*pending.ready(), *pending.all_parked()]:
                self._strand(entry.workload)

    def put_local_queue(self, queue: LocalQueue) -> None:
        old = self.local_queues.get(queue.key)
        self.local_queues[queue.key] = queue
        if old is not None and (old.stop != queue.stop or old.cluster_queue != queue.cluster_queue):
            self._strand_all(queue.key)
        self._enqueue_waiting([queue.key])

    def drop_local_queue(self, key: str) -> None:
        if self.local_queues.pop(key, None) is not None:
            self._strand_all(key)

    def _strand_all(self, key: str) -> None:
        for pending in self.queues.values():
            for entry in [*pending.ready(), *pending.all_parked()]:
                if entry.workload.local_queue == key:
                    pending.drop(entry.key)
                    self._strand(entry.workload)

    def _strand(self, workload: Workload) -> None:
        self.queue_name_of.pop(workload.key, None)
        self.without_queue[workload.key] = workload
        self._waiting_for_local_queue.setdefault(workload.local_queue, set()).add(workload.key)

    def _enqueue_waiting(self, local_queues: Iterable[str]) -> None:
        """Enqueue the workloads that waited for these LocalQueues to lead to a ClusterQueue."""
        for local_queue in list(local_queues):
            for key in sorted(self._waiting_for_local_queue.pop(local_queue, ())):
                workload = self.without_queue.get(key)
                if workload is not None and workload.local_queue == local_queue:
                    del self.without_queue[key]
                    self.put(workload)

    def queue_of(self, workload: Workload) -> str:
        """The ClusterQueue of a workload; empty if its LocalQueue is missing or stopped."""
        local = self.local_queues.get(workload.local_queue)
        return "" if local is None or local.stop != "None" else local.cluster_queue

    # Workloads

    def put(self, workload: Workload, now: float = 0.0) -> None:
        """Add or update a pending workload. One that is in the current cycle is left alone."""
        name = self.queue_of(workload)
        pending = self.queues.get(name)
        if pending is None:
            self.drop(workload.key)
            self._strand(workload)
            return
        if pending.in_cycle is not None and pending.in_cycle.key == workload.key:
            return
        known = self.queue_name_of.get(workload.key)
        if known is not None and known != name:
            self.drop(workload.key)
        entry = pending_workload(workload, name, self.settings, self.gates)
        self._put(pending, entry, now)

    def _put(self, pending: PendingQueue, entry: PendingWorkload, now: float) -> None:
        old = pending.get(entry.key)
        if old is not None:
            entry.progress, entry.waits_since = old.progress, old.waits_since
        self.queue_name_of[entry.key] = pending.name
        if backing_off(entry.workload.status, now):
            self._park_for_now(pending, entry)
        elif old is not None and entry.key in pending.parked and not _changed(old, entry):
            pending.parked[entry.key] = entry
            entry.parked_for = old.parked_for
        else:
            pending.push(entry)
            if entry.unexplained and pending.bypassed(entry.key):
                self.bypassed[pending.name, entry.equivalence_key] = None

    def drop(self, key: str) -> PendingWorkload | None:
        """Remove a workload that was admitted, finished, deleted, or may not be admitted now."""
        homeless = self.without_queue.pop(key, None)
        if homeless is not None:
            waiting_keys = self._waiting_for_local_queue.get(homeless.local_queue, set())
            waiting_keys.discard(key)
            if not waiting_keys:
                self._waiting_for_local_queue.pop(homeless.local_queue, None)
        pending = self.queues.get(self.queue_name_of.pop(key, ""))
        if pending is None:
            return None
        if pending.preemptor == key:
            pending.preemptor = None
        if pending.in_cycle is not None and pending.in_cycle.key == key:
            pending.in_cycle = None
        return pending.drop(key)

    def heads(self, active: Callable[[str], bool], likely: Matches = always) -> list[PendingWorkload]:
        """Take the first workload of every active queue into the cycle."""
        found = (pending.pop(likely) for pending in self.queues.values() if active(pending.name))
        return [entry for entry in found if entry is not None]

    def requeue(
        self,
        entry: PendingWorkload,
        why: RequeueReason,
        stage: WaitStage,
        now: float,
        reason: str = "",
        alone: bool = False,
    ) -> None:
        """Make a workload ready again, or park it until an event; `reason` is the message of its condition.

        With `alone`, what stops it need not stop the others of its class.
        """
        pending = self.queues.get(entry.queue)
        if pending is None or pending.in_cycle is None or pending.in_cycle.key != entry.key:
            return
        pending.in_cycle = None
        if why is RequeueReason.PENDING_PREEMPTION:
            pending.preemptor = entry.key
        strict = pending.strategy == "StrictFIFO"
        again = why in RETRIES_AT_ONCE or (strict and why is not RequeueReason.NAMESPACE)
        again = again or pending.woken or (entry.progress is not None and entry.progress.pending)
        if backing_off(entry.workload.status, now) or (entry.waits_until is not None and not strict):
            self._park_for_now(pending, entry)
        elif again:
            pending.push(entry)
        elif why in PARKS_ITS_CLASS and not alone and not strict and "SchedulingEquivalenceHashing" in self.gates:
            pending.park_class(entry, stage.value, reason)
            self.bypassed[pending.name, entry.equivalence_key] = None
        else:
            pending.park(entry, stage.value)

    def set_aside(self, entry: PendingWorkload, until: float) -> None:
        """Park a workload of the current cycle about which no decision can be made, under either strategy."""
        pending = self.queues.get(entry.queue)
        if pending is None or pending.in_cycle is None or pending.in_cycle.key != entry.key:
            return
        pending.in_cycle = None
        pending.park(entry, WaitStage.FAULT.value)
        heappush(self._timers, (until, entry.key))

    def put_back(self) -> None:
        """Make every workload of a cycle that was abandoned ready again."""
        for pending in self.queues.values():
            entry, pending.in_cycle = pending.in_cycle, None
            if entry is not None:
                pending.push(entry)

    def untold(self, most: int) -> list[str]:
        """Up to `most` workloads of parked classes whose reason is still to be reported; each is returned once."""
        found: list[str] = []
        while self.bypassed and len(found) < most:
            name, class_key = next(iter(self.bypassed))
            pending, still = self.queues.get(name), most - len(found)
            found += [] if pending is None else pending.unreported(class_key, still)
            if len(found) < most:
                del self.bypassed[name, class_key]
        return found

    def _park_for_now(self, pending: PendingQueue, entry: PendingWorkload) -> None:
        """Park a workload until its backoff ends, or without a timer if no end is set."""
        pending.park(entry, WaitStage.UNKNOWN.value)
        until = entry.waits_until if entry.waits_until is not None else entry.workload.status.requeue_at
        entry.waits_until = None
        if until is not None:
            heappush(self._timers, (until, entry.key))

    @property
    def next_timer(self) -> float | None:
        """When the next backoff ends."""
        return self._timers[0][0] if self._timers else None

    def tick(self, now: float) -> int:
        """Make workloads ready whose backoff has ended."""
        count = 0
        while self._timers and self._timers[0][0] <= now:
            _, key = heappop(self._timers)
            pending = self.queues.get(self.queue_name_of.get(key, ""))
            entry = None if pending is None else pending.parked.get(key)
            if pending is None or entry is None:
                continue
            until = entry.workload.status.requeue_at
            if not backing_off(entry.workload.status, now):
                pending.push(entry)
                count += 1
            elif until is not None and until > now:
                heappush(self._timers, (until, key))
        return count

    def wake(
        self, event: WakeEvent, queues: Iterable[str], matches: Matches, now: float, likely: Matches = always
    ) -> int:
        """Wake the workloads that an event can help, except those that are not `likely` to fit; return how many."""
        by_reason = "WakeByReason" in self.gates
        wakes = {stage.value for stage in RULES[event].wakes}

        def may(entry: PendingWorkload) -> bool:
            return matches(entry) and not backing_off(entry.workload.status, now)

        def helps(reason: str) -> bool:
            return not by_reason or reason in wakes

        chosen = self.queues if RULES[event].reach is Reach.EVERYWHERE else queues
        return sum(self.queues[name].wake(may, helps, likely) for name in chosen if name in self.queues)

    # Reading

    def get(self, key: str) -> PendingWorkload | None:
        pending = self.queues.get(self.queue_name_of.get(key, ""))
        if pending is None:
            return None
        return pending.in_cycle if pending.in_cycle is not None and pending.in_cycle.key == key else pending.get(key)

    def ready(self) -> Iterator[PendingQueue]:
        return (pending for pending in self.queues.values() if pending.is_ready)


def backing_off(status: Status, now: float) -> bool:
    requeued = status.conditions.get("Requeued")
    if requeued is not None and not requeued.holds:
        return True
    return status.requeue_at is not None and now < status.requeue_at


def _changed(old: PendingWorkload, new: PendingWorkload) -> bool:
    """Whether a parked workload has to be evaluated again: its spec or its eviction conditions changed."""
    before, after = old.workload, new.workload
    if (
        old.equivalence_key != new.equivalence_key
        or before.generation != after.generation
        or before.boost != after.boost
    ):
        return True
    if before.status.reclaimable != after.status.reclaimable or before.status.open_gates != after.status.open_gates:
        return True
    kinds = ("Evicted", "Requeued")
    return any(before.status.conditions.get(kind) != after.status.conditions.get(kind) for kind in kinds)
