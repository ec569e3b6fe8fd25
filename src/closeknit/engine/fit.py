"""How many pods of a shape each leaf holds: a column, cached per shape and updated where the snapshot changed.

The policy's `fit` counts pods on a node; this module caches the column and records which leaves are excluded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from ..model.shape import Shape
from ..state.snapshot import Charge, Snapshot
from ..state.table import BoolArray, IntArray
from .capacity import MOST, by_resources
from .count import on_all_leaves, on_rows
from .filters.pod_filter import PodFilter
from .filters.spread import SPREAD, SpreadLimits
from .match import ABSENT, OUTSIDE, PASSES, SCATTERED, UNFIT, CauseArray, NodeMatch
from .policy import FitColumn, Policy
from .zones import ZoneCause, costs, zone_causes


class Fit:
    """One shape's columns: pods per leaf and, for a group, pods beside the leader and room for the leader.

    `cause` is the code of what excludes a leaf; an excluded leaf holds nothing.
    """

    def __init__(self, snapshot: Snapshot, shape: Shape, leader: Shape | None, policy: Policy) -> None:
        self.snapshot, self.shape, self.policy = snapshot, shape, policy
        self.charge: Charge = shape.charge
        self.leader_shape = leader
        self.match = NodeMatch(snapshot, shape)
        self.rules = None if shape.rules is None else PodFilter(snapshot, shape.rules, policy.empty)
        self.spread: SpreadLimits | None = None
        if shape.rules is not None and shape.rules.spread:
            self.spread = SpreadLimits(snapshot, shape.rules, self.match, policy.empty)
        self.capped = np.zeros(0 if self.rules is None else snapshot.tree.leaves, dtype=np.bool_)
        self.filters = policy.filters(snapshot.topology)
        leaves = snapshot.tree.leaves
        self.cause: CauseArray = np.zeros(leaves, dtype=np.int16)
        self.pods = np.zeros(leaves, dtype=np.int64)
        self.pods_beside = self.pods if leader is None else np.zeros(leaves, dtype=np.int64)
        self.leader = np.zeros(leaves if leader is not None else 0, dtype=np.int64)
        scored = policy.by_affinity and self.filters
        self.score = np.zeros(leaves, dtype=np.int64) if scored else None
        self.lost: IntArray | None = None
        self.version = self.outside = -1
        self._last_change: tuple[int, int, IntArray | None] = (-1, -1, None)
        self.parts: dict[object, object] = {}

    @property
    def view(self) -> IntArray:
        """The capacity of leaves: what is left, or with an `empty` policy what would be left without workloads."""
        return self.snapshot.room if self.policy.empty else self.snapshot.remaining

    def zones(self, rows: IntArray) -> IntArray | None:
        """The states of the NUMA zones of these rows in that view; None where zones are known of no node."""
        zones = self.snapshot.zones
        return None if zones is None else zones.on(rows, "room" if self.policy.empty else "now")

    @property
    def zone_cost(self) -> Callable[[IntArray], IntArray] | None:
        """What a pod costs in the NUMA zones of leaves; None where that makes no difference."""
        by_totals = self.policy.by_sums(self.snapshot) or not self.snapshot.tree.one_node_a_leaf
        return None if by_totals else self._zone_cost

    def _zone_cost(self, leaves: IntArray) -> IntArray:
        zones = self.zones(self.snapshot.first_rows(leaves))
        return np.zeros(len(leaves), dtype=np.int64) if zones is None else costs(self.snapshot, self.shape, zones)

    @property
    def passing_view(self) -> IntArray:
        """The same without the nodes that the filter excludes."""
        return self.view if self.lost is None else self.view - self.lost

    def refresh(self) -> None:
        """Bring the columns up to date with the snapshot."""
        version = self.snapshot.version
        if self.version == version and (self.rules is None or self.outside == self.rules.neighbours.outside):
            return
        if self.rules is not None:
            self.outside = self.rules.neighbours.outside
            self.parts.clear()
        leaves = self.changed_since(self.version)
        if leaves is None:
            self._compute(np.arange(self.snapshot.tree.leaves), everything=True)
        elif len(leaves):
            self._compute(leaves, everything=False)
        self.version, self._last_change = version, (self.version, version, leaves)

    def follow(self, leaves: IntArray, counts: IntArray, before: int) -> bool:
        """Follow pods of this shape that were placed where they fit: there each leaf holds that many fewer.

        False if that is not known without counting: the columns are older, or more than sums decides.
        """
        snapshot = self.snapshot
        plain = self.policy.by_sums(snapshot) and self.leader_shape is None and snapshot.tree.one_node_a_leaf
        if self.version != before or not plain or self.policy.empty or self.rules is not None:
            return False
        self.pods[leaves] -= counts
        self.version = self.snapshot.version
        return True

    def changed_since(self, version: int) -> IntArray | None:
        """The leaves whose counts may differ from those at that version; None for all.

        While the nodes themselves do not change, leaves that the filter excludes hold nothing, whatever their usage.
        Rules about other pods reach beyond the leaves of those pods.
        """
        if self.rules is not None:
            return None
        since, until, last = self._last_change
        if version == since and until == self.snapshot.version:
            return last
        leaves = self.snapshot.changed_since(version) if version >= 0 else None
        if leaves is None or version < self.snapshot.nodes_changed:
            return leaves
        passing: IntArray = leaves[self.cause[leaves] == PASSES]
        return passing

    def _compute(self, leaves: IntArray, everything: bool) -> None:
        capacity = self.view if everything else self.view[:, leaves]
        one_each = self.snapshot.tree.one_node_a_leaf
        if not one_each and self.policy.counts_nodes(self.snapshot):
            self._compute_by_node(leaves, capacity)
            return
        first = self.snapshot.first_rows(leaves)
        if not everything and self.version >= self.snapshot.nodes_changed:
            cause = self.cause[leaves]
        elif self.filters:
            cause = self._node_causes(first)
            if self.score is not None:
                self.score[leaves] = self.match.scores(first) * (cause == PASSES)
        else:
            cause = _present(self.snapshot.usable(leaves))
        counted = self.policy.fit if one_each else by_resources
        self._store(leaves, cause, *self._count(counted, first, capacity))
        self._cap(leaves, first)

    def _cap(self, leaves: IntArray, rows: IntArray) -> None:
        """Apply what the rules allow on one node, where leaves are nodes."""
        caps = None if self.rules is None else self.rules.caps(rows)
        if caps is not None:
            self.capped[leaves] = self.pods[leaves] > caps
            self.pods[leaves] = np.minimum(self.pods[leaves], caps)

    def _count(self, counted: FitColumn, rows: IntArray, capacity: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Pods, pods beside the leader, and whether the leader fits, on the given capacity."""
        snapshot, zones = self.snapshot, self.zones(rows)
        pods = counted(snapshot, self.shape, rows, capacity, zones)
        if self.leader_shape is None:
            return pods, pods, pods
        leader = np.minimum(counted(snapshot, self.leader_shape, rows, capacity, zones), 1)
        taken = snapshot.charge_vector(self.leader_shape.charge)[:, None] * leader
        if zones is not None and snapshot.zones is not None:
            zones = snapshot.zones.beside(zones, self.leader_shape, leader > 0)
        return pods, counted(snapshot, self.shape, rows, capacity - taken, zones), leader

    def _store(self, leaves: IntArray, cause: CauseArray, pods: IntArray, beside: IntArray, leader: IntArray) -> None:
        passes = cause == PASSES
        self.cause[leaves] = cause
        self.pods[leaves] = pods * passes
        if self.leader_shape is not None:
            self.pods_beside[leaves] = beside * passes
            self.leader[leaves] = leader * passes

    def _compute_by_node(self, leaves: IntArray, capacity: IntArray) -> None:
        """Count leaves of several nodes: only passing nodes count, and pods must fit on nodes, not into their sum.

        A leaf holds the smaller of what fits into the sum of its passing nodes less the leaf's own usage, and
        the sum of what fits on each of those nodes.
        """
        snapshot = self.snapshot
        rows, offsets = snapshot.rows_in(leaves)
        cause = self._node_causes(rows)
        passes = cause == PASSES
        usable = snapshot.free_on(rows)
        free = usable * passes
        lost = np.add.reduceat(usable - free, offsets, axis=1)
        if self.lost is None:
            self.lost = np.zeros((len(snapshot.resources), snapshot.tree.leaves), dtype=np.int64)
        self.lost[:, leaves] = lost
        pods, beside, leader = self._count(by_resources, leaves, capacity - lost)
        on_node, beside_on_node, leads = self._count(self.policy.fit, rows, free)
        caps = None if self.rules is None else self.rules.caps(rows)
        if caps is not None:
            self.capped[leaves] = np.add.reduceat(on_node, offsets) > np.add.reduceat(
                np.minimum(on_node, caps), offsets
            )
            on_node = np.minimum(on_node, caps)
        on_nodes = np.add.reduceat(on_node, offsets)
        np.minimum(pods, on_nodes, out=pods)
        if self.leader_shape is not None:
            leader *= np.maximum.reduceat(leads, offsets)
            penalty = np.minimum.reduceat(np.where(leads > 0, on_node - beside_on_node, MOST), offsets)
            beside = np.where(leader > 0, np.minimum(beside, on_nodes - np.minimum(penalty, on_nodes)), pods)
        if self.score is not None:
            self.score[leaves] = np.add.reduceat(self.match.scores(rows) * passes, offsets)
        some = np.logical_or.reduceat(passes, offsets)
        why = np.minimum.reduceat(np.where(cause > PASSES, cause, np.iinfo(np.int16).max), offsets)
        why[why == np.iinfo(np.int16).max] = ABSENT
        of_leaf = np.where(some, PASSES, why).astype(np.int16)
        self._store(leaves, of_leaf, pods, beside, leader)

    def without_rules(self, leaves: IntArray) -> IntArray:
        """The pods for which these leaves, each one node, have room now, whatever the rules about other pods."""
        rows = self.snapshot.first_rows(leaves)
        return self.policy.fit(self.snapshot, self.shape, rows, self.view[:, leaves], self.zones(rows))

    def excluded(self, inside: IntArray | None = None) -> Mapping[str, int]:
        """How many leaves are excluded, by cause; `inside` restricts it to the part of the tree that was searched."""
        counts: Counter[str] = Counter()
        for code, number in zip(*np.unique(self.cause[self.cause > 0], return_counts=True), strict=True):
            counts[self.match.causes[code]] += int(number)
        passing = self.cause == PASSES
        if inside is not None:
            counts[OUTSIDE] = int(np.count_nonzero(passing & ~inside.astype(np.bool_)))
            passing &= inside.astype(np.bool_)
        empty = np.flatnonzero(passing & (self.pods == 0))
        view = self.passing_view[:, empty]
        for resource, amount in self.charge:
            at = self.snapshot.index.get(resource)
            if amount > 0 and len(empty):
                short = np.ones(len(empty), dtype=np.bool_) if at is None else view[at] < amount
                counts[f'resource "{resource}"'] = int(np.count_nonzero(short))
                empty, view = empty[~short], view[:, ~short]
        for cause in self.zone_causes(empty):
            counts[cause.name] += cause.nodes
            empty = empty[cause.nodes :]
        counts[UNFIT if self.snapshot.tree.one_node_a_leaf else SCATTERED] = len(empty)
        if self.rules is not None:
            capped = self.capped & (self.cause == PASSES)
            counts[self.rules.cap_cause] = int(
                np.count_nonzero(capped if inside is None else capped & inside.astype(np.bool_))
            )
        return +counts

    def zone_causes(self, leaves: IntArray) -> list[ZoneCause]:
        """What the NUMA zones of these leaves, each one node, cannot give a pod."""
        zones = self.zones(self.snapshot.first_rows(leaves)) if self.snapshot.tree.one_node_a_leaf else None
        return [] if zones is None else list(zone_causes(self.snapshot, self.shape, zones))

    def in_one_piece(self, low: int, high: int) -> int:
        """Pods that the free room of leaves low .. high would hold if it were not fragmented over nodes.

        Unless sums alone decide, it is at most what those nodes would hold if they were empty. Where rules about other
        pods limit the nodes, room in one piece would hold no more.
        """
        if self.rules is not None:
            return int(self.pods[low:high].sum())
        snapshot, passes = self.snapshot, self.cause[low:high] == PASSES
        view = np.maximum(self.passing_view[:, low:high], 0)
        whole = (view * passes).sum(axis=1, keepdims=True)
        pods = int(by_resources(snapshot, self.shape, np.array([low]), whole)[0])
        if self.policy.by_sums(snapshot):
            return pods
        rows = snapshot.rows_between(low, high)
        empty = snapshot.allocatable[:, rows] * (self._node_causes(rows) == PASSES)
        return min(pods, int(on_rows(snapshot, self.policy, self.shape, rows, empty).sum()))

    def when_empty(self) -> IntArray:
        """Pods that each leaf would hold if nothing ran on it."""
        snapshot, passes = self.snapshot, self.snapshot.table.usable[self.snapshot.rows]
        if self.policy.counts_nodes(snapshot):
            passes = self._node_causes(snapshot.rows) == PASSES
        pods = on_all_leaves(snapshot, self.policy, self.shape, snapshot.of_nodes(snapshot.allocatable) * passes)
        pods[self.cause != PASSES] = 0
        return pods

    def _node_causes(self, rows: IntArray) -> CauseArray:
        cause = self.match.codes(rows) if self.filters else _present(self.snapshot.table.usable[rows])
        if self.rules is not None:
            self._exclude(cause, rows)
        return cause

    def breaks_rules(self, leaves: IntArray) -> bool:
        """Whether a pod that counts on one of these leaves already would not be let onto it."""
        if self.rules is None:
            return False
        rows = self.snapshot.rows_in(leaves)[0]
        cause = np.zeros(len(rows), dtype=np.int16)
        self._exclude(cause, rows, present=True)
        if self.snapshot.tree.one_node_a_leaf:
            return bool(cause.any())
        return False

    def _exclude(self, cause: CauseArray, rows: IntArray, present: bool = False) -> None:
        """Mark the rows that the rules about other pods exclude."""

        def exclude(passes: BoolArray, text: str) -> None:
            cause[(cause == PASSES) & ~passes] = self.match.code_of(text)

        assert self.rules is not None
        self.rules.exclude(rows, exclude, present)
        if self.spread is not None and (present or not self.spread.own):
            exclude(self.spread.room(rows, present) > 0, SPREAD)

    @property
    def goes_one_by_one(self) -> bool:
        """Whether a pod of the shape changes where the next one may go, beyond its own node."""
        starts = self.rules is not None and self.rules.is_first and self.rules.attracts_itself
        return starts or self.is_relational

    def codes_of_rules(self, rows: IntArray) -> list[NDArray[np.int32]]:
        """For each node label that its rules are about, and that several rows share, the code of each row's value."""
        return [] if self.rules is None else [self.rules.codes(key, rows) for key in self.rules.shared_keys]

    @property
    def is_relational(self) -> bool:
        """Whether pods of the shape limit one another beyond their own node."""
        if self.rules is None:
            return False
        apart = any(not self.rules.is_unique(term.key) for term in self.rules.own_anti)
        return apart or bool(self.rules.rules.alone) or (self.spread is not None and bool(self.spread.own))


