"""The LeaderWorkerSet controller: groups of a leader and its workers that live, fail and are updated as one.

    revision ──▶ StatefulSet of leaders ──▶ leader pod ──▶ StatefulSet of its workers ──▶ ready together

If a pod of a group restarts, the leader's pod is deleted, and its workers with it. An update goes from the last group
to the first, at most maxUnavailable at a time. Surge is left out.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import NamedTuple

from ....kinds import CONTROLLER_REVISION, LEADER_WORKER_SET, POD, SERVICE, STATEFUL_SET
from ....port import Change, Delete, Key, Raw, Update, key_of
from ...loop import Step
from ...store import Store
from ..children import children, is_deleting, is_ready, number, part_of, phase, status_write
from ..conditions import Conditions
from ..controller import Controller, Observation
from .leader_worker_parts import (
    is_unique,
    leaders,
    own_service,
    revision,
    revision_of,
    shared_service,
    size,
    template_in,
    wanted_replicas,
    workers,
)
from .leader_worker_pods import NAME, REVISION, WORKER_INDEX

COMPONENT = "leaderworkerset"
RECREATES = ("RecreateGroupOnPodRestart", "RecreateGroupAfterStart")
STATES = {
    "Available": ("AllGroupsReady", "All replicas are ready"),
    "Progressing": ("GroupsProgressing", "Replicas are progressing"),
    "UpdateInProgress": ("GroupsUpdating", "Rolling Upgrade is in progress"),
}


class LeaderWorkerSets(Controller):
    kind, watches = LEADER_WORKER_SET, (LEADER_WORKER_SET, POD, STATEFUL_SET)

    def concerns(self, store: Store, change: Change) -> Iterable[Hashable]:
        kind, meta = change.kind, change.object["metadata"]
        if kind is LEADER_WORKER_SET:
            return () if change.type == "DELETED" else (change.key,)
        if kind is not POD and kind is not STATEFUL_SET:
            return ()
        name = (meta.get("labels") or {}).get(NAME)
        return () if name is None else (Key(LEADER_WORKER_SET, meta["namespace"], name),)

    def observe(self, store: Store, owner: Raw, now: float) -> Observation:
        look = ObservedLeaderWorkerSet(store, owner, now)
        return Observation(sum(1 + len(one.workers) for one in look.groups), look.steps())


STANDIN = LeaderWorkerSets


class LeaderWorkerGroup(NamedTuple):
    """A leader, the StatefulSet of its workers if there is one, and the workers."""

    leader: Raw
    below: Raw | None
    workers: list[Raw]

    @property
    def number(self) -> int:
        return int(self.leader["metadata"]["name"].rpartition("-")[2])

    @property
    def revision(self) -> str:
        return str((self.leader["metadata"].get("labels") or {}).get(REVISION, ""))


class ObservedLeaderWorkerSet:
    """The observed state of a LeaderWorkerSet and its groups."""

    def __init__(self, store: Store, raw: Raw, now: float) -> None:
        self.store, self.raw, self.now = store, raw, now
        self.name: str = raw["metadata"]["name"]
        self.namespace: str = raw["metadata"]["namespace"]
        self.replicas = wanted_replicas(raw)
        self.revision = revision_of(raw)
        self.revisions = {one["metadata"]["labels"][REVISION]: one for one in children(store, raw, CONTROLLER_REVISION)}
        self.above = next(iter(children(store, raw, STATEFUL_SET)), None)
        pods = [] if self.above is None else children(store, self.above, POD)
        self.groups = sorted((self._group(one) for one in pods), key=lambda one: one.number)

    def _group(self, leader: Raw) -> LeaderWorkerGroup:
        below = next(iter(children(self.store, leader, STATEFUL_SET)), None)
        return LeaderWorkerGroup(leader, below, [] if below is None else children(self.store, below, POD))

    def steps(self) -> Iterator[Step]:
        conditions = Conditions(LEADER_WORKER_SET, self.raw, self.now, COMPONENT)
        yield from self._revised()
        if not is_unique(self.raw) and self.store.find(SERVICE, self.namespace, self.name) is None:
            yield shared_service(self.raw)
        yield from self._led()
        for group in self.groups:
            if not is_deleting(group.leader):
                yield from self._staffed(group, conditions)
        yield from self._write(conditions)

    # Revisions and leaders

    def _revised(self) -> Iterator[Step]:
        """The current revision; older ones are deleted when all groups are up to date."""
        if self.revision not in self.revisions:
            last = max((number(one.get("revision"), 0) for one in self.revisions.values()), default=0)
            yield revision(self.raw, last + 1)
        elif self._is_updated() and len(self.revisions) > 1:
            for key, one in self.revisions.items():
                if key != self.revision:
                    yield Delete(key_of(CONTROLLER_REVISION, one), uid=one["metadata"]["uid"])

    def _is_updated(self) -> bool:
        return len(self.groups) >= self.replicas and all(one.revision == self.revision for one in self.groups)

    def _led(self) -> Iterator[Step]:
        wanted = leaders(self.raw, self.revision, self._partition())
        if self.above is None:
            yield wanted
            return
        before, after = self.above["spec"], wanted.body["spec"]
        changed = {**before, "replicas": after["replicas"], "updateStrategy": after["updateStrategy"]}
        meta = self.above["metadata"]
        if meta["labels"].get(REVISION) != self.revision:
            changed["template"] = after["template"]
        for part in ("labels", "annotations"):
            meta = {**meta, part: {**(meta.get(part) or {}), **wanted.body["metadata"][part]}}
        if changed != before or meta != self.above["metadata"]:
            yield Update(STATEFUL_SET, {**self.above, "metadata": meta, "spec": changed})

    def _partition(self) -> int:
        """The partition of the leaders' StatefulSet: updated groups, and as many more as may be unavailable."""
        rollout = (self.raw["spec"].get("rolloutStrategy") or {}).get("rollingUpdateConfiguration") or {}
        kept = number(rollout.get("partition"), 0)
        if self.above is None or not self._rolls(self.above):
            return kept
        done = 0
        states = {one.number: one for one in self.groups}
        for index in range(self.replicas - 1, -1, -1):
            group = states.get(index)
            if group is None or group.revision != self.revision or not self._is_ready(group):
                break
            done += 1
        missing = max(1, part_of(rollout.get("maxUnavailable", 1), self.replicas, up=False))
        return max(kept, self.replicas - done - missing)

    def _rolls(self, above: Raw) -> bool:
        """Whether any group has an older revision."""
        known = [above["metadata"]["labels"].get(REVISION), *(one.revision for one in self.groups)]
        return any(one != self.revision for one in known)

    # Groups

    def _template(self, group: LeaderWorkerGroup) -> Raw | None:
        """The template of the group's revision; None if the revision is gone."""
        if group.revision == self.revision:
            return self.raw["spec"]["leaderWorkerTemplate"]  # type: ignore[no-any-return]
        kept = self.revisions.get(group.revision)
        return None if kept is None else template_in(kept)

    def _staffed(self, group: LeaderWorkerGroup, conditions: Conditions) -> Iterator[Step]:
        leader, template = group.leader, self._template(group)
        name = leader["metadata"]["name"]
        if broken := self._broken(group):
            text = f"{broken}, deleted leader pod {name} to recreate group {group.number}"
            conditions.record("RecreateGroup", text)
            yield Delete(key_of(POD, leader), uid=leader["metadata"]["uid"], propagation="Foreground")
            return
        if template is None:
            return
        if is_unique(self.raw) and self.store.find(SERVICE, self.namespace, name) is None:
            yield own_service(leader)
        waits = self.raw["spec"].get("startupPolicy") == "LeaderReady" and not is_ready(leader)
        if size(template) > 1 and not waits and self.store.find(STATEFUL_SET, self.namespace, name) is None:
            conditions.record("GroupsProgressing", f"Created worker statefulset for leader pod {name}")
            yield workers(self.raw, template, leader)

    def _broken(self, group: LeaderWorkerGroup) -> str:
        """The pod of the group that has restarted or failed, for an event; empty if none."""
        policy = self.raw["spec"]["leaderWorkerTemplate"].get("restartPolicy") or RECREATES[0]
        pods = (group.leader, *group.workers)
        if policy not in RECREATES or (policy == RECREATES[1] and any(phase(one) == "Pending" for one in pods)):
            return ""
        for one in pods:
            if phase(one) == "Failed" or has_restarted(one) or is_deleting(one):
                role = "Leader" if one is group.leader else "Worker"
                return f"{role} pod {one['metadata']['name']} failed"
        return ""

    def _is_ready(self, group: LeaderWorkerGroup) -> bool:
        template = self._template(group)
        if template is None or is_deleting(group.leader) or not is_ready(group.leader):
            return False
        if size(template) == 1:
            return True
        below = group.below
        if below is None:
            return False
        return number((below.get("status") or {}).get("readyReplicas"), 0) >= number(below["spec"].get("replicas"), 1)

    # Status

    def _write(self, conditions: Conditions) -> Iterator[Step]:
        generation = self.raw["metadata"].get("generation", 1)
        ready = [one for one in self.groups if self._is_ready(one)]
        updated = [one for one in self.groups if one.revision == self.revision and self._has_workers(one)]
        done = [one for one in ready if one.revision == self.revision]
        rolls = any(one.revision != self.revision for one in self.groups) or conditions.holds("UpdateInProgress")
        states = ("Available",) if len(done) >= self.replicas else ("Progressing", *(("UpdateInProgress",) * rolls))
        for state, (reason, text) in STATES.items():
            if state not in states:
                conditions.clear(state, observedGeneration=generation)
            elif conditions.set(state, True, reason, text, observedGeneration=generation):
                conditions.record(reason, f"{text}, with {len(ready)} groups ready of total {self.replicas} groups")
        counts = {"readyReplicas": len(ready), "updatedReplicas": len(updated), "replicas": len(self.groups)}
        status = {
            **{part: count for part, count in counts.items() if count},
            "hpaPodSelector": f"{NAME}={self.name},{WORKER_INDEX}=0",
            "observedGeneration": generation,
            "conditions": conditions.list,
        }
        yield from status_write(LEADER_WORKER_SET, self.raw, status)
        yield from conditions.events

    def _has_workers(self, group: LeaderWorkerGroup) -> bool:
        template = self._template(group)
        return template is not None and (size(template) == 1 or group.below is not None)


def has_restarted(pod: Raw) -> bool:
    return any(number(one.get("restartCount"), 0) for one in (pod.get("status") or {}).get("containerStatuses") or ())
