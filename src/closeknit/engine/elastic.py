"""Resizing a running pod set: running pods stay where they are, and only the difference is placed.

Growth places the new pods beside the old ones; shrinking removes pods from the end. Both require that every domain of
the old assignment still exists; otherwise the whole group is placed again.
"""

from __future__ import annotations

from ..model.assignment import Assignment
from ..model.reason import Reason, Why, reason
from ..model.request import Constraint, PodSet
from ..state.snapshot import Snapshot
from .gang import assume, leader_assignment, leaves_of, merged, place_gang
from .gang_request import GangRequest
from .policy import Policy

Resized = tuple[Assignment, Assignment | None]


def resize(
    snapshot: Snapshot, workers: PodSet, leader: PodSet | None, policy: Policy, constraint: Constraint | None
) -> Resized | Reason | None:
    """The new assignments of workers and leader, the reason if there are none, or None if this is not a resize."""
    if "ElasticJobsViaWorkloadSlicesWithTAS" not in policy.gates or workers.previous is None:
        return None
    before = workers.previous
    held = None if leader is None else leader.previous
    if _stale(snapshot, before) or (held is not None and _stale(snapshot, held)):
        return None
    if workers.count > before.pods:
        return _grow(snapshot, workers, leader, policy, constraint)
    if leader is not None and held is None:
        return reason(Why.LEADER_WITHOUT_PREVIOUS, leader=leader.name, workers=workers.name)
    return _shrunk(before, workers.count), held


def _stale(snapshot: Snapshot, previous: Assignment) -> bool:
    return bool((snapshot.leaves(previous.values) < 0).any())


def _grow(
    snapshot: Snapshot, workers: PodSet, leader: PodSet | None, policy: Policy, constraint: Constraint | None
) -> Resized | Reason:
    """Reserve the room of the old pods while the new ones are placed; a leader that has a place keeps it."""
    before = workers.previous
    assert before is not None
    held = None if leader is None else leader.previous
    checkpoint = snapshot.checkpoint()
    assume(snapshot, before, workers)
    if leader is not None and held is not None:
        assume(snapshot, held, leader)
    new_leader = leader if held is None else None
    more = workers.count - before.pods
    placed = place_gang(GangRequest(snapshot, workers, new_leader, policy, more, constraint))
    snapshot.rollback(checkpoint)
    if isinstance(placed, Reason):
        return placed
    of_workers = merged(snapshot, [leaves_of(snapshot, before), (placed.at, placed.pods)])
    if leader is None:
        return of_workers, None
    return of_workers, held if held is not None else leader_assignment(snapshot, placed)


def _shrunk(before: Assignment, count: int) -> Assignment:
    """The first `count` pods, in order."""
    domains = []
    for path, pods in before.domains:
        kept = min(pods, count)
        if kept:
            domains.append((path, kept))
        count -= kept
    return Assignment.of(before.levels, domains)
