"""The world as a cycle sees it: queues, quota, room on the nodes, and all holdings.

A cycle tries changes on the world itself and rolls them back to a checkpoint, so a trial costs only what it touches.
Decisions go into the ledger afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..engine.match import PASSES, NodeMatch
from ..engine.policy import Policy
from ..model.claims import Volumes
from ..model.cluster_queue import AdmissionCheck, ClusterQueue
from ..model.daemon_set import DaemonSet
from ..model.flavor import Flavor
from ..model.gates import Gates
from ..model.limit_range import LimitRange
from ..model.maintenance import Maintenance, end_of
from ..model.node import Node
from ..model.numa import NodeZones
from ..model.quota import Cohort, FlavorResource
from ..model.resources import PODS
from ..model.settings import Settings
from ..model.shape import Shape, Taint
from ..model.topology import Topology
from ..model.workload import Condition, Status, Workload
from ..quota.demand import held
from ..quota.tree import QuotaNode, QuotaTree
from ..state.columns import NodeColumns
from ..state.flavor_view import FlavorView
from ..state.ledger import Holding, Ledger
from ..state.mirror import Footprint, Mirror, OtherPod, Usage
from ..state.node_tree import NodeTree
from ..state.placed import PlacedPod, PlacedPods
from ..state.snapshot import Snapshot
from ..state.table import BoolArray, IntArray
from .activity import Inactive, inactive
from .rank import Ranked, ranked
from .zoning import Zoning

Leaves = tuple[IntArray, IntArray]
"""Leaves of a tree, each once, and the pods on each."""


class Mark(NamedTuple):
    """A checkpoint of quota and of the node columns."""

    quota: int
    columns: NodeColumns | None
    room: int


class World:
    """Objects are added one by one; derived state is computed when it is next needed."""

    def __init__(self, gates: Gates, settings: Settings | None = None) -> None:
        self.gates, self.settings = gates, settings or Settings()
        self.now = 0.0
        """The time of the current cycle."""
        self.clock: Callable[[], float] = lambda: self.now
        """The time of a change."""
        self.cluster_queues: dict[str, ClusterQueue] = {}
        self.cohorts: dict[str, Cohort] = {}
        self.flavors: dict[str, Flavor] = {}
        self.topologies: dict[str, Topology] = {}
        self.checks: dict[str, AdmissionCheck] = {}
        self.namespaces: dict[str, Mapping[str, str]] = {}
        self.limit_ranges: dict[str, tuple[LimitRange, ...]] = {}
        self.nodes: dict[str, Node] = {}
        self.mirror = Mirror(
            "TASHandleOverlappingFlavors" in gates,
            "OneLedgerForOverlappingFlavors" in gates,
            _admits if "CountDaemonSets" in gates else None,
            self.namespaces,
        )
        """What is free on the nodes, in the tree of every flavor."""
        self.windows: dict[str, Maintenance] = {}
        """Maintenance windows that are not over, in the order in which they begin."""
        self.daemon_sets: dict[str, DaemonSet] = {}
        self.volumes = Volumes()
        self.placed = PlacedPods(lambda name: self.nodes.get(name))
        zones_count = "NumaZones" in gates and self.settings.numa.mode != "off"
        self.zoning = Zoning(self, self.settings.numa if zones_count else None)
        self.ledger = Ledger()
        self.new_pods_help = False
        """Whether a workload had affinity or spread, so that a pod that appears may let it in."""
        self.leaving = _leaving()
        """Represents all draining pods as one workload that is being evicted and holds no quota."""
        self.generation = 0
        """Moves with every change of queues, cohorts, flavors, topologies and checks."""
        self._ranked: dict[str, tuple[Gates, list[Ranked]]] = {}
        """By queue; an entry is dropped when one of its holdings changes."""
        self._tree: QuotaTree | None = None
        self._inactive: dict[str, Inactive | None] = {}

    @property
    def policy(self) -> Policy:
        """The policy for every placement in this world."""
        return Policy.of(self.gates)

    # Objects

    def put_cluster_queue(self, queue: ClusterQueue) -> None:
        if self.cluster_queues.get(queue.name) != queue:
            self._forget(lambda: self.cluster_queues.__setitem__(queue.name, queue))

    def drop_cluster_queue(self, name: str) -> None:
        if name in self.cluster_queues:
            self._forget(lambda: self.cluster_queues.__delitem__(name))

    def put_cohort(self, cohort: Cohort) -> None:
        if self.cohorts.get(cohort.name) != cohort:
            self._forget(lambda: self.cohorts.__setitem__(cohort.name, cohort))

    def drop_cohort(self, name: str) -> None:
        if name in self.cohorts:
            self._forget(lambda: self.cohorts.__delitem__(name))

    def put_flavor(self, flavor: Flavor) -> None:
        if self.flavors.get(flavor.name) != flavor:
            self.flavors[flavor.name] = flavor
            self._change_flavors([flavor])

    def drop_flavor(self, name: str) -> None:
        flavor = self.flavors.pop(name, None)
        if flavor is not None:
            self._change_flavors([flavor])

    def put_topology(self, topology: Topology) -> None:
        if self.topologies.get(topology.name) != topology:
            self.topologies[topology.name] = topology
            self._change_flavors([one for one in self.flavors.values() if one.topology == topology.name])

    def drop_topology(self, name: str) -> None:
        if self.topologies.pop(name, None) is not None:
            self._change_flavors([one for one in self.flavors.values() if one.topology == name])

    def put_namespace(self, name: str, labels: Mapping[str, str] | None) -> None:
        """Set the labels of a namespace; None if it is gone."""
        if labels is None:
            self.namespaces.pop(name, None)
        else:
            self.namespaces[name] = labels
        self.mirror.namespaces_changed()

    def volumes_changed(self) -> None:
        """A claim, a volume or a class is another one now: plans of pods with claims are void."""
        self._has_changed()

    def put_check(self, check: AdmissionCheck) -> None:
        self.checks[check.name] = check
        self._has_changed()

    def drop_check(self, name: str) -> None:
        self.checks.pop(name, None)
        self._has_changed()

    def put_node(self, node: Node) -> None:
        before = self.nodes.get(node.name)
        if before == node:
            return
        self.nodes[node.name] = node
        self.mirror.put_node(self._maintained(node))
        if before is None or before.labels != node.labels:
            self._drain(self.placed.refresh(node.name))
            self.zoning.refresh(node.name)

    def drop_node(self, name: str) -> None:
        self.nodes.pop(name, None)
        self.mirror.drop_node(name)
        self._drain(self.placed.refresh(name))

    @property
    def zones(self) -> Mapping[str, NodeZones]:
        """The NUMA zones that nodes report, by node; some of these nodes may not exist."""
        return self.zoning.reports

    def put_window(self, window: Maintenance) -> None:
        if "MaintenanceWindows" in self.gates and self.windows.get(window.name) != window:
            self._change_windows({**self.windows, window.name: window}, window.name)

    def drop_window(self, name: str) -> None:
        if name in self.windows:
            self._change_windows({key: one for key, one in self.windows.items() if key != name}, name)

    def _change_windows(self, windows: Mapping[str, Maintenance], changed: str) -> None:
        """Show the mirror the nodes that the changed window covers now or covered before."""
        concerned = [one for one in (self.windows.get(changed), windows.get(changed)) if one is not None]
        self.windows = dict(sorted(windows.items(), key=lambda item: (item[1].begins, item[0])))
        for node in self.nodes.values():
            if any(one.covers(node.labels) for one in concerned):
                self.mirror.put_node(self._maintained(node))

    def _maintained(self, node: Node) -> Node:
        """The node with a taint for each window that covers it."""
        taints = tuple(one.taint for one in self.windows.values() if one.covers(node.labels))
        return replace(node, taints=node.taints + taints) if taints else node

    def put_pod(self, key: str, pod: OtherPod) -> None:
        self.mirror.put_pod(key, pod)
        self.zoning.put_pod(key, pod)

    def drop_pod(self, key: str) -> None:
        self.mirror.drop_pod(key)
        self.zoning.end_pod(key)

    def put_placed_pod(self, key: str, pod: PlacedPod) -> None:
        self.zoning.put_pod(key, pod)
        if "CountDrainingPods" in self.gates:
            self._drain(self.placed.put(key, pod))
            self._cover(pod.workload)

    def drop_placed_pod(self, key: str) -> None:
        self.zoning.end_pod(key)
        self._drain(self.placed.drop(key))

    def put_zones(self, zones: NodeZones) -> None:
        """What a NodeResourceTopology reports."""
        self.zoning.put_report(zones)

    def drop_zones(self, node: str) -> None:
        self.zoning.drop_report(node)

    def put_daemon_set(self, key: str, daemon_set: DaemonSet) -> None:
        if self.daemon_sets.get(key) != daemon_set:
            self.daemon_sets[key] = daemon_set
            self.mirror.put_daemon_set(key, daemon_set)

    def drop_daemon_set(self, key: str) -> None:
        if self.daemon_sets.pop(key, None) is not None:
            self.mirror.drop_daemon_set(key)

    def _change_flavors(self, flavors: Iterable[Flavor]) -> None:
        """Replace the trees of flavors that were added, changed or removed, and the places held in them."""
        for flavor in flavors:
            topology = self.topologies.get(flavor.topology)
            if topology is not None and flavor.name in self.flavors and "TopologyAwareScheduling" in self.gates:
                self.mirror.add_flavor(flavor.name, topology, flavor.labels)
            else:
                self.mirror.drop_flavor(flavor.name)
        for holding in self.ledger.holdings.values():
            places = self._all_places(holding)
            if places != holding.places:
                self._release_places(holding)
                holding.places = places
                self._admit_places(holding)
            self._cover(holding.key)
        self._has_changed()

    def _has_changed(self) -> None:
        self.generation += 1
        self._inactive.clear()

    # Derived state

    @property
    def tree(self) -> QuotaTree:
        if self._tree is None:
            self._tree = QuotaTree(self.cluster_queues.values(), self.cohorts.values())
            for holding in self.ledger.holdings.values():
                self._tree.add(holding.queue, holding.usage)
            self._tree.commit()
        return self._tree

    def inactive(self, queue: str) -> Inactive | None:
        """Why a queue is inactive; None if it is active."""
        if queue not in self._inactive:
            self._inactive[queue] = inactive(self, queue)
        return self._inactive[queue]

    def is_active(self, queue: str) -> bool:
        return self.inactive(queue) is None

    def node_of(self, queue: str) -> QuotaNode:
        return self.tree.queues[queue]

    def tree_of(self, queue: str) -> list[str]:
        """The queues under the same root."""
        node = self.tree.queues.get(queue)
        return [queue] if node is None else [one.name for one in node.root.queues()]

    def first_beside(self, queue: str) -> str:
        """The first queue under the same root: a common key for all of them."""
        node = self.tree.queues.get(queue)
        return queue if node is None else next(node.root.queues()).name

    def _forget(self, change: Callable[[], None]) -> None:
        """Change quota: the tree is rebuilt, and search progress is invalidated for queues whose tree differs."""
        before = None if self._tree is None else _reach(self._tree)
        change()
        self._tree = None
        self._has_changed()
        if before is None:
            return
        for name, reach in _reach(self.tree).items():
            if before.get(name) != reach:
                self.ledger.generation[name] = self.ledger.generation.get(name, 0) + 1

    @property
    def other_pods(self) -> Mapping[str, OtherPod]:
        """The bound pods that were not placed here."""
        return self.mirror.pods

    @property
    def views(self) -> Mapping[str, FlavorView]:
        """The flavors that have a topology."""
        return self.mirror.views

    def snapshot(self, flavor: str) -> Snapshot | None:
        view = self.views.get(flavor)
        return None if view is None else view.snapshot

    @property
    def columns(self) -> Snapshot:
        """All nodes by name, on the columns that every flavor shares: what trees of groups are placed on."""
        return self.mirror.by_node

    def node_tree(self, topology: str) -> NodeTree | None:
        """A topology by name, down to single nodes, over the same columns."""
        known = self.topologies.get(topology)
        return None if known is None else self.mirror.node_tree(known)

    # Holdings

    def holding_of(self, workload: Workload, since: float = 0.0) -> Holding:
        """What an admitted workload holds."""
        admission = workload.status.admission
        assert admission is not None
        usage = held(workload, admission, workload.status, "ReclaimablePods" in self.gates)
        return Holding(workload, admission.queue, usage, self._places(workload), since=since)

    def _places(self, workload: Workload) -> tuple[Usage, ...]:
        """The places of its pods in flavors with a topology."""
        admission, since = workload.status.admission, _admitted_at(workload)
        turns = {one.name: turn for turn, one in enumerate(workload.request.in_start_order)}
        return tuple(
            Usage(one.topology, pod_set.shape, flavor, one.name, workload.key, since, turns[one.name])
            for one in (() if admission is None else admission.pod_sets)
            if one.topology is not None and (pod_set := workload.pod_set(one.name)) is not None
            for flavor in dict.fromkeys(one.flavors.values())
            if flavor in self.views
        )

    def _all_places(self, holding: Holding) -> tuple[Usage, ...]:
        """The places of a holding, and those that an assumption gives up.

        The latter count until the cluster shows the new places: other workloads may be admitted there only after the
        write that gives them up, which may take long or fail.
        """
        places = self._places(holding.workload)
        old = () if holding.before is None else self._places(holding.before.workload)
        return places + tuple(_given_up(old, places))

    def assume(self, holding: Holding) -> None:
        """Count a holding from now on, in place of what the workload held before."""
        before = self.ledger.get(holding.key)
        if before is not None:
            self._discharge(before)
            self.ledger.release(holding.key)
            holding.before = before if before.before is None else before.before
            holding.places = self._all_places(holding)
        self._charge(holding)
        self.ledger.assume(holding)
        self._cover(holding.key)

    def confirm(self, workload: Workload) -> None:
        """Record an observed workload that holds quota."""
        known = self.ledger.get(workload.key)
        if (
            known is not None
            and known.before is None
            and known.workload.status.admission == workload.status.admission
            and _alike(known, workload)
        ):
            self._confirm(known, workload)
        else:
            self._discharge(known)
            self.ledger.release(workload.key)
            holding = self.holding_of(workload)
            self._charge(holding)
            self.ledger.confirm(holding)
        self._cover(workload.key)

    def _confirm(self, known: Holding, workload: Workload) -> None:
        """Confirm an unchanged holding; only the workload object itself may have changed.

        An equal workload is the same to every plan, except that workloads without a uid are ordered by arrival.
        """
        self._ranked.pop(known.queue, None)
        if known.workload != workload or not workload.uid:
            self._moved(known.queue)
            known = replace(known, workload=workload)
        self.ledger.confirm(known)

    def release(self, key: str) -> Holding | None:
        self._discharge(self.ledger.get(key))
        released = self.ledger.release(key)
        self._cover(key)
        return released

    def expire(self, key: str) -> Holding | None:
        """Drop an assumption and restore what the workload held before."""
        holding = self.ledger.get(key)
        if holding is None or not self.ledger.is_assumed(key):
            return None
        self._discharge(holding)
        self.ledger.expire(key)
        before = holding.before
        if before is not None:
            before.places = self._places(before.workload)
            self._charge(before)
        self._cover(key)
        return holding

    def _cover(self, key: str) -> None:
        """Update which pods of a workload are covered by its holding; the others drain."""
        holding = self.ledger.get(key)
        places, evicted = ((), False) if holding is None else (holding.places, holding.workload.evicted)
        self._drain(self.placed.cover(key, places, evicted))

    def _drain(self, changed: set[str]) -> None:
        if changed:
            self.mirror.drain({key: self.placed.draining.get(key) for key in sorted(changed)})

    def _charge(self, holding: Holding) -> None:
        self.tree.add(holding.queue, holding.usage)
        self.tree.commit()
        self._moved(holding.queue)
        self._admit_places(holding)

    def _discharge(self, holding: Holding | None) -> None:
        if holding is None:
            return
        self.tree.remove(holding.queue, holding.usage)
        self.tree.commit()
        self._moved(holding.queue)
        self._release_places(holding)

    def _release_places(self, holding: Holding) -> None:
        for key, _ in _keyed(holding):
            self.mirror.release(key)

    def _admit_places(self, holding: Holding) -> None:
        holding.footprints = (-1, ())
        for key, usage in _keyed(holding):
            self.mirror.admit(key, usage)

    def _moved(self, queue: str) -> None:
        self._ranked.pop(queue, None)
        node = self.tree.queues.get(queue)
        if node is not None:
            node.root.generation += 1

    def ranked(self, queue: str) -> list[Ranked]:
        """The holdings of a queue, in the order in which they would be preempted."""
        known = self._ranked.get(queue)
        if known is None or known[0] is not self.gates:
            known = self._ranked[queue] = self.gates, ranked(self.ledger.of(queue).values(), self.gates)
        return known[1]

    def seen_from(self, queue: str) -> tuple[int, ...]:
        """A version that changes with anything that a plan for a workload of this queue depends on.

        That is all rules, all holdings under its root cohort, and the nodes of its flavors with their usage. What a
        cycle tries and rolls back does not count.
        """
        views = (self.views.get(name) for name in self.cluster_queues[queue].flavors)
        rooms = (view.generation for view in views if view is not None)
        return self.generation, self.node_of(queue).root.generation, bool(self.placed.draining), *rooms

    # Rules about other pods

    def pods_seen_by(self, workload: Workload) -> int:
        """A version of all pods and nodes, if rules of its pods or about them may reach beyond its flavors; else 0."""
        is_ruled = any(one.shape.rules is not None for one in workload.request.pod_sets)
        return self.mirror.changes if is_ruled or self.keeps_away(workload) else 0

    def ruled(self, shape: Shape, beside: Iterable[Shape]) -> Shape:
        """The shape with its own rules, what its volumes ask, and what running pods and pods `beside` it ask of it."""
        if shape.kind is None or "AllPodFilters" not in self.gates:
            return shape
        shape = self.volumes.ruled(shape)
        if shape.rules is not None and (shape.rules.affinity or shape.rules.spread):
            self.new_pods_help = True
        return self.mirror.columns.neighbours.ruled(shape, beside)

    def keeps_away(self, workload: Workload) -> bool:
        """Whether running pods may keep away pods of a workload that has no rules itself.

        That depends on their labels, which workloads of one equivalence class need not share.
        """
        near = self.mirror.columns.neighbours
        if "AllPodFilters" not in self.gates or not near.hostile:
            return False
        plain = (one.shape.kind for one in workload.request.pod_sets if one.shape.rules is None)
        return any(kind is not None and near.keeps_away(kind) for kind in plain)

    # Maintenance

    def clear_of(self, workload: Workload) -> tuple[Taint, ...]:
        """The maintenance windows that a workload placed now would not reach."""
        if not self.windows:
            return ()
        end = end_of(workload, self.now)
        return tuple(one.taint for one in self.windows.values() if one.admits(end, self.now))

    def drained_by(self, workload: Workload, now: float) -> Maintenance | None:
        """The window that has begun, drains its nodes, and includes a whole domain assigned to the workload."""
        active = [one for one in self.windows.values() if one.drain and one.is_active(now)]
        return next(self._covering(workload, active), None)

    def reached_by(self, workload: Workload, now: float) -> Iterator[Maintenance]:
        """The windows that include a whole domain assigned to the workload and that it may still run in."""
        end = end_of(workload, now)
        return self._covering(workload, [one for one in self.windows.values() if not one.admits(end, now)])

    def _covering(self, workload: Workload, windows: Sequence[Maintenance]) -> Iterator[Maintenance]:
        places = self._places(workload) if windows else ()
        return (one for one in windows if any(self._is_inside(usage, one) for usage in places))

    def _is_inside(self, usage: Usage, window: Maintenance) -> bool:
        """Whether all nodes of one of the leaves are covered, so that pods sent there cannot avoid the window."""
        snapshot = self.views[usage.flavor].snapshot
        table = snapshot.table
        tainted = np.array([window.taint in taints for taints in table.taints], dtype=np.bool_)
        leaves = (snapshot.tree.leaf_of.get(path) for path in usage.assignment.values)
        return any(
            bool(tainted[table.taint_codes[snapshot.rows_between(leaf, leaf + 1)]].all())
            for leaf in leaves
            if leaf is not None
        )

    # Trying things out

    def checkpoint(self) -> Mark:
        columns = self.mirror.columns if self.views else None
        return Mark(self.tree.checkpoint(), columns, columns.checkpoint() if columns is not None else 0)

    def rollback(self, mark: Mark) -> None:
        self.tree.rollback(mark.quota)
        if mark.columns is not None:
            mark.columns.rollback(mark.room)

    def settled(self, mark: Mark) -> None:
        """Drop the journal since the checkpoint: the caller has undone all changes itself."""
        self.tree.forget(mark.quota)
        if mark.columns is not None:
            mark.columns.forget(mark.room)

    def take_away(self, holding: Holding) -> None:
        """Remove a workload's quota and places, for a trial."""
        self.tree.remove(holding.queue, holding.usage)
        self.charge_places(holding, -1)

    def put_back(self, holding: Holding) -> None:
        self.tree.add(holding.queue, holding.usage)
        self.charge_places(holding, 1)

    def add(self, queue: str, usage: Mapping[FlavorResource, int], places: Sequence[Usage] = ()) -> None:
        """Count this as used, for a trial."""
        self.tree.add(queue, usage)
        self._try(places, map(self.mirror.trial, places), 1)

    def subtract(self, queue: str, usage: Mapping[FlavorResource, int], places: Sequence[Usage] = ()) -> None:
        """Count this as unused, for a trial."""
        self.tree.remove(queue, usage)
        self._try(places, map(self.mirror.trial, places), -1)

    def charge_places(self, holding: Holding, sign: int) -> None:
        if holding is self.leaving and self.views:
            self.mirror.columns.charge_draining(sign)
        self._try(holding.places, self._footprints(holding), sign)

    def _try(self, places: Iterable[Usage], footprints: Iterable[Iterable[Footprint]], sign: int) -> None:
        for place, parts in zip(places, footprints, strict=True):
            for at, counts, owner in parts:
                self.mirror.columns.admit(at, sign * counts, place.shape.charge, owner, place.holder)

    def _footprints(self, holding: Holding) -> Sequence[list[Footprint]]:
        """Where each place of a holding counts in a trial, cached until rows or leaves have other numbers."""
        layout, known = holding.footprints
        if layout != self.mirror.layout:
            known = [self.mirror.trial(place) for place in holding.places]
            holding.footprints = self.mirror.layout, known
        return known

    def leaves_in(self, holding: Holding, flavor: str) -> list[Leaves]:
        """The leaves of a holding that count in a flavor with a topology."""
        snapshot = self.views[flavor].snapshot
        if holding is self.leaving:
            leaves = snapshot.draining_leaves()
            return [(leaves, snapshot.leaving[snapshot.index[PODS], leaves])]
        parts = [part for parts in self._footprints(holding) for part in parts]
        return [
            (at, counts) if owner is snapshot else snapshot.leaves_at(at, counts)
            for at, counts, owner in parts
            if owner is snapshot or (owner is None and snapshot.sees)
        ]


