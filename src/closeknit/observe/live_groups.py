"""Groups of pods in a running cluster, and the sets that make such pods, as reconcilers see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..cluster import kinds
from ..cluster.kinds import BY_NAME, Kind
from ..cluster.port import Key, Raw
from ..dialects.kueue import keys
from ..dialects.kueue.jobs import marks
from ..dialects.kueue.jobs.injection import Conflict
from ..dialects.kueue.jobs.live import SERVING, Serving, pod_groups
from ..dialects.kueue.jobs.live.pod import is_gated
from ..dialects.kueue.jobs.workload_object import standing_of
from ..dialects.kueue.objects import Unreadable
from ..lifecycle.pod_group import GroupView
from ..model.mistake import Mistake
from ..model.workload import Workload
from .known import Known
from .live_jobs import LiveJobs, Refusal, infos_of

LWS_NAME = "leaderworkerset.sigs.k8s.io/name"
SETS: dict[Kind, Serving] = {BY_NAME[name]: one for name, one in SERVING.items()}


class Group(NamedTuple):
    """`view` is None as long as there is no Workload; `text` then says what is wrong or missing, if anything is."""

    pods: list[Raw]
    raw: Raw | None = None
    view: GroupView | None = None
    text: str = ""


@dataclass(slots=True)
class LiveGroups:
    known: Known
    jobs: LiveJobs

    def pods(self, key: str) -> list[Raw]:
        """The pods of a group, oldest first."""
        found = []
        for pod in self.known.pods.of_group(key):
            raw = self.known.raw[kinds.POD].get((pod.namespace, pod.name))
            if raw is not None:
                found.append((pod.created, pod.name, raw))
        return [raw for *_, raw in sorted(found, key=lambda one: one[:2])]

    def look(self, key: str, now: float) -> Group | None:
        """None if there is no pod of it that is ours."""
        pods = self.pods(key)
        if not pods or marks.MANAGED not in (pods[0]["metadata"].get("labels") or {}):
            return None
        try:
            text = pod_groups.mismatch(pods)
            raw, workload = self.known.raw_workload(key), self.known.workloads.get(key)
            if text or raw is None or workload is None:
                return Group(pods, None, None, text or pod_groups.shortage(pods))
            if not pod_groups.is_of_group(raw):
                return Group(pods, None, None, f"Workload {key} was not made for this group: rename the group")
            return Group(pods, raw, self._view(pods, raw, workload, now))
        except Unreadable as error:
            return Group(pods, None, None, str(error))

    def _view(self, pods: list[Raw], raw: Raw, workload: Workload, now: float) -> GroupView:
        ended = pod_groups.finished(pods)
        live = [pod for pod in pods if pod_groups.is_runnable(pod) and not pod_groups.is_terminated(pod)]
        stays = [pod for pod in live if "deletionTimestamp" not in pod["metadata"]]
        gaps = pod_groups.missing(pods, pod_groups.wanted_of(raw))
        fast = pod_groups.starts_fast(pods) or pod_groups.is_serving(pods)
        return GroupView(
            self.known.gates,
            workload,
            sum(map(is_gated, stays)),
            sum(not is_gated(pod) for pod in stays),
            0 if fast else sum(gaps.values()),
            pod_groups.is_active(pods, now),
            pod_groups.pods_ready(pods),
            None if ended is None else (ended.success, ended.message),
            pod_groups.reclaimable(pods) if workload.reserved else {},
            self.jobs.is_held(workload),
            self.known.settings.pods_ready is not None,
        )

    def wanted(self, pods: list[Raw]) -> Raw | Refusal:
        """The Workload that a group is to have."""
        try:
            priority = self.jobs.priority(pod_groups.group_standing(pods))
            if isinstance(priority, Mistake):
                return Refusal("WorkloadPriorityClassNotFound", f"{priority.text}: {priority.remedy}")
            return pod_groups.group_workload(pods, self.known.gates, priority)
        except Unreadable as error:
            return Refusal("InvalidPodGroup", str(error))

    def waiting(self, pods: list[Raw]) -> list[Raw]:
        return [pod for pod in pods if is_gated(pod) and "deletionTimestamp" not in pod["metadata"]]

    def stopped(self, pods: list[Raw]) -> list[Raw]:
        """Pods that do not run: they never did, or have ended."""
        return [pod for pod in pods if is_gated(pod) or pod_groups.is_terminated(pod)]

    def excess(self, pods: list[Raw], workload: Raw | None = None) -> list[Raw]:
        """Pods that are too many, by what the Workload counts on once there is one."""
        return pod_groups.excess(pods, None if workload is None else pod_groups.wanted_of(workload))

    def replaced(self, pods: list[Raw], workload: Raw) -> list[Raw]:
        return pod_groups.replaced(pods, pod_groups.wanted_of(workload))

    def started(self, pod: Raw, workload: Workload) -> Raw | Conflict:
        infos = infos_of(self.known, workload)
        return infos if isinstance(infos, Conflict) else pod_groups.started(pod, infos)

    # Sets

    def set_of(self, pod: Raw) -> Key | None:
        """The StatefulSet or LeaderWorkerSet that a pod belongs to, if it is one of a group of theirs."""
        meta = pod["metadata"]
        parent = (meta.get("annotations") or {}).get(marks.PARENT, "")
        if parent == SETS[kinds.LEADER_WORKER_SET].framework:
            name = (meta.get("labels") or {}).get(LWS_NAME, "")
            return Key(kinds.LEADER_WORKER_SET, meta["namespace"], name) if name else None
        if parent == SETS[kinds.STATEFUL_SET].framework:
            owner = next((one for one in meta.get("ownerReferences") or () if one.get("controller")), None)
            key = None if owner is None else self.known.by_uid.get(owner["uid"])
            return key if key is not None and key.kind is kinds.STATEFUL_SET else None
        return None

    def marked(self, key: Key, pod: Raw) -> Raw | None:
        """The pod as one of its group; None if it is that already, or its set is not ours."""
        raw = self.known.find(key)
        if raw is None or not self.jobs.is_managed(raw):
            return None
        after = SETS[key.kind].marked(raw, pod)
        return None if after is pod or after == pod else after

    def workloads(self, key: Key) -> tuple[Raw, ...] | Refusal | None:
        """Those that a set is to have; None if it is not ours."""
        raw = self.known.find(key)
        if raw is None or not self.jobs.is_managed(raw):
            return None
        try:
            standing = standing_of(raw, ())
            priority = self.jobs.priority(standing)
            if isinstance(priority, Mistake):
                return Refusal("WorkloadPriorityClassNotFound", f"{priority.text}: {priority.remedy}")
            return SETS[key.kind].workloads(raw, self.known.gates, priority)
        except Unreadable as error:
            return Refusal("InvalidJob", str(error))

    def on_hold(self, key: Key) -> str:
        raw = self.known.find(key)
        return "" if raw is None else SETS[key.kind].on_hold(raw)


def is_prebuilt(pods: list[Raw]) -> bool:
    """Whether somebody else makes the Workload of this group."""
    meta = pods[0]["metadata"]
    return keys.PREBUILT in {**(meta.get("labels") or {}), **(meta.get("annotations") or {})}
