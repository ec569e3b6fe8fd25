"""The node columns: every node of the cluster as one row, with what it has and what is taken on it.

    allocatable ── other pods ──▶ free ── assumed ──▶ room ── admitted, leaving ──▶ remaining

`other` is usage by pods that were not placed here (`pinned` is the part of it that cannot move), `admitted` usage by
workloads that were placed here, `draining` usage by pods that no workload holds any more, and `assumed` what the
current evaluation has reserved. The columns know nothing of topologies: a snapshot is a tree over some of the rows. So
what is taken shows in every tree at once, and one checkpoint, a position in the journal, covers all of them. Every
change records its rows in the log, from which results cached per shape are repaired.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from ..model.node import Node
from ..model.resources import PODS, Resources
from ..model.shape import Charge as PodCharge
from ..model.topology import HOSTNAME
from .neighbours import Neighbours, PlacesOfTree
from .numa.zone_states import Before, RowZones, View, ZoneStates
from .table import MISSING, IntArray, NodeTable

Charge = tuple[tuple[str, int], ...]
"""What one pod takes, by resource: its requests and one of `pods`."""

LIMIT = 2**53
"""Amounts are clamped to this, so that sums of hundreds of them stay inside int64 and floats hold them exactly.

It is 8 PiB of memory, or nine trillion cores: beyond it is unlimited anyway.
"""

FEW = 64
MOST_CHARGES = 256


class OwnAmounts(PlacesOfTree, Protocol):
    """A tree that counts some usage for itself, because no single node has it."""

    def apply_own(self, entry: JournalEntry, sign: int) -> None: ...


class JournalEntry(NamedTuple):
    """One journal entry: what was added to a column, so that it can be undone.

    `at` are rows of the columns or, with an `owner`, leaves of that tree. `holder` names whose pods these are.
    """

    column: str
    at: IntArray
    counts: IntArray
    charge: Charge
    owner: OwnAmounts | None = None
    holder: str = ""


class NodeColumns:
    """Rows keep the order of the table. A removed node keeps its row, in `gone`, until the columns are built again."""

    def __init__(self, table: NodeTable) -> None:
        self.table = table
        self.row_of = {name: row for row, name in enumerate(table.names)}
        self.gone: set[int] = set()
        self.log: list[int] = []
        """The rows that changed, oldest first; the number of those that were dropped is `version` less its length."""
        self.version = 0
        """The number of changes so far."""
        self.nodes_changed = 0
        """The version at which a node itself last changed; only usage has changed since."""
        self.room_changed = 0
        """Moves whenever `room` changes."""
        self.state = self._newest = 0
        """The number of the current amounts. A rollback restores it: equal numbers mean equal amounts."""
        self._states: list[int] = []
        """The state before each entry of the journal."""
        self.neighbours = Neighbours(self)
        self.zones: ZoneStates | None = None
        """What the NUMA zones of nodes have free; None where zones are known of no node."""
        self._journal: list[JournalEntry] = []
        self._zones_before: list[Before | None] = []
        """What each entry of the journal replaced in the zones."""
        self._charges: dict[Charge, tuple[IntArray, IntArray, bool]] = {}
        self.resources = sorted({*table.allocatable, PODS})
        self.index = {resource: row for row, resource in enumerate(self.resources)}
        shape = (len(self.resources), len(table))
        self.allocatable = np.zeros(shape, dtype=np.int64)
        for resource, column in table.allocatable.items():
            np.clip(column, -LIMIT, LIMIT, out=self.allocatable[self.index[resource]])
        table.allocatable = {}
        self.other = np.zeros(shape, dtype=np.int64)
        self.pinned = np.zeros(shape, dtype=np.int64)
        self.draining = np.zeros(shape, dtype=np.int64)
        self.admitted = np.zeros(shape, dtype=np.int64)
        self.assumed = np.zeros(shape, dtype=np.int64)
        self.room = np.zeros(shape, dtype=np.int64)
        self.remaining = np.zeros(shape, dtype=np.int64)
        self._derive_all()

    def __len__(self) -> int:
        return len(self.table)

    # What trees read

    def changed_since(self, version: int) -> set[int] | None:
        """The rows that changed since; None if the log no longer reaches back."""
        behind = self.version - version
        return set(self.log[len(self.log) - behind :]) if behind <= len(self.log) else None

    def free(self, rows: IntArray) -> IntArray:
        """What other pods leave of these nodes."""
        return (self.allocatable[:, rows] - self.other[:, rows]) * self.table.usable[rows]

    def charge_rows(self, charge: Charge) -> tuple[IntArray, IntArray, bool]:
        """The resource rows of a charge, the amount of each, and whether every resource of it has a row."""
        known = self._charges.get(charge)
        if known is None:
            wanted = [
                (self.index[name], min(value, LIMIT)) for name, value in charge if value > 0 and name in self.index
            ]
            rows = np.array([row for row, _ in wanted], dtype=np.int64)
            values = np.array([value for _, value in wanted], dtype=np.int64)
            if len(self._charges) > MOST_CHARGES:
                self._charges.clear()
            complete = all(name in self.index for name, value in charge if value > 0)
            known = self._charges[charge] = (rows, values, complete)
        return known

    def hosts(self) -> dict[str, int]:
        """The row of every hostname that exactly one node has."""
        column = self.table.labels.get(HOSTNAME)
        if column is None:
            return {}
        codes = column.codes
        rows = np.flatnonzero(codes != MISSING)
        times = np.bincount(codes[rows], minlength=len(column.values))
        rows = rows[times[codes[rows]] == 1]
        return {column.values[code]: row for code, row in zip(codes[rows].tolist(), rows.tolist(), strict=True)}

    # What is tried and undone

    def admit(
        self, at: IntArray, counts: IntArray, charge: Charge, owner: OwnAmounts | None = None, holder: str = ""
    ) -> None:
        """Add pods of an admitted workload; negative counts remove them."""
        self._write(JournalEntry("admitted", at, counts, charge, owner, holder))

    def assume(
        self, at: IntArray, counts: IntArray, charge: Charge, owner: OwnAmounts | None = None, holder: str = ""
    ) -> None:
        """Reserve pods for the current evaluation."""
        self._write(JournalEntry("assumed", at, counts, charge, owner, holder))

    def vacate_zones(self, rows: IntArray) -> None:
        """Take away everything from the NUMA zones of these rows."""
        if self.zones is not None:
            self._write(JournalEntry("zones", rows, np.zeros(len(rows), dtype=np.int64), ()))

    def charge_draining(self, sign: int) -> None:
        """Count draining pods as gone (-1), or as present again (1)."""
        rows = np.flatnonzero(self.draining[self.index[PODS]] * self.table.usable)
        if len(rows):
            self._write(JournalEntry("leaving", rows, np.full(len(rows), sign), ()))

    def checkpoint(self) -> int:
        return len(self._journal)

    def rollback(self, checkpoint: int) -> None:
        """Undo everything that was admitted or assumed since the checkpoint."""
        if len(self._journal) <= checkpoint:
            return
        entries, self.state = self._journal[checkpoint:][::-1], self._states[checkpoint]
        zones = self._zones_before[checkpoint:][::-1]
        del self._journal[checkpoint:], self._states[checkpoint:], self._zones_before[checkpoint:]
        for before in zones:
            if before is not None and self.zones is not None:
                self.zones.undo(before)
        for entry in entries:
            self._count(entry, sign=-1)
        for entry in _merged(entries):
            self._add(entry, sign=-1)

    def forget(self, checkpoint: int) -> None:
        """Drop the journal since the checkpoint: the caller has undone those changes itself."""
        del self._journal[checkpoint:], self._states[checkpoint:], self._zones_before[checkpoint:]

    def commit(self) -> None:
        """Clear the journal and keep what was written."""
        self._journal.clear()
        self._states.clear()
        self._zones_before.clear()
        if self.zones is not None:
            self.zones.commit()

    # What the cluster shows

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
        touched = np.zeros(len(self), dtype=np.bool_)
        for rows, charge, pods in changes:
            at, values, _ = self.charge_rows(charge)
            cells = (at[:, None], rows)
            for columns in (self.other, self.pinned):
                columns[cells] = np.clip(columns[cells] + (values * pods)[:, None], -LIMIT, LIMIT)
            touched[rows] = True
        if touched.any():
            self._touch(np.flatnonzero(touched))

    def pin_columns(self, usage: Mapping[str, IntArray]) -> None:
        """Mark the part of other pods' usage that cannot leave its node, in row order; it is counted already."""
        for resource, column in usage.items():
            if resource in self.index:
                self.pinned[self.index[resource]] += np.clip(column, 0, LIMIT)

    def put_zones(self, row: int, zones: RowZones) -> None:
        """Update what the zones of a node have free."""
        if self.zones is not None:
            self.zones.set(row, zones)
            self._touch(np.array([row]))

    def put_node(self, row: int, node: Node) -> None:
        """Update a node whose resources all have a row."""
        self.table.put(row, node)
        self.allocatable[:, row] = [within(node.allocatable.get(resource, 0)) for resource in self.resources]
        self.gone.discard(row)
        self._touch(np.array([row]))
        self.nodes_changed = self.version

    def drop_node(self, row: int) -> None:
        """Remove a node: nothing fits there any more."""
        self.gone.add(row)
        self.set_usable(np.array([row]), False)

    def set_usable(self, rows: IntArray, usable: bool) -> None:
        """Include nodes in placement, or exclude them."""
        self.table.usable[rows] = usable
        self._touch(rows)
        self.nodes_changed = self.version

    def note(self, rows: IntArray) -> None:
        """Record rows in the log."""
        self.log += rows.tolist()
        self.version += len(rows)
        if len(self.log) > 4 * len(self) + 4096:
            self._forget_log()

    def amounts(self, entry: JournalEntry, sign: int) -> tuple[IntArray, IntArray]:
        """The resource rows that an entry changes, and by how much at each place."""
        rows, values, _ = self.charge_rows(entry.charge)
        counts = sign * entry.counts
        if _largest(values) * _largest(counts) > LIMIT:
            return rows, np.clip(values.astype(np.float64)[:, None] * counts, -LIMIT, LIMIT).astype(np.int64)
        return rows, values[:, None] * counts

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
                    columns[at, row] = within(int(columns[at, row]) + value * pods)
            touched.add(row)
        if touched:
            self._touch(np.array(sorted(touched)))

    def _write(self, entry: JournalEntry) -> None:
        self._journal.append(entry)
        self._states.append(self.state)
        self._newest += 1
        self.state = self._newest
        self._zones_before.append(None if self.zones is None else self._change_zones(self.zones, entry))
        self._count(entry, sign=1)
        self._add(entry, sign=1)

    def _change_zones(self, zones: ZoneStates, entry: JournalEntry) -> Before | None:
        if entry.column == "zones":
            return zones.vacate(entry.at)
        if entry.owner is not None or not isinstance(entry.charge, PodCharge):
            return None
        views: tuple[View, ...] = ("now",) if entry.column == "admitted" else ("now", "room")
        return zones.apply(views, entry.at, entry.counts, entry.charge.shape, entry.holder)

    def _count(self, entry: JournalEntry, sign: int) -> None:
        """Tell the neighbours which pods are there, or gone."""
        if isinstance(entry.charge, PodCharge):
            if entry.charge.shape.kind is not None:
                kind = entry.charge.shape.kind
                self.neighbours.place(entry.column, kind, entry.at, sign * entry.counts, entry.owner)
        elif entry.column == "leaving":
            self.neighbours.drain(sign * int(entry.counts[0]))

    def _add(self, entry: JournalEntry, sign: int) -> None:
        """Add the amounts of an entry, or take them back; only the resources and rows of its pods change."""
        if entry.owner is not None:
            entry.owner.apply_own(entry, sign)
            return
        if entry.column == "zones":
            self.note(entry.at)
            return
        if entry.column == "leaving":
            leaving = self.draining[:, entry.at] * self.table.usable[entry.at]
            self.remaining[:, entry.at] -= sign * entry.counts * leaving
            self.note(entry.at)
            return
        rows, amounts = self.amounts(entry, sign)
        cells = (rows[:, None], entry.at)
        if entry.column == "admitted":
            self.admitted[cells] += amounts
        else:
            self.assumed[cells] += amounts
            self.room[cells] -= amounts
            self.room_changed += 1
        self.remaining[cells] -= amounts
        self.note(entry.at)

    def _touch(self, rows: IntArray) -> None:
        """Recompute these rows and record them in the log."""
        self._renumber()
        room = self.free(rows) - self.assumed[:, rows]
        self.room[:, rows] = room
        self.room_changed += 1
        leaving = self.draining[:, rows] * self.table.usable[rows]
        self.remaining[:, rows] = room - self.admitted[:, rows] - leaving
        self.note(rows)

    def _renumber(self) -> None:
        """Renumber the current amounts and those that rollbacks would restore: a node itself has changed."""
        count = len(self._states) + 1
        *self._states, self.state = range(self._newest + 1, self._newest + 1 + count)
        self._newest += count

    def _derive_all(self) -> None:
        self._renumber()
        np.subtract(self.allocatable, self.other, out=self.room)
        self.room *= self.table.usable
        self.room -= self.assumed
        self.room_changed += 1
        np.subtract(self.room, self.admitted, out=self.remaining)
        self.remaining -= self.draining * self.table.usable
        self._forget_log()

    def _forget_log(self) -> None:
        """Clear the log: results computed before now have to be recomputed."""
        self.version += 1
        self.log.clear()


