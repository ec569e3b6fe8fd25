"""Waiting for a tighter placement (our gate WaitForTighter).

A job that prefers one rack and would get three is often better off waiting a little. It waits only if one domain of the
preferred level would hold it in an empty cluster, and at most for the configured time; then it takes what is free.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..queue.pending_workload import PendingWorkload
from .topology import TopologyResult, Wanted, place_all
from .world import World


def waits_for_tighter(
    world: World, entry: PendingWorkload, wanted: Wanted, placed: TopologyResult
) -> TopologyResult | None:
    """Why a workload that could be placed now waits for a tighter placement; None if it does not."""
    if "WaitForTighter" not in world.gates:
        return None
    loose = next((one for one in _preferring(wanted) if _spans(world, one, placed) > 1), None)
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
    text = (
        f"placed now, its pods would be spread over {_spans(world, loose, placed)} domains of {loose.level}; "
        f"it waits up to {world.settings.wait_for_tighter:g} s for one"
    )
    return TopologyResult({}, loose.pod_set, text)


class _Preferring(NamedTuple):
    """A pod set that prefers one domain of a level."""

    flavor: str
    pod_set: str
    level: str


def _preferring(wanted: Wanted) -> Iterator[_Preferring]:
    for flavor, request in wanted.items():
        for pod_set, constraints in request.walk():
            for one in constraints:
                if one.preferred is not None and one.replicas is None:
                    yield _Preferring(flavor, pod_set.name, one.preferred)


def _spans(world: World, one: _Preferring, placed: TopologyResult) -> int:
    """How many domains of the level a pod set is spread over; 1 if the topology does not have the level."""
    snapshot, given = world.snapshot(one.flavor), placed.assignments.get(one.pod_set)
    level = None if snapshot is None else snapshot.topology.level(one.level)
    if snapshot is None or given is None or level is None:
        return 1
    leaves = snapshot.leaves(given.values)
    return len(set(snapshot.tree.ancestors(leaves[leaves >= 0], level).tolist()))
