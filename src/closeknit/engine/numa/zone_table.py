"""The zones of all nodes, ready for a decision: each node has a row, and its zones are in columns with others like it.

A row stays with its node until the node is removed. A change of one node touches its own slot only. A node may have no
report, and a report no node; both have a row, because the filter has an answer for both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from ...model.numa import NodeZones
from .zone_columns import FIRST, BoolArray, ColumnsKey, ZoneColumns


class _Place(NamedTuple):
    columns: ZoneColumns
    slot: int


class ZoneTable:
    def __init__(self) -> None:
        self.rows: dict[str, int] = {}
        self._free: list[int] = []
        self._columns: dict[ColumnsKey, ZoneColumns] = {}
        self._places: dict[int, _Place] = {}
        self._offered: dict[int, frozenset[str]] = {}
        self._present = np.zeros(FIRST, dtype=bool)
        self._stale = np.zeros(FIRST, dtype=bool)
        self._size = 0

    def __len__(self) -> int:
        """The number of rows, free ones included."""
        return self._size

    def __iter__(self) -> Iterator[ZoneColumns]:
        """All columns that hold nodes."""
        return (one for one in self._columns.values() if one.size)

    @property
    def present(self) -> BoolArray:
        """The rows whose node exists."""
        return self._present[: self._size]

    @property
    def stale(self) -> BoolArray:
        """The rows whose report must not be used."""
        return self._stale[: self._size]

    def put_node(self, name: str, offered: Iterable[str]) -> int:
        """Add or change a node with these allocatable resources; returns its row."""
        row = self._row(name)
        self._offered[row] = frozenset(offered)
        self._present[row] = True
        place = self._places.get(row)
        if place is not None:
            place.columns.offer(place.slot, self._offered[row])
        return row

    def put_zones(self, zones: NodeZones) -> int:
        """Add or replace the report of a node; returns its row."""
        row, key = self._row(zones.node), ColumnsKey.of(zones)
        place = self._places.get(row)
        offered = self._offered.get(row, frozenset())
        if place is not None and place.columns.key == key:
            place.columns.put(place.slot, row, zones, offered)
            return row
        self._leave(row)
        columns = self._columns.setdefault(key, ZoneColumns(key))
        self._places[row] = _Place(columns, columns.append(row, zones, offered))
        return row

    def drop_zones(self, name: str) -> None:
        """The node has no report any more."""
        row = self.rows.get(name)
        if row is not None:
            self._leave(row)
            self._release(name, row)

    def drop_node(self, name: str) -> None:
        row = self.rows.get(name)
        if row is not None:
            self._offered.pop(row, None)
            self._present[row] = False
            self._release(name, row)

    def mark(self, name: str, is_stale: bool) -> None:
        """Note whether the report of a node must not be used, which rejects every pod that depends on it."""
        self._stale[self._row(name)] = is_stale

    def _row(self, name: str) -> int:
        row = self.rows.get(name)
        if row is None:
            row = self.rows[name] = self._free.pop() if self._free else self._size
            self._size = max(self._size, row + 1)
            if self._size > len(self._present):
                self._present, self._stale = (np.pad(one, (0, len(one))) for one in (self._present, self._stale))
        return row

    def _leave(self, row: int) -> None:
        place = self._places.pop(row, None)
        if place is not None:
            moved = place.columns.remove(place.slot)
            if moved is not None:
                self._places[moved] = place

    def _release(self, name: str, row: int) -> None:
        if row not in self._offered and row not in self._places:
            del self.rows[name]
            self._stale[row] = False
            self._free.append(row)
