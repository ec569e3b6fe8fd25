"""Placement inside a cycle: every pod set that got a flavor with a topology also needs places there.

The workload's own request is placed, with counts and shapes as they are in the flavor. If a workload gets several
flavors, each has the part of the request tree that is placed there.
Flavors are processed in the order of their names. Where flavors end at the host and share hosts, what one pod set gets
is reserved in all of them before the next one is placed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from ..engine.fit import passing
from ..engine.place import Result, has_room, place, sole
from ..engine.policy import Policy
from ..engine.replace import Broken
from ..engine.replace import replace as replace_node
from ..engine.several import replace_several
from ..engine.together import Steps
from ..model.assignment import Assignment
from ..model.cluster_queue import ClusterQueue
from ..model.flavor import Flavor
from ..model.gates import Gates
from ..model.reason import Reason
from ..model.request import Constraints, PodSet, Request
from ..model.shape import Shape, Taint, Toleration
from ..model.topology import Path
from ..model.workload import PodSetAssignment, PodSetUpdate, Workload
from ..state.ledger import Holding
from ..state.mirror import Usage
from ..state.snapshot import Snapshot
from ..state.table import BoolArray
from .activity import MULTIKUEUE, PROVISIONING
from .flavors import FlavorQuery, topology_only
from .plan import Plan, PodSetPlan
from .world import World

Wanted = Mapping[str, Request]
"""What has to be placed, by flavor."""


@dataclass(frozen=True, slots=True)
class TopologyResult:
    """Where the pods of each pod set go, or which pod set failed and why."""

    assignments: Mapping[str, Assignment]
    failed: str = ""
    reason: str = ""

    @property
    def fits(self) -> bool:
        return not self.failed


NOWHERE = TopologyResult({})


def asks(query: FlavorQuery, workload: Workload, plan: Plan) -> Wanted | TopologyResult:
    """What has to be placed now; pod sets whose placement waits for a check are marked as delayed instead."""
    world = query.world
    if "TopologyAwareScheduling" not in world.gates:
        return {}
    found: dict[str, list[PodSet]] = {}
    for one in plan.pod_sets:
        if one.demand.count == 0 or not _wants_place(query, one):
            continue
        flavors = _flavors_of(world, workload.request, plan, one)
        if len(flavors) != 1:
            names = ", ".join(flavors)
            text = f"more than one TAS flavor assigned: {names}" if flavors else "no TAS flavor assigned"
            return TopologyResult({}, one.name, text)
        name = flavors[0]
        if is_delayed(world, query.queue, workload, name):
            one.delayed = "Pending"
            continue
        pod_set = one.demand.pod_set
        conflict = _conflict(pod_set, updates_of(workload, one.name))
        if conflict is not None:
            return TopologyResult({}, one.name, f"invalid podSetUpdate for PodSet {one.name}, error: {conflict}")
        if query.old is not None and "ElasticJobsViaWorkloadSlicesWithTAS" in world.gates:
            refused = _not_elastic(workload.request.constraints(one.name))
            if refused is not None:
                return TopologyResult({}, one.name, refused)
            pod_set = replace(pod_set, previous=_given(query.old.workload, one.name))
        found.setdefault(name, []).append(pod_set_in(world, workload, pod_set, one.demand.count, name))
    return wanted_of(workload.request, found)


def wanted_of(request: Request, sets: Mapping[str, Iterable[PodSet]]) -> Wanted:
    """The part of a request that is placed in each flavor, with its pod sets as they are there."""
    return {flavor: request.keeping({one.name: one for one in listed}) for flavor, listed in sets.items()}


def delayed(wanted: Wanted, plan: Plan) -> Wanted:
    """The part whose placement was delayed by a check."""
    late = {one.name for one in plan.pod_sets if one.delayed == "Pending"}
    sets = ((flavor, [one for one in request.pod_sets if one.name in late]) for flavor, request in wanted.items())
    return {flavor: wanted[flavor].keeping({one.name: one for one in listed}) for flavor, listed in sets if listed}


def names_of(wanted: Wanted) -> list[str]:
    return [one.name for request in wanted.values() for one in request.pod_sets]


def _not_elastic(constraints: Constraints) -> str | None:
    """Why an elastic pod set cannot have these constraints: it keeps its places, so it may outgrow a level."""
    for kind in ("required", "preferred"):
        if any(getattr(one, kind) is not None for one in constraints):
            return f"{kind} topology is not supported with ElasticJobsViaWorkloadSlices"
    if any(one.replicas is not None for one in constraints):
        return "placement per replica is not supported with ElasticJobsViaWorkloadSlices"
    return None


def updates_of(workload: Workload, name: str) -> tuple[PodSetUpdate, ...]:
    """What ready checks add to the pods of a pod set."""
    ready = (check for check in workload.status.checks if check.state == "Ready")
    return tuple(update for check in ready for update in check.updates if update.name == name)


def _conflict(pod_set: PodSet, updates: tuple[PodSetUpdate, ...]) -> str | None:
    """A node selector that the pod set and an update set differently."""
    selector = dict(pod_set.shape.selector)
    for update in updates:
        for key, value in update.selector.items():
            if selector.setdefault(key, value) != value:
                return f"nodeSelector {key} is {selector[key]} and {value}"
    return None


def pod_set_in(world: World, workload: Workload, pod_set: PodSet, count: int, flavor: str) -> PodSet:
    """A pod set as it will be in this flavor: with the flavor's tolerations, what ready checks add, and its end."""
    shape = shape_in(pod_set.shape, world.flavors[flavor], updates_of(workload, pod_set.name))
    windows = world.clear_of(workload)
    if windows:
        shape = _ending_before(shape, windows)
    if pod_set.shape.kind is not None:
        shape = shape.ruled(pod_set.shape.rules, pod_set.shape.kind)
        shape = world.ruled(shape, (one.shape for one in workload.request.pod_sets))
    if shape is not pod_set.shape or count != pod_set.count:
        return replace(pod_set, shape=shape, count=count)
    return pod_set


