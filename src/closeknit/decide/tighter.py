"""Waiting for a tighter placement: ours, behind the gate WaitForTighter.

A job that prefers one rack and would get three is often better off waiting a little. It waits only if it would fit
into one domain of the level it prefers once others have left, and never longer than the time that is set; then it
takes what there is.
"""

from __future__ import annotations

from ..model.assignment import Assignment
from ..queue.waiting import Waiting
from .topology import Ask, Placed, place_all
from .world import World


def waits_for_tighter(world: World, entry: Waiting, wanted: list[Ask], placed: Placed) -> Placed | None:
    """Why a workload that could be placed now waits all the same; None if it does not."""
    if "WaitForTighter" not in world.gates:
        return None
    loose = next((ask for ask in wanted if _spans(world, ask, placed) > 1), None)
    if loose is None:
        return None
    if entry.waits_since is None:
        entry.waits_since = world.now
    until = entry.waits_since + world.settings.wait_for_tighter
    if world.now >= until:
        return None
    best = place_all(world, wanted, empty=True)
    if not best.fits or _spans(world, loose, best) > 1:
        return None
    entry.waits_until = until
    level = loose.pod_set.constraint and loose.pod_set.constraint.preferred
    text = (
        f"placed now, its pods would be spread over {_spans(world, loose, placed)} domains of {level}; "
        f"it waits up to {world.settings.wait_for_tighter:g} s for one"
    )
    return Placed({}, loose.pod_set.name, text)


def _spans(world: World, ask: Ask, placed: Placed) -> int:
    """How many domains of the preferred level a pod set is spread over; 1 if it prefers none."""
    constraint = ask.pod_set.constraint
    snapshot = world.snapshot(ask.flavor)
    given: Assignment | None = placed.assignments.get(ask.pod_set.name)
    if constraint is None or constraint.preferred is None or snapshot is None or given is None:
        return 1
    level = snapshot.topology.level(constraint.preferred)
    if level is None:
        return 1
    leaves = snapshot.leaves(given.values)
    return len(set(snapshot.tree.ancestors(leaves[leaves >= 0], level).tolist()))
