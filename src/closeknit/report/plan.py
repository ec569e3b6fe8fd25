"""A plan: where a job's pods go, as text and as data.

The text shows only the part of the tree that the job uses. Room is counted in pods like the job's own:

    b02                         32 pods
    └─ b02-r01                  32 pods  █████████▒▒▒░░░░   8 more fit
       ├─ b02-r01-n01            8 pods  ████████████████   full
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from ..engine.fit import fit_of
from ..engine.gang import summed
from ..engine.place import PodSetOutcome, Result
from ..engine.policy import Policy
from ..engine.zones import ZoneNotes, zone_notes
from ..model.assignment import Assignment
from ..model.encoding import encode
from ..model.number import number_of
from ..model.request import Constraint, PodSet, Request
from ..model.resources import PODS
from ..state.numa.zone_states import NO_ZONES, Zoned
from ..state.snapshot import Snapshot
from ..state.table import IntArray
from .bars import FREE, OURS, USED, bar
from .census import summed_up
from .pod_zones import zone_lines, zone_notes_json, zones_json, zones_of_pods

MOST_LINES = 60


@dataclass(frozen=True)
class PlacedPodSet:
    """One pod set of the plan, as columns over leaves: its pods, room left after it, room on empty nodes.

    `zones` are the expected NUMA zones of its pods, by leaf; leaves whose zones are not known are left out.
    """

    pod_set: PodSet
    assignment: Assignment
    pods: IntArray
    after: IntArray
    empty: IntArray
    zones: Mapping[int, Zoned] = field(default_factory=dict)


@dataclass(frozen=True)
class JobPlan:
    """The plan of a job that fits. Build it before the job's room is taken."""

    snapshot: Snapshot
    name: str
    placed: tuple[PlacedPodSet, ...]
    free: dict[str, int]
    notes: ZoneNotes | None = None
    """What is not known of the zones of the nodes in the plan."""


def plan(snapshot: Snapshot, name: str, result: Result, policy: Policy) -> JobPlan:
    """The plan of a result, with the room that is left after it."""
    outcomes = [(o, o.assignment) for o in result.outcomes if o.assignment is not None]
    checkpoint = snapshot.checkpoint()
    for outcome, assignment in outcomes:
        take(snapshot, assignment, outcome.pod_set, outcome.pod_set.name)
    placed = []
    for outcome, assignment in outcomes:
        pods = np.zeros(snapshot.tree.leaves, dtype=np.int64)
        np.add.at(pods, [snapshot.tree.leaf_of[name] for name in assignment.values], assignment.counts)
        after, empty = _room(snapshot, outcome, policy)
        zones = _zones(snapshot, outcome.pod_set.name, np.flatnonzero(pods))
        placed.append(PlacedPodSet(outcome.pod_set, assignment, pods, after, empty, zones))
    left = np.maximum(snapshot.remaining, 0).sum(axis=1).tolist()
    free = dict(zip(snapshot.resources, left, strict=True))
    snapshot.rollback(checkpoint)
    return JobPlan(snapshot, name, tuple(placed), free, _notes(snapshot, placed))


def _notes(snapshot: Snapshot, placed: Sequence[PlacedPodSet]) -> ZoneNotes | None:
    """What is not known of the zones of the nodes that pods with resources of their own are placed on."""
    if snapshot.zones is None or not snapshot.tree.one_node_a_leaf:
        return None
    aligned = [one for one in placed if snapshot.zones.demand_of(one.pod_set.shape).holds_zones]
    if not aligned:
        return None
    used = sum((one.pods for one in aligned), np.zeros(snapshot.tree.leaves, dtype=np.int64))
    return zone_notes(snapshot, aligned[0].pod_set.shape, snapshot.first_rows(np.flatnonzero(used)))


def _zones(snapshot: Snapshot, holder: str, leaves: IntArray) -> dict[int, Zoned]:
    """The zones that a holder has on these leaves."""
    if snapshot.zones is None or not snapshot.tree.one_node_a_leaf:
        return {}
    rows = snapshot.first_rows(leaves)
    known = snapshot.zones.on(rows, "now") != NO_ZONES
    held = snapshot.zones.held
    return {
        leaf: held.get((holder, row), ())
        for leaf, row in zip(leaves[known].tolist(), rows[known].tolist(), strict=True)
    }