def _admitted_at(workload: Workload) -> float:
    reserved = workload.status.conditions.get("QuotaReserved")
    return 0.0 if reserved is None else reserved.since


def _leaving() -> Holding:
    status = Status({"Evicted": Condition(True, "Draining")})
    return Holding(Workload("", "pods that drain", status=status), "", {})


def _admits(snapshot: Snapshot, shape: Shape, rows: IntArray) -> BoolArray:
    """The node filter for pods that are not placed here, regardless of whether a node is usable."""
    everything = np.ones(len(snapshot.table), dtype=np.bool_)
    return np.equal(NodeMatch(snapshot, shape, maintained=False).codes(rows, everything), PASSES)


def _reach(tree: QuotaTree) -> dict[str, int]:
    """For each queue a fingerprint of what its quota depends on: the quotas of every node of its tree."""
    found: dict[str, int] = {}
    for root in tree.roots():
        shape = tuple((one.name, one.is_queue, one.weight, tuple(sorted(one.quotas.items()))) for one in root.within())
        found.update(dict.fromkeys((queue.name for queue in root.queues()), hash(shape)))
    return found


def _alike(holding: Holding, workload: Workload) -> bool:
    """Whether the workload matches the holding: it requests the same and has released nothing since."""
    before = holding.workload
    return before.request is workload.request and before.status.reclaimable == workload.status.reclaimable


def _given_up(old: Iterable[Usage], new: Iterable[Usage]) -> Iterator[Usage]:
    """The old places of each pod set that it does not have any more; a move never changes its flavor."""
    now = {(one.pod_set, one.flavor): one.assignment for one in new}
    for one in old:
        kept = now.get((one.pod_set, one.flavor))
        left = None if kept is None else one.assignment.beyond(kept)
        if left is not None and left.values:
            yield one._replace(assignment=left)


def _keyed(holding: Holding) -> Iterable[tuple[str, Usage]]:
    return ((f"{holding.key}#{at}", usage) for at, usage in enumerate(holding.places))
