"""Jobs of every kind in a running cluster, as the few facts that reconcilers need.

Whether a job is managed, which of its Workloads matches it, and what a new Workload would be: that depends on the
objects around the job and is found out here. What follows from these facts is decided in `lifecycle`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ..cluster.kinds import BY_NAME, POD, Kind
from ..cluster.port import Change, Key, Raw
from ..dialects.kueue import keys
from ..dialects.kueue.jobs import marks
from ..dialects.kueue.jobs.children import is_child as is_made_by
from ..dialects.kueue.jobs.equivalence import is_same
from ..dialects.kueue.jobs.injection import Info, StartConflict, info_of
from ..dialects.kueue.jobs.integration import Integration
from ..dialects.kueue.jobs.kinds import FRAMEWORKS, LIVE, SERVING, Serving
from ..dialects.kueue.jobs.queueing_options import QueueingOptions
from ..dialects.kueue.jobs.workload_object import WorkloadPriority, owner_reference, standing_of, workload_for
from ..dialects.kueue.objects import Unreadable
from ..lifecycle.job import JobView
from ..model.cluster_queue import Selector
from ..model.mistake import Mistake
from ..model.settings import NAMESPACE_NAME, outside_of_system
from ..model.workload import Workload
from .cluster_cache import ClusterCache, labels_of
from .membership import GATE as VERIFY
from .pod_cache import group_of
from .workloads import DEFAULT, class_of, priority_of, rank_of

MOST_ANCESTORS = 10
REMEMBERED = 50_000
DEPLOYMENT = "deployment"
POD_FRAMEWORK = "pod"
SERVING_FRAMEWORKS = frozenset(one.framework for one in SERVING.values())
UNGATEABLE = SERVING_FRAMEWORKS | {POD_FRAMEWORK}
"""Kinds that wait through gates on their pods, which only the server can add, when pods are created."""


@dataclass(frozen=True, slots=True)
class Managed:
    """Which jobs are managed: by default those that name a queue, outside of system namespaces.

    `frameworks` are the managed kinds, by their names in Kueue's configuration; `ungated` are kinds left out because
    the server cannot gate their pods.
    """

    without_queue: bool = False
    namespaces: Selector = field(default_factory=outside_of_system)
    copied_labels: Collection[str] = ()
    frameworks: frozenset[str] = FRAMEWORKS
    ungated: frozenset[str] = frozenset()

    def is_in(self, cache: ClusterCache, namespace: str) -> bool:
        """Whether jobs of this namespace are managed."""
        labels = cache.world.namespaces.get(namespace)
        return self.namespaces.matches({NAMESPACE_NAME: namespace} if labels is None else labels)

    def turned(self, namespace: Change) -> bool:
        """Whether this change turns management of the namespace's jobs on or off."""
        name = {NAMESPACE_NAME: namespace.key.name}
        before = name if namespace.old is None else labels_of(namespace.old)
        return self.namespaces.matches(before) != self.namespaces.matches(labels_of(namespace.object))

    def has(self, framework: str) -> bool:
        """Whether any object of a kind is managed: the pods of a set may be, even if other pods are not."""
        return framework in self.frameworks or (framework == POD_FRAMEWORK and self._sets)

    def has_pod(self, pod: Raw) -> bool:
        """Whether the pod was marked as managed when it was created, and its kind, pod or set, is enabled.

        A pod without the mark is not managed, even if it names a queue: it never waited, and could only be deleted.
        """
        labels, notes = (pod["metadata"].get(part) or {} for part in ("labels", "annotations"))
        return marks.MANAGED in labels and notes.get(marks.PARENT, POD_FRAMEWORK) in self.frameworks

    def without_gates(self) -> Managed:
        """The same without the kinds that need gates, for a server that cannot gate pods on creation."""
        off = self.frameworks & UNGATEABLE
        return replace(self, frameworks=self.frameworks - off, ungated=off)

    @property
    def _sets(self) -> bool:
        return bool(self.frameworks & SERVING_FRAMEWORKS)


class WorkloadMatch(NamedTuple):
    """The Workload of a job, and its Workloads that do not match it; see `JobView`."""

    workload: Workload | None = None
    others: tuple[Workload, ...] = ()
    stale: bool = False
    differs: bool = False


class LiveJob(NamedTuple):
    """A job with the facts about it."""

    key: Key
    raw: Raw
    integration: Integration
    view: JobView
    source: Raw | None = None


class Refusal(NamedTuple):
    """Why no Workload can be created for a job."""

    reason: str
    message: str


