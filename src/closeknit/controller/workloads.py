"""Reconciles workloads: admission checks, stopped queues, time limits, and workloads whose job is gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..cluster import kinds
from ..cluster.errors import Refused
from ..cluster.port import Change, Raw, Write
from ..lifecycle.action import Deactivate, Remove, Requeue, StatusChange
from ..lifecycle.starting import unstarted
from ..lifecycle.workload import WorkloadView, workload_life
from ..model.workload import Workload
from ..observe.cluster_cache import ClusterCache
from ..observe.workloads import class_of, is_left_behind, rank_of
from ..write import workloads as write
from ..write.events import Recorder
from ..write.in_flight import Flight
from ..write.token_bucket import TokenBucket
from .reconciler import Reconciler, RequeueAt, Step, changes_more_than_status

BATCH, PAUSE = 20, 0.2
"""How many workloads of parked classes are reported in one batch, and the seconds between two batches."""


class WorkloadReconciler(Reconciler[str]):
    def __init__(self, cache: ClusterCache, recorder: Recorder) -> None:
        super().__init__(cache, recorder)
        self._to_rank: dict[str, None] = {}
        """Workloads whose priority class has a new value that they do not have yet."""
        self._active: dict[str, bool] = {}
        """Whether each ClusterQueue was active when its workloads were last requeued."""
        self._to_report: set[str] = set()
        """Workloads of parked classes that get the shared reason next."""

    def report_parked(self, key: str) -> None:
        self._to_report.add(key)
        self.queue.add(key)

    def keys_for(self, change: Change) -> Iterable[str]:
        meta = change.object["metadata"]
        match change.kind:
            case kinds.WORKLOAD:
                return [self._noted(change)]
            case kinds.CLUSTER_QUEUE if changes_more_than_status(change):
                self._has_flipped(meta["name"])
                return self._of_queues({meta["name"]})
            case kinds.LOCAL_QUEUE if changes_more_than_status(change):
                return self._of_local_queue(f"{meta['namespace']}/{meta['name']}")
            case kinds.WORKLOAD_PRIORITY_CLASS if change.type != "DELETED" and is_revalued(change):
                concerned = list(self.cache.of_class.get(meta["name"], ()))
                self._to_rank |= dict.fromkeys(concerned)
                return concerned
            case kinds.ADMISSION_CHECK | kinds.RESOURCE_FLAVOR | kinds.TOPOLOGY | kinds.COHORT:
                return self._of_queues(set(filter(self._has_flipped, self.cache.world.cluster_queues)))
        if change.type == "DELETED":
            return list(self.cache.workloads_of.get(meta.get("uid", ""), ()))
        return ()

    def _noted(self, change: Change) -> str:
        """The workload's key; ranks it again if its class changed while the control plane was down."""
        meta, rank = change.object["metadata"], rank_of(class_of(change.object), self.cache.around)
        key = f"{meta['namespace']}/{meta['name']}"
        if change.type == "ADDED" and rank is not None and rank.value != change.object["spec"].get("priority"):
            self._to_rank[key] = None
        return key

    def _has_flipped(self, queue: str) -> bool:
        """Whether a queue has become active or inactive since the last call."""
        world = self.cache.world
        exists = queue in world.cluster_queues
        before, now = self._active.pop(queue, None), exists and world.is_active(queue)
        if exists:
            self._active[queue] = now
        return now != before

    def _of_queues(self, names: set[str]) -> list[str]:
        """The unfinished workloads that hold quota in one of these queues or whose LocalQueue leads to it."""
        if not names:
            return []
        every = self.cache.workloads.items()
        return [key for key, one in every if not one.finished and self._queue_of(one) in names]

    def _queue_of(self, workload: Workload) -> str:
        """The ClusterQueue in which it holds quota, or to which its LocalQueue leads; "" if there is none."""
        local, admission = self.cache.local_queues.get(workload.local_queue), workload.status.admission
        return admission.queue if admission is not None else "" if local is None else local.cluster_queue

    def _of_local_queue(self, queue: str) -> list[str]:
        return [key for key, one in self.cache.workloads.items() if one.local_queue == queue and not one.finished]

    def reconcile(self, key: str, now: float) -> Iterator[Step]:
        workload, raw = self.cache.workloads.get(key), self.cache.raw_workload(key)
        if workload is None or raw is None:
            self._to_rank.pop(key, None)
            self._to_report.discard(key)
            return
        if key in self._to_rank:
            ranked = self._ranked(key, workload, raw)
            if ranked is not None:
                yield ranked
                return
        if "deletionTimestamp" in raw["metadata"] and self._is_orphan(raw):
            loose = write.finalized(raw)
            if loose is not None:
                yield loose
            return
        for action in workload_life(self.view(workload, now, is_left_behind(raw)), now):
            match action:
                case StatusChange():
                    yield from self.status(action.before, action.after, action.events, now)
                case Deactivate():
                    yield write.deactivated(raw)
                case Remove():
                    yield from write.removed(raw)
                case Requeue(at):
                    yield RequeueAt(at)

    def _is_orphan(self, raw: Raw) -> bool:
        owners = raw["metadata"].get("ownerReferences") or ()
        return not any(one["uid"] in self.cache.by_uid for one in owners)

    def _ranked(self, key: str, workload: Workload, raw: Raw) -> Write | None:
        """The write of its class's current priority; None if it has that priority or has finished."""
        now = rank_of(class_of(raw), self.cache.around)
        if now is not None and now.value != workload.priority and not workload.finished:
            return write.reprioritized(raw, now)
        del self._to_rank[key]
        return None

    def view(self, workload: Workload, now: float, orphaned: bool = False) -> WorkloadView:
        known, name = self.cache, self._queue_of(workload)
        local = known.local_queues.get(workload.local_queue)
        queue = known.world.cluster_queues.get(name)
        active = queue is not None and known.world.is_active(name)
        bypassed = self._why_passed_over(workload.key, name) if workload.key in self._to_report else ""
        return WorkloadView(
            workload,
            known.gates,
            known.settings,
            local,
            queue,
            active,
            orphaned,
            bypassed,
            known.world.drained_by(workload, now),
            lambda: unstarted(known.pods_of(workload.key)),
        )

    def _why_passed_over(self, key: str, queue: str) -> str:
        """The reason shared by the workload's parked class; "" if its class is not parked."""
        line = self.cache.scheduler.pending.queues.get(queue)
        why = "" if line is None else line.bypassed(key)
        if not why:
            self._to_report.discard(key)
        return why


class ParkedClassReporter:
    """Reports the shared reason on every workload of a parked class.

    A class is parked in one step and may have thousands of workloads, so this comes after everything else, works in
    small batches, and reports on each workload once.
    """

    def __init__(self, cache: ClusterCache, workloads: WorkloadReconciler, bucket: TokenBucket) -> None:
        self.cache, self.workloads, self.bucket = cache, workloads, bucket
        self._next = 0.0

    def see(self, change: Change) -> None:
        """Nothing to do: it reads the pending queues."""

    def due(self) -> float | None:
        return max(self._next, self.bucket.available_at) if self.cache.scheduler.pending.bypassed else None

    def step(self, now: float) -> Sequence[Flight[str]]:
        lines, count = self.cache.scheduler.pending, 0
        while lines.bypassed and count < BATCH and self.bucket.take(now):
            for key in lines.untold(1):
                self.workloads.report_parked(key)
            count += 1
        self._next = now + PAUSE
        return ()

    def done(self, flight: Flight[str], result: Raw | Refused, now: float) -> None:
        """Never called: the workload reconciler does the writing."""


def is_revalued(change: Change) -> bool:
    """Whether a priority class has a new value."""
    return change.old is None or change.old.get("value") != change.object.get("value")
