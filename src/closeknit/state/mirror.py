"""The mirror: nodes, pods and admitted workloads as last observed, and one set of node columns kept up to date.

All durable state is in the cluster's objects; the mirror can be discarded and rebuilt at any time with the same
result. A change of a node, a pod or a DaemonSet touches one row of the columns, whatever number of flavors the node is
in. Only a new node, or a resource never seen before, causes the columns to be built again on next use; a node at a new
place in a flavor's tree causes that tree to be laid again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from ..model.assignment import Assignment
from ..model.daemon_set import DaemonSet
from ..model.node import Node
from ..model.pod_rules import PodKind
from ..model.resources import PODS, Resources
from ..model.shape import Shape
from ..model.topology import HOSTNAME, NODE, Path, Topology
from .columns import NodeColumns
from .expected import Expected, NodeFilter
from .flavor_view import FlavorView
from .node_tree import NodeTree, by_node, tree_over
from .numa.zone_plans import KubeletPod, ZonePlans, holder_of
from .numa.zone_states import ZoneStates
from .snapshot import LIMIT, Laid, Sharing, Snapshot
from .table import IntArray, NodeTable
from .tree import Tree, sort_rows


class OtherPod(NamedTuple):
    """A running pod that was not placed here. `owner` is the uid of its DaemonSet, if it belongs to one.

    `kind` is what other pods have to know of it; None where no pod asks. `needs` is what its kubelet sees of it.
    """

    node: str
    requests: Resources
    owner: str = ""
    kind: PodKind | None = None
    needs: KubeletPod | None = None


class Usage(NamedTuple):
    """What one pod set of an admitted workload holds in a flavor, or a group of pods on nodes by name.

    `workload` is its key. What is held on a node is ordered by `since`, the time of admission, and for one workload by
    `turn`.
    """

    assignment: Assignment
    shape: Shape
    flavor: str = ""
    pod_set: str = ""
    workload: str = ""
    since: float = 0.0
    turn: int = 0

    @property
    def holder(self) -> str:
        """The pods that it is held for."""
        return holder_of(self.workload, self.pod_set)


class Footprint(NamedTuple):
    """Where usage counts: rows of the columns or, with an owner, leaves of a tree that counts it for itself."""

    at: IntArray
    counts: IntArray
    owner: Snapshot | None = None


class Mirror:
    """Which flavors see what is taken on a node.

    Usage by host counts on its node, in every flavor that ends at the host; with `share_hosts` off (the gate
    TASHandleOverlappingFlavors), only in its own. Usage above the host cannot be attributed to a node: only its own
    flavor counts it. With `one_ledger`, what a cycle tries counts where the ledger would count it, and flavors that end
    above the host count usage by host on their nodes. Without, what a cycle tries counts in its own flavor. With
    `admits`, DaemonSet pods count before they are bound.
    """

    def __init__(
        self,
        share_hosts: bool = True,
        one_ledger: bool = False,
        admits: NodeFilter | None = None,
        namespaces: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self.namespaces = {} if namespaces is None else namespaces
        """The labels of every namespace."""
        self.share_hosts, self.one_ledger, self.admits = share_hosts, one_ledger and share_hosts, admits
        self.views: dict[str, FlavorView] = {}
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, OtherPod] = {}
        self.draining: dict[str, OtherPod] = {}
        self.daemon_sets: dict[str, DaemonSet] = {}
        self.usages: dict[str, Usage] = {}
        self.layout = 0
        """Moves when rows or leaves may have other numbers than before."""
        self.changes = 0
        """Moves with every change of nodes, pods and what workloads hold, whichever flavors have them."""
        self.zones: ZonePlans | None = None
        """What is known of NUMA zones; None before the first report of a node."""
        self._columns: NodeColumns | None = None
        self._by_node: Snapshot | None = None
        self._hosts: dict[str, int] = {}
        self._trees: dict[str, NodeTree] = {}
        self._expected: Expected | None = None

    # Trees

    def add_flavor(self, flavor: str, topology: Topology, labels: Mapping[str, str] | None = None) -> FlavorView:
        """Add a flavor or replace it."""
        self._drop_columns()
        self.views[flavor] = FlavorView(self, flavor, topology, labels or {})
        return self.views[flavor]

    def drop_flavor(self, flavor: str) -> None:
        if self.views.pop(flavor, None) is not None:
            self._drop_columns()

    @property
    def columns(self) -> NodeColumns:
        """The columns of all nodes, built if there are none."""
        return self._build() if self._columns is None else self._columns

    @property
    def by_node(self) -> Snapshot:
        """The columns as a tree without levels: leaf i is row i."""
        columns = self.columns
        if self._by_node is None:
            self._by_node = by_node(columns)
        return self._by_node

    def node_tree(self, topology: Topology) -> NodeTree:
        """A topology over the columns that ends at single nodes, whatever its own lowest level: for groups of pods."""
        known = self._trees.get(topology.name)
        if known is None or known.topology != topology:
            columns = self.columns
            known = self._trees[topology.name] = tree_over(columns.table, topology, columns.gone)
        return known

    def lay(self, view: FlavorView) -> Snapshot:
        """Lay a flavor's tree over the columns, with the usage that no node has."""
        columns = self.columns
        if view.laid is None:
            among = view.among(columns.table)
            among[list(columns.gone)] = False
            self._lay(view, *sort_rows(view.topology, columns.table, among))
        assert view.laid is not None
        return view.laid

    def _lay(self, view: FlavorView, rows: IntArray, tree: Tree) -> None:
        self.layout += 1
        laid = Laid(self.columns, rows, tree)
        view.laid = Snapshot(view.topology, laid, sharing=self._sharing(view))
        for usage in self.usages.values():
            self._charge(self._own(view, usage), usage, 1)
        self.columns.commit()

    def _sharing(self, view: FlavorView) -> Sharing:
        if not view.topology.ends_at_host:
            return Sharing(sees=self.one_ledger, shows=False)
        others = [one for one in self.views.values() if one is not view]
        alone = not any(one.topology.ends_at_host and view.may_share_nodes(one) for one in others)
        return Sharing(sees=self.share_hosts, shows=self.share_hosts and (self.one_ledger or alone))

    # Objects

    def put_node(self, node: Node) -> None:
        before = self.nodes.get(node.name)
        self.nodes[node.name] = node
        self.changes += 1
        for view in self.views.values():
            view.generation += view.takes(node) or (before is not None and view.takes(before))
        if self._columns is not None:
            self._put_row(self._columns, node, before)

    def _put_row(self, columns: NodeColumns, node: Node, before: Node | None) -> None:
        row = columns.row_of.get(node.name)
        if row is None or not columns.index.keys() >= node.allocatable.keys():
            self._drop_columns()
            return
        if columns.table.label(row, HOSTNAME) != node.labels.get(HOSTNAME):
            self._drop_columns()
            return
        for view in self.views.values():
            if not view.keeps(columns, row, node):
                self._drop_tree(view)
        if before is None or before.labels != node.labels:
            self._trees.clear()
        columns.put_node(row, node)
        if self._expected is not None and not _is_like(node, before):
            self._expected.refresh(node.name)

    def drop_node(self, name: str) -> None:
        if self.nodes.pop(name, None) is None:
            return
        self.changes += 1
        row = None if self._columns is None else self._columns.row_of.get(name)
        for view in self.views.values():
            view.generation += 1
            # Only a host's own leaf may stay behind: a leaf of several nodes may be ordered by this one.
            if row is not None and view.laid is not None and not view.laid.tree.one_node_a_leaf and view.has(row):
                self._drop_tree(view)
        if self._columns is not None and row is not None:
            self._trees.clear()
            self._columns.drop_node(row)

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
        self._moved({pod.node for pod in (*before, *now.values())})
        if self._columns is not None:
            turned = [(pod.node, pod.requests, -1) for pod in before]
            self._columns.drain(turned + [(pod.node, pod.requests, 1) for pod in now.values()])
            for pods, sign in ((before, -1), (now.values(), 1)):
                _meet(self._columns, pods, sign, drains=True)

    # NUMA zones

    def put_zones(self, zones: ZonePlans | None) -> None:
        """From now on zones are known of nodes, or of none any more."""
        self.zones = zones
        if zones is not None:
            for key, usage in self.usages.items():
                zones.hold(key, usage)
        self._drop_columns()
        self._all_moved()

    def node_at(self, host: str) -> str:
        """The name of the only node with a hostname; empty if there is none."""
        columns = self.columns
        row = self._hosts.get(host)
        return "" if row is None else columns.table.names[row]

    def rezone(self, nodes: Iterable[str]) -> None:
        """Compute again what the zones of these nodes have free."""
        if self.zones is None or self._columns is None:
            return
        rows = [row for row in map(self._columns.row_of.get, nodes) if row is not None]
        self._rezone(self._columns, rows)
        self._moved(nodes)

    def _rezone(self, columns: NodeColumns, rows: Iterable[int]) -> None:
        assert self.zones is not None
        for row in rows:
            name, host = columns.table.names[row], columns.table.label(row, HOSTNAME)
            places = [(NODE, name)]
            if host is not None and self._hosts.get(host) == row:
                places.append((HOSTNAME, host))
            columns.put_zones(row, self.zones.on(name, *places))

    def put_daemon_set(self, key: str, daemon_set: DaemonSet) -> None:
        self.daemon_sets[key] = daemon_set
        self._all_moved()
        if self._expected is not None:
            self._expected.put(key, daemon_set)

    def drop_daemon_set(self, key: str) -> None:
        self.daemon_sets.pop(key, None)
        self._all_moved()
        if self._expected is not None:
            self._expected.drop(key)

    def namespaces_changed(self) -> None:
        self._all_moved()
        if self._columns is not None:
            self._columns.neighbours.forget_choices()

    # What workloads hold

    def admit(self, key: str, usage: Usage) -> None:
        self.release(key)
        self.usages[key] = usage
        if self.zones is not None:
            self.zones.hold(key, usage)
        self._hold(usage, 1)

    def release(self, key: str) -> None:
        usage = self.usages.pop(key, None)
        if usage is not None:
            if self.zones is not None:
                self.zones.release(key, usage)
            self._hold(usage, -1)

    def footprint(self, usage: Usage) -> list[Footprint]:
        """Where usage counts that a workload holds."""
        views = self.views.values() if self._is_shared(usage) else filter(None, [self.views.get(usage.flavor)])
        return [*self._on_nodes(usage), *(part for view in views for part in self._own(view, usage))]

    def trial(self, usage: Usage) -> list[Footprint]:
        """Where usage counts that a cycle tries."""
        if self.one_ledger:
            return self.footprint(usage)
        view = self.views.get(usage.flavor)
        if view is None:
            return []
        snapshot = view.snapshot
        return [
            Footprint(snapshot.first_rows(at), counts) if snapshot.shows else Footprint(at, counts, snapshot)
            for at, counts in _places(usage.assignment.domains, snapshot.tree.leaf_of.get)
        ]

    def reserve(self, usage: Usage) -> None:
        """Reserve usage for the current evaluation wherever the ledger would count it."""
        for at, counts, owner in self.footprint(usage):
            self.columns.assume(at, counts, usage.shape.charge, owner, usage.holder)

    # How

    def _is_shared(self, usage: Usage) -> bool:
        """Whether usage counts in every flavor that has its hosts."""
        return self.share_hosts and usage.assignment.by_host

    def _on_nodes(self, usage: Usage) -> Iterator[Footprint]:
        """The part of usage that can be attributed to nodes."""
        if usage.assignment.levels == (NODE,) or self._is_shared(usage):
            rows = self._hosts if usage.assignment.by_host else self.columns.row_of
            for at, counts in _places(usage.assignment.domains, lambda path: _alone(rows, path)):
                yield Footprint(at, counts)

    def _own(self, view: FlavorView, usage: Usage) -> Iterator[Footprint]:
        """The part of usage that a flavor counts for itself: hosts that are not exactly one node, or all of it."""
        domains = usage.assignment.domains
        if self._is_shared(usage):
            if not view.topology.ends_at_host:
                return
            domains = ((path, count) for path, count in domains if _alone(self._hosts, path) is None)
        elif view.flavor != usage.flavor:
            return
        for at, counts in _places(domains, lambda path: view.snapshot.tree.leaf_of.get(path)):
            yield Footprint(at, counts, view.snapshot)

    def _hold(self, usage: Usage, sign: int) -> None:
        self.changes += 1
        if self._columns is None:
            self._all_moved()
            return
        parts = self.footprint(usage)
        self._charge(parts, usage, sign)
        self._columns.commit()
        if self.zones is not None:
            self._rezone(self._columns, [row for at, _, owner in parts if owner is None for row in at.tolist()])
        for at, _, owner in parts:
            for view in self.views.values():
                if owner is None:
                    view.moved(at)
                elif owner is view.laid:
                    view.generation += 1

    def _charge(self, parts: Iterable[Footprint], usage: Usage, sign: int) -> None:
        for at, counts, owner in parts:
            self.columns.admit(at, sign * counts, usage.shape.charge, owner, usage.holder)

    def _use(self, pod: OtherPod, pods: int) -> None:
        self._moved((pod.node,))
        if self._columns is not None:
            self._columns.use(pod.node, pod.requests, pods)
            _meet(self._columns, (pod,), pods)
        if self._expected is not None and pod.owner:
            self._expected.bind(pod.owner, pod.node, pods)

    def _moved(self, nodes: Iterable[str]) -> None:
        """Usage on these nodes, which counts in every flavor that has them, has changed."""
        self.changes += 1
        if self._columns is None:
            self._all_moved()
            return
        rows = [row for row in map(self._columns.row_of.get, nodes) if row is not None]
        for view in self.views.values():
            view.generation += any(map(view.has, rows))

    def _all_moved(self) -> None:
        for view in self.views.values():
            view.generation += 1

    def _drop_tree(self, view: FlavorView) -> None:
        if view.laid is not None:
            view.laid.columns.neighbours.forget_places(view.laid)
        view.laid = None
        self.layout += 1

    def _drop_columns(self) -> None:
        self._columns = self._by_node = self._expected = None
        self._trees.clear()
        for view in self.views.values():
            view.laid = None
        self.layout += 1

    def _build(self) -> NodeColumns:
        """Build the columns: the rows of the first flavor in its order, then those of the next that are left."""
        table = NodeTable.of(self.nodes.values())
        trees = [(view, *sort_rows(view.topology, table, view.among(table))) for view in self.views.values()]
        order = _in_turn([rows for _, rows, _ in trees], len(table))
        columns = self._columns = NodeColumns(table.take(order))
        self._hosts = columns.hosts()
        columns.neighbours.nodes, columns.neighbours.namespaces = self.nodes, self.namespaces
        columns.use_columns(_columns(columns, self.pods.values()))
        _meet(columns, self.pods.values(), 1)
        if self.draining:
            columns.use_columns(_columns(columns, self.draining.values()), drains=True)
            _meet(columns, self.draining.values(), 1, drains=True)
        if self.admits is not None:
            bound = ((pod.owner, pod.node) for pod in self.pods.values() if pod.owner)
            self._expected = Expected(self.by_node, self.admits, self.daemon_sets, bound)
        place = np.empty(len(table), dtype=np.int64)
        place[order] = np.arange(len(table))
        for view, rows, tree in trees:
            self._lay(view, place[rows], tree)
        for usage in self.usages.values():
            self._charge(self._on_nodes(usage), usage, 1)
        columns.commit()
        if self.zones is not None:
            plans = self.zones
            columns.zones = ZoneStates(plans.admissions, plans.demand_of, len(columns), plans.unknown_on)
            self._rezone(columns, [row for row in map(columns.row_of.get, self.zones.nodes) if row is not None])
        return columns


