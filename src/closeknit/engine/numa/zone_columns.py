"""The zones of nodes that have equally many of them and align alike, as columns: one array per resource.

An array has a row per zone, in the order of the report, and a column per node, so that every step of a decision is a
few passes over contiguous memory, whatever the number of nodes. Nodes with more zones are kept apart: one machine with
34 of them does not pad the others. A zone that does not list a resource has UNLISTED of it, which no request fits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...model.numa import SINGLE, NodeZones, TopologyScope
from ...model.resources import CPU
from .distances import ZoneDistances

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

UNLISTED = -1
MILLI = 1000
FIRST = 8
"""The nodes that new columns have room for."""


class ColumnsKey(NamedTuple):
    """What nodes in the same columns share. `aligns`: their policy is single-numa-node."""

    zones: int
    aligns: bool
    scope: TopologyScope

    @classmethod
    def of(cls, node: NodeZones) -> ColumnsKey:
        return cls(len(node.zones), node.manager.policy == SINGLE, node.manager.scope)


@dataclass(slots=True, eq=False)
class ResourceColumn:
    """One resource, by zone and node. `divisor` is what is available in whole units, infinite where that is nothing.

    `listed` tells which zones list the resource, and `somewhere` for each node whether any of its zones does.
    """

    available: IntArray
    divisor: FloatArray
    listed: BoolArray
    somewhere: BoolArray

    @classmethod
    def empty(cls, zones: int, room: int) -> ResourceColumn:
        shape = (zones, room)
        listed, somewhere = np.zeros(shape, dtype=bool), np.zeros(room, dtype=bool)
        return cls(np.full(shape, UNLISTED), np.full(shape, np.inf), listed, somewhere)

    def put(self, slot: int, amounts: list[int], unit: int) -> None:
        self.available[:, slot] = amounts
        self.divisor[:, slot] = [-(-one // unit) if one > 0 else np.inf for one in amounts]
        self.listed[:, slot] = [one != UNLISTED for one in amounts]
        self.somewhere[slot] = self.listed[:, slot].any()

    def cut(self, size: int) -> ResourceColumn:
        available, divisor, listed = self.available[:, :size], self.divisor[:, :size], self.listed[:, :size]
        return ResourceColumn(available, divisor, listed, self.somewhere[:size])

    def grown(self, room: int) -> ResourceColumn:
        more = ResourceColumn.empty(self.available.shape[0], room)
        size = len(self.somewhere)
        more.available[:, :size], more.divisor[:, :size] = self.available, self.divisor
        more.listed[:, :size], more.somewhere[:size] = self.listed, self.somewhere
        return more

    def move(self, source: int, target: int) -> None:
        for one in (self.available, self.divisor, self.listed):
            one[:, target] = one[:, source]
        self.somewhere[target] = self.somewhere[source]


@dataclass(slots=True, eq=False)
class ZoneColumns:
    """`rows` are the rows that the nodes have in the table, `size` is how many there are. Arrays have room for more."""

    key: ColumnsKey
    size: int = 0
    room: int = FIRST
    _rows: IntArray = field(default_factory=lambda: np.zeros(FIRST, dtype=np.int64))
    _max_zones: IntArray = field(default_factory=lambda: np.zeros(FIRST, dtype=np.int64))
    _layouts: IntArray = field(default_factory=lambda: np.zeros(FIRST, dtype=np.int64))
    _ids: NDArray[np.int8] = field(init=False)
    _resources: dict[str, ResourceColumn] = field(default_factory=dict)
    _offered: dict[str, BoolArray] = field(default_factory=dict)
    distances: ZoneDistances = field(init=False)

    def __post_init__(self) -> None:
        self._ids = np.zeros((self.key.zones, FIRST), dtype=np.int8)
        self.distances = ZoneDistances(self.key.zones)

    @property
    def rows(self) -> IntArray:
        return self._rows[: self.size]

    @property
    def ids(self) -> NDArray[np.int8]:
        return self._ids[:, : self.size]

    @property
    def max_zones(self) -> IntArray:
        return self._max_zones[: self.size]

    @property
    def layouts(self) -> IntArray:
        """The layout of distances that each node has."""
        return self._layouts[: self.size]

    @property
    def in_order(self) -> bool:
        """Whether all nodes list zones 0, 1, 2 and so on."""
        return bool((self.ids == np.arange(self.key.zones, dtype=np.int8)[:, None]).all())

    def resource(self, name: str) -> ResourceColumn | None:
        """The column of a resource; None if no zone lists it."""
        found = self._resources.get(name)
        return None if found is None else found.cut(self.size)

    def offered(self, name: str) -> BoolArray:
        """The nodes whose allocatable resources have this name."""
        found = self._offered.get(name)
        return np.zeros(self.size, dtype=bool) if found is None else found[: self.size]

    def append(self, row: int, node: NodeZones, offered: Iterable[str]) -> int:
        """Add a node; returns its slot."""
        if self.size == self.room:
            self._grow()
        self.size += 1
        self.put(self.size - 1, row, node, offered)
        return self.size - 1

    def put(self, slot: int, row: int, node: NodeZones, offered: Iterable[str]) -> None:
        self._rows[slot] = row
        self._max_zones[slot] = node.manager.max_zones
        self._ids[:, slot] = [zone.id for zone in node.zones]
        self._layouts[slot] = self.distances.layout(node.zones)
        if len(self.distances) > 2 * self.room:
            self._forget_layouts()
        for name in set(self._resources).union(*(zone.resources for zone in node.zones)):
            held = (zone.resources.get(name) for zone in node.zones)
            amounts = [UNLISTED if one is None else one.available for one in held]
            column = self._resources.get(name)
            if column is None:
                column = self._resources[name] = ResourceColumn.empty(self.key.zones, self.room)
            column.put(slot, amounts, MILLI if name == CPU else 1)
        self.offer(slot, offered)

    def _forget_layouts(self) -> None:
        """Drop the layouts of reports that were replaced."""
        used, numbers = np.unique(self.layouts, return_inverse=True)
        self._layouts[: self.size] = numbers
        self.distances.keep(used.tolist())

    def offer(self, slot: int, names: Iterable[str]) -> None:
        """Note which resources the node has."""
        given = set(names)
        for name in given - self._offered.keys():
            self._offered[name] = np.zeros(self.room, dtype=bool)
        for name, column in self._offered.items():
            column[slot] = name in given

    def remove(self, slot: int) -> int | None:
        """Remove a node. The last one takes its slot; returns the row of that, None if there is none."""
        last = self.size - 1
        self.size = last
        if slot == last:
            return None
        for one in (self._rows, self._max_zones, self._layouts):
            one[slot] = one[last]
        self._ids[:, slot] = self._ids[:, last]
        for column in self._resources.values():
            column.move(last, slot)
        for offered in self._offered.values():
            offered[slot] = offered[last]
        return int(self._rows[slot])

    def _grow(self) -> None:
        self.room *= 2
        more = self.room - self.size
        one_per_node = (self._rows, self._max_zones, self._layouts)
        self._rows, self._max_zones, self._layouts = (np.pad(one, (0, more)) for one in one_per_node)
        self._ids = np.pad(self._ids, ((0, 0), (0, more)))
        self._resources = {name: column.grown(self.room) for name, column in self._resources.items()}
        self._offered = {name: np.pad(column, (0, more)) for name, column in self._offered.items()}
