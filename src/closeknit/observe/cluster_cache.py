"""The control plane's cache of a running cluster: objects as values, updated change by change.

Every change comes here first. Queues, flavors, nodes, pods and workloads are passed to the scheduler, together with
the pending workloads that they may wake; jobs stay raw, since each kind has its own form. The cache writes nothing to
the cluster and can be rebuilt at any time by listing every object once.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import msgspec

from ..cluster import kinds, volumes
from ..cluster.kinds import Kind
from ..cluster.port import Change, Key, Raw
from ..decide.scheduler import Scheduler
from ..dialects import core
from ..dialects import pods as pod_wire
from ..dialects.kueue import objects as kueue
from ..dialects.limits import limit_ranges, runtime_class
from ..dialects.maintenance import maintenance
from ..dialects.nrt.reading import read_topology
from ..model.cluster_queue import AdmissionCheck, LocalQueue
from ..model.gates import Gates
from ..model.limit_range import LimitRange
from ..model.node import Node
from ..model.pod import Pod
from ..model.provisioning import ProvisioningConfig
from ..model.settings import NAMESPACE_NAME, Settings
from ..model.workload import Workload
from ..queue.wake import WakeEvent
from ..state.mirror import OtherPod
from .pod_cache import PodCache, is_ours
from .queue_counts import QueueCounts
from .raw_objects import RawObjects
from .wakes import Wakes
from .workloads import Surroundings, class_of

log = logging.getLogger(__name__)

UNREADABLE = (ValueError, TypeError, AttributeError, KeyError, OverflowError)
"""The exceptions raised by reading an object that violates the API's schema."""


def logged(change: Change, error: Exception) -> None:
    name = "/".join(filter(None, (change.key.namespace, change.key.name)))
    log.warning("%s %s is invalid and is ignored: %s", change.kind.kind, name, error)


