"""A snapshot: what each leaf of the tree can still hold, as columns, with a log of what changed.

    allocatable ── other pods ──▶ free ── assumed ──▶ room ── admitted, leaving ──▶ remaining
    (per node)     (per node)            (per leaf)          (per leaf)

`other` is usage by pods that were not placed here (`pinned` is the part of it that cannot move), `admitted` usage by
workloads that were placed here, `leaving` usage by their draining pods (`draining`, per node), and `assumed` what the
current evaluation has reserved so far. `room` is what would be left if nothing were admitted; `remaining` is what is
left. Every change touches only its rows and records them in the log, so results cached per shape are repaired by
reading the log from the version that they were computed at. A checkpoint is a position in the journal; a rollback
undoes what was written since, newest first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from ..model.node import Node
from ..model.resources import PODS, Resources
from ..model.shape import Charge as PodCharge
from ..model.topology import Path, Topology
from .neighbours import Neighbours
from .table import BoolArray, IntArray, NodeTable
from .tree import gather, sort_rows

Charge = tuple[tuple[str, int], ...]
"""What one pod takes, by resource: its requests and one of `pods`."""

LIMIT = 2**53
"""Amounts are clamped to this, so that sums of hundreds of them stay inside int64 and floats hold them exactly.

It is 8 PiB of memory, or nine trillion cores: beyond it is unlimited anyway.
"""

DEFAULT_SHAPES = 64
FEW = 64


class JournalEntry(NamedTuple):
    """One journal entry: what was added to a column, so that it can be undone."""

    column: str
    leaves: IntArray
    counts: IntArray
    charge: Charge


class Snapshot:
    """`memo` is the engine's cache per shape, least recently used first, at most `shapes` entries."""

    def __init__(
        self,
        topology: Topology,
        nodes: NodeTable,
        labels: Mapping[str, str] | None = None,
        shapes: int = DEFAULT_SHAPES,
    ) -> None:
        chosen = with_labels(nodes, labels or {})
        rows, self.tree = sort_rows(topology, chosen)
        self.topology = topology
        self.table = chosen.take(rows)
        self.row_of = {name: row for row, name in enumerate(self.table.names)}
        self.leaf_of_row: IntArray = np.repeat(np.arange(self.tree.leaves), np.diff(self.tree.nodes))
        self.shapes = shapes
        self.memo: OrderedDict[Any, Any] = OrderedDict()
        self.when_empty: dict[Any, Any] = {}
        """Cached answers about nodes without workloads; cleared when `room` changes."""
        self.answers: dict[Any, Any] = {}
        """Cached answers by `state` and question."""
        self.state = self._newest = 0
        """The number of the current amounts. A rollback restores it: equal numbers mean equal amounts."""
        self._states: list[int] = []
        """The state before each entry of the journal."""
        self.log: list[int] = []
        self.forgotten = 0
        self.nodes_changed = 0
        """The version at which a node itself last changed; only usage has changed since."""
        self.neighbours = Neighbours(self)
        self._journal: list[JournalEntry] = []
        self._charges: dict[Charge, tuple[IntArray, IntArray, bool]] = {}
        self._some_usable = np.zeros(self.tree.leaves, dtype=np.bool_)
        self.resources = sorted({*self.table.allocatable, PODS})
        self.index = {resource: row for row, resource in enumerate(self.resources)}
        shape = (len(self.resources), len(self.table))
        self.allocatable = np.zeros(shape, dtype=np.int64)
        for resource, column in self.table.allocatable.items():
            np.clip(column, -LIMIT, LIMIT, out=self.allocatable[self.index[resource]])
        self.table.allocatable = {}
        self.other = np.zeros(shape, dtype=np.int64)
        self.pinned = np.zeros(shape, dtype=np.int64)
        self.draining = np.zeros(shape, dtype=np.int64)
        self.admitted = np.zeros((shape[0], self.tree.leaves), dtype=np.int64)
        self.leaving = np.zeros_like(self.admitted)
        self.assumed = np.zeros_like(self.admitted)
        self.free = np.zeros_like(self.admitted)
        self.room = np.zeros_like(self.admitted)
        self.remaining = np.zeros_like(self.admitted)
        self._derive_all()

    # What the engine reads

    @property
    def version(self) -> int:
        """The number of changes so far."""
        return self.forgotten + len(self.log)

    def changed_since(self, version: int) -> IntArray | None:
        """The leaves that changed since; None if the log no longer reaches back, or if most did."""
        if version < self.forgotten:
            return None
        leaves = set(self.log[version - self.forgotten :])
        if len(leaves) * 4 > self.tree.leaves + 64:
            return None
        return np.array(sorted(leaves), dtype=np.int64)

    def usable(self, leaves: IntArray) -> BoolArray:
        """Which of these leaves have at least one usable node."""
        return (self.table.usable if self.tree.one_node_a_leaf else self._some_usable)[leaves]

    def usable_leaves(self) -> int:
        return int(np.count_nonzero(self.table.usable if self.tree.one_node_a_leaf else self._some_usable))

    def leaf(self, name: Path) -> int | None:
        """The leaf with this name in an assignment, if it exists and one of its nodes is usable."""
        leaf = self.tree.leaf_of.get(name)
        return leaf if leaf is not None and self.usable(np.array([leaf]))[0] else None

    def leaves(self, names: Sequence[Path]) -> IntArray:
        """The same for many names at once; -1 where `leaf` returns None."""
        found = np.fromiter(map(self.tree.leaf_of.get, names, repeat(-1)), dtype=np.int64, count=len(names))
        known = np.flatnonzero(found >= 0)
        found[known[~self.usable(found[known])]] = -1
        return found

    # What changes it

    def admit(self, leaves: IntArray, counts: IntArray, charge: Charge) -> None:
        """Add pods of an admitted workload; negative counts remove them."""
        self._write(JournalEntry("admitted", leaves, counts, charge))

    def assume(self, leaves: IntArray, counts: IntArray, charge: Charge) -> None:
        """Reserve pods for the current evaluation."""
        self._write(JournalEntry("assumed", leaves, counts, charge))

    def charge_draining(self, sign: int) -> None:
        """Count draining pods as gone (-1), or as present again (1)."""
        leaves = self.draining_leaves()
        if len(leaves):
            self._write(JournalEntry("leaving", leaves, np.full(len(leaves), sign), ()))

    def draining_leaves(self) -> IntArray:
        """The leaves that have draining pods."""
        return np.flatnonzero(self.leaving[self.index[PODS]])

    def checkpoint(self) -> int:
        return len(self._journal)

    def rollback(self, checkpoint: int) -> None:
        """Undo everything that was admitted or assumed since the checkpoint."""
        while len(self._journal) > checkpoint:
            self._apply(self._journal.pop(), sign=-1)
            self.state = self._states.pop()

    def forget(self, checkpoint: int) -> None:
        """Drop the journal since the checkpoint: the caller has undone those changes itself."""
        del self._journal[checkpoint:], self._states[checkpoint:]

    def commit(self) -> None:
        """Clear the journal and keep what was written."""
        self._journal.clear()
        self._states.clear()

    def use(self, node: str, requests: Resources, pods: int = 1) -> None:
        """Add pods that were not placed here to their node; negative `pods` remove them.

        A node or a resource that is not in the columns is skipped: nothing can be placed on it.
        """
        self._use(self.other, ((node, requests, pods),))

    def drain(self, changes: Iterable[tuple[str, Resources, int]]) -> None:
        """The same for draining pods: node, requests and a count, negative for pods that stopped draining."""
        self._use(self.draining, changes)

    def use_columns(self, usage: Mapping[str, IntArray], drains: bool = False) -> None:
        """Set usage by other pods, or by draining pods, for every node at once, in row order."""
        columns = self.draining if drains else self.other
        for resource, column in usage.items():
            if resource in self.index:
                target = columns[self.index[resource]]
                np.clip(target + np.clip(column, -LIMIT, LIMIT), -LIMIT, LIMIT, out=target)
        self._derive_all()

    def expect(self, changes: Iterable[tuple[IntArray, Charge, int]]) -> None:
        """Add pods that are expected on their nodes and will stay there; negative numbers remove them.

        A change is the rows concerned, what one pod takes, and how many pods each row gets.
        """
        touched = np.zeros(len(self.table), dtype=np.bool_)
        for rows, charge, pods in changes:
            at, values, _ = self.charge_rows(charge)
            cells = (at[:, None], rows)
            for columns in (self.other, self.pinned):
                columns[cells] = np.clip(columns[cells] + (values * pods)[:, None], -LIMIT, LIMIT)
            touched[rows] = True
        if touched.any():
            self._touch(np.unique(self.leaf_of_row[touched]))

    def pin_columns(self, usage: Mapping[str, IntArray]) -> None:
        """Mark the part of other pods' usage that cannot leave its node, in row order; it is counted already."""
        for resource, column in usage.items():
            if resource in self.index:
                self.pinned[self.index[resource]] += np.clip(column, 0, LIMIT)

    def put_node(self, node: Node) -> bool:
        """Update a known node in place; False if its place in the tree or its resources require a rebuild."""
        row = self.row_of.get(node.name)
        if row is None or not self.index.keys() >= node.allocatable.keys():
            return False
        if any(self.table.label(row, key) != node.labels.get(key) for key in self.topology.levels):
            return False
        self.table.put(row, node)
        self.neighbours.gone.discard(row)
        self.allocatable[:, row] = [_within(node.allocatable.get(resource, 0)) for resource in self.resources]
        self._touch(self.leaf_of_row[row : row + 1])
        self.nodes_changed = self.version
        return True

    def drop_node(self, name: str) -> None:
        """Remove a node: it keeps its row until the next rebuild, but nothing fits there."""
        row = self.row_of.get(name)
        if row is not None:
            self.neighbours.gone.add(row)
            self.set_usable(np.array([row]), False)

    def set_usable(self, rows: IntArray, usable: bool) -> None:
        """Include nodes in placement, or exclude them."""
        self.table.usable[rows] = usable
        self._touch(np.unique(self.leaf_of_row[rows]))
        self.nodes_changed = self.version

    # How

    def _use(self, columns: IntArray, changes: Iterable[tuple[str, Resources, int]]) -> None:
        touched = set()
        for node, requests, pods in changes:
            row = self.row_of.get(node)
            if row is None:
                continue
            for resource, value in {**requests, PODS: 1}.items():
                at = self.index.get(resource)
                if at is not None:
                    columns[at, row] = _within(int(columns[at, row]) + value * pods)
            touched.add(int(self.leaf_of_row[row]))
        if touched:
            self._touch(np.array(sorted(touched)))

    def _write(self, entry: JournalEntry) -> None:
        self._journal.append(entry)
        self._states.append(self.state)
        self._newest += 1
        self.state = self._newest
        self._apply(entry, sign=1)

    def _apply(self, entry: JournalEntry, sign: int) -> None:
        """Apply an entry, or undo it; only the resources and leaves of its pods change."""
        if isinstance(entry.charge, PodCharge):
            self.neighbours.place(entry.column, entry.charge.kind, entry.leaves, sign * entry.counts)
        if entry.column == "leaving":
            self.neighbours.drain(sign * int(entry.counts[0]))
            self.remaining[:, entry.leaves] -= sign * entry.counts * self.leaving[:, entry.leaves]
            self._note(entry.leaves)
            return
        rows, values, _ = self.charge_rows(entry.charge)
        counts = sign * entry.counts
        if _largest(values) * _largest(counts) > LIMIT:
            amounts = np.clip(values.astype(np.float64)[:, None] * counts, -LIMIT, LIMIT).astype(np.int64)
        else:
            amounts = values[:, None] * counts
        cells = (rows[:, None], entry.leaves)
        if entry.column == "admitted":
            self.admitted[cells] += amounts
        else:
            self.assumed[cells] += amounts
            self.room[cells] -= amounts
            self.when_empty.clear()
        self.remaining[cells] -= amounts
        self._note(entry.leaves)

    def charge_rows(self, charge: Charge) -> tuple[IntArray, IntArray, bool]:
        """The resource rows of a charge, the amount of each, and whether every resource of it has a row."""
        known = self._charges.get(charge)
        if known is None:
            wanted = [
                (self.index[name], min(value, LIMIT)) for name, value in charge if value > 0 and name in self.index
            ]
            rows = np.array([row for row, _ in wanted], dtype=np.int64)
            values = np.array([value for _, value in wanted], dtype=np.int64)
            if len(self._charges) > 4 * self.shapes:
                self._charges.clear()
            complete = all(name in self.index for name, value in charge if value > 0)
            known = self._charges[charge] = (rows, values, complete)
        return known

    def charge_vector(self, charge: Charge) -> IntArray:
        vector = np.zeros(len(self.resources), dtype=np.int64)
        rows, values, _ = self.charge_rows(charge)
        vector[rows] = values
        return vector

    def _touch(self, leaves: IntArray) -> None:
        """Recompute these leaves and record them in the log."""
        self._renumber()
        if self.tree.one_node_a_leaf:
            usable = self.table.usable[leaves]
            self.free[:, leaves] = (self.allocatable[:, leaves] - self.other[:, leaves]) * usable
            self.leaving[:, leaves] = self.draining[:, leaves] * usable
        elif len(leaves):
            rows, starts = gather(self.tree.nodes, leaves)
            usable = self.table.usable[rows]
            free = (self.allocatable[:, rows] - self.other[:, rows]) * usable
            self.free[:, leaves] = np.add.reduceat(free, starts, axis=1)
            self.leaving[:, leaves] = np.add.reduceat(self.draining[:, rows] * usable, starts, axis=1)
            self._some_usable[leaves] = np.logical_or.reduceat(usable, starts)
        self.room[:, leaves] = self.free[:, leaves] - self.assumed[:, leaves]
        self.when_empty.clear()
        self.remaining[:, leaves] = self.room[:, leaves] - self.admitted[:, leaves] - self.leaving[:, leaves]
        self._note(leaves)

    def _note(self, leaves: IntArray) -> None:
        self.log += leaves.tolist()
        if len(self.log) > 4 * self.tree.leaves + 4096:
            self._forget_log()

    def _renumber(self) -> None:
        """Renumber the current amounts and those that rollbacks would restore: a node itself has changed."""
        count = len(self._states) + 1
        *self._states, self.state = range(self._newest + 1, self._newest + 1 + count)
        self._newest += count

    def _derive_all(self) -> None:
        self._renumber()
        free = (self.allocatable - self.other) * self.table.usable
        leaving = self.draining * self.table.usable
        if not self.tree.one_node_a_leaf:
            free = np.add.reduceat(free, self.tree.nodes[:-1], axis=1)
            leaving = np.add.reduceat(leaving, self.tree.nodes[:-1], axis=1)
            self._some_usable = np.logical_or.reduceat(self.table.usable, self.tree.nodes[:-1])
        self.free[:] = free
        self.leaving[:] = leaving
        np.subtract(self.free, self.assumed, out=self.room)
        self.when_empty.clear()
        np.subtract(self.room, self.admitted, out=self.remaining)
        self.remaining -= self.leaving
        self._forget_log()

    def _forget_log(self) -> None:
        """Clear the log: results computed before now have to be recomputed."""
        self.forgotten += len(self.log) + 1
        self.log.clear()


def with_labels(nodes: NodeTable, labels: Mapping[str, str]) -> NodeTable:
    """The nodes that carry all of these labels: those of a flavor."""
    keep = np.ones(len(nodes), dtype=np.bool_)
    for key, value in labels.items():
        column = nodes.labels.get(key)
        keep &= column.codes == column.code(value) if column is not None else False
    return nodes if keep.all() else nodes.take(np.flatnonzero(keep))


def _largest(amounts: IntArray) -> int:
    """By magnitude. For the usual few amounts, Python is faster than numpy."""
    if len(amounts) > FEW:
        return int(np.abs(amounts).max())
    return max(map(abs, amounts.tolist()), default=0)


def _within(value: int) -> int:
    return max(-LIMIT, min(LIMIT, value))