def _merged(entries: Iterable[JournalEntry]) -> Iterator[JournalEntry]:
    """The same entries; of those that took the same charge from the columns themselves only one."""
    kinds: dict[tuple[str, Charge], list[JournalEntry]] = {}
    for entry in entries:
        if entry.owner is not None or entry.column in ("leaving", "zones"):
            yield entry
        else:
            kinds.setdefault((entry.column, entry.charge), []).append(entry)
    for alike in kinds.values():
        yield from alike if len(alike) == 1 or _is_vast(alike) else (_together(alike),)


def _is_vast(entries: Sequence[JournalEntry]) -> bool:
    """Whether the sum of the entries could be clamped where none of them is."""
    most = max((value for _, value in entries[0].charge), default=0)
    return most * sum(_largest(entry.counts) for entry in entries) > LIMIT


def _together(entries: Sequence[JournalEntry]) -> JournalEntry:
    rows, place = np.unique(np.concatenate([entry.at for entry in entries]), return_inverse=True)
    counts = np.zeros(len(rows), dtype=np.int64)
    np.add.at(counts, place, np.concatenate([entry.counts for entry in entries]))
    return entries[0]._replace(at=rows, counts=counts)


def within(value: int) -> int:
    return max(-LIMIT, min(LIMIT, value))


def _largest(amounts: IntArray) -> int:
    """By magnitude. For the usual few amounts, Python is faster than numpy."""
    if len(amounts) > FEW:
        return int(np.abs(amounts).max())
    return max(map(abs, amounts.tolist()), default=0)
