"""`place`: the one entry point of placement.

It places the groups of a request in order, reserving what each group got before the next one, and leaves the snapshot
unchanged. It stops at the first group that does not fit: a gang is placed as a whole or not at all, and the outcome
names the pod set that failed and why. Only then are several pod sets searched for together (`together`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from ..model.assignment import Assignment, assignment_levels
from ..model.reason import Reason, Why, reason
from ..model.request import Constraint, Constraints, Group, PodSet, Replicas, Request
from ..state.snapshot import Snapshot
from .attraction import attracting_first, is_stranded
from .elastic import resize
from .fit import fit_of
from .gang import assume, holds, leader_assignment, leaves_of, place_gang, stated, worker_assignment
from .gang_request import GangRequest
from .policy import Policy
from .replicas import place_replicas, replicas_fit, replicas_in
from .together import NESTED, Steps, may_help, place_together, scarcest_first


@dataclass(frozen=True, slots=True)
class PodSetOutcome:
    """The outcome for one pod set: an assignment, or the reason why there is none."""

    pod_set: PodSet
    assignment: Assignment | None = None
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """Outcomes in the order of placement; pod sets after the first failure have none."""

    outcomes: tuple[PodSetOutcome, ...]

    @property
    def fits(self) -> bool:
        return all(outcome.reason is None for outcome in self.outcomes)

    @property
    def reason(self) -> Reason | None:
        return next((outcome.reason for outcome in self.outcomes if outcome.reason is not None), None)


def place(snapshot: Snapshot, request: Request, policy: Policy, steps: Steps | None = None) -> Result:
    """Place every pod of the request, or return why that is impossible.

    Pod sets that do not fit in order are searched for together; `steps` bounds that over several calls.
    """
    result = _in_order(snapshot, request, policy)
    if result.reason is not None and result.reason.why is Why.RULES_AGAINST_EACH_OTHER:
        reverse = _in_order(snapshot, Request(request.groups[::-1]), policy)
        return Result(tuple(sorted(reverse.outcomes, key=_position(request)))) if reverse.fits else result
    if result.reason is None or not may_help(request, result.reason, policy):
        return result
    other = scarcest_first(snapshot, request, policy)
    again = result if other == request else _in_order(snapshot, other, policy)
    if again.fits:
        return Result(tuple(sorted(again.outcomes, key=_position(request))))
    found = place_together(snapshot, request, policy, Steps() if steps is None else steps)
    if found is None:
        return _not_found(request, result) if result.reason.why in NESTED else result
    nothing = Assignment(assignment_levels(snapshot.topology), (), ())
    return Result(tuple(PodSetOutcome(one, found.get(one.name, nothing)) for one in request.pod_sets))


def _not_found(request: Request, result: Result) -> Result:
    """The result for a tree that only the search can place, and has not."""
    failed = next(one.pod_set for one in result.outcomes if one.reason is not None)
    group = next(group for group in request.groups if any(one is failed for one in group.pod_sets))
    detail = f"no places were found for the {sum(one.count for one in group.pod_sets)} pods together"
    return Result((PodSetOutcome(failed, reason=reason(Why.GROUP_DOES_NOT_FIT, group=_label(group), detail=detail)),))


def _position(request: Request) -> Callable[[PodSetOutcome], int]:
    """The place of an outcome in the order of the request."""
    order = {one.name: number for number, one in enumerate(request.pod_sets)}
    return lambda outcome: order[outcome.pod_set.name]


def _in_order(snapshot: Snapshot, request: Request, policy: Policy) -> Result:
    """Place group after group."""
    checkpoint = snapshot.checkpoint()
    outcomes: list[PodSetOutcome] = []
    groups = attracting_first(snapshot, request.groups, policy)
    sets = list(request.pod_sets)
    is_ruled = len(sets) > 1 and any(policy.seen(one.shape).rules is not None for one in sets)
    try:
        for group in groups:
            placed = _place_group(snapshot, group, policy)
            outcomes += placed
            if any(outcome.reason is not None for outcome in placed):
                break
            if group is not groups[-1] or is_ruled:
                _reserve(snapshot, placed)
        else:
            outcomes = [_checked(snapshot, outcome, policy) for outcome in outcomes] if is_ruled else outcomes
    finally:
        snapshot.rollback(checkpoint)
    if is_ruled:
        places = [(one.pod_set, one.assignment) for one in outcomes if one.assignment is not None]
        outcomes = [_against(one) if is_stranded(snapshot, one.pod_set, places, policy) else one for one in outcomes]
    return Result(tuple(outcomes))


def _checked(snapshot: Snapshot, outcome: PodSetOutcome, policy: Policy) -> PodSetOutcome:
    """The outcome, unless rules about other pods fail now that all are placed: pods are bound in any order."""
    shape = policy.seen(outcome.pod_set.shape)
    if shape.rules is None or outcome.assignment is None:
        return outcome
    leaves, _ = leaves_of(snapshot, outcome.assignment)
    if not len(leaves) or not fit_of(snapshot, outcome.pod_set.shape, None, policy).breaks_rules(leaves):
        return outcome
    return _against(outcome)


def _against(outcome: PodSetOutcome) -> PodSetOutcome:
    return PodSetOutcome(outcome.pod_set, reason=reason(Why.RULES_AGAINST_EACH_OTHER, pod_set=outcome.pod_set.name))


def has_room(snapshot: Snapshot, request: Request, policy: Policy, steps: Steps | None = None) -> bool:
    """Whether `place` would place everything; where counts prove the answer, nothing is placed."""
    for group in request.groups:
        known = _counted(snapshot, group, policy)
        if known is False:
            return False
        if known and len(request.groups) == 1:
            return True
    return place(snapshot, request, policy, steps).fits


def _counted(snapshot: Snapshot, group: Group, policy: Policy) -> bool | None:
    """Whether a group fits by counts alone; None if only placing it can tell."""
    found = roles(group)
    if isinstance(found, Reason) or any(one.count == 0 or one.previous is not None for one in group.pod_sets):
        return None
    workers, leader, constraint = found
    asked = GangRequest(snapshot, workers, leader, policy, workers.count, constraint)
    if asked.has_rules:
        return None
    replicas = replicas_in(constraint, policy.gates)
    if replicas is not None and constraint is not None:
        return replicas_fit(snapshot, workers, constraint, replicas, policy) if leader is None else False
    found_fit = stated(asked)
    if isinstance(found_fit, Reason):
        return False
    wanted, fit = found_fit
    return None if wanted.balanced else holds(wanted, fit, workers.count)


def _place_group(snapshot: Snapshot, group: Group, policy: Policy) -> list[PodSetOutcome]:
    """Place one group; pod sets without pods get an empty assignment and are otherwise ignored."""
    empty = [one for one in group.pod_sets if one.count == 0]
    if empty:
        nothing = Assignment(assignment_levels(snapshot.topology), (), ())
        rest = group.keeping({one.name: one for one in group.pod_sets if one.count})
        others = [] if rest is None else _place_group(snapshot, rest, policy)
        return others + [PodSetOutcome(one, nothing) for one in empty]
    found = roles(group)
    if isinstance(found, Reason):
        return [PodSetOutcome(pod_set, reason=found) for pod_set in group.pod_sets]
    workers, leader, constraint = found
    replicas = replicas_in(constraint, policy.gates)
    if replicas is not None:
        return [_by_replica(snapshot, group, found, replicas, policy)]
    resized = resize(snapshot, workers, leader, policy, constraint)
    if isinstance(resized, Reason):
        return [PodSetOutcome(workers, reason=resized)]
    if resized is not None:
        return _outcomes(workers, leader, *resized)
    placed = place_gang(GangRequest(snapshot, workers, leader, policy, workers.count, constraint))
    if isinstance(placed, Reason):
        return [PodSetOutcome(pod_set, reason=placed) for pod_set in group.pod_sets]
    of_leader = None if leader is None else leader_assignment(snapshot, placed)
    return _outcomes(workers, leader, worker_assignment(snapshot, placed), of_leader)


def _by_replica(snapshot: Snapshot, group: Group, found: Roles, replicas: Replicas, policy: Policy) -> PodSetOutcome:
    workers, leader, constraint = found
    assert constraint is not None
    if leader is not None:
        return PodSetOutcome(workers, reason=reason(Why.PAIR_WITH_REPLICAS, group=_label(group)))
    placed = place_replicas(snapshot, workers, constraint, replicas, policy)
    if isinstance(placed, Reason):
        return PodSetOutcome(workers, reason=placed)
    return PodSetOutcome(workers, placed)


def _outcomes(
    workers: PodSet, leader: PodSet | None, of_workers: Assignment, of_leader: Assignment | None
) -> list[PodSetOutcome]:
    outcomes = [PodSetOutcome(workers, of_workers)]
    return outcomes if leader is None else [*outcomes, PodSetOutcome(leader, of_leader)]


class Roles(NamedTuple):
    """A group as it is searched for: workers, optionally a leader, and the one constraint on both."""

    workers: PodSet
    leader: PodSet | None
    constraint: Constraint | None


def roles(group: Group) -> Roles | Reason:
    """Split a group: the smaller pod set is the leader, the second if both are equal.

    The constraint is the workers' or the group's. A tree that is not supported yet, with nested groups or nested
    constraints, gives a reason.
    """
    match group.members:
        case (PodSet() as only,):
            workers, leader = only, None
        case (PodSet() as one, PodSet() as other):
            workers, leader = (other, one) if one.count < other.count else (one, other)
        case _ if group.depth > 1:
            return reason(Why.DEEP_GROUP, group=_label(group), depth=group.depth)
        case _:
            return reason(Why.NO_PAIR, group=_label(group))
    above, own = group.constraint, workers.constraint
    constraint = own if above is None else sole(workers.name, (above,) if own is None else (above, own))
    return constraint if isinstance(constraint, Reason) else Roles(workers, leader, constraint)


def sole(pod_set: str, constraints: Constraints) -> Constraint | Reason | None:
    """The only constraint on a pod set, or the reason if there are several."""
    if len(constraints) > 1:
        return reason(Why.NESTED_CONSTRAINT, pod_set=pod_set, count=len(constraints))
    return constraints[0] if constraints else None


def _label(group: Group) -> str:
    return group.name or "of " + ", ".join(one.name for one in group.pod_sets)


def _reserve(snapshot: Snapshot, placed: list[PodSetOutcome]) -> None:
    for outcome in placed:
        if outcome.assignment is not None:
            assume(snapshot, outcome.assignment, outcome.pod_set)