def shape_in(shape: Shape, flavor: Flavor, updates: tuple[PodSetUpdate, ...]) -> Shape:
    if not flavor.tolerations and not updates:
        return shape
    tolerations = tuple(one for update in updates for one in update.tolerations) + flavor.tolerations
    selector = tuple(sorted((key, value) for update in updates for key, value in update.selector.items()))
    return _widened(shape, tolerations, selector)


@lru_cache(maxsize=4096)
def _widened(shape: Shape, tolerations: tuple[Toleration, ...], selector: tuple[tuple[str, str], ...]) -> Shape:
    both = tuple(sorted({**dict(shape.selector), **dict(selector)}.items()))
    return replace(shape, tolerations=shape.tolerations + tolerations, selector=both)


@lru_cache(maxsize=4096)
def _ending_before(shape: Shape, windows: tuple[Taint, ...]) -> Shape:
    """The shape of pods that are sure to end before these maintenance windows begin."""
    return replace(shape, clear_of=windows)


def _wants_place(query: FlavorQuery, one: PodSetPlan) -> bool:
    return bool(query.request.constraints(one.name)) or topology_only(query)


def _flavors_of(world: World, request: Request, plan: Plan, one: PodSetPlan) -> list[str]:
    """Its flavors that have a topology; a pod set that requests nothing shares those of its group."""
    members = [one]
    if not one.flavors:
        names = request.beside(one.name)
        members = [other for other in plan.pod_sets if other.name in names]
    chosen = {choice.flavor for member in members for choice in member.flavors.values()}
    return sorted(name for name in chosen if name in world.views)


def is_delayed(world: World, queue: ClusterQueue, workload: Workload, flavor: str) -> bool:
    """Whether placement comes after quota: nodes are yet to be provisioned, or are in another cluster."""
    if workload.reserved:
        return False
    for rule in queue.checks:
        check = world.checks.get(rule.name)
        if check is None:
            continue
        if check.controller == MULTIKUEUE:
            return True
        if check.controller == PROVISIONING and (not rule.flavors or flavor in rule.flavors):
            return True
    return False


def place_all(world: World, wanted: Wanted, empty: bool = False) -> TopologyResult:
    """Places for all of these; the world is left unchanged."""
    if not wanted:
        return NOWHERE
    policy = world.policy.on_empty() if empty else world.policy
    if len(wanted) == 1:
        flavor, request = next(iter(wanted.items()))
        return _place_in(world, flavor, request, policy)
    return _place_across(world, wanted, policy)


