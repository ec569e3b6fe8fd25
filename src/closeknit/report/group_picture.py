"""The plan of a tree of groups as text: the groups with their domains, then the domains with their groups."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from ..model.number import number_of
from ..state.node_tree import ROOT, NodeTree
from ..state.table import IntArray
from .bars import FREE, OURS, USED, bar
from .group_plan import GangPlan, PlacedGroup, asks, title_of
from .node_trees import DrawnTree, drawn
from .pod_zones import zones_of_pods

MOST_LINES = 60
Row = tuple[str, ...]


def group_picture(plan: GangPlan, everything: bool = False) -> Iterator[str]:
    """The plan as lines; `everything` shows all lines, and every topology that the groups name."""
    yield title_of(plan)
    rows = [row for one in plan.top for row in _group_rows(one, "", "")]
    yield from _cut(_aligned(rows), everything, "group")
    trees = list(plan.trees.values())
    for tree in trees if everything else trees[:1]:
        yield ""
        yield from _domains(plan, tree, everything)
    if len(trees) > 1 and not everything:
        yield f"  -o wide also draws {', '.join(one.topology.name for one in trees[1:])}"


def _aligned(rows: list[Row]) -> list[str]:
    widths = [max((len(row[at]) for row in rows), default=0) for at in range(4)]
    pads = zip("<><<", widths, strict=True)
    form = "  ".join(f"{{:{side}{width}}}" for side, width in pads)
    return [f"  {form.format(*row)}".rstrip() for row in rows]


def _cut(lines: list[str], everything: bool, noun: str) -> Iterator[str]:
    yield from islice(lines, None if everything else MOST_LINES)
    if not everything and len(lines) > MOST_LINES:
        yield f"  … and {number_of(len(lines) - MOST_LINES, f'more {noun}')}; -o wide shows them all"


def _group_rows(one: PlacedGroup, branch: str, indent: str) -> Iterator[Row]:
    name = one.group.name or ", ".join(pods.pod_set.name for pods in one.pods)
    yield f"{branch}{name}", _count(one), _where(one), asks(one.group)
    for number, below in enumerate(one.groups, 1):
        is_last = number == len(one.groups)
        inner = indent + ("  " if is_last else "│ ")
        yield from _group_rows(below, f"{indent}{'└ ' if is_last else '├ '}", inner)


def _count(one: PlacedGroup) -> str:
    if one.placed == one.count:
        return number_of(one.placed, "pod")
    return f"{one.placed} of {number_of(one.count, 'pod')}"


def _where(one: PlacedGroup) -> str:
    rows = {row for pods in one.every for row in pods.rows.tolist()}
    if not one.placed and not one.path:
        return "surplus, not placed" if one.count else "no pods to place"
    if one.path:
        nodes = "" if len(rows) <= 1 else f", {len(rows)} nodes"
        return f"in {'/'.join(one.path)}{nodes}"
    return f"on {number_of(len(rows), 'node')}" + ("" if one.tree is None else " of several domains")


def _domains(plan: GangPlan, tree: NodeTree, everything: bool) -> Iterator[str]:
    """The domains that the gang uses, down to single nodes."""
    layout = drawn(tree, plan.columns)
    pods = layout.sums(plan.on_rows(plan.every))
    at = _dominant(plan)
    ours = layout.sums(_amounts(plan, at))
    usable = plan.columns.table.usable
    whole = layout.sums(plan.columns.allocatable[at] * usable)
    left = layout.sums(np.maximum(plan.columns.remaining[at], 0) * usable)
    lines = _Lines(layout, pods, _labels(plan, layout))
    found = list(lines.below(0, 0, layout.tree.size(0), "", top=True))
    rows: list[Row] = []
    for level, domain, label in found:
        mine, all_of_it = int(ours[level][domain]), int(whole[level][domain])
        free = max(0, int(left[level][domain]) - mine)
        drawn_bar = bar([(OURS, mine), (USED, max(0, all_of_it - mine - free)), (FREE, free)])
        rows.append(
            (label, number_of(int(pods[level][domain]), "pod"), drawn_bar, lines.labels.get((level, domain), ""))
        )
    yield f"  {tree.topology.name}, bars: {plan.columns.resources[at]}"
    yield from _cut(_aligned(rows), everything, "domain")


def _dominant(plan: GangPlan) -> int:
    """The resource of which the gang takes the largest share."""
    total = np.maximum(plan.columns.allocatable.sum(axis=1), 1)
    need = np.zeros(len(plan.columns.resources))
    for one in plan.every:
        need += plan.columns.charge_vector(one.pod_set.shape.charge) * one.placed
    return int(np.argmax(need / total))


def _amounts(plan: GangPlan, at: int) -> IntArray:
    """What the gang takes of a resource on each row."""
    found = np.zeros(len(plan.columns.table), dtype=np.int64)
    for one in plan.every:
        np.add.at(found, one.rows, one.counts * int(plan.columns.charge_vector(one.pod_set.shape.charge)[at]))
    return found


def _labels(plan: GangPlan, layout: DrawnTree) -> dict[tuple[int, int], str]:
    """The groups whose own domain each domain is; on a node the pod sets that it holds."""
    found: dict[tuple[int, int], list[str]] = {}
    leaf_of = {row: leaf for leaf, row in enumerate(layout.rows.tolist())}
    lowest = layout.tree.topology.lowest
    for one in (group for top in plan.top for group in top.walk()):
        is_drawn = one.tree is not None and one.tree.topology.name == layout.tree.topology.name
        rows = {row for pods in one.every for row in pods.rows.tolist()}
        if is_drawn and one.group.name and len(rows) > 1 and ROOT < one.level < lowest:
            at = layout.tree.ancestor(leaf_of[min(rows)], one.level)
            found.setdefault((one.level, at), []).append(one.group.name)
        for pods in one.pods:
            for row, count in zip(pods.rows.tolist(), pods.counts.tolist(), strict=True):
                if row in leaf_of:
                    times = f" ×{count}" if count > 1 else ""
                    zones = zones_of_pods(plan.zones.get((pods.pod_set.name, row), ()))
                    text = f"{pods.pod_set.name}{times}" + (f" in {zones}" if zones else "")
                    found.setdefault((lowest, leaf_of[row]), []).append(text)
    return {key: ", ".join(names) for key, names in found.items()}


class _Lines:
    """The domains in use, each followed by its children."""

    def __init__(self, layout: DrawnTree, pods: list[IntArray], labels: dict[tuple[int, int], str]) -> None:
        self.tree, self.pods, self.labels = layout.tree, pods, labels

    def below(
        self, level: int, first: int, last: int, indent: str, top: bool = False
    ) -> Iterator[tuple[int, int, str]]:
        used = (first + np.flatnonzero(self.pods[level][first:last])).tolist()
        for domain in used:
            is_last = domain == used[-1]
            branch = "" if top else ("└─ " if is_last else "├─ ")
            yield level, domain, f"{indent}{branch}{self.tree.values[level][domain]}"
            if level < self.tree.topology.lowest:
                inner = indent if top else indent + ("   " if is_last else "│  ")
                low, high = self.tree.first[level][domain : domain + 2].tolist()
                yield from self.below(level + 1, low, high, inner)
