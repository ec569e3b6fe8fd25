"""Maintenance windows among the nodes of files: the table of nodes with a taint for each window that covers a node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..model.maintenance import LabelPairs, Maintenance
from ..state.table import BoolArray, NodeTable


def with_windows(table: NodeTable, windows: Sequence[Maintenance]) -> NodeTable:
    """The table with the taints of these windows, in the order in which they begin."""
    for window in sorted(windows, key=lambda one: (one.begins, one.name)):
        covered = np.zeros(len(table), dtype=np.bool_)
        for domain in window.domains:
            covered |= _inside(table, domain)
        doubled = [*table.taints, *((*taints, window.taint) for taints in table.taints)]
        codes = table.taint_codes + (covered * len(table.taints)).astype(np.int32)
        table = replace(table, taints=doubled, taint_codes=codes)
    return table


def _inside(table: NodeTable, domain: LabelPairs) -> BoolArray:
    inside = np.ones(len(table), dtype=np.bool_)
    for key, value in domain:
        column = table.labels.get(key)
        inside &= False if column is None else column.codes == column.code(value)
    return inside