def _place_in(world: World, flavor: str, request: Request, policy: Policy) -> TopologyResult:
    """Places in one flavor; many heads ask for the same on the same nodes, so answers are cached."""
    snapshot = world.snapshot(flavor)
    assert snapshot is not None
    answers = snapshot.when_empty if policy.empty else snapshot.answers
    outside = snapshot.neighbours.outside if any(one.shape.rules is not None for one in request.pod_sets) else 0
    question = (outside, request, policy) if policy.empty else (outside, snapshot.state, request, policy)
    known: TopologyResult | None = answers.get(question)
    if known is None:
        known = _placed(place(snapshot, request, policy))
        if len(answers) > snapshot.shapes:
            answers.clear()
        answers[question] = known
    return known


def _placed(result: Result) -> TopologyResult:
    for outcome in result.outcomes:
        if outcome.reason is not None:
            return TopologyResult({}, outcome.pod_set.name, str(outcome.reason))
    return TopologyResult({one.pod_set.name: one.assignment for one in result.outcomes if one.assignment is not None})


class RoomTest:
    """A repeatable test of whether a request could be placed now.

    `concerns` selects workloads on nodes that at least one of the pods may use.
    """

    def __init__(self, world: World, wanted: Wanted) -> None:
        self.world, self.wanted = world, wanted
        self.flavor = next(iter(wanted)) if len(wanted) == 1 else ""
        self.policy = world.policy
        self._steps = Steps()
        """Shared by all tests: a search for victims tests often, and most tests fail."""
        self._passing: BoolArray | None = None
        self._concerns: dict[Holding, bool] = {}

    def __call__(self) -> bool:
        if not self.wanted:
            return True
        snapshot = self.world.snapshot(self.flavor)
        if snapshot is None:
            return place_all(self.world, self.wanted).fits
        return has_room(snapshot, self.wanted[self.flavor], self.policy, self._steps)

    def concerns(self, holding: Holding) -> bool:
        known = self._concerns.get(holding)
        if known is None:
            known = self._concerns[holding] = self._may_use_room_of(holding)
        return known

    def _may_use_room_of(self, holding: Holding) -> bool:
        snapshot = self.world.snapshot(self.flavor)
        if snapshot is None:
            return bool(self.wanted)
        if self._passing is None:
            shapes = [one.shape for one in self.wanted[self.flavor].pod_sets]
            self._passing = passing(snapshot, shapes, self.policy)
        may_hold = self._passing
        return any(may_hold[leaves].any() for leaves, _ in self.world.leaves_in(holding, self.flavor))


def _place_across(world: World, wanted: Wanted, policy: Policy) -> TopologyResult:
    mark = world.checkpoint()
    assignments: dict[str, Assignment] = {}
    try:
        for flavor in sorted(wanted):
            placed = _place_in(world, flavor, wanted[flavor], policy)
            if not placed.fits:
                return placed
            assignments.update(placed.assignments)
            for pod_set in wanted[flavor].pod_sets:
                _reserve(world, flavor, pod_set, placed.assignments[pod_set.name])
    finally:
        world.rollback(mark)
    return TopologyResult(assignments)


def _reserve(world: World, flavor: str, pod_set: PodSet, given: Assignment) -> None:
    """Show what a pod set got on hosts to the flavors that are placed after this one."""
    if given.by_host and world.mirror.share_hosts:
        world.mirror.reserve(Usage(given, pod_set.shape, flavor))


def replace_all(world: World, workload: Workload, plan: Plan) -> TopologyResult:
    """New places for the pods of a failed node; pod sets that did not use it keep theirs."""
    admission = workload.status.admission
    assert admission is not None
    lost = set(workload.status.unhealthy)
    by_flavor: dict[str, list[Broken]] = {}
    settled: dict[str, Assignment] = {}
    for one in plan.pod_sets:
        existing = next((given for given in admission.pod_sets if given.name == one.name), None)
        if existing is None or existing.topology is None or not _uses(existing.topology, lost):
            continue
        needed = _still_needed(world.gates, workload, existing, existing.topology, lost)
        if not _uses(needed, lost):
            settled[one.name] = needed
            continue
        flavor = next((name for name in sorted(set(existing.flavors.values())) if name in world.views), None)
        if flavor is not None:
            constraint = sole(one.name, workload.request.constraints(one.name))
            if isinstance(constraint, Reason):
                return TopologyResult({}, one.name, str(constraint))
            pod_set = pod_set_in(world, workload, one.demand.pod_set, existing.count, flavor)
            by_flavor.setdefault(flavor, []).append(Broken(replace(pod_set, constraint=constraint), needed))
    mark = world.checkpoint()
    try:
        placed = _replaced_across(world, workload, by_flavor)
    finally:
        world.rollback(mark)
    return replace(placed, assignments={**settled, **placed.assignments}) if placed.fits else placed


