"""Replacing a failed node: its pods get other places, the other pods stay.

The new place must keep the constraint: pods of a required group stay in the domain of the survivors, and a broken slice
is completed where its other pods are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from dataclasses import replace as changed
from functools import partial

import numpy as np

from ..model.assignment import Assignment
from ..model.reason import Reason, Why, reason
from ..model.request import AUTO, Constraint, Layer, PodSet, Replicas
from ..state.snapshot import Snapshot
from ..state.table import IntArray
from .find import Spread
from .gang import leaves_of, merged, place_gang, summed
from .gang_request import GangRequest
from .place import PodSetOutcome, Result
from .policy import Policy
from .replicas import apart_level, leave_out, replicas_in


@dataclass(frozen=True, slots=True)
class Broken:
    """A pod set with its assignment, which includes a failed node; `allowed`, a 0/1 column over leaves, bounds it."""

    pod_set: PodSet
    existing: Assignment
    allowed: IntArray | None = None


def replace(snapshot: Snapshot, broken: list[Broken], node: str, policy: Policy, owned_by_pod: bool = False) -> Result:
    """New assignments for pod sets that lost `node`, given by hostname; each pod set separately, in order.

    A workload owned by one bare pod keeps its assignment: that pod is bound and will not move.
    """
    if owned_by_pod and "SkipReassignmentForPodOwnedWorkloads" in policy.gates:
        return Result(tuple(PodSetOutcome(one.pod_set, one.existing) for one in broken))
    checkpoint = snapshot.checkpoint()
    outcomes: list[PodSetOutcome] = []
    try:
        for one in broken:
            repair = partial(_replace_one, snapshot, node, changed(policy, empty=False))
            outcomes.append(by_replica(snapshot, one, {node}, policy, repair))
            if outcomes[-1].reason is not None:
                break
    finally:
        snapshot.rollback(checkpoint)
    return Result(tuple(outcomes))


def by_replica(
    snapshot: Snapshot,
    broken: Broken,
    nodes: Collection[str],
    policy: Policy,
    repair: Callable[[Broken], PodSetOutcome],
) -> PodSetOutcome:
    """Repair a pod set; where it is placed replica by replica, each that lost a node by itself.

    A replica keeps its ranks and the constraint of its own, and stays apart from the others.
    """
    pod_set, replicas = broken.pod_set, replicas_in(broken.pod_set.constraint, policy.gates)
    if replicas is None or pod_set.constraint is None:
        return repair(broken)
    runs = broken.existing.cut(replicas.size)
    one = changed(pod_set, constraint=pod_set.constraint.of_each)
    for number, run in enumerate(runs):
        if any(path[-1] in nodes for path in run.values):
            others = Assignment.joined(run.levels, runs[:number] + runs[number + 1 :])
            outcome = repair(Broken(one, run, _apart_from(snapshot, others, replicas)))
            if outcome.assignment is None:
                why = reason(Why.IN_REPLICA, number=number, reason=outcome.reason)
                return PodSetOutcome(pod_set, reason=why)
            runs[number] = outcome.assignment
    return PodSetOutcome(pod_set, Assignment.joined(broken.existing.levels, runs))


def _apart_from(snapshot: Snapshot, others: Assignment, replicas: Replicas) -> IntArray | None:
    """The leaves that a replica may use beside the others; None if it may use all."""
    level = apart_level(snapshot, replicas)
    if not isinstance(level, int):
        return None
    allowed = np.ones(snapshot.tree.leaves, dtype=np.int64)
    leave_out(snapshot, level, leaves_of(snapshot, others)[0], allowed)
    return allowed


def _replace_one(snapshot: Snapshot, node: str, policy: Policy, broken: Broken) -> PodSetOutcome:
    pod_set, existing = broken.pod_set, broken.existing
    lost = sum(count for path, count in existing.domains if path[-1] == node)
    kept = Assignment.of(existing.levels, ((path, n) for path, n in existing.domains if path[-1] != node))
    stale = np.flatnonzero(snapshot.leaves(kept.values) < 0)
    if len(stale):
        domain = kept.values[int(stale[0])][-1]
        return PodSetOutcome(pod_set, reason=reason(Why.STALE_ASSIGNMENT, domain=domain))
    leaves, counts = leaves_of(snapshot, kept)
    placed = _seek(snapshot, broken, policy, leaves, counts, lost)
    if isinstance(placed, Reason):
        return PodSetOutcome(pod_set, reason=placed)
    if not placed.pods.any():
        return PodSetOutcome(pod_set, reason=reason(Why.NO_REPLACEMENT, node=node))
    new = (placed.at, placed.pods)
    snapshot.assume(*new, pod_set.shape.charge)
    return PodSetOutcome(pod_set, merged(snapshot, [(leaves, counts), new]))


def _seek(
    snapshot: Snapshot, broken: Broken, policy: Policy, leaves: IntArray, counts: IntArray, lost: int
) -> Spread | Reason:
    """Find a place for the lost pods in the domain that they must not leave."""
    pod_set, constraint = broken.pod_set, broken.pod_set.constraint
    if constraint is not None and constraint.required == AUTO and "AutoLevel" in policy.gates and len(leaves):
        return _seek_upwards(snapshot, broken, policy, leaves, lost)
    home = _home(snapshot, constraint, leaves, counts, lost)
    if home is not None and constraint is not None and _breaks_slice(constraint, lost):
        constraint = changed(constraint, slices=_whole_layers(constraint.slices, lost))
    inside = _both(None if home is None else _inside(snapshot, *home), broken.allowed)
    return place_gang(GangRequest(snapshot, pod_set, None, policy, lost, constraint, inside))


def _both(one: IntArray | None, other: IntArray | None) -> IntArray | None:
    """The leaves that are in both columns."""
    if one is None or other is None:
        return other if one is None else one
    return one * other


def _seek_upwards(snapshot: Snapshot, broken: Broken, policy: Policy, leaves: IntArray, lost: int) -> Spread | Reason:
    """For the level `auto`: the lowest domain around the survivors that has room."""
    tree, placed, pod_set = snapshot.tree, None, broken.pod_set
    for level in range(snapshot.topology.lowest, -1, -1):
        domains = np.unique(tree.ancestors(leaves, level))
        if len(domains) > 1:
            continue
        low, high = tree.leaf_range(level, int(domains[0]))
        inside = np.zeros(tree.leaves, dtype=np.int64)
        inside[low:high] = 1
        allowed = _both(inside, broken.allowed)
        placed = place_gang(GangRequest(snapshot, pod_set, None, policy, lost, pod_set.constraint, allowed))
        if not isinstance(placed, Reason):
            break
    assert placed is not None, "a group that was placed whole has one domain at the top"
    return placed


def _breaks_slice(constraint: Constraint, lost: int) -> bool:
    return bool(constraint.slices) and lost % (constraint.slices[0].size or 1) != 0


def _whole_layers(slices: tuple[Layer, ...], lost: int) -> tuple[Layer, ...]:
    """Only the innermost layer whose size divides the number of lost pods; none if there is no such layer."""
    return next(((layer,) for layer in reversed(slices) if layer.size and lost % layer.size == 0), ())


def _home(
    snapshot: Snapshot, constraint: Constraint | None, leaves: IntArray, counts: IntArray, lost: int
) -> tuple[int, int] | None:
    """The domain (level, index) that the new pods must not leave; None for anywhere."""
    topology = snapshot.topology
    if constraint is None or not len(leaves):
        return None
    if _breaks_slice(constraint, lost):
        layer = next(layer for layer in reversed(constraint.slices) if layer.size and lost % layer.size)
        level = topology.level(layer.level)
        return None if level is None else _incomplete(snapshot, level, layer.size or 1, leaves, counts, lost)
    level = None if constraint.required is None else topology.level(constraint.required)
    return None if level is None else _named(snapshot, level, snapshot.tree.ancestor(int(leaves[0]), level))


def _incomplete(
    snapshot: Snapshot, level: int, size: int, leaves: IntArray, counts: IntArray, lost: int
) -> tuple[int, int] | None:
    """The first domain of a level whose pods together with the lost ones make whole chunks."""
    domains, held = summed(snapshot.tree.ancestors(leaves, level), counts)
    whole = domains[(held + lost) % size == 0]
    return _named(snapshot, level, int(whole[0])) if len(whole) else None


def _named(snapshot: Snapshot, level: int, domain: int) -> tuple[int, int] | None:
    """The domain, or None if its label at the top level is empty: such a domain bounds nothing."""
    return None if snapshot.tree.path(level, domain) == ("",) else (level, domain)


def _inside(snapshot: Snapshot, level: int, domain: int) -> IntArray:
    """The leaves below a domain as a 0/1 column.

    Kueue compares a bare hostname with full paths, so in a topology of several levels a host contains nothing.
    """
    column = np.zeros(snapshot.tree.leaves, dtype=np.int64)
    if level == snapshot.topology.lowest and snapshot.topology.ends_at_host and level > 0:
        return column
    low, high = snapshot.tree.leaf_range(level, domain)
    column[low:high] = 1
    return column
