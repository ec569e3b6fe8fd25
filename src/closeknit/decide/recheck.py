"""The re-check: whether a plan made at the start of a cycle still fits after the turns before it.

Kueue counts the victims of the whole cycle as gone, and checks every pod set on every domain separately. The gate
VerifyBeforeAdmit is stricter for a workload that is to be admitted now: other workloads' victims still hold their room,
and pod sets that share a node are summed. In Kueue, pods without requests never have room; with the gate they need only
one of the node's `pods`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum, auto
from operator import attrgetter

import numpy as np

from ..engine.count import still_hold
from ..engine.fit import fit_of
from ..engine.gang import summed
from ..state.ledger import Holding
from ..state.mirror import Usage
from .entry import Entry
from .nominate import old_slice
from .topology import added_places
from .world import World


class RecheckVerdict(Enum):
    FITS = auto()
    NO_QUOTA = auto()
    NO_ROOM = auto()


def recheck(world: World, entry: Entry, gone: Iterable[Holding]) -> RecheckVerdict:
    """Whether the entry's plan fits with these workloads and its own victims gone.

    Their absence only adds room, so they are removed only if the plan does not fit without that.
    """
    leaving = {one.key: one for one in [*gone, *(victim.holding for victim in entry.victims)]}
    mark = world.checkpoint()
    try:
        if _lacks_quota(world, entry) and _lacks_quota_without(world, entry, leaving):
            return RecheckVerdict.NO_QUOTA
        wanted = added_places(world, entry.plan, entry.workload)
        if _room(world, wanted):
            return RecheckVerdict.FITS
        for holding in leaving.values():
            world.charge_places(holding, -1)
        return RecheckVerdict.FITS if leaving and _room(world, wanted) else RecheckVerdict.NO_ROOM
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
    return alone and ("VerifyBeforeAdmit" not in world.gates or _together(world, wanted)) and _obey(world, wanted)


def _has_room(world: World, place: Usage) -> bool:
    """Whether each domain has room for the pods that this place adds to it."""
    snapshot, paths = world.snapshot(place.flavor), place.assignment.values
    if not paths:
        return True
    if snapshot is None or not (place.shape.requests or "VerifyBeforeAdmit" in world.gates):
        return False
    leaves = np.fromiter((snapshot.tree.leaf_of.get(path, -1) for path in paths), dtype=np.int64, count=len(paths))
    if (leaves < 0).any():
        return False
    counts = np.array(place.assignment.counts, dtype=np.int64)
    return still_hold(snapshot, world.policy, place.shape, *summed(leaves, counts))


def _together(world: World, wanted: list[Usage]) -> bool:
    """Whether all places fit together, the nodes' limits of pods included."""
    mark, in_order = world.checkpoint(), sorted(wanted, key=attrgetter("turn"))
    try:
        world.add("", {}, in_order)
        return not any(_is_overfull(world, place) for place in wanted) and all(map(world.zoning.admits, in_order))
    finally:
        world.rollback(mark)


def _obey(world: World, wanted: list[Usage]) -> bool:
    """Whether rules about other pods hold for all places, with the pods of all of them in place."""
    if "AllPodFilters" not in world.gates or all(place.shape.rules is None for place in wanted):
        return True
    mark = world.checkpoint()
    try:
        world.add("", {}, wanted)
        return not any(_breaks_rules(world, place) for place in wanted)
    finally:
        world.rollback(mark)


def _breaks_rules(world: World, place: Usage) -> bool:
    snapshot = world.snapshot(place.flavor)
    assert snapshot is not None  # else the place alone had no room
    leaves = np.array([snapshot.tree.leaf_of[path] for path in place.assignment.values], dtype=np.int64)
    return len(leaves) > 0 and fit_of(snapshot, place.shape, None, world.policy).breaks_rules(leaves)


def _is_overfull(world: World, place: Usage) -> bool:
    snapshot = world.snapshot(place.flavor)
    assert snapshot is not None  # else the place alone had no room
    leaves = [snapshot.tree.leaf_of[path] for path in place.assignment.values]
    used = [snapshot.index[name] for name, amount in place.shape.charge if amount > 0 and name in snapshot.index]
    return bool((snapshot.remaining[np.ix_(used, leaves)] < 0).any())
