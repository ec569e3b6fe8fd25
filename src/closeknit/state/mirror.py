"""The mirror: nodes, pods and admitted workloads as last observed, and one snapshot that is kept up to date.

All durable state is in the cluster's objects; the mirror can be discarded and rebuilt at any time with the same
result. Most changes touch one row of the snapshot. Only a node at a new place in the tree, or with a resource never
seen before, causes the snapshot to be rebuilt on next use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from ..model.assignment import Assignment
from ..model.daemon_set import DaemonSet
from ..model.node import Node
from ..model.pod_rules import PodKind
from ..model.resources import PODS, Resources
from ..model.shape import Shape
from ..model.topology import Topology
from .expected import Expected, NodeFilter
from .snapshot import DEFAULT_SHAPES, LIMIT, Snapshot
from .table import IntArray, NodeTable


class OtherPod(NamedTuple):
    """A running pod that was not placed here. `owner` is the uid of its DaemonSet, if it belongs to one.

    `kind` is what other pods have to know of it; None where no pod asks.
    """

    node: str
    requests: Resources
    owner: str = ""
    kind: PodKind | None = None


class Usage(NamedTuple):
    """What one pod set of an admitted workload holds in a flavor."""

    assignment: Assignment
    shape: Shape
    flavor: str = ""
    pod_set: str = ""


class Mirror:
    """`labels` are those of the flavor: only nodes that carry them take part.

    Flavors may cover the same hosts. With `share_hosts` (the gate TASHandleOverlappingFlavors) a flavor whose topology
    ends at the host counts usage by host of every flavor, otherwise only its own. With `admits`, DaemonSet pods count
    before they are bound.
    """

    def __init__(
        self,
        topology: Topology,
        labels: Mapping[str, str] | None = None,
        flavor: str = "",
        share_hosts: bool = True,
        shapes: int = DEFAULT_SHAPES,
        admits: NodeFilter | None = None,
    ) -> None:
        self.topology, self.labels, self.shapes = topology, dict(labels or {}), shapes
        self.flavor, self.share_hosts, self.admits = flavor, share_hosts, admits
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, OtherPod] = {}
        self.draining: dict[str, OtherPod] = {}
        self.daemon_sets: dict[str, DaemonSet] = {}
        self.usages: dict[str, Usage] = {}
        self.generation = 0
        """Moves with every change to the nodes or their usage, except what a cycle tries and rolls back."""
        self.namespaces: Mapping[str, Mapping[str, str]] = {}
        self.elsewhere: dict[str, Usage] = {}
        """Usages that do not count here, of pods that rules of others may be about."""
        self._snapshot: Snapshot | None = None
        self._expected: Expected | None = None
        """Dropped together with the snapshot."""

    @property
    def snapshot(self) -> Snapshot:
        """The current snapshot, built if there is none."""
        if self._snapshot is None:
            self._snapshot = self._build()
        return self._snapshot

    def put_node(self, node: Node) -> None:
        before = self.nodes.get(node.name)
        self.nodes[node.name] = node
        self.generation += self._takes_part(node) or (before is not None and self._takes_part(before))
        if not self._takes_part(node):
            self._forget(node.name)
        elif self._snapshot is not None and not self._snapshot.put_node(node):
            self._drop_snapshot()
        elif self._expected is not None and not _is_like(node, before):
            self._expected.refresh(node.name)

    def drop_node(self, name: str) -> None:
        if self.nodes.pop(name, None) is not None:
            self.generation += 1
            self._forget(name)

    def put_pod(self, key: str, pod: OtherPod) -> None:
        self.drop_pod(key)
        self.pods[key] = pod
        self._use(pod, 1)

    def drop_pod(self, key: str) -> None:
        pod = self.pods.pop(key, None)
        if pod is not None:
            self._use(pod, -1)

    def drain(self, changes: Mapping[str, OtherPod | None]) -> None:
        """Update the draining pods: placed pods that no holding covers; None for a pod that stopped draining."""
        before = [self.draining.pop(key) for key in changes if key in self.draining]
        now = {key: pod for key, pod in changes.items() if pod is not None}
        self.draining.update(now)
        self.generation += any(self._has(pod.node) for pod in (*before, *now.values()))
        if self._snapshot is not None:
            turned = [(pod.node, pod.requests, -1) for pod in before]
            self._snapshot.drain(turned + [(pod.node, pod.requests, 1) for pod in now.values()])
            for pods, sign in ((before, -1), (now.values(), 1)):
                _meet(self._snapshot, pods, sign, drains=True)

    def put_daemon_set(self, key: str, daemon_set: DaemonSet) -> None:
        self.generation += 1
        self.daemon_sets[key] = daemon_set
        if self._expected is not None:
            self._expected.put(key, daemon_set)

    def drop_daemon_set(self, key: str) -> None:
        self.generation += 1
        self.daemon_sets.pop(key, None)
        if self._expected is not None:
            self._expected.drop(key)

    def admit(self, key: str, usage: Usage) -> None:
        self.release(key)
        if self._sees(usage):
            self.usages[key] = usage
            self._charge(usage, 1)
        elif usage.shape.kind is not None:
            self.elsewhere[key] = usage
            self._place_elsewhere(key, usage, 1)

    def release(self, key: str) -> None:
        usage = self.usages.pop(key, None)
        if usage is not None:
            self._charge(usage, -1)
        unseen = self.elsewhere.pop(key, None)
        if unseen is not None:
            self._place_elsewhere(key, unseen, 0)

    def namespaces_changed(self) -> None:
        self.generation += 1
        if self._snapshot is not None:
            self._snapshot.neighbours.forget_choices()

    def _place_elsewhere(self, key: str, usage: Usage, sign: int) -> None:
        kind = usage.shape.kind
        if self._snapshot is None or kind is None:
            return
        for at, (path, count) in enumerate(usage.assignment.domains):
            labels: Mapping[str, str] = dict(zip(usage.assignment.levels, path, strict=False))
            node = self.nodes.get(path[-1])
            if node is not None:
                labels = {**labels, **node.labels}
            self._snapshot.neighbours.place_elsewhere((key, at), kind, labels, count * sign)

    def _charge(self, usage: Usage, sign: int) -> None:
        self.generation += self._snapshot is None or _charge(self._snapshot, usage, sign)

    def _use(self, pod: OtherPod, pods: int) -> None:
        self.generation += self._has(pod.node)
        if self._snapshot is not None:
            self._snapshot.use(pod.node, pod.requests, pods)
            _meet(self._snapshot, (pod,), pods)
        if self._expected is not None and pod.owner:
            self._expected.bind(pod.owner, pod.node, pods)

    def _has(self, node: str) -> bool:
        """Whether usage on this node may count in this flavor."""
        return self._snapshot is None or node in self._snapshot.row_of

    def _sees(self, usage: Usage) -> bool:
        shared = self.share_hosts and self.topology.ends_at_host and usage.assignment.by_host
        return shared or usage.flavor == self.flavor

    def _takes_part(self, node: Node) -> bool:
        labelled = all(node.labels.get(key) == value for key, value in self.labels.items())
        return labelled and all(key in node.labels for key in self.topology.levels)

    def _forget(self, name: str) -> None:
        """Remove a node. Only a host's own row may stay behind: a leaf of several nodes may be ordered by this one."""
        if self._snapshot is None or name not in self._snapshot.row_of:
            return
        if self._snapshot.tree.one_node_a_leaf:
            self._snapshot.drop_node(name)
        else:
            self._drop_snapshot()

    def _drop_snapshot(self) -> None:
        self._snapshot = self._expected = None

    def _build(self) -> Snapshot:
        table = NodeTable.of(node for node in self.nodes.values() if self._takes_part(node))
        snapshot = Snapshot(self.topology, table, shapes=self.shapes)
        snapshot.neighbours.nodes, snapshot.neighbours.namespaces = self.nodes, self.namespaces
        snapshot.use_columns(_columns(snapshot, self.pods.values()))
        _meet(snapshot, self.pods.values(), 1)
        if self.draining:
            snapshot.use_columns(_columns(snapshot, self.draining.values()), drains=True)
            _meet(snapshot, self.draining.values(), 1, drains=True)
        if self.admits is not None:
            bound = ((pod.owner, pod.node) for pod in self.pods.values() if pod.owner)
            self._expected = Expected(snapshot, self.admits, self.daemon_sets, bound)
        for usage in self.usages.values():
            _charge(snapshot, usage, 1)
        self._snapshot = snapshot
        for key, usage in self.elsewhere.items():
            self._place_elsewhere(key, usage, 1)
        return snapshot