class ClusterCache:
    """`raw` has the objects themselves, without unmanaged pods unless `all_pods` is set.

    `wakes` has the wake events that are not delivered to pending workloads yet. `unreadable` is called with a change
    whose object is invalid.
    """

    def __init__(
        self,
        gates: Gates,
        settings: Settings,
        now: Callable[[], float],
        all_pods: bool = False,
        unreadable: Callable[[Change, Exception], None] = logged,
    ) -> None:
        self.gates, self.settings, self.now, self.all_pods = gates, settings, now, all_pods
        self._unreadable = unreadable
        self.scheduler = Scheduler(gates, settings)
        self.world = self.scheduler.world
        self.world.clock = now
        self.wakes = Wakes(self.scheduler, "WakeAtOnce" in gates, now)
        self.around = Surroundings()
        self._ranges: dict[tuple[str, str], Sequence[LimitRange]] = {}
        """Of each LimitRange, by namespace and name."""
        self.raw: dict[Kind, RawObjects] = defaultdict(RawObjects)
        self.by_uid: dict[str, Key] = {}
        self.workloads: dict[str, Workload] = {}
        self.workloads_of: dict[str, dict[str, None]] = defaultdict(dict)
        """Keys of workloads by the uid of an owner."""
        self.of_class: dict[str, dict[str, None]] = defaultdict(dict)
        """Workloads by the WorkloadPriorityClass that sets their priority."""
        self._outdated: set[str] = set()
        """Workloads to read again once they hold no quota, because the defaults that the cluster adds have changed."""
        self.of_check: dict[str, dict[str, None]] = defaultdict(dict)
        """Unfinished workloads by the admission checks that they list."""
        self.requests_of: dict[str, dict[Key, None]] = defaultdict(dict)
        """ProvisioningRequests by the uid of their Workload."""
        self.configs: dict[str, ProvisioningConfig] = {}
        self.ending: set[str] = set()
        """Terminating namespaces, in which nothing can be created."""
        self.local_queues: dict[str, LocalQueue] = {}
        self._pod_cache = PodCache(self.world, lambda: self.wakes.note(WakeEvent.OTHER_POD_GONE))
        self.pods = self._pod_cache.index
        self.at_host: dict[str, set[str]] = defaultdict(set)
        """Workloads with pods assigned to a host, by host."""
        self.tally = QueueCounts("ReclaimablePods" in gates)
        self._readers: dict[Kind, Callable[[Change], None]] = {
            kinds.NAMESPACE: self._namespace,
            kinds.NODE: self._node,
            kinds.POD: self._pod_cache.see,
            kinds.LIMIT_RANGE: self._limit_range,
            kinds.RUNTIME_CLASS: self._runtime_class,
            kinds.PRIORITY_CLASS: self._pod_class,
            kinds.TOPOLOGY: self._topology,
            kinds.RESOURCE_FLAVOR: self._flavor,
            kinds.COHORT: self._cohort,
            kinds.CLUSTER_QUEUE: self._cluster_queue,
            kinds.LOCAL_QUEUE: self._local_queue,
            kinds.ADMISSION_CHECK: self._check,
            kinds.WORKLOAD_PRIORITY_CLASS: self._workload_class,
            kinds.PROVISIONING_CONFIG: self._config,
            kinds.PROVISIONING_REQUEST: self._request,
            kinds.WORKLOAD: self._workload,
            kinds.DAEMON_SET: self._daemon_set,
            kinds.MAINTENANCE: self._maintenance,
            kinds.NODE_TOPOLOGY: self._node_topology,
            **dict.fromkeys(volumes.VOLUME_KINDS if "AllPodFilters" in gates else (), self._volume),
        }

    @property
    def kinds(self) -> Iterable[Kind]:
        """The kinds that the cache reads."""
        return self._readers

    @property
    def moment(self) -> float:
        """Now in whole seconds, as objects store it, so that time-based decisions come out the same when repeated."""
        return float(int(self.now()))

    # Lookups

    def find(self, key: Key) -> Raw | None:
        return self.raw[key.kind].get((key.namespace, key.name))

    def owned_by(self, uid: str) -> list[Workload]:
        known = (self.workloads.get(key) for key in self.workloads_of.get(uid, ()))
        return [one for one in known if one is not None]

    def raw_workload(self, key: str) -> Raw | None:
        namespace, _, name = key.partition("/")
        return self.raw[kinds.WORKLOAD].get((namespace, name))

    @staticmethod
    def family_of(raw: Raw) -> str:
        """The name that all slices of an elastic workload share; "" for one that is not elastic."""
        name: str = (raw["metadata"].get("annotations") or {}).get(pod_wire.SLICE_NAME, "")
        return name

    def pods_of(self, workload: str) -> list[Pod]:
        """The pods of a workload, or of all slices of an elastic one."""
        raw = self.raw_workload(workload)
        namespace, _, name = workload.partition("/")
        return self.pods.of_workload(f"{namespace}/{(raw and self.family_of(raw)) or name}")

    def hosts_of(self, workload: str) -> list[str]:
        """The hosts that a workload's pods are assigned to."""
        known = self.workloads.get(workload)
        return [] if known is None else list(dict.fromkeys(_hosts(known.status.admission)))

    # Changes

    def see(self, change: Change) -> None:
        objects, meta = self.raw[change.kind], change.object["metadata"]
        place, uid = (meta.get("namespace", ""), meta["name"]), meta.get("uid", "")
        if change.type == "DELETED":
            objects.pop(place, None)
            self.by_uid.pop(uid, None)
        elif self.all_pods or change.kind is not kinds.POD or is_ours(change.object):
            objects[place] = change.object
            if uid:
                self.by_uid[uid] = Key(change.kind, *place)
        reader = self._readers.get(change.kind)
        if reader is None:
            return
        try:
            reader(change)
        except UNREADABLE as error:
            self._unreadable(change, error)

    def put_node(self, node: Node) -> None:
        """Add a node as a value, from the bulk reader of files or from pools in the compact form."""
        before = self.world.nodes.get(node.name)
        self.world.put_node(node)
        if node != before:
            self.wakes.note(WakeEvent.NODE_CHANGED)

    def put_pod(self, key: str, pod: OtherPod) -> None:
        """Add the requests of an unmanaged pod."""
        self._pod_cache.put(key, pod)

    def put_workload(self, workload: Workload) -> None:
        """Add a workload as a value: a hypothetical one, or one with a change that is due but not written."""
        self._take(workload)

    # The cluster's own objects

    def _namespace(self, change: Change) -> None:
        meta = change.object["metadata"]
        name, before = meta["name"], self.world.namespaces.get(meta["name"])
        if "deletionTimestamp" in meta and change.type != "DELETED":
            self.ending.add(name)
        else:
            self.ending.discard(name)
        if change.type == "DELETED":
            self.world.put_namespace(name, None)
            return
        labels = labels_of(change.object)
        if labels != before:
            self.world.put_namespace(name, labels)
            self.wakes.note(WakeEvent.NAMESPACE_CHANGED)
            if before is not None and "AllPodFilters" in self.gates:
                self.wakes.note(WakeEvent.OTHER_POD_GONE)  # rules may select pods by the labels of their namespaces

    def _node(self, change: Change) -> None:
        name = change.object["metadata"]["name"]
        if change.type == "DELETED":
            self.world.drop_node(name)
            self.wakes.note(WakeEvent.NODE_CHANGED)
            return
        self.put_node(core.node(msgspec.convert(change.object, core.WireNode)))

    def _node_topology(self, change: Change) -> None:
        """The zones that a node reports; the node itself may come later, or never."""
        name = change.object["metadata"]["name"]
        before = self.world.zones.get(name)
        if change.type == "DELETED":
            self.world.drop_zones(name)
        else:
            self.world.put_zones(read_topology(change.object))
        if self.world.zones.get(name) != before:
            self.wakes.note(WakeEvent.NODE_CHANGED)

    def _daemon_set(self, change: Change) -> None:
        """Count the pods of a DaemonSet before they exist."""
        meta = change.object["metadata"]
        key = f"{meta['namespace']}/{meta['name']}"
        if change.type == "DELETED" or "deletionTimestamp" in meta:
            self.world.drop_daemon_set(key)
            self.wakes.note(WakeEvent.OTHER_POD_GONE)
            return
        wanted = core.daemon_set(change.object)
        if wanted != self.world.daemon_sets.get(key):
            self.world.put_daemon_set(key, wanted)
            self.wakes.note(WakeEvent.OTHER_POD_GONE)

    def _volume(self, change: Change) -> None:
        """A claim, a volume or a storage class: only pods that name claims depend on them."""
        if volumes.follow(self.world.volumes, change) and self.world.volumes.matter:
            self.world.volumes_changed()
            self.wakes.note(WakeEvent.VOLUME_CHANGED)

    def _limit_range(self, change: Change) -> None:
        namespace, key = change.key.namespace, (change.key.namespace, change.key.name)
        if change.type == "DELETED":
            self._ranges.pop(key, None)
        else:
            self._ranges[key] = limit_ranges(change.object)
        found = tuple(one for (of, _), several in self._ranges.items() if of == namespace for one in several)
        self.world.limit_ranges = {**self.world.limit_ranges, namespace: found}
        self.around.limit_ranges = self.world.limit_ranges
        self._read_again(namespace)

    def _runtime_class(self, change: Change) -> None:
        self.around.runtime_classes.pop(change.key.name, None)
        name, overhead = ("", {}) if change.type == "DELETED" else runtime_class(change.object)
        if overhead:
            self.around.runtime_classes[name] = overhead
        self._read_again("")

    def _read_again(self, namespace: str) -> None:
        """Read pending workloads again, because the defaults added to their pods have changed."""
        for key, one in list(self.workloads.items()):
            raw = self.raw_workload(key)
            if raw is None or one.finished or namespace not in ("", one.namespace):
                continue
            self._outdated.add(key)
            if not one.reserved:
                self._take(self._read(raw), fresh=True)
        self.wakes.note(WakeEvent.LIMITS_CHANGED)

    def _pod_class(self, change: Change) -> None:
        self.around.pod_classes = Surroundings().pod_classes
        self.around.default_priority = None
        for raw in self.raw[kinds.PRIORITY_CLASS].values():
            self.around.pod_classes[raw["metadata"]["name"]] = raw["value"]
            if raw.get("globalDefault") is True:
                before: int | None = self.around.default_priority
                self.around.default_priority = raw["value"] if before is None else min(before, raw["value"])

    def _maintenance(self, change: Change) -> None:
        name = change.object["metadata"]["name"]
        if change.type == "DELETED":
            self.end_maintenance(name)
            return
        window = maintenance(change.object)
        if window.ends <= self.now():
            self.end_maintenance(name)
        elif window != self.world.windows.get(name):
            self.world.put_window(window)
            self.wakes.note(WakeEvent.NODE_CHANGED)

    def end_maintenance(self, name: str) -> None:
        """Forget a window that is over or was cancelled, and wake the workloads that may use its nodes again."""
        if name in self.world.windows:
            self.world.drop_window(name)
            self.wakes.note(WakeEvent.NODE_CHANGED)

    # Queues and the objects that they refer to

    def _topology(self, change: Change) -> None:
        if change.type == "DELETED":
            self.world.drop_topology(change.object["metadata"]["name"])
        else:
            self.world.put_topology(kueue.topology(change.object))
        self.wakes.note(WakeEvent.TOPOLOGY_CHANGED)

    def _flavor(self, change: Change) -> None:
        if change.type == "DELETED":
            self.world.drop_flavor(change.object["metadata"]["name"])
        else:
            self.world.put_flavor(kueue.flavor(change.object))
        self.wakes.note(WakeEvent.FLAVOR_CHANGED)

    def _cohort(self, change: Change) -> None:
        name = change.object["metadata"]["name"]
        if change.type == "DELETED":
            self.world.drop_cohort(name)
        else:
            self.world.put_cohort(kueue.cohort(change.object))
        for queue in self._below(name):
            self.wakes.note(WakeEvent.COHORT_CHANGED, queue)

    def _below(self, cohort: str) -> Iterable[str]:
        """One queue of every tree that contains the cohort."""
        queues = (one.name for one in self.world.cluster_queues.values())
        return [name for name in queues if cohort in {one.name for one in self.world.node_of(name).ancestors}][:1]

    def _cluster_queue(self, change: Change) -> None:
        name = change.object["metadata"]["name"]
        if change.type == "DELETED":
            self.scheduler.drop_cluster_queue(name)
            return
        queue = kueue.cluster_queue(change.object)
        queue = replace(queue, terminating="deletionTimestamp" in change.object["metadata"])
        if queue != self.world.cluster_queues.get(name):
            self.scheduler.put_cluster_queue(queue)
            self.wakes.note(WakeEvent.QUEUE_CHANGED, name)

    def _local_queue(self, change: Change) -> None:
        queue = kueue.local_queue(change.object)
        names = self.around.local_queues.setdefault(queue.namespace, [])
        if change.type == "DELETED" or "deletionTimestamp" in change.object["metadata"]:
            self.local_queues.pop(queue.key, None)
            self.scheduler.drop_local_queue(queue.key)
            if queue.name in names:
                names.remove(queue.name)
        elif queue != self.local_queues.get(queue.key):
            self.local_queues[queue.key] = queue
            self.scheduler.put_local_queue(queue)
            if queue.name not in names:
                names.append(queue.name)
            self.wakes.note(WakeEvent.QUEUE_CHANGED, queue.cluster_queue)

    def _check(self, change: Change) -> None:
        if change.type == "DELETED":
            self.world.drop_check(change.object["metadata"]["name"])
        else:
            check: AdmissionCheck = kueue.admission_check(change.object)
            if check == self.world.checks.get(check.name):
                return
            self.world.put_check(check)
        for queue in self.world.cluster_queues:
            self.wakes.note(WakeEvent.CHECK_CHANGED, queue)

    def _config(self, change: Change) -> None:
        config = kueue.provisioning_config(change.object)
        if change.type == "DELETED":
            self.configs.pop(config.name, None)
        else:
            self.configs[config.name] = config

    def _request(self, change: Change) -> None:
        for owner in change.object["metadata"].get("ownerReferences") or ():
            if change.type == "DELETED":
                self.requests_of[owner["uid"]].pop(change.key, None)
                if not self.requests_of[owner["uid"]]:
                    del self.requests_of[owner["uid"]]
            else:
                self.requests_of[owner["uid"]][change.key] = None

    def _workload_class(self, change: Change) -> None:
        one = kueue.priority_class(change.object)
        if change.type == "DELETED":
            self.around.workload_classes.pop(one.name, None)
        else:
            self.around.workload_classes[one.name] = one.value

    # Workloads

    def _workload(self, change: Change) -> None:
        meta = change.object["metadata"]
        key = f"{meta['namespace']}/{meta['name']}"
        for uid in _owners(change.old):
            self.workloads_of[uid].pop(key, None)
            if not self.workloads_of[uid]:
                del self.workloads_of[uid]
        self._rank(key, change)
        if change.type == "DELETED":
            self._lose(key)
            return
        for uid in _owners(change.object):
            self.workloads_of[uid][key] = None
        workload = self._read(change.object)
        self._take(workload)
        if workload.finished:
            self.raw[kinds.WORKLOAD].fold((workload.namespace, workload.name))

    def _rank(self, key: str, change: Change) -> None:
        """Index a workload by its WorkloadPriorityClass."""
        old = "" if change.old is None else class_of(change.old)
        new = "" if change.type == "DELETED" else class_of(change.object)
        if old and old != new:
            self.of_class[old].pop(key, None)
        if new:
            self.of_class[new][key] = None

    def _read(self, raw: Raw) -> Workload:
        """The workload as a value; its request is read once per generation, so that equal requests are identical."""
        meta = raw["metadata"]
        key = f"{meta['namespace']}/{meta['name']}"
        before = self.workloads.get(key)
        if before is not None and before.uid == meta.get("uid", "") and before.generation == meta.get("generation"):
            known = kueue.workload_with(raw, before)
            if known.reserved or key not in self._outdated:
                return known
        self._outdated.discard(key)
        return kueue.workload(self.with_defaults(raw))

    def with_defaults(self, raw: Raw) -> Raw:
        """The Workload with the defaults that the cluster adds to its pods, if there are any."""
        if not (self.around.limit_ranges or self.around.runtime_classes):
            return raw
        namespace = raw["metadata"]["namespace"]
        sets = [
            {**one, "template": self.around.template(namespace, one.get("template") or {})}
            for one in raw["spec"].get("podSets") or ()
        ]
        return {**raw, "spec": {**raw["spec"], "podSets": sets}}

    def _take(self, workload: Workload, fresh: bool = False) -> None:
        before = None if fresh else self.workloads.get(workload.key)
        if before is not None and before.uid != workload.uid:
            self._forget(before)
            before = None
        self._index(self.workloads.get(workload.key), workload)
        self.workloads[workload.key] = workload
        self.scheduler.put(workload, self.moment)
        if before is not None:
            self._tell(before, workload)

    def _lose(self, key: str) -> None:
        before = self.workloads.get(key)
        if before is not None:
            self._forget(before)
            queue = self._queue_of(before)
            if queue and not before.finished:
                self.wakes.note(WakeEvent.WORKLOAD_DELETED, queue)

    def _forget(self, workload: Workload) -> None:
        del self.workloads[workload.key]
        self._outdated.discard(workload.key)
        self.scheduler.drop(workload.key)
        self._index(workload, None)

    def _index(self, before: Workload | None, after: Workload | None) -> None:
        """Update the counts of its queues, and the indexes by admission check and by host."""
        can = self.scheduler.is_admissible
        self.tally.change(before, after, after is not None and can(after), before is not None and can(before))
        self._index_checks(before, after)
        old = None if before is None else before.status.admission
        new = None if after is None or after.finished else after.status.admission
        if old is new or old == new:
            return
        key = (after or before).key  # type: ignore[union-attr]
        for host in _hosts(old):
            self.at_host[host].discard(key)
            if not self.at_host[host]:
                del self.at_host[host]
        for host in _hosts(new):
            self.at_host[host].add(key)

    def _index_checks(self, before: Workload | None, after: Workload | None) -> None:
        old, new = _check_names(before), _check_names(after)
        key = (after or before).key  # type: ignore[union-attr]
        for name in old - new:
            self.of_check[name].pop(key, None)
            if not self.of_check[name]:
                del self.of_check[name]
        for name in new - old:
            self.of_check[name][key] = None

    def _queue_of(self, workload: Workload) -> str:
        admission = workload.status.admission
        return self.scheduler.pending.queue_of(workload) if admission is None else admission.queue

    def _tell(self, before: Workload, after: Workload) -> None:
        """Note the wake events that a workload's change causes."""
        queue = self._queue_of(before)
        if not queue:
            return
        if after.finished and not before.finished:
            self.wakes.note(WakeEvent.WORKLOAD_FINISHED, queue)
        elif before.reserved and not after.reserved:
            self.wakes.note(WakeEvent.WORKLOAD_EVICTED, queue)
        if before.active and not after.active:
            self.wakes.note(WakeEvent.WORKLOAD_DEACTIVATED, queue)
        if before.status.reclaimable != after.status.reclaimable:
            self.wakes.note(WakeEvent.PODS_RECLAIMED, queue)
        if before.priority != after.priority:
            self.wakes.note(WakeEvent.PRIORITY_CHANGED, queue)
        if before.request is not after.request and _pods(after) < _pods(before):
            self.wakes.note(WakeEvent.WORKLOAD_SHRANK, queue)


def _owners(raw: Raw | None) -> list[str]:
    """The uids of an object's owners."""
    owners = () if raw is None else raw["metadata"].get("ownerReferences") or ()
    return [one["uid"] for one in owners if one.get("uid")]


def labels_of(namespace: Raw) -> dict[str, str]:
    """The labels of a namespace, with the name label that every namespace has."""
    meta = namespace["metadata"]
    return {NAMESPACE_NAME: meta["name"], **(meta.get("labels") or {})}


def _pods(workload: Workload) -> int:
    return sum(one.count for one in workload.request.pod_sets)


def _check_names(workload: Workload | None) -> set[str]:
    return set() if workload is None or workload.finished else {check.name for check in workload.status.checks}


def _hosts(admission: object) -> Iterable[str]:
    """The hosts of an assignment whose lowest level is the host."""
    for one in getattr(admission, "pod_sets", ()):
        if one.topology is not None and one.topology.by_host:
            for path in one.topology.values:
                yield path[-1]
