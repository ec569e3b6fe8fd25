"""A snapshot: a topology over node columns, with what each leaf of its tree can still hold.

The tree says which rows of the columns take part and in which order; all amounts of nodes are the columns' own, so
several trees over the same nodes share them. Usage that no single node has, such as that of a pod set assigned to a
rack, belongs to the tree: its own amounts, by leaf. Where leaf i is row i of the columns and there are no own amounts,
`remaining` and `room` are the columns' arrays themselves. Otherwise they are gathered when they are read, and only
where the columns' log shows a change.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, TypeVar

import numpy as np

from ..model.resources import PODS, Resources
from ..model.shape import Taint
from ..model.topology import NODE, Path, Topology
from .columns import LIMIT, Charge, JournalEntry, NodeColumns
from .neighbours import Neighbours
from .numa.zone_states import ZoneStates
from .table import BoolArray, IntArray, NodeTable
from .tree import Tree, flat, gather, sort_rows

__all__ = ["DEFAULT_SHAPES", "LIMIT", "Charge", "Laid", "Sharing", "Snapshot", "with_labels"]

DEFAULT_SHAPES = 64
Column = TypeVar("Column", IntArray, BoolArray)


@dataclass(frozen=True, slots=True)
class Laid:
    """A tree laid over columns: the row of each of its nodes, in the order of the tree."""

    columns: NodeColumns
    rows: IntArray
    tree: Tree


@dataclass(frozen=True, slots=True)
class Sharing:
    """How a tree shares usage with the other trees over its columns.

    `sees`: what is taken on its nodes counts, in whichever tree it was taken. `shows`: what is taken in this tree
    counts in the others; otherwise it is the tree's own.
    """

    sees: bool = True
    shows: bool = True


class Snapshot:
    """`memo` is the engine's cache per shape, least recently used first, at most `shapes` entries.

    `rows` has the row of each node of the tree; leaf d has the nodes tree.nodes[d] .. tree.nodes[d + 1] of it.
    """

    def __init__(
        self,
        topology: Topology,
        nodes: NodeTable | Laid,
        labels: Mapping[str, str] | None = None,
        shapes: int = DEFAULT_SHAPES,
        sharing: Sharing | None = None,
    ) -> None:
        laid = nodes if isinstance(nodes, Laid) else _alone(topology, with_labels(nodes, labels or {}))
        self.topology, self.shapes = topology, shapes
        self.columns, self.rows, self.tree = laid.columns, laid.rows, laid.tree
        self.table, self.row_of = laid.columns.table, laid.columns.row_of
        self.resources, self.index = laid.columns.resources, laid.columns.index
        self.charge_rows = laid.columns.charge_rows
        first = int(self.rows[0]) if len(self.rows) else 0
        self._in_order = bool((self.rows == np.arange(first, first + len(self.rows))).all())
        self._covers = self._in_order and len(self.rows) == len(self.columns)
        self._is_columns = self._covers and self.tree.one_node_a_leaf
        """Leaf i is row i of the columns."""
        self.leaf_of_row: IntArray = np.full(len(self.columns), -1, dtype=np.int64)
        """The leaf of each row of the columns; -1 for a row that is not in this tree."""
        self.leaf_of_row[self.rows] = np.repeat(np.arange(self.tree.leaves), np.diff(self.tree.nodes))
        sharing = sharing or Sharing()
        self.sees = sharing.sees
        by_node = self.tree.one_node_a_leaf and topology.ends_at_node
        self.shows = sharing.shows and by_node
        self.memo: OrderedDict[Any, Any] = OrderedDict()
        self.answers: dict[Any, Any] = {}
        """Cached answers by `state` and question."""
        self._when_empty: dict[Any, Any] = {}
        self._room_changed = self._usable_at = -1
        self._usable, self._usable_count = np.zeros(0, dtype=np.bool_), 0
        self._own: dict[str, IntArray] = {}
        """Own amounts by column, `admitted` and `assumed`, where there are any."""
        self._synced = -1
        self._room: IntArray | None
        self._aliased = False
        if self.sees and by_node and self._in_order:
            self._aliased = True
            span = slice(first, first + len(self.rows))
            self._remaining, self._room = self.columns.remaining[:, span], self.columns.room[:, span]
        else:
            self._hold()

    # What the engine reads

    @property
    def version(self) -> int:
        """The number of changes so far."""
        return self.columns.version

    @property
    def nodes_changed(self) -> int:
        """The version at which a node itself last changed; only usage has changed since."""
        return self.columns.nodes_changed

    @property
    def state(self) -> int:
        """The number of the current amounts: equal numbers mean equal amounts."""
        return self.columns.state

    @property
    def neighbours(self) -> Neighbours:
        """The kinds of pods that run on the nodes."""
        return self.columns.neighbours

    @property
    def zones(self) -> ZoneStates | None:
        """What the NUMA zones of nodes have free; None where zones are known of no node."""
        return self.columns.zones

    @property
    def log(self) -> list[int]:
        return self.columns.log

    @property
    def remaining(self) -> IntArray:
        """What is left, by resource and leaf."""
        if not self._aliased:
            self._sync()
        return self._remaining

    @property
    def room(self) -> IntArray:
        """What would be left if nothing were admitted."""
        if not self._aliased:
            self._sync()
            if self._room is None:
                self._room = self._gathered(None, "room")
        assert self._room is not None
        return self._room

    @property
    def when_empty(self) -> dict[Any, Any]:
        """Cached answers about nodes without workloads; cleared when `room` changes."""
        if self._room_changed != self.columns.room_changed:
            self._when_empty.clear()
            self._room_changed = self.columns.room_changed
        return self._when_empty

    @property
    def admitted(self) -> IntArray:
        """Usage by workloads that were placed here, as this tree counts it."""
        return self._taken("admitted")

    @property
    def assumed(self) -> IntArray:
        """What the current evaluation has reserved, as this tree counts it."""
        return self._taken("assumed")

    @property
    def free(self) -> IntArray:
        """What other pods leave."""
        return self._summed(self.columns.free(self.rows), self.tree.nodes[:-1])

    @property
    def leaving(self) -> IntArray:
        """Usage by draining pods."""
        rows = self.rows
        return self._summed(self.columns.draining[:, rows] * self.table.usable[rows], self.tree.nodes[:-1])

    @property
    def allocatable(self) -> IntArray:
        """What the nodes have, by row of the columns; so are `other`, `pinned` and `draining`."""
        return self.columns.allocatable

    @property
    def other(self) -> IntArray:
        return self.columns.other

    @property
    def pinned(self) -> IntArray:
        return self.columns.pinned

    @property
    def draining(self) -> IntArray:
        return self.columns.draining

    def changed_since(self, version: int) -> IntArray | None:
        """The leaves that changed since; None if the log no longer reaches back, or if most did."""
        rows = self.columns.changed_since(version)
        if rows is None:
            return None
        if self._is_columns:
            return None if len(rows) * 4 > self.tree.leaves + 64 else np.array(sorted(rows), dtype=np.int64)
        leaves = self.leaf_of_row[np.fromiter(rows, dtype=np.int64, count=len(rows))]
        leaves = np.unique(leaves[leaves >= 0])
        return None if len(leaves) * 4 > self.tree.leaves + 64 else leaves

    def of_nodes(self, column: Column) -> Column:
        """A column of all nodes, for the nodes of this tree in its order."""
        return column if self._covers else column[..., self.rows]

    def rows_in(self, leaves: IntArray) -> tuple[IntArray, IntArray]:
        """The rows of these leaves, and where each leaf begins among them."""
        places, starts = gather(self.tree.nodes, leaves)
        return self.rows[places], starts

    def first_rows(self, leaves: IntArray) -> IntArray:
        """The first row of each leaf."""
        if self._is_columns:
            return leaves
        return self.rows[leaves if self.tree.one_node_a_leaf else self.tree.nodes[leaves]]

    def rows_between(self, low: int, high: int) -> IntArray:
        """The rows of leaves low .. high."""
        return self.rows[self.tree.nodes[low] : self.tree.nodes[high]]

    def leaf_of_node(self, name: str) -> int | None:
        """The leaf of a node by its name; None if it is not in this tree."""
        row = self.row_of.get(name)
        leaf = -1 if row is None else int(self.leaf_of_row[row])
        return None if leaf < 0 else leaf

    def has_any(self, rows: IntArray) -> bool:
        """Whether one of these rows is in this tree."""
        return len(self.rows) == len(self.columns) or bool((self.leaf_of_row[rows] >= 0).any())

    def leaves_at(self, rows: IntArray, counts: IntArray) -> tuple[IntArray, IntArray]:
        """The leaves of pods on these rows, each once, and the pods on each; other trees' nodes are left out."""
        if self._is_columns:
            return rows, counts
        leaves = self.leaf_of_row[rows]
        if self.tree.one_node_a_leaf:
            return leaves[leaves >= 0], counts[leaves >= 0]
        distinct, inverse = np.unique(leaves[leaves >= 0], return_inverse=True)
        pods = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(pods, inverse, counts[leaves >= 0])
        return distinct, pods

    def free_on(self, rows: IntArray) -> IntArray:
        """What each of these nodes has free of what can be attributed to it, without draining pods."""
        free = self.columns.free(rows)
        if not self.sees or self.topology.ends_at_node:
            return free
        taken = self.columns.admitted[:, rows] + self.columns.assumed[:, rows]
        return free - taken * self.table.usable[rows]

    def usable(self, leaves: IntArray) -> BoolArray:
        """Which of these leaves have at least one usable node."""
        return self._usable_now()[leaves]

    def usable_leaves(self) -> int:
        self._usable_now()
        return self._usable_count

    def _usable_now(self) -> BoolArray:
        """Which leaves are usable, computed again when a node has changed."""
        if self._usable_at != self.columns.nodes_changed:
            usable = self.of_nodes(self.table.usable)
            if not self.tree.one_node_a_leaf:
                usable = np.logical_or.reduceat(usable, self.tree.nodes[:-1])
            self._usable, self._usable_count = usable, int(np.count_nonzero(usable))
            self._usable_at = self.columns.nodes_changed
        return self._usable

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

    def taints(self) -> list[Taint]:
        """The taints of the nodes of this tree, each once."""
        lists = (self.table.taints[code] for code in np.unique(self.table.taint_codes[self.rows]).tolist())
        return list(dict.fromkeys(taint for taints in lists for taint in taints))

    def charge_vector(self, charge: Charge) -> IntArray:
        vector = np.zeros(len(self.resources), dtype=np.int64)
        rows, values, _ = self.charge_rows(charge)
        vector[rows] = values
        return vector

    # What changes it

    def admit(self, leaves: IntArray, counts: IntArray, charge: Charge, holder: str = "") -> None:
        """Add pods of an admitted workload; negative counts remove them."""
        if self.shows:
            self.columns.admit(self.first_rows(leaves), counts, charge, holder=holder)
        else:
            self.columns.admit(leaves, counts, charge, self, holder)

    def assume(self, leaves: IntArray, counts: IntArray, charge: Charge) -> None:
        """Reserve pods for the current evaluation."""
        if self.shows:
            self.columns.assume(self.first_rows(leaves), counts, charge)
        else:
            self.columns.assume(leaves, counts, charge, self)

    def charge_draining(self, sign: int) -> None:
        """Count draining pods as gone (-1), or as present again (1)."""
        self.columns.charge_draining(sign)

    def draining_leaves(self) -> IntArray:
        """The leaves that have draining pods."""
        return np.flatnonzero(self.leaving[self.index[PODS]])

    def checkpoint(self) -> int:
        return self.columns.checkpoint()

    def rollback(self, checkpoint: int) -> None:
        """Undo everything that was admitted or assumed since the checkpoint."""
        self.columns.rollback(checkpoint)

    def forget(self, checkpoint: int) -> None:
        """Drop the journal since the checkpoint: the caller has undone those changes itself."""
        self.columns.forget(checkpoint)

    def commit(self) -> None:
        """Clear the journal and keep what was written."""
        self.columns.commit()

    def use(self, node: str, requests: Resources, pods: int = 1) -> None:
        """Add pods that were not placed here to their node; negative `pods` remove them."""
        self.columns.use(node, requests, pods)

    def use_columns(self, usage: Mapping[str, IntArray]) -> None:
        """Add usage by other pods for every node of the columns at once."""
        self.columns.use_columns(usage)

    def pin_columns(self, usage: Mapping[str, IntArray]) -> None:
        """Mark the part of other pods' usage that cannot leave its node; it is counted already."""
        self.columns.pin_columns(usage)

    def set_usable(self, rows: IntArray, usable: bool) -> None:
        """Include nodes in placement, or exclude them."""
        self.columns.set_usable(rows, usable)

    def take_over(self, leaves: IntArray, admitted: IntArray, assumed: IntArray) -> None:
        """Set what was taken in another snapshot on these leaves; of a leaf of several nodes it is the leaf's own."""
        for column, amounts in (("admitted", admitted), ("assumed", assumed)):
            if self.shows:
                getattr(self.columns, column)[:, self.first_rows(leaves)] = amounts
            else:
                self._own_of(column)[:, leaves] = amounts
        self.columns.use_columns({})

    def apply_own(self, entry: JournalEntry, sign: int) -> None:
        """Apply an entry of this tree's own amounts, or undo it."""
        if self._aliased:
            self._hold()
        self._sync()
        rows, amounts = self.columns.amounts(entry, sign)
        cells = (rows[:, None], entry.at)
        self._own_of(entry.column)[cells] += amounts
        if entry.column == "assumed":
            self.columns.room_changed += 1
            if self._room is not None:
                self._room[cells] -= amounts
        self._remaining[cells] -= amounts
        self.columns.note(self.first_rows(entry.at))
        self._synced = self.columns.version

    # How

    def _hold(self) -> None:
        """Hold amounts of its own instead of the columns'."""
        self._aliased = False
        self._remaining = np.zeros((len(self.resources), self.tree.leaves), dtype=np.int64)
        self._room = None
        self._synced = -1

    def _own_of(self, column: str) -> IntArray:
        if column not in self._own:
            self._own[column] = np.zeros((len(self.resources), self.tree.leaves), dtype=np.int64)
        return self._own[column]

    def _sync(self) -> None:
        """Bring what is held up to date with the columns."""
        if self._synced == self.columns.version:
            return
        leaves = self.changed_since(self._synced) if self._synced >= 0 else None
        if leaves is None:
            self._remaining[:] = self._gathered(None, "remaining")
            if self._room is not None:
                self._room[:] = self._gathered(None, "room")
        elif len(leaves):
            self._remaining[:, leaves] = self._gathered(leaves, "remaining")
            if self._room is not None:
                self._room[:, leaves] = self._gathered(leaves, "room")
        self._synced = self.columns.version

    def _gathered(self, leaves: IntArray | None, name: str) -> IntArray:
        """`room` or `remaining` of these leaves, or of all: what their nodes have, less own amounts."""
        columns = self.columns
        rows, starts = (self.rows, self.tree.nodes[:-1]) if leaves is None else self.rows_in(leaves)
        taken = ("assumed",) if name == "room" else ("assumed", "admitted")
        amounts: IntArray = getattr(columns, name)[:, rows]
        if not self.sees:
            for column in taken:
                amounts += getattr(columns, column)[:, rows]
        elif not self.topology.ends_at_node:
            amounts *= self.table.usable[rows]
        amounts = self._summed(amounts, starts)
        for column in taken:
            if column in self._own:
                amounts -= self._own[column] if leaves is None else self._own[column][:, leaves]
        return amounts

    def _taken(self, column: str) -> IntArray:
        taken = np.zeros((len(self.resources), self.tree.leaves), dtype=np.int64)
        if self.sees:
            amounts = getattr(self.columns, column)[:, self.rows]
            if not self.topology.ends_at_node:
                amounts *= self.table.usable[self.rows]
            taken += self._summed(amounts, self.tree.nodes[:-1])
        return taken + self._own[column] if column in self._own else taken

    def _summed(self, amounts: IntArray, starts: IntArray) -> IntArray:
        """Amounts by node summed by leaf."""
        if self.tree.one_node_a_leaf or not len(starts):
            return amounts
        sums: IntArray = np.add.reduceat(amounts, starts, axis=1)
        return sums


def _alone(topology: Topology, nodes: NodeTable) -> Laid:
    """Columns for one tree alone, in its order: nodes that are not in the tree have no row."""
    if topology.levels == (NODE,):
        rows = np.array(sorted(range(len(nodes)), key=nodes.names.__getitem__), dtype=np.int64)
        table = nodes.take(rows)
        return Laid(NodeColumns(table), np.arange(len(rows)), flat(topology, table.names))
    rows, tree = sort_rows(topology, nodes)
    return Laid(NodeColumns(nodes.take(rows)), np.arange(len(rows)), tree)


def with_labels(nodes: NodeTable, labels: Mapping[str, str]) -> NodeTable:
    """The nodes that carry all of these labels: those of a flavor."""
    keep = labelled(nodes, labels)
    return nodes if keep.all() else nodes.take(np.flatnonzero(keep))


def labelled(nodes: NodeTable, labels: Mapping[str, str]) -> BoolArray:
    """Which nodes carry all of these labels."""
    keep = np.ones(len(nodes), dtype=np.bool_)
    for key, value in labels.items():
        column = nodes.labels.get(key)
        keep &= column.codes == column.code(value) if column is not None else False
    return keep