def _in_turn(orders: Iterable[IntArray], size: int) -> IntArray:
    """Every row once: those of the first order, then those of the next that are left, and so on; then the others."""
    left = np.ones(size, dtype=np.bool_)
    found = [np.empty(0, dtype=np.int64)]
    for rows in orders:
        found.append(rows[left[rows]])
        left[rows] = False
    return np.concatenate([*found, np.flatnonzero(left)])


def _is_like(node: Node, before: Node | None) -> bool:
    """Whether the node admits the same pods as before."""
    return before is not None and before.labels == node.labels and before.taints == node.taints


def _meet(columns: NodeColumns, pods: Iterable[OtherPod], sign: int, drains: bool = False) -> None:
    """Count pods for the rules of others."""
    for pod in pods:
        if pod.kind is not None:
            columns.neighbours.use(pod.node, pod.kind, sign, drains)


def _columns(columns: NodeColumns, pods: Iterable[OtherPod]) -> dict[str, IntArray]:
    found = {name: np.zeros(len(columns), dtype=np.int64) for name in columns.resources}
    for pod in pods:
        row = columns.row_of.get(pod.node)
        if row is None:
            continue
        for resource, value in {**pod.requests, PODS: 1}.items():
            if resource in found:
                found[resource][row] += min(value, LIMIT)
    return found


def _places(
    domains: Iterable[tuple[Path, int]], place_of: Callable[[Path], int | None]
) -> Iterator[tuple[IntArray, IntArray]]:
    """The places of domains, each once, and the pods on each, if there are any.

    Domains without a place are skipped; unusable ones are not.
    """
    counts: dict[int, int] = {}
    for path, count in domains:
        at = place_of(path)
        if at is not None:
            counts[at] = counts.get(at, 0) + count
    if counts:
        yield np.fromiter(counts, dtype=np.int64), np.fromiter(counts.values(), dtype=np.int64)


def _alone(rows: Mapping[str, int], path: Path) -> int | None:
    """The row of the only node with this name or hostname."""
    return rows.get(path[0]) if len(path) == 1 else None
