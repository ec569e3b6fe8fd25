"""Reconciles jobs: creates a Workload for each, starts the job on admission and stops it on eviction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from ..cluster.kinds import (
    CLUSTER_TRAINING_RUNTIME,
    NAMESPACE,
    POD,
    PRIORITY_CLASS,
    TRAINING_RUNTIME,
    WORKLOAD,
    WORKLOAD_PRIORITY_CLASS,
)
from ..cluster.port import Change, Create, Key, Raw, Write
from ..lifecycle.action import Finalize, MakeWorkload, Remove, Requeue, Rewrite, Start, StatusChange, Stop
from ..lifecycle.job import finished, job_life
from ..model.event import Event
from ..model.workload import Workload
from ..observe.cluster_cache import ClusterCache
from ..observe.live_jobs import LiveJob, LiveJobs, Managed, Refusal, prebuilt_of, source_key
from ..write import jobs as job_writes
from ..write import workloads as write
from ..write.events import Recorder, RecordEvent
from ..write.pod_groups import freed_alone
from .reconciler import Reconciler, RequeueAt, Step

NAMED = (PRIORITY_CLASS, WORKLOAD_PRIORITY_CLASS, TRAINING_RUNTIME, CLUSTER_TRAINING_RUNTIME)
"""Kinds that a job may reference before they exist."""

CHILD = "Kueue managed child job suspended"

PATIENCE = 1.0
"""Seconds before retrying a start that failed only because another object is not in the cache yet."""


class JobReconciler(Reconciler[Key]):
    """Keyed by the job itself."""

    def __init__(self, cache: ClusterCache, recorder: Recorder, managed: Managed) -> None:
        super().__init__(cache, recorder)
        self.live = LiveJobs(cache, managed)
        self._refused: dict[Key, None] = {}
        """Jobs that reference a missing object, or contradict themselves."""
        self._waiting_for: dict[str, dict[Key, None]] = defaultdict(dict)
        """Jobs by the prebuilt Workload that they name."""
        self._of_source: dict[Key, dict[Key, None]] = defaultdict(dict)
        """Jobs by the object that holds the rest of their spec, such as a TrainingRuntime."""

    def keys_for(self, change: Change) -> Iterable[Key]:
        if change.kind in self.live.kinds:
            self._note(change)
            raw = change.object
            is_ours = self.live.may_be_managed(raw) or raw["metadata"]["uid"] in self.cache.workloads_of
            return [change.key] if is_ours or self.live.is_child(change.key, raw) else ()
        if change.kind is NAMESPACE:
            return self._of_namespace(change.key.name) if self.live.managed.turned(change) else ()
        if change.kind in NAMED:
            refused, self._refused = self._refused, {}
            return [*refused, *filter(self._stands, self._of_source.get(change.key, ()))]
        if change.kind is WORKLOAD:
            meta = change.object["metadata"]
            found = [self.cache.by_uid.get(one["uid"]) for one in meta.get("ownerReferences") or ()]
            named = self._waiting_for.get(f"{meta['namespace']}/{meta['name']}", ())
            return [*(key for key in found if key is not None and key.kind in self.live.kinds), *named]
        return ()

    def _of_namespace(self, name: str) -> list[Key]:
        places = ((kind, place) for kind in self.live.kinds for place in self.cache.raw[kind])
        return [Key(kind, *place) for kind, place in places if place[0] == name]

    def _stands(self, key: Key) -> bool:
        raw = self.cache.find(key)
        return raw is not None and self.live.kinds[key.kind].is_suspended(raw)

    def _note(self, change: Change) -> None:
        """Index a job by the prebuilt Workload it waits for and by its source object, if it has them."""
        self._note_source(change)
        for raw in (change.old, change.object):
            name = "" if raw is None or self.live.is_in_group(raw) else prebuilt_of(raw)
            if name:
                workload = f"{change.key.namespace}/{name}"
                self._waiting_for[workload].pop(change.key, None)
                if raw is change.object and change.type != "DELETED":
                    self._waiting_for[workload][change.key] = None
                if not self._waiting_for[workload]:
                    del self._waiting_for[workload]

    def _note_source(self, change: Change) -> None:
        integration = self.live.kinds[change.kind]
        for raw in (change.old, change.object):
            source = None if raw is None else source_key(raw, integration)
            if source is not None:
                self._of_source[source].pop(change.key, None)
                if raw is change.object and change.type != "DELETED":
                    self._of_source[source][change.key] = None
                if not self._of_source[source]:
                    del self._of_source[source]

    def reconcile(self, key: Key, now: float) -> Iterator[Step]:
        raw = self.cache.find(key)
        if raw is None:
            return
        try:
            seen = self.live.live_job(key)
        except ValueError as error:
            yield from self._refuse(raw, key, Refusal("InvalidJob", str(error)), now)
            return
        if seen is None:
            if self.live.is_ahead(key, raw):
                yield job_writes.held(key.kind, self.live.kinds[key.kind], raw)
                yield from self._tell(raw, "Normal", "Suspended", CHILD, now)
            for left in self.live.abandoned(key):
                yield from self._remove(raw, left, now)
            return
        unowned = self.live.to_adopt(seen)
        if unowned is not None:
            yield write.adopted(unowned, seen.raw)
            return
        if key.kind is POD:
            yield from freed_alone(seen.raw, seen.view.workload)
        halted = self._halting(seen)
        if halted is not None:
            yield halted
            return
        for action in job_life(seen.view, now):
            match action:
                case MakeWorkload():
                    yield from self._make(seen, now)
                case Rewrite(workload):
                    yield from self._rewrite(seen, workload, now)
                case Remove(workload):
                    yield from self._remove(seen.raw, workload, now)
                case Finalize(workload):
                    yield from self._finalize(workload)
                case Start(workload):
                    yield from self._start(seen, workload, now)
                case Stop(workload, message):
                    yield from self._stop(seen, workload, message, now)
                case StatusChange():
                    yield from self.status(action.before, action.after, (), now)
                    for event in action.events:
                        yield RecordEvent(seen.raw, event, now)
                case Requeue(at):
                    yield RequeueAt(at)

    def _halting(self, seen: LiveJob) -> Write | None:
        """The next write of a stop that takes several writes, if the job is not fully stopped yet."""
        if not seen.view.suspended or seen.view.ended is not None:
            return None
        return job_writes.stop(seen.key.kind, seen.integration, seen.raw, self._original(seen), seen.source)

    def _original(self, seen: LiveJob, workload: Workload | None = None) -> Raw | None:
        one = workload or seen.view.workload or next(iter(seen.view.others), None)
        return None if one is None else self.cache.raw_workload(one.key)

    def _make(self, seen: LiveJob, now: float) -> Iterator[Step]:
        wanted = self.live.wanted(seen.raw, seen.integration, seen.source)
        if isinstance(wanted, Refusal):
            yield from self._refuse(seen.raw, seen.key, wanted, now)
            return
        yield Create(WORKLOAD, wanted)
        name = f"{wanted['metadata']['namespace']}/{wanted['metadata']['name']}"
        yield from self._tell(seen.raw, "Normal", "CreatedWorkload", f"Created Workload: {name}", now)

    def _rewrite(self, seen: LiveJob, workload: Workload, now: float) -> Iterator[Step]:
        raw, rank = self.cache.raw_workload(workload.key), self.live.rank(seen.raw)
        if raw is not None and rank is not None and workload.reserved:
            yield write.reprioritized(raw, rank)
            text = f"Updated the priority of Workload: {workload.key}"
            yield from self._tell(seen.raw, "Normal", "UpdatedWorkload", text, now)
            return
        wanted = self.live.wanted(seen.raw, seen.integration, seen.source)
        if isinstance(wanted, Refusal):
            yield from self._refuse(seen.raw, seen.key, wanted, now)
        elif raw is not None and raw["metadata"]["name"] != wanted["metadata"]["name"]:
            yield from self._remove(seen.raw, workload, now)
        elif raw is not None:
            yield write.rewritten(raw, wanted)
            text = f"Updated not matching Workload for suspended job: {workload.key}"
            yield from self._tell(seen.raw, "Normal", "UpdatedWorkload", text, now)

    def _refuse(self, raw: Raw, key: Key, why: Refusal, now: float) -> Iterator[Step]:
        """Report why the job is refused, and requeue it when an object of a kind in NAMED changes."""
        self._refused[key] = None
        yield from self._tell(raw, "Warning", why.reason, why.message, now)

    def _remove(self, job: Raw, workload: Workload, now: float) -> Iterator[Step]:
        raw = self.cache.raw_workload(workload.key)
        if raw is not None:
            yield from write.removed(raw)
            text = f"Deleted not matching Workload: {workload.key}"
            yield from self._tell(job, "Normal", "DeletedWorkload", text, now)

    def _finalize(self, workload: Workload) -> Iterator[Step]:
        raw = self.cache.raw_workload(workload.key)
        loose = None if raw is None else write.finalized(raw)
        if loose is not None:
            yield loose

    def _start(self, seen: LiveJob, workload: Workload, now: float) -> Iterator[Step]:
        infos = self.live.infos(workload)
        try:
            begun = (
                job_writes.start(seen.key.kind, seen.integration, seen.raw, infos, seen.source)
                if isinstance(infos, tuple)
                else infos
            )
        except ValueError as error:
            yield from self._refuse(seen.raw, seen.key, Refusal("InvalidJob", str(error)), now)
            return
        if isinstance(begun, Write):
            queue = "" if workload.status.admission is None else workload.status.admission.queue
            yield begun
            yield from self._tell(seen.raw, "Normal", "Started", f"Admitted by clusterQueue {queue}", now)
        elif begun.passes:
            yield RequeueAt(now + PATIENCE)
        else:
            change = finished(workload, "FailedToStart", begun.text, now)
            yield from self.status(change.before, change.after, change.events, now)

    def _stop(self, seen: LiveJob, workload: Workload | None, message: str, now: float) -> Iterator[Step]:
        one = job_writes.stop(seen.key.kind, seen.integration, seen.raw, self._original(seen, workload), seen.source)
        if one is not None:
            yield one
            yield from self._tell(seen.raw, "Normal", "Stopped", message, now)

    def _tell(self, raw: Raw, type: str, reason: str, message: str, now: float) -> list[RecordEvent]:
        name = f"{raw['metadata'].get('namespace', '')}/{raw['metadata']['name']}"
        return [RecordEvent(raw, Event(name, "Warning" if type == "Warning" else "Normal", reason, message), now)]
