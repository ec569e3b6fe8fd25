"""Where a tree of groups goes: each group with its domain, and the domains with the groups in them.

PodGroup serve: 8 pods on 4 nodes
  serve          8 pods  in z1          required zone of network
  ├ replica-0    4 pods  in z1/r1       required rack of network
  └ replica-1    4 pods  in z1/r2       required rack of network

  network: nvidia.com/gpu
  z1             8 pods  ████████▒▒░░░░░░  serve
  ├─ r1          4 pods  ████████████████  replica-0
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..engine.groups.parts import Trees
from ..engine.groups.place import GroupResult
from ..model.gang import Gang
from ..model.number import number_of
from ..model.request import Constraint, Group, PodSet
from ..model.topology import Path
from ..state.node_tree import ROOT, NodeTree
from ..state.numa.zone_states import NO_ZONES, Zoned
from ..state.snapshot import Snapshot
from ..state.table import IntArray
from .pod_zones import zones_json

NO_ROWS: IntArray = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class SetOnNodes:
    """A pod set: the rows of its pods that were placed, each with how many."""

    pod_set: PodSet
    rows: IntArray
    counts: IntArray

    @property
    def placed(self) -> int:
        return int(self.counts.sum())


@dataclass(frozen=True)
class PlacedGroup:
    """A group with everything below it; `tree` is that of its constraint, or of the nearest one around it."""

    group: Group
    tree: NodeTree | None
    level: int
    path: Path
    pods: tuple[SetOnNodes, ...]
    groups: tuple[PlacedGroup, ...]

    def walk(self) -> Iterator[PlacedGroup]:
        yield self
        for one in self.groups:
            yield from one.walk()

    @property
    def every(self) -> list[SetOnNodes]:
        """Its pod sets and those of all groups below it."""
        return [one for group in self.walk() for one in group.pods]

    @property
    def placed(self) -> int:
        return sum(one.placed for one in self.every)

    @property
    def count(self) -> int:
        return sum(one.pod_set.count for one in self.every)


@dataclass(frozen=True)
class GangPlan:
    """The plan of a gang that fits. `trees` are those that its groups name, the outermost first."""

    gang: Gang
    columns: Snapshot
    top: tuple[PlacedGroup, ...]
    trees: dict[str, NodeTree]
    steps: int
    zones: Mapping[tuple[str, int], Zoned] = field(default_factory=dict)
    """The expected NUMA zones of the pods of a pod set on a row; rows whose zones are not known are left out."""

    @property
    def every(self) -> list[SetOnNodes]:
        return [pods for one in self.top for pods in one.every]

    def on_rows(self, pods: Sequence[SetOnNodes]) -> IntArray:
        """The pods on each row of the columns."""
        found = np.zeros(len(self.columns.table), dtype=np.int64)
        for one in pods:
            np.add.at(found, one.rows, one.counts)
        return found

    def nodes(self) -> list[tuple[str, str]]:
        """Each pod with a name, and its node."""
        names = self.columns.table.names
        return [
            (pod, names[row])
            for one in self.every
            for pod, row in zip(one.pod_set.pods, np.repeat(one.rows, one.counts).tolist(), strict=False)
        ]


def group_plan(gang: Gang, columns: Snapshot, trees: Trees, result: GroupResult) -> GangPlan:
    maker = _Maker(columns, trees, result)
    top = tuple(maker.group(one, None) for one in gang.request.groups)
    named = [one.tree for group in top for one in group.walk() if one.tree is not None]
    shown = {one.topology.name: one for one in named}
    return GangPlan(gang, columns, top, shown, result.steps, _zones(columns, result))


def _zones(columns: Snapshot, result: GroupResult) -> dict[tuple[str, int], Zoned]:
    """The zones that the pods would get, in the order in which they are placed."""
    if columns.zones is None:
        return {}
    mark = columns.checkpoint()
    for name, placed in result.placed.items():
        if len(placed.rows):
            columns.admit(placed.rows, placed.counts, placed.batch.shape.charge, name)
    found = {
        (name, row): columns.zones.held.get((name, row), ())
        for name, placed in result.placed.items()
        for row, state in zip(placed.rows.tolist(), columns.zones.on(placed.rows, "now").tolist(), strict=True)
        if state != NO_ZONES
    }
    columns.rollback(mark)
    return found


class _Maker:
    def __init__(self, columns: Snapshot, trees: Trees, result: GroupResult) -> None:
        self.columns, self.trees, self.result = columns, trees, result

    def group(self, group: Group, around: NodeTree | None) -> PlacedGroup:
        named = None if group.constraint is None else self.trees.get(group.constraint.topology)
        tree = named or around
        groups = tuple(self.group(one, tree) for one in group.groups)
        pods = tuple(self._pods(one) for one in group.own_pod_sets)
        inside = PlacedGroup(group, tree, ROOT, (), pods, groups)
        level, path = self._domain(tree, inside.every)
        return PlacedGroup(group, tree, level, path, pods, groups)

    def _pods(self, pod_set: PodSet) -> SetOnNodes:
        placed = self.result.placed.get(pod_set.name)
        return (
            SetOnNodes(pod_set, NO_ROWS, NO_ROWS) if placed is None else SetOnNodes(pod_set, placed.rows, placed.counts)
        )

    def _domain(self, tree: NodeTree | None, pods: Sequence[SetOnNodes]) -> tuple[int, Path]:
        """The smallest domain that holds all pods that were placed or run; of a single node, its name."""
        known = self.columns.row_of
        running = [known[name] for one in pods for name in one.pod_set.running if name in known]
        rows = np.unique(np.concatenate([NO_ROWS, *(one.rows for one in pods), np.array(running, dtype=np.int64)]))
        if not len(rows):
            return ROOT, ()
        name = self.columns.table.names[int(rows[0])]
        if tree is None:
            return ROOT, (name,) if len(rows) == 1 else ()
        places = tree.place[rows]
        if places.min() < 0:
            return ROOT, ()
        level = tree.common(int(places.min()), int(places.max()) + 1)
        path = () if level == ROOT else tree.path(level, int(tree.domain[level][places.min()]))
        return level, (*path, name) if len(rows) == 1 and path[-1:] != (name,) else path


def asks(group: Group) -> str:
    """The constraint of a group, and what its groups keep: required rack of network; apart: rack."""
    parts = [constraint_words(group.constraint)] if group.constraint is not None else []
    if group.apart is not None:
        parts.append(f"apart: {group.apart.level}" + ("" if group.apart.required else " if possible"))
    return "; ".join(part for part in parts if part)


def constraint_words(constraint: Constraint) -> str:
    """required zone, preferred rack of network; a topology named like its level is not repeated."""
    levels = [("required", constraint.required), ("preferred", constraint.preferred)]
    named = [f"{word} {level}" for word, level in levels if level]
    of = f" of {constraint.topology}" if constraint.topology not in ("", *constraint.levels) else ""
    return f"{', '.join(named)}{of}" if named else ""


def plan_json(plan: GangPlan) -> dict[str, Any]:
    return {
        "fits": True,
        "reason": None,
        "group": plan.gang.key,
        "dialect": plan.gang.dialect,
        "pods": {"count": sum(one.count for one in plan.top), "placed": sum(one.placed for one in plan.top)},
        "groups": [_group_json(plan, one) for one in plan.top],
        "bindings": [{"pod": pod, "node": node} for pod, node in plan.nodes()],
        "steps": plan.steps,
    }


def _group_json(plan: GangPlan, one: PlacedGroup) -> dict[str, Any]:
    constraint, names = one.group.constraint, plan.columns.table.names
    return {
        "name": one.group.name,
        "required": constraint and constraint.required,
        "preferred": constraint and constraint.preferred,
        "topology": None if one.tree is None else one.tree.topology.name,
        "domain": list(one.path),
        "level": one.tree.levels[one.level] if one.tree is not None and one.level != ROOT else None,
        "count": one.count,
        "placed": one.placed,
        "podSets": [
            {
                "name": pods.pod_set.name,
                "count": pods.pod_set.count,
                "placed": pods.placed,
                "running": list(pods.pod_set.running),
                "nodes": [
                    {"node": names[row], "pods": count, **_zones_json(plan, pods.pod_set.name, row)}
                    for row, count in zip(pods.rows.tolist(), pods.counts.tolist(), strict=True)
                ],
            }
            for pods in one.pods
        ],
        "groups": [_group_json(plan, below) for below in one.groups],
    }


def title_of(plan: GangPlan) -> str:
    placed, count = sum(one.placed for one in plan.top), sum(one.count for one in plan.top)
    nodes = len(np.unique(np.concatenate([NO_ROWS, *(one.rows for one in plan.every)])))
    running = sum(len(one.pod_set.running) for one in plan.every)
    pods = number_of(placed, "pod") if placed == count else f"{placed} of {number_of(count, 'pod')}"
    more = f", beside {running} that run" if running else ""
    return f"{plan.gang.title}: {pods} on {number_of(nodes, 'node')}{more}"


def _zones_json(plan: GangPlan, pod_set: str, row: int) -> dict[str, Any]:
    given = plan.zones.get((pod_set, row))
    return {} if given is None else {"zones": [zones_json(one.by_zone) for one in given]}
