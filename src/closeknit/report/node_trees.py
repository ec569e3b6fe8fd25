"""A topology over node columns in the form that outlines and pictures are drawn from.

Its last level is single nodes, by name. A level of hostnames directly above them says the same again if it has one node
in each domain: then the two are one level with the key of the hostnames, as the topology has it. Where a tree of
HyperNodes skips a level, a stand-in without a name is drawn as –.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from ..model.resources import PODS
from ..model.topology import HOSTNAME, NODE, Topology
from ..state.node_tree import NodeTree
from ..state.snapshot import Snapshot
from ..state.table import IntArray
from ..state.tree import Tree
from .census import Census, summed_up
from .zone_outline import ZonesOfLeaves

ABSENT = "–"


@dataclass(frozen=True)
class DrawnTree:
    """`rows[i]` is the row of the columns that leaf i of the tree is."""

    tree: Tree
    rows: IntArray

    def sums(self, column: IntArray) -> list[IntArray]:
        """A column over the rows of the node columns, summed up for every level."""
        return summed_up(self.tree, column[..., self.rows])


def drawn(tree: NodeTree, columns: Snapshot) -> DrawnTree:
    is_same = _repeats_nodes(tree)
    levels = len(tree.levels) - (1 if is_same else 0)
    size = len(tree.rows)
    begins = [one[:-1] for one in tree.begins[:levels]] + [np.arange(size)]
    first = [np.append(np.searchsorted(low, up), len(low)) for up, low in itertools.pairwise(begins)]
    parent = [np.empty(0, dtype=np.int64)]
    parent += [np.searchsorted(up, low, side="right") - 1 for up, low in itertools.pairwise(begins)]
    values = [
        [value if real else ABSENT for value, real in zip(tree.values[level], tree.real[level].tolist(), strict=True)]
        for level in range(levels)
    ]
    names = [columns.table.names[row] for row in tree.rows.tolist()]
    topology = Topology(tree.topology.name, (*tree.levels[:levels], HOSTNAME if is_same else NODE))
    return DrawnTree(Tree(topology, first, parent, np.arange(size + 1), [*values, names]), tree.rows)


def _repeats_nodes(tree: NodeTree) -> bool:
    return tree.levels[-1:] == (HOSTNAME,) and len(tree.values[-1]) == len(tree.rows)


def census_over(columns: Snapshot, layout: DrawnTree) -> Census:
    """Capacity and usage of every domain of a topology over node columns."""
    usable = columns.table.usable
    whole = columns.allocatable * usable
    ones = np.ones(len(columns.table), dtype=np.int64)
    nodes, able, allocatable, used = map(
        layout.sums, (ones, usable.astype(np.int64), whole, whole - np.maximum(columns.remaining, 0))
    )
    zones = None if columns.zones is None else ZonesOfLeaves(columns.zones, layout.rows)
    return Census(layout.tree, columns.resources, nodes, able, allocatable, used, zones=zones)


def pods_on_rows(columns: Snapshot) -> IntArray:
    """The pods that were placed on each row."""
    return np.array(columns.admitted[columns.index[PODS]])
