"""Concatenating tables and reordering columns."""

from __future__ import annotations

import numpy as np

from closeknit.model.node import Node
from closeknit.model.shape import Taint
from closeknit.observe.columns import join, join_columns, reorder
from closeknit.state.table import NodeTable

TAINT = (Taint("gpu", "", "NoSchedule"),)
NODES = [
    Node("a", {"rack": "r1", "zone": "z"}, {"cpu": 1}),
    Node("b", {"rack": "r2"}, {"cpu": 2}, TAINT, ready=False),
    Node("c", {"rack": "r1", "gpu": "yes"}, {"gpu": 8}, TAINT, unschedulable=True),
    Node("d", {}, {"cpu": 4}),
]


def test_joined_tables_are_the_table_of_all_nodes() -> None:
    joined = join([NodeTable.of(NODES[:1]), NodeTable.of(NODES[1:3]), NodeTable.of(NODES[3:])])
    whole = NodeTable.of(NODES)
    assert joined.names == whole.names
    assert [dict(joined.label_values(row)) for row in range(4)] == [dict(node.labels) for node in NODES]
    assert {name: column.tolist() for name, column in joined.allocatable.items()} == {
        name: column.tolist() for name, column in whole.allocatable.items()
    }
    assert [joined.taints[code] for code in joined.taint_codes] == [node.taints for node in NODES]
    assert joined.usable.tolist() == whole.usable.tolist()
    assert joined.cordoned.tolist() == whole.cordoned.tolist()


def test_a_column_that_a_part_lacks_is_zero_there() -> None:
    columns = join_columns([(2, {"cpu": np.array([1, 2])}), (1, {}), (1, {"gpu": np.array([3])})])
    assert {name: column.tolist() for name, column in columns.items()} == {
        "cpu": [1, 2, 0, 0],
        "gpu": [0, 0, 0, 3],
    }


def test_columns_follow_names_into_another_order() -> None:
    columns = reorder({"cpu": np.array([1, 2, 3])}, have=["a", "b", "c"], want=["c", "a"])
    assert columns["cpu"].tolist() == [3, 1]
    assert reorder({}, have=[], want=["a"]) == {}
