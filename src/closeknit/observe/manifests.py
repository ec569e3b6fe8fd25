"""Reads a whole cluster from manifests: every object that affects scheduling, read once and sorted by kind.

There are many nodes and pods, so nodes and unmanaged pods are read directly into the values that the cache stores;
everything else is kept as written, converted to v1beta2. A folder is a snapshot of a real cluster: a mistake in one
object is a warning, and the rest is used. Only text that cannot be parsed at all is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from ..cluster.files import Pieces, decoded, files, identity, not_kubernetes, opened, shown, unquoted_labels
from ..cluster.mistakes import Mistakes
from ..cluster.typed import EVERY, Tick, explain
from ..cluster.volumes import VOLUME_KINDS
from ..dialects import core, maintenance, timestamps
from ..dialects.kueue import keys
from ..dialects.kueue.jobs.kinds import KINDS
from ..dialects.kueue.jobs.train_job import GROUP as TRAINER
from ..dialects.kueue.jobs.train_job import RUNTIMES
from ..dialects.kueue.objects import to_v1beta2
from ..dialects.kueue.objects.versions import OLD_VERSIONS
from ..dialects.kueue.objects.wire import GROUP
from ..dialects.nrt import keys as nrt
from ..dialects.pods import OwnerReference, daemon_of, names_ours, takes_room
from ..model.mistake import InputError, Mistake
from ..model.node import Node
from ..model.numa import NodeZones
from ..model.resources import ABSURD, Resources
from ..model.topology import HOSTNAME
from ..numa.demand import PodDemand
from ..state.mirror import OtherPod
from ..state.numa.zone_plans import KubeletPod
from .nodes import name_some
from .pod_kinds import KindCache
from .pods import FilePodSpec
from .pool_form import is_pool, read_pool
from .pool_nodes import nodes_of_pool, pods_of_pool, zones_of_pool
from .quantities import bad_quantities
from .zone_needs import told

Raw = dict[str, Any]
Buffer = bytes | msgspec.Raw
Key = tuple[str, str]
"""API group and kind."""


class Found(NamedTuple):
    """An object and its file."""

    where: str
    raw: Raw


class PodMeta(core.Struct):
    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    creation_timestamp: str | None = None
    labels: core.Labels | None = None
    annotations: core.Labels | None = None
    finalizers: list[str] | None = None
    owner_references: list[OwnerReference] | None = None


class KeptPod(core.Struct):
    """The fields of a pod that are read; its resources stay text until they are needed."""

    metadata: PodMeta | None = None
    spec: FilePodSpec | None = None
    status: core.PodStatus | None = None


class ConditionTimes(core.NodeCondition):
    last_transition_time: str | None = None
    last_heartbeat_time: str | None = None


class NodeMeta(core.Meta):
    creation_timestamp: str | None = None


class FileNodeStatus(core.NodeStatus):
    conditions: list[ConditionTimes] | None = None  # type: ignore[assignment]


class KeptNode(core.WireNode):
    given_metadata: NodeMeta | None = msgspec.field(default=None, name="metadata")
    given_status: FileNodeStatus | None = msgspec.field(default=None, name="status")


class _Head(core.Struct):
    kind: str | None = None
    api_version: str | None = None


class BoundPod(NamedTuple):
    """A pod that uses capacity of a node. `workload` is the Workload in its annotation, if it has one.

    `by_topology`: it has a topology request annotation. `pod` is the capacity that it uses, or None for a pod whose
    whole object is kept.
    """

    key: str
    node: str
    workload: str
    owners: tuple[str, ...]
    by_topology: bool
    pod: OtherPod | None = None

    @property
    def namespace(self) -> str:
        return self.key.partition("/")[0]


@dataclass(slots=True)
class Manifests:
    """`objects` by API group and kind, jobs among them; `newest` is the latest time in any object.

    `pods` are bound and have not ended. `zones` are those of nodes in the compact form. `is_live`: read from a running
    cluster, so there are no more objects to give. `unread` are kinds of that cluster that the user may not list.
    """

    nodes: dict[str, Node] = field(default_factory=dict)
    pods: list[BoundPod] = field(default_factory=list)
    zones: list[NodeZones] = field(default_factory=list)
    objects: dict[Key, list[Found]] = field(default_factory=dict)
    newest: float | None = None
    is_live: bool = False
    unread: tuple[str, ...] = ()
    old_versions: Counter[tuple[str, str]] = field(default_factory=Counter)
    warnings: list[Mistake] = field(default_factory=list)

    def of(self, kind: str, group: str = GROUP) -> list[Found]:
        return self.objects.get((group, kind), [])

    @property
    def knows_volumes(self) -> bool:
        """Whether a claim that is missing does not exist: files often leave out everything about volumes."""
        if self.is_live:
            return not any(kind.kind in self.unread for kind in VOLUME_KINDS)
        return any(self.of(kind.kind, kind.group) for kind in VOLUME_KINDS)

    @property
    def jobs(self) -> Iterator[Found]:
        """Every object of a kind that has Workloads."""
        return (found for key in JOBS for found in self.objects.get(key, ()))


POD, NODE = ("", "Pod"), ("", "Node")
JOBS = (*(key for key, kind in KINDS.items() if kind.owner is None), POD)
"""Kinds that have Workloads. Deployments and CronJobs do not: their pods and Jobs do."""

_KUEUE = (
    "ResourceFlavor",
    "Topology",
    "ClusterQueue",
    "LocalQueue",
    "Cohort",
    "AdmissionCheck",
    "ProvisioningRequestConfig",
    "WorkloadPriorityClass",
    "Workload",
)
KEPT = frozenset(
    [
        *((GROUP, kind) for kind in _KUEUE),
        (maintenance.GROUP, maintenance.KIND),
        (nrt.GROUP, nrt.KIND),
        ("", "Namespace"),
        ("", "LimitRange"),
        *((kind.group, kind.kind) for kind in VOLUME_KINDS),
        ("node.k8s.io", "RuntimeClass"),
        ("apps", "DaemonSet"),
        ("scheduling.k8s.io", "PriorityClass"),
        *((TRAINER, kind) for kind in RUNTIMES),
        *JOBS,
    ]
)
"""The kinds that are read; all others in a folder are ignored."""

_OF_KIND = {key[1]: key for key in KEPT}
"""The kind of the items of a typed list, which need not state their own."""


def read_manifests(paths: Sequence[str], tick: Tick | None = None, all_pods: bool = False) -> Manifests:
    """Read all paths. `all_pods`: every pod may have a Workload of its own, so all are kept whole."""
    reader = _Reader(all_pods)
    for path in paths:
        for file in files(path):
            reader.read(file, tick)
    return reader.finished()


def listed_manifests(lists: Iterable[tuple[str, str, Iterable[Buffer]]], all_pods: bool = False) -> Manifests:
    """The same from lists of a running cluster, each with API version, kind and objects as JSON."""
    reader = _Reader(all_pods)
    for api_version, kind, objects in lists:
        for data in objects:
            reader.take(api_version, kind, data)
    found = reader.finished()
    found.is_live = True
    return found


class _Reader:
    def __init__(self, all_pods: bool) -> None:
        self._all_pods = all_pods
        self.found = Manifests()
        self._head = msgspec.json.Decoder(_Head)
        self._node = msgspec.json.Decoder(KeptNode)
        self._pod = msgspec.json.Decoder(KeptPod)
        self._full_pod = msgspec.json.Decoder(core.WirePod)
        self._requests: dict[tuple[bytes, ...], tuple[Resources, PodDemand]] = {}
        self._container_names: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._kinds = KindCache(True)
        self._names: set[tuple[str, ...]] = set()
        self._repeated: list[str] = []
        self._hosts: dict[str, str] = {}
        self._pools: list[tuple[str, Raw]] = []

    def read(self, file: str, tick: Tick | None) -> None:
        with opened(file) as pieces:
            for number, data in enumerate(pieces):
                if tick is not None and number % EVERY == 0:
                    tick(shown(file), number, pieces.size, pieces.form)
                self._piece(file, pieces, data)

    def _piece(self, file: str, pieces: Pieces, data: bytes) -> None:
        try:
            head = self._head.decode(data)
        except msgspec.DecodeError:
            self._whole(file, pieces, decoded(file, pieces, data))
            return
        kind = head.kind or pieces.kind or ""
        key = (_group(head.api_version), kind) if head.api_version else _OF_KIND.get(kind, ("", kind))
        if key == NODE:
            self._read_node(shown(file), data)
        elif key == POD:
            self._read_pod(shown(file), data)
        elif key in KEPT:
            self._keep(key, shown(file), {"kind": kind, **decoded(file, pieces, data)})
        elif not key[1] or key[1].endswith("List"):
            self._whole(file, pieces, decoded(file, pieces, data))

    def take(self, api_version: str, kind: str, data: Buffer) -> None:
        """Read an object of a typed list, which need not state its own kind."""
        key = (_group(api_version), kind)
        if key == NODE:
            self._read_node("", data)
        elif key == POD:
            self._read_pod("", data)
        elif key in KEPT:
            raw = {"apiVersion": api_version, "kind": kind, **msgspec.json.decode(data)}
            self._keep(key, "", raw, is_served=True)

    def _whole(self, file: str, pieces: Pieces, raw: Any) -> None:
        """Read input that is not one object of a known kind: a nested list, or pools in the compact form."""
        if isinstance(raw, dict) and str(raw.get("kind")).endswith("List") and "items" in raw:
            for item in raw["items"] or ():
                self._piece(file, pieces, msgspec.json.encode(item))
        elif is_pool(raw):
            self._pools.append((shown(file), raw))
        else:
            raise InputError([not_kubernetes(file, pieces, raw)])

    # One object

    def _is_new(self, what: str, *key: str) -> bool:
        if key in self._names:
            self._repeated.append(what)
            return False
        self._names.add(key)
        return True

    def _keep(self, key: Key, where: str, raw: Raw, is_served: bool = False) -> None:
        """A server has checked the labels of objects that it serves; they are many."""
        wrong = [*(() if is_served else unquoted_labels(raw, where)), *_misshapen(raw, where)]
        meta = raw.get("metadata")
        name = meta.get("name") if isinstance(meta, dict) else None
        to_be_named = key in JOBS and isinstance(meta, dict) and not name and bool(meta.get("generateName"))
        if wrong or not isinstance(meta, dict) or not (to_be_named or (isinstance(name, str) and name)):
            lacks = Mistake("is missing", "give it a name", where, identity(raw), "metadata.name")
            self.found.warnings += wrong or [lacks]
            return
        if name and not self._is_new(identity(raw), *key, str(meta.get("namespace") or ""), str(name)):
            return
        self._note_times(raw)
        if raw.get("apiVersion") in OLD_VERSIONS:
            self.found.old_versions[raw["apiVersion"], key[1]] += 1
            try:
                raw = to_v1beta2(raw)
            except ValueError as error:
                self.found.warnings.append(Mistake(str(error), "write it as the API has it", where, identity(raw)))
                return
        self.found.objects.setdefault(key, []).append(Found(where, raw))

    def _read_node(self, where: str, data: Buffer) -> None:
        try:
            wire = self._node.decode(data)
        except msgspec.ValidationError as error:
            raw = {"kind": "Node", **msgspec.json.decode(data)}
            self.found.warnings.append(explain(raw, error, where))
            return
        name = wire.metadata.name or ""
        what = f"Node {name}"
        wrong = list(bad_quantities(wire.status.allocatable, "status.allocatable", what, where))
        if wrong or not name or not self._is_new(what, *NODE, name):
            self.found.warnings += wrong
            return
        self._note_node_times(wire)
        self._put_node(core.node(wire), where)

    def _put_node(self, node: Node, where: str) -> None:
        assert all(0 <= value <= ABSURD for value in node.allocatable.values())
        host = node.labels.get(HOSTNAME)
        other = self._hosts.setdefault(host, node.name) if host else node.name
        if other != node.name:
            text = f'has the value "{host}" of Node {other} too'
            remedy = "give every node its own hostname"
            what = f"Node {node.name}"
            self.found.warnings.append(Mistake(text, remedy, where, what, f"metadata.labels[{HOSTNAME}]"))
        self.found.nodes[node.name] = node

    def _read_pod(self, where: str, data: Buffer) -> None:
        try:
            wire = self._pod.decode(data)
        except msgspec.ValidationError as error:
            raw = {"kind": "Pod", **msgspec.json.decode(data)}
            self.found.warnings.append(explain(raw, error, where))
            return
        meta, spec = wire.metadata or PodMeta(), wire.spec or FilePodSpec()
        namespace, name = meta.namespace or "default", meta.name or ""
        if not self._is_new(f"Pod {namespace}/{name}", *POD, namespace, name):
            return
        self._note(meta.creation_timestamp)
        labels, annotations = meta.labels or {}, meta.annotations or {}
        kept = self._all_pods or names_ours(labels, annotations, meta.finalizers or ())
        if kept:
            raw = {"apiVersion": "v1", "kind": "Pod", **msgspec.json.decode(data)}
            self.found.objects.setdefault(POD, []).append(Found(where, raw))
        phase = None if wire.status is None else wire.status.phase
        if not takes_room(spec.node_name, phase):
            return
        node, owners = spec.node_name or "", meta.owner_references or ()
        group = labels.get(keys.POD_GROUP) or annotations.get(keys.POD_GROUP) or ""
        pod = None
        if not kept:
            asks, demand = self._asks(spec, data, f"Pod {namespace}/{name}", where)
            start = None if wire.status is None else wire.status.start_time
            needs = told(
                KubeletPod(demand, self._container_names.setdefault(spec.names, spec.names)), annotations, start
            )
            kind = self._kinds.of_text(namespace, labels, data)
            pod = OtherPod(node, asks, daemon_of(owners), kind, needs)
        uids = tuple(uid for uid in (*(one.uid for one in owners), meta.uid) if uid)
        by_topology = any(key in annotations for key in (*keys.TOPOLOGY_ANNOTATIONS, *keys.FORMER))
        workload = annotations.get(keys.WORKLOAD) or group
        self.found.pods.append(BoundPod(f"{namespace}/{name}", node, workload, uids, by_topology, pod))

    def _asks(self, spec: FilePodSpec, data: Buffer, what: str, where: str) -> tuple[Resources, PodDemand]:
        """The requests of a pod, and what its kubelet sees; pods with the same text are computed once."""
        known = self._requests.get(spec.key)
        if known is None:
            try:
                full = self._full_pod.decode(data).spec
                known = core.requests(full), core.demand(full)
            except ValueError as error:
                text = f"its resource requests are invalid: {error}"
                self.found.warnings.append(Mistake(text, "it counts as a pod without requests", where, what))
                known = {}, PodDemand.of(())
            self._requests[spec.key] = known
        return known

    # Times

    def _note(self, text: str | None) -> None:
        """Kubernetes writes all times in UTC, so the later text is the later time."""
        if text and (self._latest is None or text > self._latest):
            try:
                self.found.newest = timestamps.parse(text)
            except ValueError:
                return
            self._latest = text

    _latest: str | None = None

    def _note_node_times(self, wire: KeptNode) -> None:
        self._note(wire.given_metadata.creation_timestamp if wire.given_metadata else None)
        for one in (wire.given_status.conditions if wire.given_status else None) or ():
            self._note(one.last_heartbeat_time)
            self._note(one.last_transition_time)

    def _note_times(self, raw: Raw) -> None:
        self._note(_text(raw["metadata"].get("creationTimestamp")))
        status = raw.get("status")
        conditions = status.get("conditions") if isinstance(status, dict) else None
        for one in conditions if isinstance(conditions, list) else ():
            if isinstance(one, dict):
                self._note(_text(one.get("lastTransitionTime")))

    # The end

    def finished(self) -> Manifests:
        self._read_pools()
        if self._repeated:
            number = len(self._repeated)
            text = f"objects that appear more than once: {number} ({name_some(self._repeated)})"
            self.found.warnings.append(Mistake(text, "the first of each counts"))
        return self.found

    def _read_pools(self) -> None:
        """Read pools, which are written by hand: mistakes in them are refused, as everywhere."""
        mistakes = Mistakes()
        for where, raw in self._pools:
            pool = read_pool(raw, where, mistakes)
            if pool is None:
                continue
            for node in nodes_of_pool(pool):
                if self._is_new(f"Node {node.name}", *NODE, node.name):
                    self._put_node(node, where)
            self.found.zones += zones_of_pool(pool)
            for key, pod in pods_of_pool(pool):
                self.found.pods.append(BoundPod(key, pod.node, "", (), by_topology=False, pod=pod))
        mistakes.check()


def _misshapen(raw: Raw, where: str) -> Iterator[Mistake]:
    """Mistakes about metadata fields of the wrong type."""
    meta = raw.get("metadata") or {}
    for key, kind, name in _PARTS if isinstance(meta, dict) else ():
        if meta.get(key) is not None and not isinstance(meta[key], kind):
            yield Mistake(f"is not {name}", "write it as the API has it", where, identity(raw), f"metadata.{key}")


_PARTS = (
    ("name", str, "a text"),
    ("generateName", str, "a text"),
    ("namespace", str, "a text"),
    ("uid", str, "a text"),
    ("labels", dict, "a mapping"),
    ("annotations", dict, "a mapping"),
    ("ownerReferences", list, "a list"),
)


def _group(api_version: str) -> str:
    """_group("batch/v1") == "batch"; the core group is ""."""
    return api_version.rpartition("/")[0]


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
