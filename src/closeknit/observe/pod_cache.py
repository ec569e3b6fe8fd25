"""The cache of pods: pods of workloads as values, all others as the capacity that they use.

Most pods of a cluster are not managed. Each of those is stored as a row with its node and its requests, which are
shared between pods with equal requests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from ..cluster.port import Change, Raw
from ..decide.world import World
from ..dialects import core
from ..dialects import pods as pod_wire
from ..dialects.kueue import keys
from ..dialects.kueue.jobs import marks
from ..dialects.kueue.topology_request import is_by_topology
from ..dialects.nrt.keys import EXPECTED_ZONES, OBSERVED_ZONES
from ..model.resources import Resources
from ..state.mirror import OtherPod
from ..state.numa.zone_plans import KubeletPod
from ..state.placed import PlacedPod
from .pod_index import PodIndex
from .pod_kinds import KindCache
from .zone_needs import told

MOST_SHAPES = 10_000


class PodCache:
    """`freed` is called when capacity was freed that pending workloads may wait for."""

    def __init__(self, world: World, freed: Callable[[], None]) -> None:
        self.world, self.freed = world, freed
        self.verifies = "VerifyPodOwners" in world.gates
        self.index = PodIndex()
        self._placed: set[str] = set()
        """Running pods that were placed by topology."""
        self._kinds = KindCache("AllPodFilters" in world.gates)
        self._needs: dict[bytes, tuple[Resources, KubeletPod]] = {}
        """Requests, and what a kubelet sees of a pod, by the text of its resources."""

    def see(self, change: Change) -> None:
        meta = change.object["metadata"]
        notes, key = meta.get("annotations") or {}, f"{meta['namespace']}/{meta['name']}"
        if keys.WORKLOAD in notes or group_of(change.object):
            self._managed(change, key)
        if change.type == "DELETED":
            self.world.zoning.drop_pod(key)
        if self._is_placed(change.object, notes):
            self._leave_other(key)
            self._by_topology(change, key)
        else:
            self._leave_placed(key)
            self._other(change, key)

    def _is_placed(self, pod: Raw, notes: Mapping[str, str]) -> bool:
        """Whether a pod was placed by topology. One that names no workload never was, so that it cannot drain.

        Kueue looks at the topology annotations alone.
        """
        if not is_by_topology(notes, self.world.gates) or _daemon_of(pod):
            return False
        named = keys.WORKLOAD in notes or "CountDrainingPods" not in self.world.gates
        return named and self._may_be_member(pod)

    def _may_be_member(self, pod: Raw) -> bool:
        """Whether its room may be held by a workload: an object controls it, or it was marked as queued itself."""
        if not self.verifies:
            return True
        meta = pod["metadata"]
        owned = any(one.get("controller") for one in meta.get("ownerReferences") or ())
        return owned or marks.MANAGED in (meta.get("labels") or {})

    def _managed(self, change: Change, key: str) -> None:
        if change.type == "DELETED":
            self.index.drop(key)
        else:
            self.index.put(pod_wire.pod(change.object))

    def _by_topology(self, change: Change, key: str) -> None:
        """Count a pod placed by topology through its workload's assignment, or by itself once it has none."""
        node = _node_of(change)
        if node:
            pod = self.index.all.get(key) or pod_wire.pod(change.object)
            owner = f"{pod.namespace}/{pod.workload}"
            requests, needs = self._read(change.object)
            if key not in self._placed:
                self._appeared()
            self._placed.add(key)
            kind = self._kinds.of(change.object)
            self.world.put_placed_pod(key, PlacedPod(owner, pod.pod_set, node, requests, pod.deleting, kind, needs))
        else:
            self._leave_placed(key)

    def _appeared(self) -> None:
        """Wake workloads that may have waited for such a pod near them, or in another domain."""
        if self.world.new_pods_help:
            self.freed()

    def _leave_placed(self, key: str) -> None:
        if key in self._placed:
            self._placed.discard(key)
            drained = key in self.world.placed.draining
            self.world.drop_placed_pod(key)
            if drained:
                self.freed()

    def _leave_other(self, key: str) -> None:
        if key in self.world.other_pods:
            self.world.drop_pod(key)
            self.freed()

    def put(self, key: str, pod: OtherPod) -> None:
        """Add the requests of an unmanaged pod, from a reader that keeps nothing else of it."""
        self.world.put_pod(key, pod)

    def _other(self, change: Change, key: str) -> None:
        node, known = _node_of(change), self.world.other_pods.get(key)
        kind = self._kinds.of(change.object) if node else None
        if not node:
            self._leave_other(key)
        elif known is None or known.node != node or known.kind is not kind or tells_zones(change.object):
            requests, needs = self._read(change.object)
            self.put(key, OtherPod(node, requests, _daemon_of(change.object), kind, needs))
            self._appeared()

    def _read(self, raw: Raw) -> tuple[Resources, KubeletPod]:
        """The pods of a job have the same text of resources, so that it is read once."""
        text = _resources(raw["spec"])
        found = self._needs.get(text)
        if found is None:
            if len(self._needs) > MOST_SHAPES:
                self._needs.clear()
            spec = msgspec.convert(raw["spec"], core.PodSpec)
            found = self._needs[text] = core.requests(spec), KubeletPod(core.demand(spec), core.container_names(spec))
        start = (raw.get("status") or {}).get("startTime")
        if start is None and not tells_zones(raw):
            return found
        return found[0], told(found[1], raw["metadata"].get("annotations") or {}, start)


def _resources(spec: Raw) -> bytes:
    """All that the requests of a pod depend on, and what its kubelet sees."""
    containers = [(one.get("name"), one.get("resources")) for one in spec.get("containers") or ()]
    first = [
        (one.get("name"), one.get("resources"), one.get("restartPolicy")) for one in spec.get("initContainers") or ()
    ]
    return msgspec.json.encode((containers, first, spec.get("overhead"), spec.get("resources")))


def tells_zones(pod: Raw) -> bool:
    """Whether an annotation tells the NUMA zones of a pod."""
    notes = pod["metadata"].get("annotations") or ()
    return OBSERVED_ZONES in notes or EXPECTED_ZONES in notes


def is_ours(pod: Raw) -> bool:
    """Whether the pod has labels, annotations or finalizers of ours, so that it is stored whole."""
    meta = pod["metadata"]
    return pod_wire.names_ours(*(meta.get(part) or () for part in ("labels", "annotations", "finalizers")))


def workload_of(pod: Raw) -> str:
    """The name of the Workload in the pod's annotation; "" if it has none."""
    name: str = (pod["metadata"].get("annotations") or {}).get(keys.WORKLOAD, "")
    return name


def group_of(pod: Raw) -> str:
    """The pod group that a pod names; "" if there is none."""
    meta = pod["metadata"]
    labels, notes = meta.get("labels") or {}, meta.get("annotations") or {}
    name: str = labels.get(keys.POD_GROUP) or notes.get(keys.POD_GROUP, "")
    return name


def _node_of(change: Change) -> str:
    """The node whose capacity a pod uses; "" if it uses none."""
    raw = change.object
    node, phase = raw["spec"].get("nodeName") or "", (raw.get("status") or {}).get("phase")
    return node if change.type != "DELETED" and pod_wire.takes_room(node, phase) else ""


def _daemon_of(pod: Raw) -> str:
    owners = pod["metadata"].get("ownerReferences")
    return pod_wire.daemon_of(msgspec.convert(owners, list[pod_wire.OwnerReference])) if owners else ""