def take(snapshot: Snapshot, assignment: Assignment, pod_set: PodSet, holder: str = "") -> None:
    """Take the room that a pod set was assigned; by its `holder` the zones of its pods are found."""
    leaves = np.array([snapshot.tree.leaf_of[name] for name in assignment.values], dtype=np.int64)
    if len(leaves):
        snapshot.admit(*summed(leaves, np.array(assignment.counts)), pod_set.shape.charge, holder)


def take_all(snapshot: Snapshot, result: Result) -> None:
    """Take the room of every pod set of a result."""
    for outcome in result.outcomes:
        if outcome.assignment is not None:
            take(snapshot, outcome.assignment, outcome.pod_set)


def pods_on_leaves(snapshot: Snapshot) -> IntArray:
    """The number of pods placed on each leaf."""
    return np.array(snapshot.admitted[snapshot.index[PODS]])


def _room(snapshot: Snapshot, outcome: PodSetOutcome, policy: Policy) -> tuple[IntArray, IntArray]:
    """How many pods like these fit on each leaf: now, and on empty nodes."""
    columns = fit_of(snapshot, outcome.pod_set.shape, None, policy)
    return columns.pods.copy(), columns.when_empty()


def order_of(request: Request, result: Result) -> list[PodSetOutcome]:
    """Outcomes in rank order: pod sets as in the spec, a leader before its workers."""
    found = {id(outcome.pod_set): outcome for outcome in result.outcomes}
    ordered: list[PodSetOutcome] = []
    for group in request.groups:
        sets = sorted(group.pod_sets, key=lambda one: one.count) if group.name else list(group.pod_sets)
        ordered += [found[id(one)] for one in sets if id(one) in found]
    return ordered


def as_json(made: JobPlan, by_prefix: bool = True) -> dict[str, Any]:
    """The machine-readable plan; `by_prefix` is how assignments are encoded."""
    return {
        "fits": True,
        "reason": None,
        "workload": made.name,
        "podSets": [_pod_set_json(made.snapshot, one, by_prefix) for one in made.placed],
        "left": {
            "pods": {one.pod_set.name: int(one.after.sum()) for one in made.placed},
            "free": made.free,
        },
        **zone_notes_json(made.notes),
    }


def refusal_json(name: str, result: Result, request: Request) -> dict[str, Any]:
    reasons = {id(o.pod_set): str(o.reason) for o in result.outcomes if o.reason is not None}
    return {
        "fits": False,
        "reason": str(result.reason),
        "workload": name,
        "podSets": [
            {"name": one.name, "count": one.count, "level": None, "assignment": None, "domains": [], "ranks": []}
            | ({"reason": reasons[id(one)]} if id(one) in reasons else {})
            for one in request.pod_sets
        ],
        "left": None,
    }


def _pod_set_json(snapshot: Snapshot, one: PlacedPodSet, by_prefix: bool) -> dict[str, Any]:
    leaves = np.flatnonzero(one.pods)
    level = snapshot.tree.common_level(leaves)
    lowest = snapshot.topology.lowest
    paths = [list(snapshot.tree.path(lowest, leaf)) for leaf in leaves.tolist()]
    return {
        "name": one.pod_set.name,
        "count": one.pod_set.count,
        "level": snapshot.topology.levels[level] if level >= 0 else None,
        "assignment": encode(one.assignment, by_prefix),
        "domains": [
            {"path": path, "pods": int(one.pods[leaf]), **_zones_json(one, leaf)}
            for path, leaf in zip(paths, leaves.tolist(), strict=True)
        ],
        "ranks": [{"rank": rank, "node": "/".join(slot)} for rank, slot in enumerate(one.assignment.slots())],
    }


def _zones_json(one: PlacedPodSet, leaf: int) -> dict[str, Any]:
    """The expected zones of the pods on a leaf, in the order in which their kubelet admits them."""
    if leaf not in one.zones:
        return {}
    return {"zones": [zones_json(pod.by_zone) for pod in one.zones[leaf]]}


def wording(constraint: Constraint | None) -> str:
    """A constraint in a few words."""
    if constraint is None:
        return "anywhere"
    parts = [f"required {constraint.required}"] if constraint.required else []
    parts += [f"preferred {constraint.preferred}"] if constraint.preferred else []
    parts += [f"slices of {layer.size} per {layer.level}" for layer in constraint.slices]
    if constraint.replicas is not None:
        parts.append(f"each replica of {number_of(constraint.replicas.size, 'pod')} by itself")
        parts += [f"replicas in different {constraint.replicas.apart}"] if constraint.replicas.apart else []
    parts += [f"order {constraint.order}"] if constraint.order else []
    return ", ".join(parts) or "unconstrained"


