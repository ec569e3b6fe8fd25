"""The re-check: whether a plan that was made at the start of a cycle still holds after others had their turn.

Kueue counts the victims of the whole cycle as gone, and looks at every pod set on every domain by itself. The gate
VerifyBeforeAdmit is stricter for whoever is to be admitted now: victims of others hold what they hold, and pod sets
that share a node are summed. Pods that request nothing never have room in Kueue; with the gate a place is enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum, auto

import numpy as np

from ..engine.count import still_hold
from ..state.ledger import Holding
from ..state.mirror import Usage
from .entry import Entry
from .nominate import old_slice
from .topology import added_places
from .world import World


class Verdict(Enum):
    FITS = auto()
    NO_QUOTA = auto()
    NO_ROOM = auto()


def recheck(world: World, entry: Entry, gone: Iterable[Holding]) -> Verdict:
    """Whether the entry's plan fits with these workloads and its own victims gone.

    With them gone there is only more of everything, so they are not taken away where all fits as things are.
    """
    leaving = {one.key: one for one in [*gone, *(victim.holding for victim in entry.victims)]}
    mark = world.checkpoint()
    try:
        if _lacks_quota(world, entry) and _lacks_quota_without(world, entry, leaving):
            return Verdict.NO_QUOTA
        wanted = added_places(world, entry.plan, entry.workload)
        if _room(world, wanted):
            return Verdict.FITS
        for holding in leaving.values():
            world.charge_places(holding, -1)
        return Verdict.FITS if leaving and _room(world, wanted) else Verdict.NO_ROOM
    finally:
        world.rollback(mark)


def _lacks_quota_without(world: World, entry: Entry, leaving: Mapping[str, Holding]) -> bool:
    for holding in leaving.values():
        world.tree.remove(holding.queue, holding.usage)
    old = old_slice(world, entry.waiting)
    if old is not None and old.key not in leaving:
        world.tree.remove(old.queue, old.usage)
    return _lacks_quota(world, entry)


def _lacks_quota(world: World, entry: Entry) -> bool:
    node = world.node_of(entry.queue)
    return any(amount > max(0, node.available(fr)) for fr, amount in entry.usage.items())


def _room(world: World, wanted: list[Usage]) -> bool:
    alone = all(_has_room(world, place) for place in wanted)
    return alone and ("VerifyBeforeAdmit" not in world.gates or _together(world, wanted))


def _has_room(world: World, place: Usage) -> bool:
    """Whether each domain has room for the pods that this place adds to it."""
    snapshot, paths = world.snapshot(place.flavor), place.assignment.values
    if not paths:
        return True
    if snapshot is None or not (place.shape.requests or "VerifyBeforeAdmit" in world.gates):
        return False
    leaves = np.fromiter((snapshot.tree.leaf_of.get(path, -1) for path in paths), dtype=np.int64, count=len(paths))
    counts = np.array(place.assignment.counts, dtype=np.int64)
    if (leaves < 0).any():
        return False
    return still_hold(snapshot, world.policy, place.shape, leaves, counts)


def _together(world: World, wanted: list[Usage]) -> bool:
    """Whether all places have room at once, places among a node's pods included."""
    mark = world.checkpoint()
    try:
        world.add("", {}, wanted)
        return not any(_is_overfull(world, place) for place in wanted)
    finally:
        world.rollback(mark)


def _is_overfull(world: World, place: Usage) -> bool:
    snapshot = world.snapshot(place.flavor)
    assert snapshot is not None  # or it had no room by itself
    leaves = [snapshot.tree.leaf_of[path] for path in place.assignment.values]
    used = [snapshot.index[name] for name, amount in place.shape.charge if amount > 0 and name in snapshot.index]
    return bool((snapshot.remaining[np.ix_(used, leaves)] < 0).any())
