"""Placing a pod set replica by replica: each has the constraint of the pod set by itself, as if it were a job.

Replicas are equal, so those that require a level are placed one after the other without trying again: each takes as
much of a domain as any other would. Their places are listed replica by replica, so that the ranks of a replica are its
own places. Replicas that require a level and share a domain of it are listed in path order there, which divides the
domain between them without splitting a slice.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..model.assignment import Assignment, assignment_levels
from ..model.gates import Gates
from ..model.reason import Reason, Why, reason
from ..model.request import AUTO, Constraint, PodSet, Replicas
from ..state.snapshot import Snapshot
from ..state.table import BoolArray, IntArray
from .gang import assignment, merged, place_gang, stated
from .gang_request import GangRequest
from .policy import Policy
from .tally import tally_of

Part = tuple[IntArray, IntArray]
"""Leaves in path order and the pods of one replica on each."""


def replicas_in(constraint: Constraint | None, gates: Gates) -> Replicas | None:
    """The replicas that are placed one by one, if there are any."""
    return constraint.replicas if constraint is not None and "PlacementPerReplica" in gates else None


def place_replicas(
    snapshot: Snapshot, pod_set: PodSet, constraint: Constraint, replicas: Replicas, policy: Policy
) -> Assignment | Reason:
    """Places for every replica, or the reason why some find none; the snapshot is left unchanged."""
    level = apart_level(snapshot, replicas)
    if isinstance(level, Reason):
        return level
    parts: list[Part] = []
    inside = None if level is None else np.ones(snapshot.tree.leaves, dtype=np.int64)
    checkpoint = snapshot.checkpoint()
    try:
        for count in replicas.sizes(pod_set.count):
            placed = place_gang(GangRequest(snapshot, pod_set, None, policy, count, constraint.of_each, inside))
            if isinstance(placed, Reason):
                return _short(snapshot, pod_set, constraint, len(parts), placed)
            keep = placed.pods > 0
            part = placed.at[keep], placed.pods[keep]
            parts.append(part)
            snapshot.assume(*part, pod_set.shape.charge)
            if inside is not None and level is not None:
                leave_out(snapshot, level, part[0], inside)
    finally:
        snapshot.rollback(checkpoint)
    return listed(snapshot, constraint, replicas, parts)


def apart_level(snapshot: Snapshot, replicas: Replicas) -> int | Reason | None:
    """The level of which no two replicas share a domain; None if they may."""
    if replicas.apart is None:
        return None
    level = snapshot.topology.level(replicas.apart)
    return reason(Why.NO_LEVEL, level=replicas.apart) if level is None else level


def leave_out(snapshot: Snapshot, level: int, leaves: IntArray, inside: IntArray) -> None:
    """Exclude the domains of a level that have any of these leaves."""
    for domain in np.unique(snapshot.tree.ancestors(leaves, level)).tolist():
        inside[slice(*snapshot.tree.leaf_range(level, domain))] = 0


def listed(snapshot: Snapshot, constraint: Constraint, replicas: Replicas, parts: Sequence[Part]) -> Assignment:
    """The places of all replicas in the order of ranks: larger replicas first, then by path."""
    if _divides_domains(snapshot, constraint, replicas) and len({int(pods.sum()) for _, pods in parts}) == 1:
        return merged(snapshot, list(parts))
    ordered = sorted(parts, key=lambda part: (-int(part[1].sum()), part[0].tolist()))
    return Assignment.joined(
        assignment_levels(snapshot.topology), (assignment(snapshot, leaves, pods) for leaves, pods in ordered)
    )


def _divides_domains(snapshot: Snapshot, constraint: Constraint, replicas: Replicas) -> bool:
    """Whether all pods in a domain of the required level belong to replicas that are whole there, in any order."""
    required = None if constraint.required is None else snapshot.topology.level(constraint.required)
    if required is None:
        return False
    apart = None if replicas.apart is None else snapshot.topology.level(replicas.apart)
    return apart is None or apart <= required


def _short(snapshot: Snapshot, pod_set: PodSet, constraint: Constraint, placed: int, why: Reason) -> Reason:
    """Why no more than some of the replicas fit; a mistake in the request is a reason by itself."""
    replicas = constraint.replicas
    assert replicas is not None
    if why.why not in (Why.NO_ROOM, Why.NO_ROOM_FOR_LAYERS):
        return why
    each = "" if constraint.required in (None, AUTO) else f", each in one {constraint.required}"
    each += "" if replicas.apart is None else f", no two in the same {replicas.apart}"
    fits, need = why.values["fits"], why.values["need"]
    values = {
        "topology": snapshot.topology.name,
        "placed": placed,
        "total": len(replicas.sizes(pod_set.count)),
        "size": replicas.size,
        "each": each,
        "fits": fits,
        "need": need,
        "unit": why.values.get("unit", "slice"),
    }
    return Reason(Why.NO_ROOM_FOR_REPLICAS, values, why.leaves, why.excluded)


def replicas_fit(
    snapshot: Snapshot, pod_set: PodSet, constraint: Constraint, replicas: Replicas, policy: Policy
) -> bool | None:
    """Whether the replicas fit, by counts alone; None if only placing them can tell.

    Replicas that require a rack fit if racks hold enough of them: racks that hold 30, 23 and 12 pods hold 2, 1 and 1
    replicas of 12. Replicas apart need as many domains that hold one.
    """
    size = min(replicas.size, pod_set.count)
    asked = stated(GangRequest(snapshot, pod_set, None, policy, size, constraint.of_each))
    level = apart_level(snapshot, replicas)
    if isinstance(asked, Reason) or isinstance(level, Reason):
        return False
    wanted, fit = asked
    total, rest = divmod(pod_set.count, replicas.size)
    need = replicas.size // wanted.slicing.size
    if not need or wanted.balanced:
        return None
    slices = tally_of(fit, wanted.slicing).levels[wanted.ceiling].slices
    room = int((slices // need).sum() if wanted.bound else slices.sum() // need)
    if room < total:
        return False
    if level is None:
        return None if rest else True
    if not wanted.bound or level > wanted.ceiling:
        return None
    homes = snapshot.tree.ancestors(_first_leaves(snapshot, wanted.ceiling, slices >= need), level)
    apart = len(np.unique(homes)) >= total
    return apart if not rest or not apart else None


def _first_leaves(snapshot: Snapshot, level: int, among: BoolArray) -> IntArray:
    """The first leaf of each of these domains."""
    found: IntArray = np.flatnonzero(among)
    for first in snapshot.tree.first[level:]:
        found = first[found]
    return found