def _present(usable: BoolArray) -> CauseArray:
    return np.where(usable, PASSES, ABSENT).astype(np.int16)


def fit_of(snapshot: Snapshot, shape: Shape, leader: Shape | None, policy: Policy) -> Fit:
    """The columns of a shape, from the cache if they are there; the least recently used entry is dropped."""
    shape, leader = policy.seen(shape, snapshot), None if leader is None else policy.seen(leader, snapshot)
    key = (shape, leader, policy.empty, policy.filters(snapshot.topology), policy.by_affinity, policy.fit)
    entry = snapshot.memo.get(key)
    if entry is None:
        entry = snapshot.memo[key] = Fit(snapshot, shape, leader, policy)
        while len(snapshot.memo) > snapshot.shapes:
            snapshot.memo.popitem(last=False)
    else:
        snapshot.memo.move_to_end(key)
    assert isinstance(entry, Fit)
    entry.refresh()
    return entry


def passing(snapshot: Snapshot, shapes: Iterable[Shape], policy: Policy) -> BoolArray:
    """The leaves that may hold pods of any of these shapes, regardless of their free capacity.

    With rules about other pods that may be any leaf, once those pods are gone.
    """
    found = np.zeros(snapshot.tree.leaves, dtype=np.bool_)
    shapes = [policy.seen(shape, snapshot) for shape in shapes]
    if any(shape.rules is not None for shape in shapes):
        return ~found
    for shape in shapes:
        found |= fit_of(snapshot, shape, None, policy).cause == PASSES
    return found
