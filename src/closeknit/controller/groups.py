"""The desk for groups of pods, and for the sets whose pods form such groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..cluster import kinds
from ..cluster.kinds import POD, WORKLOAD
from ..cluster.port import Change, Create, Delete, Key, Raw, Update, Write, key_of
from ..lifecycle.action import Change as StatusChange
from ..lifecycle.action import Finalize, Start, Stop
from ..lifecycle.job import finished
from ..lifecycle.pod_group import group_life
from ..lifecycle.release import NO_RESERVATION, without_quota
from ..model.event import Event
from ..model.workload import Workload
from ..observe.known import Known
from ..observe.live_groups import Group, LiveGroups, is_prebuilt
from ..observe.live_jobs import LiveJobs, Managed, Refusal
from ..write import pod_groups as write
from ..write.events import Recorder
from ..write.workloads import finalized, removed, rewritten
from .desk import Again, Desk, Step

PATIENCE = 1.0
ON_HOLD = "OnHold"


class Groups(Desk[Key]):
    """By the Workload's key for a group, by its own for a set or for a pod of one."""

    def __init__(self, known: Known, recorder: Recorder, managed: Managed) -> None:
        super().__init__(known, recorder)
        self.live = LiveGroups(known, LiveJobs(known, managed))

    def concerns(self, change: Change) -> Iterable[Key]:
        if change.kind is POD:
            return self._of_pod(change)
        if change.kind in (kinds.STATEFUL_SET, kinds.LEADER_WORKER_SET):
            return [change.key]
        if change.kind is WORKLOAD:
            owners = change.object["metadata"].get("ownerReferences") or ()
            sets = (self.known.by_uid.get(one["uid"]) for one in owners)
            return [change.key, *(key for key in sets if key is not None and key.kind in _SETS)]
        return ()

    def _of_pod(self, change: Change) -> Iterator[Key]:
        meta = change.object["metadata"]
        group = self.known.group_of(change.object)
        if group:
            yield Key(WORKLOAD, meta["namespace"], group)
        elif change.type != "DELETED" and self.live.set_of(change.object) is not None:
            yield change.key

    def reconcile(self, key: Key, now: float) -> Iterator[Step]:
        if key.kind is POD:
            yield from self._mark(key)
        elif key.kind in _SETS:
            yield from self._set(key, now)
        else:
            yield from self._group(key, now)

    # Groups

    def _group(self, key: Key, now: float) -> Iterator[Step]:
        group = self.live.look(f"{key.namespace}/{key.name}", now)
        if group is None:
            return
        if all("deletionTimestamp" in pod["metadata"] for pod in group.pods):
            yield from write.freed(self.live.stopped(group.pods))
            return
        if group.view is None or group.raw is None:
            yield from self._begin(group, now)
            return
        yield from self._tidy(group, group.raw, now)
        for action in group_life(group.view, now):
            match action:
                case Start(workload):
                    yield from self._start(group, workload, now)
                case Stop(workload, message):
                    evicted = workload.status.conditions.get("Evicted") if workload is not None else None
                    yield from write.sent_away(group.pods, "" if evicted is None else evicted.reason, message, now)
                case Finalize():
                    loose = finalized(group.raw)
                    if loose is not None:
                        yield loose
                case StatusChange():
                    yield from self.status(action.before, action.after, action.events, now)
        if group.view.workload.finished:
            yield from write.freed(group.pods)

    def _begin(self, group: Group, now: float) -> Iterator[Step]:
        """No Workload yet: one is made as soon as enough pods are there."""
        if group.text:
            event = Event(_name(group.pods[0]), "Warning", "InvalidPodGroup", group.text)
            if "fewer runnable" not in group.text:
                yield from self.recorder.tell(group.pods[0], event, now)
            return
        if is_prebuilt(group.pods):
            return
        spare = self.live.excess(group.pods)
        yield from self._delete(spare, now)
        gone = {id(one) for one in spare}
        wanted = self.live.wanted([pod for pod in group.pods if id(pod) not in gone])
        if isinstance(wanted, Refusal):
            yield from self.recorder.tell(group.pods[0], Event("", "Warning", *wanted), now)
            return
        yield Create(WORKLOAD, wanted)

    def _tidy(self, group: Group, raw: Raw, now: float) -> Iterator[Step]:
        """Pods that are too many go; those that were replaced are let go; the rest own the Workload."""
        if group.view is not None and group.view.workload.finished:
            return
        yield from self._delete(self.live.excess(group.pods, raw), now)
        yield from write.freed(self.live.replaced(group.pods, raw))
        if not is_prebuilt(group.pods):
            change = write.owned(raw, group.pods)
            if change is not None:
                yield change

    def _delete(self, pods: Iterable[Raw], now: float) -> Iterator[Write]:
        for pod in pods:
            if "deletionTimestamp" not in pod["metadata"]:
                yield from write.freed([pod])
                yield Delete(key_of(POD, pod), pod["metadata"]["uid"])
                event = Event(_name(pod), "Normal", "ExcessPodDeleted", "Excess pod deleted")
                yield from self.recorder.tell(pod, event, now)

    def _start(self, group: Group, workload: Workload, now: float) -> Iterator[Step]:
        for pod in self.live.waiting(group.pods):
            begun = self.live.started(pod, workload)
            if isinstance(begun, dict):
                yield Update(POD, begun)
                queue = "" if workload.status.admission is None else workload.status.admission.queue
                event = Event(_name(pod), "Normal", "Started", f"Admitted by clusterQueue {queue}")
                yield from self.recorder.tell(pod, event, now)
            elif begun.passes:
                yield Again(now + PATIENCE)
                return
            else:
                change = finished(workload, "FailedToStart", begun.text, now)
                yield from self.status(change.before, change.after, change.events, now)
                return

    # Sets

    def _mark(self, key: Key) -> Iterator[Step]:
        pod = self.known.find(key)
        owner = None if pod is None else self.live.set_of(pod)
        marked = None if pod is None or owner is None else self.live.marked(owner, pod)
        if marked is not None:
            yield Update(POD, marked)

    def _set(self, key: Key, now: float) -> Iterator[Step]:
        """One Workload for each group of a set: made, kept as the set is, and removed when the group is gone."""
        raw, wanted = self.known.find(key), self.live.workloads(key)
        if raw is None or wanted is None:
            return
        if isinstance(wanted, Refusal):
            yield from self.recorder.tell(raw, Event(_name(raw), "Warning", *wanted), now)
            return
        names = {one["metadata"]["name"]: one for one in wanted}
        held = self.live.on_hold(key)
        for workload in self.known.owned_by(raw["metadata"]["uid"]):
            stored = self.known.raw_workload(workload.key)
            if stored is not None and workload.name not in names:
                yield from removed(stored)
            elif stored is not None:
                yield from self._keep(workload, stored, names[workload.name], held, now)
        if not held:
            for name, one in names.items():
                if f"{key.namespace}/{name}" not in self.known.workloads:
                    yield Create(WORKLOAD, one)

    def _keep(self, workload: Workload, stored: Raw, wanted: Raw, held: str, now: float) -> Iterator[Step]:
        before = workload.status.conditions.get("QuotaReserved")
        is_held = before is not None and not before.holds and before.reason == ON_HOLD
        if held and not is_held and not workload.finished:
            changes = {"QuotaReserved": (False, ON_HOLD, held), "Admitted": NO_RESERVATION}
            yield from self.status(workload, without_quota(workload, changes, now), (), now)
        elif not held and is_held:
            changes = {"QuotaReserved": (False, "PendingEvaluation", "The set was scaled up again")}
            yield from self.status(workload, without_quota(workload, changes, now), (), now)
        elif not held and not workload.reserved and not workload.finished and not _agree(stored, wanted):
            yield rewritten(stored, wanted)


_SETS = (kinds.STATEFUL_SET, kinds.LEADER_WORKER_SET)


def _agree(stored: Raw, wanted: Raw) -> bool:
    return all(stored["spec"].get(key) == wanted["spec"].get(key) for key in ("podSets", "queueName"))


def _name(raw: Raw) -> str:
    return f"{raw['metadata'].get('namespace', '')}/{raw['metadata']['name']}"