def _still_needed(
    gates: Gates, workload: Workload, given: PodSetAssignment, places: Assignment, lost: set[str]
) -> Assignment:
    """The places of a pod set without those on lost hosts that its unfinished pods do not need.

    Example: 8 pods on a×3 b×3 c×2, 6 of them finished, c lost: the 2 remaining pods have room on a×3 b×3. A pod set
    with slices or replicas keeps all its places, because pods that move into the places of another slice would break
    their own.
    """
    pod_set, done = workload.pod_set(given.name), workload.status.reclaimable.get(given.name, 0)
    kept = sum(count for path, count in places.domains if path[-1] not in lost)
    divided = any(one.slices or one.replicas for one in workload.request.constraints(given.name))
    if "ReuseFinishedPlaces" not in gates or pod_set is None or divided or not done or not kept:
        return places
    missing = max(0, min(given.count, pod_set.count - done) - kept)
    domains: list[tuple[Path, int]] = []
    for path, count in places.domains:
        if path[-1] in lost:
            count = min(count, missing)
            missing -= count
        if count:
            domains.append((path, count))
    return Assignment.of(places.levels, domains)


def _replaced_across(world: World, workload: Workload, by_flavor: Mapping[str, list[Broken]]) -> TopologyResult:
    """Replace flavor by flavor; with OneLedgerForOverlappingFlavors, places taken in one count in the others."""
    assignments: dict[str, Assignment] = {}
    for flavor in sorted(by_flavor):
        snapshot = world.snapshot(flavor)
        assert snapshot is not None
        existing = {one.pod_set.name: one.existing for one in by_flavor[flavor]}
        for outcome in _replaced(world, snapshot, workload, by_flavor[flavor]).outcomes:
            if outcome.reason is not None or outcome.assignment is None:
                return TopologyResult({}, outcome.pod_set.name, str(outcome.reason))
            name = outcome.pod_set.name
            assignments[name] = outcome.assignment
            if "OneLedgerForOverlappingFlavors" in world.gates:
                _reserve(world, flavor, outcome.pod_set, outcome.assignment.beyond(existing[name]))
    return TopologyResult(assignments)


def _replaced(world: World, snapshot: Snapshot, workload: Workload, broken: list[Broken]) -> Result:
    """Replace all failed nodes at once, or only the first one as Kueue does."""
    policy, nodes = world.policy, workload.status.unhealthy
    if "ReplaceSeveralNodes" in world.gates and not workload.owned_by_pod:
        return replace_several(snapshot, broken, nodes, policy)
    return replace_node(snapshot, broken, nodes[0], policy, workload.owned_by_pod)


def _uses(given: Assignment, lost: set[str]) -> bool:
    return any(path[-1] in lost for path in given.values)


def added_places(world: World, plan: Plan, workload: Workload) -> list[Usage]:
    """What a plan would take on the nodes beyond what each pod set already has there."""
    beside = [one.shape for one in workload.request.pod_sets]
    turns = {one.name: turn for turn, one in enumerate(workload.request.in_start_order)}
    return [
        Usage(added, world.ruled(one.demand.pod_set.shape, beside), flavor, one.name, workload.key, world.now, turn)
        for one in plan.pod_sets
        for turn in [turns[one.name]]
        if one.topology is not None
        for given in [_given(workload, one.name)]
        for added in [one.topology if given is None else one.topology.beyond(given)]
        for flavor in _flavors_of(world, workload.request, plan, one)
    ]


def _given(workload: Workload, name: str) -> Assignment | None:
    """The current assignment of a pod set, if the workload holds quota."""
    admission = workload.status.admission if workload.reserved else None
    sets = () if admission is None else admission.pod_sets
    return next((one.topology for one in sets if one.name == name), None)