def _is_like(node: Node, before: Node | None) -> bool:
    """Whether the node admits the same pods as before."""
    return before is not None and before.labels == node.labels and before.taints == node.taints


def _meet(snapshot: Snapshot, pods: Iterable[OtherPod], sign: int, drains: bool = False) -> None:
    """Count pods for the rules of others."""
    for pod in pods:
        if pod.kind is not None:
            snapshot.neighbours.use(pod.node, pod.kind, sign, drains)


def _columns(snapshot: Snapshot, pods: Iterable[OtherPod]) -> dict[str, IntArray]:
    columns = {name: np.zeros(len(snapshot.table), dtype=np.int64) for name in snapshot.resources}
    for pod in pods:
        row = snapshot.row_of.get(pod.node)
        if row is None:
            continue
        for resource, value in {**pod.requests, PODS: 1}.items():
            if resource in columns:
                columns[resource][row] += min(value, LIMIT)
    return columns


def _charge(snapshot: Snapshot, usage: Usage, sign: int) -> bool:
    """Add usage, or subtract it, and return whether there was any.

    Leaves that are not in the tree are skipped; unusable leaves are not.
    """
    counts: dict[int, int] = {}
    for name, count in usage.assignment.domains:
        leaf = snapshot.tree.leaf_of.get(name)
        if leaf is not None:
            counts[leaf] = counts.get(leaf, 0) + sign * count
    if counts:
        leaves = np.fromiter(counts, dtype=np.int64)
        snapshot.admit(leaves, np.fromiter(counts.values(), dtype=np.int64), usage.shape.charge)
        snapshot.commit()
    return bool(counts)
