"""Pod groups in a running cluster, and the sets that create such pods, as reconcilers see them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..cluster import kinds
from ..cluster.kinds import BY_NAME, Kind
from ..cluster.port import Change, Key, Raw
from ..dialects.kueue import keys
from ..dialects.kueue.jobs import marks
from ..dialects.kueue.jobs.injection import Info, StartConflict
from ..dialects.kueue.jobs.kinds import SERVING, Serving, pod_groups
from ..dialects.kueue.jobs.kinds.pod import is_gated
from ..dialects.kueue.jobs.workload_object import standing_of
from ..dialects.kueue.objects import Unreadable
from ..lifecycle.pod_group import GroupView
from ..model.mistake import Mistake
from ..model.workload import Workload
from .cluster_cache import ClusterCache
from .live_jobs import LiveJobs, Refusal, infos_of
from .pod_cache import group_of

LWS_NAME = "leaderworkerset.sigs.k8s.io/name"
SETS: dict[Kind, Serving] = {BY_NAME[name]: one for name, one in SERVING.items()}
INVALID, TAKEN = "InvalidPodGroup", "WorkloadNameConflict"


class LivePodGroup(NamedTuple):
    """`raw` and `view` are None while there is no Workload; `wrong` is the reason why the group cannot run, if any.

    `spare` are excess pods, which are not among `pods`. `short`: pods are missing. `over`: the group has ended and its
    pods are counted. `given_up`: its user deleted it. `again`: when to reconcile it even if nothing changes.
    """

    pods: list[Raw]
    spare: Sequence[Raw] = ()
    raw: Raw | None = None
    view: GroupView | None = None
    wrong: Refusal | None = None
    short: bool = False
    over: bool = False
    given_up: bool = False
    again: float | None = None


@dataclass(slots=True)
class LiveGroups:
    """`of_set` has the pods of a set by the set's key, even while the set does not exist.

    `naming` has pods by the Workload that they name, with their group's key, if the two names differ.
    """

    cache: ClusterCache
    jobs: LiveJobs
    of_set: dict[Key, dict[Key, Key]] = field(default_factory=lambda: defaultdict(dict))
    naming: dict[Key, dict[Key, Key]] = field(default_factory=lambda: defaultdict(dict))

    def see(self, pod: Change) -> None:
        raw, place = pod.object, pod.key
        owner, group, named = self.set_of(raw), group_of(raw), prebuilt_name(raw)
        if owner is not None:
            _note(self.of_set, owner, pod, owner)
        if group and named not in ("", group):
            key = Key(kinds.WORKLOAD, place.namespace, named)
            _note(self.naming, key, pod, key._replace(name=group))

    def pods(self, key: str) -> list[Raw]:
        """The pods of a group, oldest first."""
        found = []
        for pod in self.cache.pods.of_group(key):
            raw = self.cache.raw[kinds.POD].get((pod.namespace, pod.name))
            if raw is not None:
                found.append((pod.created, pod.name, raw))
        return [raw for *_, raw in sorted(found, key=lambda one: one[:2])]

    def live_group(self, key: str, now: float) -> LivePodGroup | None:
        """The state of a group; None if it has no managed pods."""
        pods = self.pods(key)
        if not pods or not self._is_ours(pods[0]):
            return None
        named = f"{key.partition('/')[0]}/{prebuilt_name(pods[0]) or key.partition('/')[2]}"
        raw, workload = self.cache.raw_workload(named), self.cache.workloads.get(named)
        if pod_groups.was_given_up(pods, workload is not None and workload.evicted):
            active = pod_groups.is_active(pods, now)
            again = pod_groups.next_deadline(pods, now) if active else None
            return LivePodGroup(pods, (), None if active else raw, given_up=True, again=again)
        try:
            if raw is None or workload is None:
                return self._without(pods)
            return self._with(pods, raw, workload, now)
        except Unreadable as error:
            return LivePodGroup(pods, wrong=Refusal(INVALID, str(error)))

    def _is_ours(self, pod: Raw) -> bool:
        return self.jobs.managed.has_pod(pod)

    def is_on(self, kind: Kind) -> bool:
        return SETS[kind].framework in self.jobs.managed.frameworks

    def _without(self, pods: list[Raw]) -> LivePodGroup:
        """A group without a Workload, which is created once all pods exist, unless the group has already ended."""
        counted = [pod for pod in pods if not pod_groups.was_let_go(pod)]
        if not counted or pod_groups.finished(counted) is not None:
            return LivePodGroup(pods, over=True)
        text, complete = pod_groups.mismatch(counted), pod_groups.is_complete(counted)
        if not text and complete:
            text = pod_groups.shortage(counted)
        if text or not complete:
            return LivePodGroup(counted, wrong=Refusal(INVALID, text) if text else None, short=not complete)
        spare = pod_groups.excess(counted)
        return LivePodGroup(_rest(counted, spare), spare)

    def _with(self, pods: list[Raw], raw: Raw, workload: Workload, now: float) -> LivePodGroup:
        text = "" if pod_groups.is_serving(pods) else pod_groups.mismatch(pods)
        if text:
            return LivePodGroup(pods, wrong=Refusal(INVALID, text))
        if not pod_groups.is_of_group(raw):
            text = f"Workload {workload.key} was not created for this group: rename the group"
            return LivePodGroup(pods, wrong=Refusal(TAKEN, text))
        given = prebuilt_name(pods[0]) and not pod_groups.is_serving(pods)
        in_sync = not given or workload.reserved or pod_groups.is_same(pods, raw)
        is_kept = workload.finished or not in_sync
        spare = [] if is_kept else pod_groups.excess(pods, pod_groups.wanted_of(raw), now)
        rest = _rest(pods, spare)
        view = self._view(rest, raw, workload, in_sync, now) if rest else None
        return LivePodGroup(rest, spare, raw, view, again=pod_groups.next_deadline(pods, now))

    def _view(self, pods: list[Raw], raw: Raw, workload: Workload, in_sync: bool, now: float) -> GroupView:
        ended = pod_groups.finished(pods)
        stays = [pod for pod in pods if not pod_groups.is_terminated(pod) and not pod_groups.is_deleted(pod)]
        gaps = pod_groups.missing(pods, pod_groups.wanted_of(raw), now)
        fast = pod_groups.starts_fast(pods) or pod_groups.is_serving(pods)
        return GroupView(
            self.cache.gates,
            workload,
            sum(map(is_gated, stays)),
            sum(not is_gated(pod) for pod in stays),
            0 if fast else sum(gaps.values()),
            pod_groups.is_active(pods, now),
            pod_groups.pods_ready(pods),
            None if ended is None else (ended.success, ended.message),
            pod_groups.reclaimable(pods) if workload.reserved else {},
            self.jobs.is_held(workload),
            self.cache.settings.pods_ready is not None,
            "deletionTimestamp" in raw["metadata"],
            in_sync,
        )

    def wanted(self, pods: list[Raw]) -> Raw | Refusal:
        """The Workload that the group should have."""
        try:
            priority = self.jobs.priority(pod_groups.group_standing(pods))
            if isinstance(priority, Mistake):
                return Refusal("WorkloadPriorityClassNotFound", f"{priority.text}: {priority.remedy}")
            return pod_groups.group_workload(pods, self.cache.gates, priority)
        except Unreadable as error:
            return Refusal(INVALID, str(error))

    def waiting(self, pods: Sequence[Raw]) -> list[Raw]:
        return [pod for pod in pods if is_gated(pod) and not pod_groups.is_deleted(pod)]

    def stopped(self, pods: Sequence[Raw]) -> list[Raw]:
        """Deleted pods that no longer run."""
        return [pod for pod in pods if pod_groups.is_deleted(pod) and pod_groups.is_stopped(pod)]

    def replaced(self, pods: list[Raw], workload: Raw, now: float) -> list[Raw]:
        return pod_groups.replaced(pods, pod_groups.wanted_of(workload), now)

    def infos(self, workload: Workload) -> tuple[Info, ...] | StartConflict:
        return infos_of(self.cache, workload)

    def started(self, pod: Raw, infos: Sequence[Info]) -> Raw | StartConflict:
        return pod_groups.started(pod, infos)

    # Sets

    def set_of(self, pod: Raw) -> Key | None:
        """The StatefulSet or LeaderWorkerSet that owns a pod, if the pod belongs to one of its groups."""
        meta = pod["metadata"]
        parent = (meta.get("annotations") or {}).get(marks.PARENT, "")
        if parent == SETS[kinds.LEADER_WORKER_SET].framework:
            name = (meta.get("labels") or {}).get(LWS_NAME, "")
            return Key(kinds.LEADER_WORKER_SET, meta["namespace"], name) if name else None
        if parent == SETS[kinds.STATEFUL_SET].framework:
            owner = _controller(pod)
            name = owner.get("name", "") if owner.get("kind") == "StatefulSet" else ""
            return Key(kinds.STATEFUL_SET, meta["namespace"], name) if name else None
        return None

    def marked(self, key: Key, pod: Raw) -> Raw | None:
        """The pod labelled as a member of its group; None if it is already, is being deleted, or is not managed."""
        raw = self.cache.find(key) if self.is_on(key.kind) else None
        if raw is None or not self.jobs.is_managed(raw) or pod_groups.is_deleted(pod):
            return None
        if key.kind is kinds.STATEFUL_SET and _controller(pod).get("uid") != raw["metadata"]["uid"]:
            return None
        after = SETS[key.kind].marked(raw, pod)
        return None if after is pod or after == pod else after

    def workloads(self, key: Key) -> tuple[Raw, ...] | Refusal | None:
        """The Workloads that a set should have; None if the set is not managed."""
        raw = self.cache.find(key) if self.is_on(key.kind) else None
        if raw is None or not self.jobs.is_managed(raw):
            return None
        try:
            standing = standing_of(raw, ())
            priority = self.jobs.priority(standing)
            if isinstance(priority, Mistake):
                return Refusal("WorkloadPriorityClassNotFound", f"{priority.text}: {priority.remedy}")
            return SETS[key.kind].workloads(raw, self.cache.gates, priority)
        except Unreadable as error:
            return Refusal("InvalidJob", str(error))

    def on_hold(self, key: Key) -> str:
        raw = self.cache.find(key)
        return "" if raw is None else SETS[key.kind].on_hold(raw)

    def is_occupied(self, key: str, now: float) -> bool:
        """Whether any pod of a Workload is ungated and has not ended."""
        return pod_groups.is_occupied(self.pods(key), now)

    def next_deadline(self, key: str, now: float) -> float | None:
        return pod_groups.next_deadline(self.pods(key), now)


def _note(index: dict[Key, dict[Key, Key]], key: Key, pod: Change, value: Key) -> None:
    if pod.type != "DELETED":
        index[key][pod.key] = value
    elif index[key].pop(pod.key, None) is not None and not index[key]:
        del index[key]


def _controller(pod: Raw) -> Raw:
    none: Raw = {}
    return next((one for one in pod["metadata"].get("ownerReferences") or () if one.get("controller")), none)


def _rest(pods: list[Raw], spare: Sequence[Raw]) -> list[Raw]:
    gone = {id(one) for one in spare}
    return [pod for pod in pods if id(pod) not in gone]


def prebuilt_name(pod: Raw) -> str:
    """The name of the prebuilt Workload of this pod; "" if it has none."""
    meta = pod["metadata"]
    notes, labels = meta.get("annotations") or {}, meta.get("labels") or {}
    name: str = notes.get(keys.PREBUILT) or labels.get(keys.PREBUILT, "")
    return name


def is_serving(group: LivePodGroup) -> bool:
    """Whether the group's pods belong to a set, which removes excess pods itself."""
    return pod_groups.is_serving([*group.pods, *group.spare])


def count_of(workload: Raw) -> dict[str, int]:
    """The number of pods of each role in a Workload."""
    return pod_groups.wanted_of(workload)
