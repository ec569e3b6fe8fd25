"""Reconciles pod groups, and the sets (StatefulSet, LeaderWorkerSet) whose pods form such groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..cluster import kinds
from ..cluster.kinds import NAMESPACE, POD, WORKLOAD
from ..cluster.port import Change, Create, Delete, Key, Raw, Update, key_of
from ..lifecycle.action import Finalize, Requeue, Start, StatusChange, Stop
from ..lifecycle.job import finished
from ..lifecycle.pod_group import GroupView, group_life, is_on_hold, on_hold
from ..lifecycle.release import pending_reason, without_quota
from ..model.event import Event
from ..model.workload import Workload
from ..observe.cluster_cache import ClusterCache
from ..observe.live_groups import LiveGroups, LivePodGroup, count_of, is_serving, prebuilt_name
from ..observe.live_jobs import LiveJobs, Managed, Refusal
from ..observe.pod_cache import group_of
from ..write import pod_groups as write
from ..write.events import Recorder, RecordEvent
from ..write.workloads import finalized, removed, reprioritized, rewritten
from .reconciler import Reconciler, RequeueAt, Step, changes_more_than_status

PATIENCE = 1.0


class PodGroupReconciler(Reconciler[Key]):
    """Keyed by the group's Workload (which has the group's name), by the set, or by a pod of a set."""

    def __init__(self, cache: ClusterCache, recorder: Recorder, managed: Managed) -> None:
        super().__init__(cache, recorder)
        self.live = LiveGroups(cache, LiveJobs(cache, managed))

    def keys_for(self, change: Change) -> Iterable[Key]:
        if change.kind is POD:
            self.live.see(change)
            return self._of_pod(change)
        if change.kind is NAMESPACE and self.live.jobs.managed.turned(change):
            places = ((kind, place) for kind in SETS for place in self.cache.raw[kind])
            return [Key(kind, *place) for kind, place in places if place[0] == change.key.name]
        if change.kind in SETS:
            return [change.key, *(self.live.of_set.get(change.key, ()) if changes_more_than_status(change) else ())]
        if change.kind is WORKLOAD:
            owners = change.object["metadata"].get("ownerReferences") or ()
            sets = (self.cache.by_uid.get(one["uid"]) for one in owners)
            groups = self.live.naming.get(change.key, {}).values()
            return [change.key, *groups, *(key for key in sets if key is not None and key.kind in SETS)]
        return ()

    def _of_pod(self, change: Change) -> Iterator[Key]:
        group, owner = group_of(change.object), self.live.set_of(change.object)
        if group:
            yield Key(WORKLOAD, change.key.namespace, group)
        if owner is not None and change.type == "DELETED":
            yield owner
        elif owner is not None:
            yield change.key

    def reconcile(self, key: Key, now: float) -> Iterator[Step]:
        handler = self._mark if key.kind is POD else self._set if key.kind in SETS else self._group
        yield from handler(key, now)

    # Groups

    def _group(self, key: Key, now: float) -> Iterator[Step]:
        group = self.live.live_group(f"{key.namespace}/{key.name}", now)
        if group is None:
            return
        if group.again is not None:
            yield RequeueAt(group.again)
        if group.over:
            yield from write.freed(group.pods)
        elif group.given_up:
            yield from self._give_up(group, now)
        elif group.wrong is not None:
            event = Event(_name(group.pods[0]), "Warning", *group.wrong)
            yield RecordEvent(group.pods[0], event, now)
        elif group.raw is None:
            yield from self._begin(group, now)
        else:
            yield from self._go_on(group, group.raw, now)

    def _give_up(self, group: LivePodGroup, now: float) -> Iterator[Step]:
        """Clean up after a user deleted the group: release stopped pods, remove the Workload with the last pod."""
        yield from write.freed(self.live.stopped(group.pods))
        if group.raw is not None:
            yield from removed(group.raw)

    def _begin(self, group: LivePodGroup, now: float) -> Iterator[Step]:
        """Create the group's Workload once enough of its pods exist; pods that have ended do not count."""
        yield from write.freed(self.live.stopped(group.pods))
        if group.short or prebuilt_name(group.pods[0]):
            return
        yield from self._delete(group.spare, now)
        wanted = self.live.wanted(group.pods)
        if isinstance(wanted, Refusal):
            yield RecordEvent(group.pods[0], Event(_name(group.pods[0]), "Warning", *wanted), now)
        else:
            yield Create(WORKLOAD, wanted)
            event = Event(_name(group.pods[0]), "Normal", "CreatedWorkload", f"Created Workload: {_name(wanted)}")
            yield RecordEvent(group.pods[0], event, now)

    def _go_on(self, group: LivePodGroup, raw: Raw, now: float) -> Iterator[Step]:
        if not is_serving(group):
            yield from self._delete(group.spare, now)
        if group.view is None:
            return
        pods, changed = group.pods, False
        if not group.view.workload.finished:
            yield from write.freed(self.live.replaced(pods, raw, now))
            for step in self._corrected(group, group.view, raw, now):
                changed = True
                yield step
        for action in group_life(group.view, now):
            match action:
                case Start(workload):
                    yield from self._start(pods, workload, now)
                case Stop(workload, message):
                    evicted = workload.status.conditions.get("Evicted") if workload is not None else None
                    yield from write.sent_away(pods, "" if evicted is None else evicted.reason, message, now)
                case Finalize():
                    loose = finalized(raw)
                    if loose is not None and not changed:
                        yield loose
                case StatusChange() if not changed:
                    yield from self.status(action.before, action.after, action.events, now)
                case Requeue(at):
                    yield RequeueAt(at)
        if group.view.workload.finished:
            yield from write.freed(pods)

    def _corrected(self, group: LivePodGroup, view: GroupView, raw: Raw, now: float) -> Iterator[Step]:
        """Correct the group's Workload: first its owners, which are all of its pods, then its priority class."""
        if is_serving(group) or view.deleting:
            return
        owned = write.owned(raw, group.pods)
        if owned is not None:
            yield owned
        elif not prebuilt_name(group.pods[0]):
            yield from self._ranked(group.pods[0], view.workload, raw, now)

    def _ranked(self, about: Raw, workload: Workload, stored: Raw, now: float) -> Iterator[Step]:
        """Update the Workload's priority if `about` names another priority class."""
        rank = self.live.jobs.new_rank(about, workload, stored)
        going = workload.finished or "deletionTimestamp" in stored["metadata"]
        if rank is not None and not going:
            yield reprioritized(stored, rank)
            text = f"Updated the priority of Workload: {workload.key}"
            yield RecordEvent(about, Event(_name(about), "Normal", "UpdatedWorkload", text), now)

    def _delete(self, pods: Iterable[Raw], now: float) -> Iterator[Step]:
        """Delete pods that exceed the group's size."""
        for pod in pods:
            if "deletionTimestamp" not in pod["metadata"]:
                yield from write.freed([pod])
                yield Delete(key_of(POD, pod), pod["metadata"]["uid"])
                event = Event(_name(pod), "Normal", "ExcessPodDeleted", "Excess pod deleted")
                yield RecordEvent(pod, event, now)

    def _start(self, pods: Sequence[Raw], workload: Workload, now: float) -> Iterator[Step]:
        infos = self.live.infos(workload)
        queue = "" if workload.status.admission is None else workload.status.admission.queue
        for pod in self.live.waiting(pods):
            begun = self.live.started(pod, infos) if isinstance(infos, tuple) else infos
            if isinstance(begun, dict):
                yield Update(POD, begun)
                event = Event(_name(pod), "Normal", "Started", f"Admitted by clusterQueue {queue}")
                yield RecordEvent(pod, event, now)
            elif begun.passes:
                yield RequeueAt(now + PATIENCE)
                return
            else:
                change = finished(workload, "FailedToStart", begun.text, now)
                yield from self.status(change.before, change.after, change.events, now)
                return

    # Sets

    def _mark(self, key: Key, now: float) -> Iterator[Step]:
        pod = self.cache.find(key)
        owner = None if pod is None else self.live.set_of(pod)
        marked = None if pod is None or owner is None else self.live.marked(owner, pod)
        if marked is not None:
            yield Update(POD, marked)

    def _set(self, key: Key, now: float) -> Iterator[Step]:
        """Keep one Workload per group of the set: create it, update it with the set, remove it with the group."""
        raw, wanted = self.cache.find(key), self.live.workloads(key)
        if raw is None or wanted is None:
            return
        if isinstance(wanted, Refusal):
            yield RecordEvent(raw, Event(_name(raw), "Warning", *wanted), now)
            return
        names = {one["metadata"]["name"]: one for one in wanted}
        held = self.live.on_hold(key)
        for workload in self.cache.owned_by(raw["metadata"]["uid"]):
            stored = self.cache.raw_workload(workload.key)
            if stored is not None:
                kept = list(self._keep(workload, stored, names.get(workload.name), held, now))
                yield from kept or self._ranked(raw, workload, stored, now)
        if not held:
            for name, one in names.items():
                if f"{key.namespace}/{name}" not in self.cache.workloads:
                    yield Create(WORKLOAD, one)

    def _keep(self, workload: Workload, stored: Raw, wanted: Raw | None, held: str, now: float) -> Iterator[Step]:
        """Update one Workload of a set. It is removed or put on hold only after the last of its pods has stopped."""
        deleted = "deletionTimestamp" in stored["metadata"]
        if wanted is None or deleted or (held and not is_on_hold(workload) and not workload.finished):
            if self.live.is_occupied(workload.key, now):
                at = self.live.next_deadline(workload.key, now)
                if at is not None:
                    yield RequeueAt(at)
            elif deleted:
                loose = finalized(stored)
                if loose is not None:
                    yield loose
            elif wanted is None:
                yield from removed(stored)
            else:
                waits = self.cache.settings.pods_ready is not None
                after = on_hold(workload, held, self.cache.gates, waits, now)
                yield from self.status(workload, after, (), now)
        elif held or workload.finished:
            return
        elif is_on_hold(workload) and count_of(stored) == count_of(wanted):
            changes = {"QuotaReserved": (False, pending_reason(self.cache.gates), "The set was scaled up again")}
            yield from self.status(workload, without_quota(workload, changes, now), (), now)
        elif not workload.reserved and not _agree(stored, wanted):
            yield rewritten(stored, wanted)
        elif workload.reserved and count_of(stored) != count_of(wanted):
            yield Delete(key_of(WORKLOAD, stored), stored["metadata"]["uid"])


SETS = (kinds.STATEFUL_SET, kinds.LEADER_WORKER_SET)


def _agree(stored: Raw, wanted: Raw) -> bool:
    return all(stored["spec"].get(key) == wanted["spec"].get(key) for key in ("podSets", "queueName"))


def _name(raw: Raw) -> str:
    return f"{raw['metadata'].get('namespace', '')}/{raw['metadata']['name']}"
