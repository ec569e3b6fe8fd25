"""Groups of pods drawn into the picture of a topology: one colour for each group."""

from __future__ import annotations

from collections.abc import Sequence

from ..engine.groups.parts import Trees
from ..model.topology import Topology
from ..state.node_tree import tree_over
from ..state.snapshot import Snapshot
from ..state.table import IntArray
from .node_trees import census_over, drawn
from .svg import draw


def draw_groups(columns: Snapshot, trees: Trees, groups: Sequence[tuple[str, IntArray]]) -> str:
    """The picture of the first topology; `groups` are names with their pods on each row."""
    tree = next(iter(trees.values()), None)
    layout = drawn(tree_over(columns.table, Topology("nodes", ())) if tree is None else tree, columns)
    census = census_over(columns, layout)
    jobs = [(name, pods[layout.rows]) for name, pods in groups]
    return draw(census, census.main_resource(), jobs=jobs)
