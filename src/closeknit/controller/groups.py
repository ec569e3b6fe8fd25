"""The desk for groups of pods, and for the sets whose pods form such groups.

A group is looked at whenever one of its pods changes, and changes may be shown late. So an object that was written to
is left alone until it is seen again: otherwise every look would repeat the writes of the one before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..cluster import kinds
from ..cluster.errors import Refused
from ..cluster.kinds import POD, WORKLOAD
from ..cluster.port import Change, Create, Delete, Key, Raw, Update, Write, key_of
from ..lifecycle.action import Change as StatusChange
from ..lifecycle.action import Finalize, Start, Stop
from ..lifecycle.job import finished
from ..lifecycle.pod_group import group_life, is_on_hold, on_hold
from ..lifecycle.release import pending_reason, without_quota
from ..model.event import Event
from ..model.workload import Workload
from ..observe.known import Known
from ..observe.live_groups import Group, LiveGroups, count_of, is_serving, prebuilt_name
from ..observe.live_jobs import LiveJobs, Managed, Refusal
from ..write import pod_groups as write
from ..write.events import Recorder
from ..write.workloads import finalized, removed, rewritten
from .desk import Again, Desk, Step, is_news

PATIENCE = 1.0
LOST = 30.0
"""Seconds after which a write whose outcome was never seen is tried again."""


class Groups(Desk[Key]):
    """By the key of the Workload that is called like it for a group, by its own for a set or for a pod of one."""

    def __init__(self, known: Known, recorder: Recorder, managed: Managed) -> None:
        super().__init__(known, recorder)
        self.live = LiveGroups(known, LiveJobs(known, managed))
        self._under_way: dict[str, float] = {}
        """When an object was written to that was not seen since; by uid, or by name if it is to be made."""

    def see(self, change: Change) -> None:
        meta = change.object["metadata"]
        self._under_way.pop(meta["uid"], None)
        if change.kind is WORKLOAD:
            self._under_way.pop(_name(change.object), None)
        super().see(change)

    def done(self, write: Write, result: Raw | Refused, now: float) -> None:
        what = _written(write)
        if what in self._under_way:
            key = self.known.by_uid.get(what)
            before = None if key is None else self.known.find(key)
            if isinstance(result, Refused) or (before is not None and _version(before) == _version(result)):
                del self._under_way[what]
        super().done(write, result, now)

    def concerns(self, change: Change) -> Iterable[Key]:
        if change.kind is POD:
            self.live.see(change)
            return self._of_pod(change)
        if change.kind in _SETS:
            return [change.key, *(self.live.of_set.get(change.key, ()) if is_news(change) else ())]
        if change.kind is WORKLOAD:
            owners = change.object["metadata"].get("ownerReferences") or ()
            sets = (self.known.by_uid.get(one["uid"]) for one in owners)
            groups = self.live.naming.get(change.key, {}).values()
            return [change.key, *groups, *(key for key in sets if key is not None and key.kind in _SETS)]
        return ()

    def _of_pod(self, change: Change) -> Iterator[Key]:
        group, owner = self.known.group_of(change.object), self.live.set_of(change.object)
        if group:
            yield Key(WORKLOAD, change.key.namespace, group)
        if owner is not None and change.type == "DELETED":
            yield owner
        elif owner is not None:
            yield change.key

    def reconcile(self, key: Key, now: float) -> Iterator[Step]:
        look = self._mark if key.kind is POD else self._set if key.kind in _SETS else self._group
        for step in look(key, now):
            if not isinstance(step, Again) and (what := _written(step)):
                self._under_way[what] = now
            yield step

    def _is_idle(self, raw: Raw, now: float) -> bool:
        """Whether it may be written to: nothing that was sent for it is still to be seen."""
        sent = self._under_way.get(raw["metadata"].get("uid") or _name(raw))
        return sent is None or sent + LOST <= now

    def _idle(self, pods: Iterable[Raw], now: float) -> list[Raw]:
        return [pod for pod in pods if self._is_idle(pod, now)]

    # Groups

    def _group(self, key: Key, now: float) -> Iterator[Step]:
        group = self.live.look(f"{key.namespace}/{key.name}", now)
        if group is None:
            return
        if group.again is not None:
            yield Again(group.again)
        involved = (*group.pods, *group.spare, *([] if group.raw is None else [group.raw]))
        if not all(self._is_idle(one, now) for one in involved):
            yield Again(now + LOST)
        if group.over:
            yield from write.freed(self._idle(group.pods, now))
        elif group.given_up:
            yield from self._give_up(group, now)
        elif group.wrong is not None:
            event = Event(_name(group.pods[0]), "Warning", *group.wrong)
            yield from self.recorder.tell(group.pods[0], event, now)
        elif group.raw is None:
            yield from self._begin(group, now)
        else:
            yield from self._go_on(group, group.raw, now)

    def _give_up(self, group: Group, now: float) -> Iterator[Step]:
        """Its user deleted it: pods go as they end, and the Workload goes with the last that runs."""
        yield from write.freed(self._idle(self.live.stopped(group.pods), now))
        if group.raw is not None and self._is_idle(group.raw, now):
            yield from removed(group.raw)

    def _begin(self, group: Group, now: float) -> Iterator[Step]:
        """No Workload yet: one is made as soon as enough pods are there. Nobody has to count those that are gone."""
        yield from write.freed(self._idle(self.live.stopped(group.pods), now))
        if group.short or prebuilt_name(group.pods[0]):
            return
        yield from self._delete(group.spare, now)
        wanted = self.live.wanted(group.pods)
        if isinstance(wanted, Refusal):
            yield from self.recorder.tell(group.pods[0], Event(_name(group.pods[0]), "Warning", *wanted), now)
        else:
            yield Create(WORKLOAD, wanted) if self._is_idle(wanted, now) else Again(now + LOST)

    def _go_on(self, group: Group, raw: Raw, now: float) -> Iterator[Step]:
        if not is_serving(group):
            yield from self._delete(group.spare, now)
        if group.view is None:
            return
        pods, idle = self._idle(group.pods, now), self._is_idle(raw, now)
        if not group.view.workload.finished:
            yield from write.freed(self._idle(self.live.replaced(group.pods, raw, now), now))
            owned = None if is_serving(group) else write.owned(raw, group.pods)
            if owned is not None and idle and not group.view.deleting:
                yield owned
                idle = False
        for action in group_life(group.view, now):
            match action:
                case Start(workload):
                    yield from self._start(pods, workload, now)
                case Stop(workload, message):
                    evicted = workload.status.conditions.get("Evicted") if workload is not None else None
                    yield from write.sent_away(pods, "" if evicted is None else evicted.reason, message, now)
                case Finalize():
                    loose = finalized(raw)
                    if loose is not None and idle:
                        yield loose
                case StatusChange() if idle:
                    yield from self.status(action.before, action.after, action.events, now)
        if group.view.workload.finished:
            yield from write.freed(pods)

    def _delete(self, pods: Iterable[Raw], now: float) -> Iterator[Write]:
        """Pods that are too many."""
        for pod in self._idle(pods, now):
            if "deletionTimestamp" not in pod["metadata"]:
                yield from write.freed([pod])
                yield Delete(key_of(POD, pod), pod["metadata"]["uid"])
                event = Event(_name(pod), "Normal", "ExcessPodDeleted", "Excess pod deleted")
                yield from self.recorder.tell(pod, event, now)

    def _start(self, pods: Sequence[Raw], workload: Workload, now: float) -> Iterator[Step]:
        infos = self.live.infos(workload)
        queue = "" if workload.status.admission is None else workload.status.admission.queue
        for pod in self.live.waiting(pods):
            begun = self.live.started(pod, infos) if isinstance(infos, tuple) else infos
            if isinstance(begun, dict):
                yield Update(POD, begun)
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

    def _mark(self, key: Key, now: float) -> Iterator[Step]:
        pod = self.known.find(key)
        owner = None if pod is None else self.live.set_of(pod)
        marked = None if pod is None or owner is None else self.live.marked(owner, pod)
        if marked is not None:
            yield Update(POD, marked) if self._is_idle(marked, now) else Again(now + LOST)

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
            if stored is not None and not self._is_idle(stored, now):
                yield Again(now + LOST)
            elif stored is not None:
                yield from self._keep(workload, stored, names.get(workload.name), held, now)
        if not held:
            for name, one in names.items():
                if f"{key.namespace}/{name}" not in self.known.workloads:
                    yield Create(WORKLOAD, one) if self._is_idle(one, now) else Again(now + LOST)

    def _keep(self, workload: Workload, stored: Raw, wanted: Raw | None, held: str, now: float) -> Iterator[Step]:
        """What has to go, or shall be on hold, stays as it is until none of its pods runs any more."""
        deleted = "deletionTimestamp" in stored["metadata"]
        if wanted is None or deleted or (held and not is_on_hold(workload) and not workload.finished):
            if self.live.is_occupied(workload.key, now):
                at = self.live.next_deadline(workload.key, now)
                if at is not None:
                    yield Again(at)
            elif deleted:
                loose = finalized(stored)
                if loose is not None:
                    yield loose
            elif wanted is None:
                yield from removed(stored)
            else:
                waits = self.known.settings.pods_ready is not None
                after = on_hold(workload, held, self.known.gates, waits, now)
                yield from self.status(workload, after, (), now)
        elif held or workload.finished:
            return
        elif is_on_hold(workload) and count_of(stored) == count_of(wanted):
            changes = {"QuotaReserved": (False, pending_reason(self.known.gates), "The set was scaled up again")}
            yield from self.status(workload, without_quota(workload, changes, now), (), now)
        elif not workload.reserved and not _agree(stored, wanted):
            yield rewritten(stored, wanted)
        elif workload.reserved and count_of(stored) != count_of(wanted):
            yield Delete(key_of(WORKLOAD, stored), stored["metadata"]["uid"])


_SETS = (kinds.STATEFUL_SET, kinds.LEADER_WORKER_SET)


def _agree(stored: Raw, wanted: Raw) -> bool:
    return all(stored["spec"].get(key) == wanted["spec"].get(key) for key in ("podSets", "queueName"))


def _name(raw: Raw) -> str:
    return f"{raw['metadata'].get('namespace', '')}/{raw['metadata']['name']}"


def _version(raw: Raw) -> str:
    return str(raw["metadata"].get("resourceVersion", ""))


def _written(write: Write) -> str:
    """What a write is known by until its outcome is seen; empty for one that nobody waits for."""
    match write:
        case Create(kind, body) if kind is WORKLOAD:
            return _name(body)
        case Update(_, body):
            return str(body["metadata"]["uid"])
        case Delete(_, uid):
            return uid
    return ""
