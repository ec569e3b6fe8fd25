"""The re-check: whether a plan that was made at the start of a cycle still holds after others had their turn.

Kueue counts the victims of the whole cycle as gone, and looks at every pod set on every domain by itself. The gate
VerifyBeforeAdmit is stricter for whoever is to be admitted now: victims of others hold what they hold, and pod sets
that share a node are summed.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto

import numpy as np

from ..model.workload import Workload
from ..state.ledger import Holding
from ..state.mirror import Usage
from .entry import Entry
from .nominate import old_slice
from .topology import places
from .world import World


class Verdict(Enum):
    FITS = auto()
    NO_QUOTA = auto()
    NO_ROOM = auto()


def recheck(world: World, entry: Entry, gone: Iterable[Holding]) -> Verdict:
    """Whether the entry's plan fits with these workloads and its own victims gone."""
    mark = world.checkpoint()
    try:
        seen = set()
        for holding in [*gone, *(victim.holding for victim in entry.victims)]:
            if holding.key not in seen:
                seen.add(holding.key)
                world.take_away(holding)
        old = old_slice(world, entry.waiting)
        if old is not None and old.key not in seen:
            world.tree.remove(old.queue, old.usage)
        return _verdict(world, entry)
    finally:
        world.rollback(mark)


def _verdict(world: World, entry: Entry) -> Verdict:
    node = world.node_of(entry.queue)
    for fr, amount in entry.usage.items():
        if amount > max(0, node.available(fr)):
            return Verdict.NO_QUOTA
    wanted = places(world, entry.plan)
    alone = all(_has_room(world, entry.workload, place) for place in wanted)
    if not alone or ("VerifyBeforeAdmit" in world.gates and not _together(world, entry.workload, wanted)):
        return Verdict.NO_ROOM
    return Verdict.FITS


def _has_room(world: World, workload: Workload, place: Usage) -> bool:
    """Whether each domain has room for the pods that this place adds to it, places among pods not counted."""
    snapshot = world.snapshot(place.flavor)
    if not place.assignment.values:
        return True
    if snapshot is None or not place.shape.requests:
        return False
    added = _added(workload, place)
    leaves = np.fromiter((snapshot.tree.leaf_of.get(path, -1) for path in added), dtype=np.int64, count=len(added))
    counts = np.fromiter(added.values(), dtype=np.int64, count=len(added))
    if (leaves[counts > 0] < 0).any():
        return False
    for resource, amount in place.shape.requests:
        if amount <= 0:
            continue
        at = snapshot.index.get(resource)
        if at is None or (snapshot.remaining[at, leaves] // amount < counts).any():
            return not (counts > 0).any()
    return True


def _added(workload: Workload, place: Usage) -> dict[tuple[str, ...], int]:
    """Pods by domain beyond those that the workload has there already."""
    counts: dict[tuple[str, ...], int] = {}
    for path, count in place.assignment.domains:
        counts[path] = counts.get(path, 0) + count
    admission = workload.status.admission
    for one in () if admission is None or not workload.reserved else admission.pod_sets:
        part = workload.part(one.name)
        if one.topology is not None and part is not None and part.pod_set.shape is place.shape:
            for path, count in one.topology.domains:
                if path in counts:
                    counts[path] = max(0, counts[path] - count)
    return counts


def _together(world: World, workload: Workload, wanted: list[Usage]) -> bool:
    """Whether all places have room at once, places among a node's pods included."""
    mark = world.checkpoint()
    try:
        if workload.reserved:
            return True
        world.add("", {}, wanted)
        for place in wanted:
            snapshot = world.snapshot(place.flavor)
            if snapshot is None:
                return False
            leaves = [snapshot.tree.leaf_of[path] for path in place.assignment.values]
            used = [
                snapshot.index[name] for name, amount in place.shape.charge if amount > 0 and name in snapshot.index
            ]
            if (snapshot.remaining[np.ix_(used, leaves)] < 0).any():
                return False
        return True
    finally:
        world.rollback(mark)
