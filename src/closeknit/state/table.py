"""Nodes as a table of columns, before any topology is laid over them.

A cluster of 100,000 nodes has few distinct values per label, so a label is a column of small integer codes with
a list of the values they stand for. Selectors are then evaluated per distinct value, not per node. A table can be
filled from node objects or, for generated clusters, directly from columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..model.node import Node
from ..model.shape import Taint

IntArray = NDArray[np.int64]
CodeArray = NDArray[np.int32]
BoolArray = NDArray[np.bool_]

MISSING = -1


@dataclass(slots=True)
class LabelColumn:
    """One label over all nodes: `values[codes[i]]` is node i's value, MISSING where it has none."""

    codes: CodeArray
    values: list[str]
    index: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.index = {value: code for code, value in enumerate(self.values)}

    def code(self, value: str) -> int:
        """The code of a value; for a value that no node has, a code that no node has."""
        return self.index.get(value, MISSING - 1)

    def intern(self, value: str | None) -> int:
        """The code of a value, added if it is new."""
        if value is None:
            return MISSING
        if value not in self.index:
            self.index[value] = len(self.values)
            self.values.append(value)
        return self.index[value]

    def take(self, rows: IntArray) -> LabelColumn:
        return LabelColumn(self.codes[rows], list(self.values))

    def ranks(self) -> IntArray:
        """For each code its rank among the sorted values."""
        ranks = np.empty(len(self.values), dtype=np.int64)
        ranks[sorted(range(len(self.values)), key=self.values.__getitem__)] = np.arange(len(self.values))
        return ranks


@dataclass(slots=True)
class NodeTable:
    """Rows are nodes. `taints[taint_codes[i]]` are node i's taints.

    `usable[i]` means ready and schedulable; `cordoned[i]` means ready but `spec.unschedulable`.
    """

    names: list[str]
    labels: dict[str, LabelColumn]
    allocatable: dict[str, IntArray]
    taint_codes: CodeArray
    taints: list[tuple[Taint, ...]]
    usable: BoolArray
    cordoned: BoolArray

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def of(cls, nodes: Iterable[Node]) -> NodeTable:
        rows = list(nodes)
        codes: dict[tuple[Taint, ...], int] = {}
        taint_codes = np.fromiter(
            (codes.setdefault(node.taints, len(codes)) for node in rows), dtype=np.int32, count=len(rows)
        )
        return cls(
            names=[node.name for node in rows],
            labels=_label_columns([node.labels for node in rows]),
            allocatable=_amount_columns([node.allocatable for node in rows]),
            taint_codes=taint_codes,
            taints=list(codes),
            usable=np.fromiter((node.usable for node in rows), dtype=np.bool_, count=len(rows)),
            cordoned=np.fromiter((node.cordoned for node in rows), dtype=np.bool_, count=len(rows)),
        )

    def take(self, rows: IntArray) -> NodeTable:
        """These rows, in this order."""
        return NodeTable(
            names=[self.names[row] for row in rows.tolist()],
            labels={key: column.take(rows) for key, column in self.labels.items()},
            allocatable={resource: column[rows] for resource, column in self.allocatable.items()},
            taint_codes=self.taint_codes[rows],
            taints=list(self.taints),
            usable=self.usable[rows],
            cordoned=self.cordoned[rows],
        )

    def label_values(self, row: int) -> Iterator[tuple[str, str]]:
        """The labels of one node."""
        for key, column in self.labels.items():
            code = column.codes[row]
            if code != MISSING:
                yield key, column.values[code]

    def label(self, row: int, key: str) -> str | None:
        """One label of one node."""
        column = self.labels.get(key)
        code = MISSING if column is None else int(column.codes[row])
        return None if column is None or code == MISSING else column.values[code]

    def put(self, row: int, node: Node) -> None:
        """Set labels, taints and usability of one row; the caller updates amounts."""
        for key in {*self.labels, *node.labels}:
            column = self.labels.get(key)
            if column is None:
                column = self.labels[key] = LabelColumn(np.full(len(self), MISSING, dtype=np.int32), [])
            column.codes[row] = column.intern(node.labels.get(key))
        if node.taints not in self.taints:
            self.taints.append(node.taints)
        self.taint_codes[row] = self.taints.index(node.taints)
        self.usable[row], self.cordoned[row] = node.usable, node.cordoned


def _label_columns(labels: Sequence[Mapping[str, str]]) -> dict[str, LabelColumn]:
    codes: dict[str, CodeArray] = {}
    indexes: dict[str, dict[str, int]] = {}
    for row, mapping in enumerate(labels):
        for key, value in mapping.items():
            index = indexes.get(key)
            if index is None:
                index = indexes[key] = {}
                codes[key] = np.full(len(labels), MISSING, dtype=np.int32)
            codes[key][row] = index.setdefault(value, len(index))
    return {key: LabelColumn(codes[key], list(indexes[key])) for key in codes}


def _amount_columns(amounts: Sequence[Mapping[str, int]]) -> dict[str, IntArray]:
    columns: dict[str, IntArray] = {}
    for row, mapping in enumerate(amounts):
        for resource, value in mapping.items():
            if resource not in columns:
                columns[resource] = np.zeros(len(amounts), dtype=np.int64)
            columns[resource][row] = value
    return columns