@dataclass(slots=True)
class LiveJobs:
    cache: ClusterCache
    managed: Managed = field(default_factory=Managed)

    kinds: dict[Kind, Integration] = field(init=False)
    _compared: dict[str, tuple[tuple[object, ...], tuple[bool, bool], bool]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        on = {name: one for name, one in LIVE.items() if self.managed.has(one.framework)}
        self.kinds = {BY_NAME[name]: one for name, one in on.items() if name in BY_NAME}

    def is_managed(self, raw: Raw) -> bool:
        if not self.managed.is_in(self.cache, raw["metadata"].get("namespace", "")):
            return False
        if raw["kind"] == "Pod" and not self.managed.has_pod(raw):
            return False
        if not self.may_be_managed(raw) or self.is_in_group(raw):
            return False
        return self.is_stranger(raw) or self.managed_ancestor(raw) is None

    def is_in_group(self, raw: Raw) -> bool:
        """Whether it is a pod of a pod group, which has one Workload for all of its pods."""
        notes = raw["metadata"].get("annotations") or {}
        return raw["kind"] == "Pod" and (bool(group_of(raw)) or _is_of_set(notes))

    def may_be_managed(self, raw: Raw) -> bool:
        """Whether the object itself asks for it; a managed owner overrides that."""
        labels = raw["metadata"].get("labels") or {}
        return keys.QUEUE in labels or self.managed.without_queue or bool(prebuilt_of(raw))

    def managed_ancestor(self, raw: Raw) -> Raw | None:
        """The topmost managed job among its owners, if there is one, whose Workload then covers it."""
        found = None
        for _ in range(MOST_ANCESTORS):
            owner = _controller(raw)
            key = None if owner is None else self.cache.by_uid.get(owner["uid"])
            above = None if key is None else self.cache.find(key)
            if key is None or above is None:
                break
            if key.kind in self.kinds and self.may_be_managed(above):
                found = above
            raw = above
        return found

    def is_stranger(self, raw: Raw) -> bool:
        """Whether it names an owner whose controller did not make it: any user may name any owner of the namespace."""
        owner = _controller(raw)
        key = None if owner is None or VERIFY not in self.cache.gates else self.cache.by_uid.get(owner["uid"])
        above = None if key is None else self.cache.find(key)
        return above is not None and not is_made_by(above, raw)

    def is_child(self, key: Key, raw: Raw) -> bool:
        """Whether it is owned and not suspended, so that a managed owner may cover it; pods are held by gates."""
        return key.kind is not POD and _controller(raw) is not None and not self.kinds[key.kind].is_suspended(raw)

    def is_ahead(self, key: Key, raw: Raw) -> bool:
        """Whether it runs although its managed owner is not admitted, or is not really its owner."""
        if not self.is_child(key, raw) or not self.managed.is_in(self.cache, raw["metadata"].get("namespace", "")):
            return False
        above = None if self.kinds[key.kind].finished(raw) is not None else self.managed_ancestor(raw)
        if above is None:
            return False
        admitted = any(one.admitted for one in self.cache.owned_by(above["metadata"]["uid"]))
        return not admitted or self.is_stranger(raw)

    def live_job(self, key: Key) -> LiveJob | None:
        """The facts about a job; None if it is not managed. Raises Unreadable for a job that contradicts itself.

        A job whose source object is gone is treated as unchanged while its Workload holds quota.
        """
        raw, integration = self.cache.find(key), self.kinds[key.kind]
        if raw is None or not self.is_managed(raw) or integration.ignored(raw):
            return None
        source = self.source_of(raw, integration)
        ended, name = integration.finished(raw), prebuilt_of(raw)
        match = (self._prebuilt if name else self._made)(raw, integration, source)
        mine, lost = match.workload, _is_lost(integration, source)
        was_ready = mine is not None and mine.status.holds("PodsReady")
        view = JobView(
            self.cache.gates,
            integration.is_suspended(raw),
            active=integration.is_active(raw),
            ready=was_ready if lost else integration.pods_ready(raw, source),
            ended=None if ended is None else (ended.success, ended.message),
            reclaimable=integration.reclaimable(raw, source) if mine and mine.reserved and not lost else {},
            workload=mine,
            stale=match.stale,
            held=mine is not None and self.is_held(mine),
            deleting=mine is not None and self._is_deleting(mine),
            going=key.kind is POD and "deletionTimestamp" in raw["metadata"],
            prebuilt=bool(name),
            differs=match.differs,
            on_hold=integration.on_hold(raw),
            others=match.others,
            waits_for_pods=self.cache.settings.pods_ready is not None,
        )
        return LiveJob(key, raw, integration, view, source)

    def _made(self, raw: Raw, integration: Integration, source: Raw | None) -> WorkloadMatch:
        """The Workload that matches the job, among those created for it."""
        owned = self.cache.owned_by(raw["metadata"].get("uid", ""))
        mine = next((one for one in owned if self._is_same(raw, integration, one, source)), None)
        others = tuple(one for one in owned if one is not mine and not one.finished)
        if mine is None and len(others) == 1 and integration.is_suspended(raw) and not others[0].reserved:
            return WorkloadMatch(others[0], stale=True)
        return WorkloadMatch(mine, others, mine is not None and self._is_stale(raw, mine))

    def _prebuilt(self, raw: Raw, integration: Integration, source: Raw | None) -> WorkloadMatch:
        """The prebuilt Workload that a job names, if it exists and has no other owner."""
        meta = raw["metadata"]
        mine = self.cache.workloads.get(f"{meta.get('namespace', '')}/{prebuilt_of(raw)}")
        others = tuple(one for one in self.cache.owned_by(meta.get("uid", "")) if one is not mine and not one.finished)
        if mine is None:
            return WorkloadMatch(None, others)
        owner = self._owner_of(mine)
        if owner is not None and owner["uid"] != meta.get("uid", ""):
            raise Unreadable(f"the prebuilt Workload {mine.key} belongs to {owner['kind']} {owner['name']}")
        comparable = owner is not None and not _is_lost(integration, source)
        return WorkloadMatch(mine, others, differs=comparable and not self._is_same(raw, integration, mine, source))

    def _owner_of(self, workload: Workload) -> Raw | None:
        stored = self.cache.raw_workload(workload.key)
        return None if stored is None else _controller(stored)

    def to_adopt(self, seen: LiveJob) -> Raw | None:
        """The prebuilt Workload that a job names, if the job does not own it yet."""
        mine = seen.view.workload
        stored = None if mine is None or not seen.view.prebuilt else self.cache.raw_workload(mine.key)
        return None if stored is None or _controller(stored) is not None else stored

    def differs(self, seen: LiveJob) -> bool:
        """Whether the prebuilt Workload of a job does not match it, even if the job has yet to adopt it."""
        unowned = self.to_adopt(seen)
        if unowned is None or _is_lost(seen.integration, seen.source):
            return seen.view.differs
        meta = {**unowned["metadata"], "ownerReferences": [owner_reference(seen.raw, controller=True)]}
        adopted, partial = {**unowned, "metadata": meta}, "PartialAdmission" in self.cache.gates
        return not is_same(seen.raw, seen.integration, adopted, None, seen.source, partial)

    def abandoned(self, key: Key) -> list[Workload]:
        """The Workloads of a suspended job that is no longer managed."""
        raw = self.cache.find(key)
        if raw is None or self.may_be_managed(raw) or not self.kinds[key.kind].is_suspended(raw):
            return []
        uid = raw["metadata"]["uid"]
        owned = [(one, self._owner_of(one)) for one in self.cache.owned_by(uid)]
        return [one for one, owner in owned if owner is not None and owner["uid"] == uid]

    def _is_stale(self, raw: Raw, workload: Workload) -> bool:
        """Whether the job names another queue or priority class than its Workload has."""
        stored = self.cache.raw_workload(workload.key)
        if workload.finished or stored is None:
            return False
        if self.new_rank(raw, workload, stored) is not None:
            return True
        wanted = (raw["metadata"].get("labels") or {}).get(keys.QUEUE) or workload.queue
        return not workload.reserved and bool(workload.queue != wanted)

    def source_of(self, raw: Raw, integration: Integration) -> Raw | None:
        key = source_key(raw, integration)
        return None if key is None else self.cache.find(key)

    def _is_same(self, raw: Raw, integration: Integration, workload: Workload, source: Raw | None) -> bool:
        """Whether the Workload matches the job; cached, because most changes affect only the status of either."""
        stored = self.cache.raw_workload(workload.key)
        if stored is None:
            return False
        if _is_lost(integration, source):
            return workload.reserved
        admission = (stored.get("status") or {}).get("admission")
        compared = (raw["spec"], raw["metadata"].get("labels"), stored["spec"], admission, source)
        seen = self._compared.get(workload.uid)
        if (
            seen is not None
            and seen[1] == (workload.reserved, workload.admitted)
            and all(one is other for one, other in zip(seen[0], compared, strict=True))
        ):
            return seen[2]
        infos = self.infos(workload) if workload.reserved else None
        given = None if isinstance(infos, StartConflict) else infos
        same = is_same(raw, integration, stored, given, source, "PartialAdmission" in self.cache.gates)
        if len(self._compared) > REMEMBERED:
            self._compared.clear()
        self._compared[workload.uid] = (compared, (workload.reserved, workload.admitted), same)
        return same

    def infos(self, workload: Workload) -> tuple[Info, ...] | StartConflict:
        return infos_of(self.cache, workload)

    def is_held(self, workload: Workload) -> bool:
        raw = self.cache.raw_workload(workload.key)
        return raw is not None and bool(raw["metadata"].get("finalizers"))

    def _is_deleting(self, workload: Workload) -> bool:
        raw = self.cache.raw_workload(workload.key)
        return raw is not None and "deletionTimestamp" in raw["metadata"]

    def wanted(self, raw: Raw, integration: Integration, source: Raw | None) -> Raw | Refusal:
        """The Workload that the job should have."""
        refused = integration.refusal(raw)
        if refused:
            return Refusal("InvalidJob", refused)
        try:
            standing = standing_of(raw, integration.pod_sets(raw, source))
            priority = self.priority(standing)
            if isinstance(priority, Mistake):
                return Refusal("WorkloadPriorityClassNotFound", f"{priority.field} {priority.text}: {priority.remedy}")
            return workload_for(raw, integration, self.cache.gates, priority, source, "", self.managed.copied_labels)
        except Unreadable as error:
            return Refusal("InvalidJob", str(error))

    def rank(self, raw: Raw) -> WorkloadPriority | None:
        """The priority of the class in a job's label; None if it names no class, or one that does not exist."""
        return rank_of((raw["metadata"].get("labels") or {}).get(keys.PRIORITY_CLASS, ""), self.cache.around)

    def new_rank(self, raw: Raw, workload: Workload, stored: Raw) -> WorkloadPriority | None:
        """The priority of the class in a job's label, if its Workload has another class and may change to it."""
        rank, before = self.rank(raw), class_of(stored)
        differs = rank is not None and rank.name != before
        return rank if differs and (before or not workload.reserved) else None

    def priority(self, standing: QueueingOptions) -> WorkloadPriority | Mistake:
        value = priority_of(standing, self.cache.around)
        if isinstance(value, Mistake):
            return value
        if standing.workload_class:
            return WorkloadPriority(value, "WorkloadPriorityClass", standing.workload_class)
        if DEFAULT in self.cache.around.workload_classes:
            return WorkloadPriority(value, "WorkloadPriorityClass", DEFAULT)
        if standing.pod_class:
            return WorkloadPriority(value, "PriorityClass", standing.pod_class)
        return WorkloadPriority(value)


def ungated_kinds(managed: Managed) -> dict[Kind, str]:
    """Kinds whose objects cannot wait, because the server cannot gate their pods."""
    known: dict[tuple[str, str], Serving | Integration] = {**SERVING, **LIVE}
    return {BY_NAME[name]: one.framework for name, one in known.items() if one.framework in managed.ungated}


def names_queue(raw: Raw) -> str:
    queue: str = (raw["metadata"].get("labels") or {}).get(keys.QUEUE, "")
    return queue


def is_on_its_own(raw: Raw) -> bool:
    """Whether it has no controlling owner, which would get the event instead."""
    return _controller(raw) is None


def source_key(raw: Raw, integration: Integration) -> Key | None:
    """The key of the object that holds the rest of a job's spec; None for most kinds."""
    wanted = integration.source(raw)
    kind = None if wanted is None else BY_NAME.get((wanted.group, wanted.kind))
    return None if wanted is None or kind is None else Key(kind, wanted.namespace, wanted.name)


def prebuilt_of(raw: Raw) -> str:
    """The name of a job's prebuilt Workload; "" if Closeknit creates the Workload."""
    meta = raw["metadata"]
    name: str = (meta.get("annotations") or {}).get(keys.PREBUILT) or (meta.get("labels") or {}).get(keys.PREBUILT, "")
    return name


def _controller(raw: Raw) -> Raw | None:
    return next((one for one in raw["metadata"].get("ownerReferences") or () if one.get("controller")), None)


def _is_lost(integration: Integration, source: Raw | None) -> bool:
    """Whether it is unknown what the job runs, because its source object does not exist."""
    return integration.render is not None and source is None


def _is_of_set(notes: Mapping[str, str]) -> bool:
    """Whether a pod becomes part of a group; pods of a Deployment are queued one by one."""
    return notes.get(marks.PARENT, DEPLOYMENT) != DEPLOYMENT


def infos_of(cache: ClusterCache, workload: Workload) -> tuple[Info, ...] | StartConflict:
    """What is injected into the pods of an admitted workload, per pod set."""
    raw = cache.raw_workload(workload.key)
    family = "" if raw is None else cache.family_of(raw)
    return info_of(workload, cache.world.flavors, cache.gates, family)