def picture(made: JobPlan, everything: bool = False) -> Iterator[str]:
    """The plan as lines of text; `everything` shows all domains."""
    for one in made.placed:
        leaves = np.flatnonzero(one.pods)
        if not len(leaves):
            yield f"{made.name} · {one.pod_set.name}: no pods to place, {one.pod_set.count} requested"
            continue
        level = made.snapshot.tree.common_level(leaves)
        where = _where(made.snapshot, leaves, level)
        hosts = number_of(len(leaves), "domain")
        yield f"{made.name} · {one.pod_set.name}: {number_of(int(one.pods.sum()), 'pod')} on {hosts}, {where}"
        yield f"  requested: {wording(one.pod_set.constraint)}"
        yield from _rows(made.snapshot, one, max(0, level), everything)
        yield f"  left: {number_of(int(one.after.sum()), 'pod')} like these would still fit in the cluster"
    if made.notes is not None:
        yield from (f"  {line}" for line in zone_lines(made.notes))


def _where(snapshot: Snapshot, leaves: IntArray, level: int) -> str:
    if level < 0:
        return "spread over several top-level domains"
    domain = snapshot.tree.ancestor(int(leaves[0]), level) if len(leaves) else 0
    return f"all in {'/'.join(snapshot.tree.path(level, domain))} ({snapshot.topology.levels[level]})"


@dataclass(frozen=True)
class PlanLine:
    """One domain: the job's pods, places that others use, places left."""

    label: str
    pods: int
    used: int
    left: int
    zones: str = ""


@dataclass(frozen=True)
class Sums:
    """Per level: the job's pods, places left, and places on empty nodes."""

    pods: list[IntArray]
    left: list[IntArray]
    empty: list[IntArray]


def _rows(snapshot: Snapshot, one: PlacedPodSet, start: int, everything: bool) -> Iterator[str]:
    sums = Sums(*(summed_up(snapshot.tree, column) for column in (one.pods, one.after, one.empty)))
    most = None if everything else MOST_LINES
    shown = {leaf: zones_of_pods(given) for leaf, given in one.zones.items()}
    lines = list(islice(_lines(snapshot, sums, shown, start, "", 0, snapshot.tree.size(start), top=True), most))
    hidden = sum(int(np.count_nonzero(pods)) for pods in sums.pods[start:]) - len(lines)
    width = max((len(line.label) for line in lines), default=0)
    for line in lines:
        drawn = bar([(OURS, line.pods), (USED, line.used), (FREE, line.left)])
        left = "full" if not line.left else f"{line.left} more fit"
        zones = f"  {line.zones}" if line.zones else ""
        yield f"  {line.label:<{width}}  {number_of(line.pods, 'pod'):>10}  {drawn}  {left}{zones}"
    if hidden:
        yield f"  … and {number_of(hidden, 'more domain')}; -o wide shows them all"


def _lines(
    snapshot: Snapshot,
    sums: Sums,
    zones: Mapping[int, str],
    level: int,
    indent: str,
    first: int,
    last: int,
    top: bool = False,
) -> Iterator[PlanLine]:
    """The domains first .. last of a level that the job uses, each followed by its children."""
    tree = snapshot.tree
    touched = (first + np.flatnonzero(sums.pods[level][first:last])).tolist()
    for domain in touched:
        end = domain == touched[-1]
        branch = "" if top else ("└─ " if end else "├─ ")
        name = "/".join(tree.path(level, domain)) if top else tree.values[level][domain]
        pods, left = int(sums.pods[level][domain]), int(sums.left[level][domain])
        used = max(0, int(sums.empty[level][domain]) - pods - left)
        is_leaf = level == snapshot.topology.lowest
        yield PlanLine(f"{indent}{branch}{name}", pods, used, left, zones.get(domain, "") if is_leaf else "")
        if level < snapshot.topology.lowest:
            below = indent if top else indent + ("   " if end else "│  ")
            children = tree.first[level][domain : domain + 2].tolist()
            yield from _lines(snapshot, sums, zones, level + 1, below, *children)
