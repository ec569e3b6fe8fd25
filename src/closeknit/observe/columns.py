"""Concatenates node tables, and reorders columns to the rows of another table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..model.shape import Taint
from ..state.table import MISSING, CodeArray, IntArray, LabelColumn, NodeTable


def join(tables: Sequence[NodeTable]) -> NodeTable:
    """The rows of all tables, in order."""
    if len(tables) == 1:
        return tables[0]
    taints = list(dict.fromkeys(taint for table in tables for taint in table.taints))
    return NodeTable(
        names=[name for table in tables for name in table.names],
        labels={key: _join_labels(tables, key) for key in dict.fromkeys(k for t in tables for k in t.labels)},
        allocatable=join_columns([(len(table), table.allocatable) for table in tables]),
        taint_codes=_concatenate([_recode(table.taint_codes, table.taints, taints) for table in tables]),
        taints=taints,
        usable=np.concatenate([table.usable for table in tables] or [np.empty(0, dtype=np.bool_)]),
        cordoned=np.concatenate([table.cordoned for table in tables] or [np.empty(0, dtype=np.bool_)]),
    )


def join_columns(parts: Sequence[tuple[int, Mapping[str, IntArray]]]) -> dict[str, IntArray]:
    """The columns of all parts, each given with its number of rows; zero where a part lacks a column."""
    names = dict.fromkeys(name for _, columns in parts for name in columns)
    return {
        name: np.concatenate([columns.get(name, np.zeros(rows, dtype=np.int64)) for rows, columns in parts])
        for name in names
    }


def reorder(columns: Mapping[str, IntArray], have: Sequence[str], want: Sequence[str]) -> dict[str, IntArray]:
    """Columns over the names `have`, for the names `want`, each of which is among them.

    reorder({"cpu": [1, 2, 3]}, have=["a", "b", "c"], want=["c", "a"]) == {"cpu": [3, 1]}
    """
    if not columns:
        return {}
    row_of = {name: row for row, name in enumerate(have)}
    rows = np.fromiter((row_of[name] for name in want), dtype=np.int64, count=len(want))
    return {resource: column[rows] for resource, column in columns.items()}


def _join_labels(tables: Sequence[NodeTable], key: str) -> LabelColumn:
    columns = [table.labels.get(key) for table in tables]
    values = list(dict.fromkeys(value for column in columns if column is not None for value in column.values))
    codes = [
        np.full(len(table), MISSING, dtype=np.int32) if column is None else _recode(column.codes, column.values, values)
        for table, column in zip(tables, columns, strict=True)
    ]
    return LabelColumn(_concatenate(codes), values)


def _recode(
    codes: CodeArray,
    old: Sequence[str] | Sequence[tuple[Taint, ...]],
    new: Sequence[str] | Sequence[tuple[Taint, ...]],
) -> CodeArray:
    """Codes into `old` as codes into `new`; MISSING, which is -1, indexes the last entry and so stays MISSING."""
    index = {value: code for code, value in enumerate(new)}
    lookup = np.array([*(index[value] for value in old), MISSING], dtype=np.int32)
    return lookup[codes]


def _concatenate(parts: Sequence[CodeArray]) -> CodeArray:
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int32)
