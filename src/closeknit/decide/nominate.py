"""Nomination: a plan for one workload on the current world, and the victims that it would need.

Quota picks the flavors, the engine finds the places. Where either is short, victims are searched for; if that fails
too, a workload that allows partial admission is tried with fewer pods.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from ..model.quota import FlavorResource
from ..model.resources import PODS
from ..queue.pending_workload import PendingWorkload
from ..quota.demand import Demand
from ..state.ledger import Holding
from .domain_victims import by_domain
from .fair_victims import fair
from .flavors import FlavorQuery, Pins, assign
from .plan import FlavorChoice, Mode, Plan, PodSetPlan, Severity
from .tighter import waits_for_tighter
from .topology import RoomTest, TopologyResult, Wanted, asks, delayed, names_of, place_all, replace_all
from .victims import Borrowers, Victim, VictimSearch, classical
from .world import World

TIMED = frozenset({"WaitForTighter", "VictimsByDomain"})
"""Gates that make a plan depend on the time too."""


@dataclass(slots=True)
class Nomination:
    """A plan and its victims. `wanted` is what has to be placed."""

    plan: Plan
    victims: list[Victim] = field(default_factory=list)
    wanted: Wanted = field(default_factory=dict)

    @property
    def works(self) -> bool:
        return self.plan.fits or (self.plan.preempts and bool(self.victims))


@dataclass(frozen=True, slots=True)
class Replan:
    """How to replan inside a cycle: with these flavors, as if these workloads were gone, with these borrowers."""

    pins: Pins
    gone: frozenset[str] = frozenset()
    borrowers: Borrowers | None = None


def nominate(world: World, entry: PendingWorkload, cycle: int, again: Replan | None = None) -> Nomination:
    """Plan a workload; a replan keeps to its flavors and starts from the first."""
    if entry.workload.reserved:
        return _second_pass(world, entry)
    progress_holds = again is None and _still_holds(world, entry, cycle)
    make = partial(_plan, world, entry, again, progress_holds)
    full = make(entry.demands)
    if full.works or full.plan.waits_for_tighter or "PartialAdmission" not in world.gates:
        return full
    return _with_fewer(entry.demands, make) or full


def planned(world: World, entry: PendingWorkload, cycle: int) -> Nomination:
    """The cached plan of a workload if nothing that it depends on has changed, otherwise a new one."""
    if entry.workload.reserved or not TIMED.isdisjoint(world.gates.enabled):
        return nominate(world, entry, cycle)
    progress = entry.progress if _still_holds(world, entry, cycle) else None
    tried = progress.place if progress is not None and progress.pending else None
    beyond = world.pods_seen_by(entry.workload)
    at = (*world.seen_from(entry.queue), beyond, tried, world.clear_of(entry.workload))
    if entry.planned is None or entry.planned[0] != at:
        entry.planned = at, nominate(world, entry, cycle)
    found = entry.planned[1]
    assert isinstance(found, Nomination)
    return found


def _still_holds(world: World, entry: PendingWorkload, cycle: int) -> bool:
    """Whether the recorded search progress is still valid."""
    progress = entry.progress
    if progress is None or progress.equivalence_key != entry.equivalence_key:
        return False
    stale = progress.cycle < cycle - 1
    return not (stale and world.ledger.generation.get(entry.queue, 0) > progress.generation)


def _plan(
    world: World, entry: PendingWorkload, again: Replan | None, goes_on: bool, demands: Sequence[Demand]
) -> Nomination:
    query = _query(world, entry, again, goes_on)
    plan = assign(query, demands)
    if plan.mode is Mode.NO_FIT:
        return Nomination(plan)
    wanted = {} if plan.cut_short else asks(query, entry.workload, plan)
    if isinstance(wanted, TopologyResult):
        _fail(plan.pod_set(wanted.failed), wanted.reason)
        return Nomination(plan)
    plan.due = frozenset(fr for fr in plan.contested() - plan.undue if fr.resource != PODS)
    _place(world, entry, plan, wanted)
    nomination = Nomination(plan, [], wanted)
    exact = "VerifyBeforeAdmit" in world.gates
    if plan.preempts and not (plan.lacks_quota and _takes_only_what_is_due(query)):
        asked = plan.asked() if exact else plan.asked_in_place(demands)
        if query.old is not None:
            asked = {fr: max(0, amount - query.old.usage.get(fr, 0)) for fr, amount in asked.items()}
        nomination.victims = _victims(query, entry, plan, asked, wanted, again)
    return nomination


def _query(world: World, entry: PendingWorkload, again: Replan | None, goes_on: bool) -> FlavorQuery:
    queue, node = world.cluster_queues[entry.queue], world.node_of(entry.queue)
    simulate = partial(_simulate, world, entry, again)
    progress, pins = entry.progress if goes_on else None, None if again is None else again.pins
    return FlavorQuery(world, queue, node, entry.workload.request, simulate, progress, pins, old_slice(world, entry))


def old_slice(world: World, entry: PendingWorkload) -> Holding | None:
    """The holding of the workload that this one replaces, if it still has one."""
    if not entry.workload.replaces or "ElasticJobsViaWorkloadSlices" not in world.gates:
        return None
    old = world.ledger.get(entry.workload.replaces)
    return old if old is not None and old.queue == entry.queue else None


def _fail(one: PodSetPlan, error: str) -> None:
    one.failed, one.error, one.severity = True, error, Severity.FLAVOR


def _place(world: World, entry: PendingWorkload, plan: Plan, wanted: Wanted) -> None:
    """Find places if quota fits; otherwise, or if there are none, test whether it would fit in an empty cluster."""
    if not wanted:
        return
    if plan.fits:
        placed = place_all(world, wanted)
        waits = waits_for_tighter(world, entry, wanted, placed) if placed.fits else None
        if waits is not None:
            plan.waits_for_tighter = True
            _refuse(plan, waits)
            return
        if placed.fits:
            _settle(plan, placed)
            return
        failed = plan.pod_set(placed.failed)
        failed.reasons.append(placed.reason)
        plan.lower([failed.name], Mode.PREEMPT)
    placed = place_all(world, wanted, empty=True)
    if placed.fits:
        _settle(plan, placed)
        plan.lower(names_of(wanted), Mode.PREEMPT)
    else:
        _refuse(plan, placed)


def _refuse(plan: Plan, placed: TopologyResult) -> None:
    failed = plan.pod_set(placed.failed)
    failed.reasons.append(placed.reason)
    failed.severity = Severity.TOPOLOGY
    plan.lower([failed.name], Mode.NO_FIT)


def _settle(plan: Plan, placed: TopologyResult) -> None:
    for one in plan.pod_sets:
        if one.name in placed.assignments:
            one.topology = placed.assignments[one.name]


# Victims


def _takes_only_what_is_due(query: FlavorQuery) -> bool:
    """Whether, if some quota cannot be had by preemption, victims have to hold some that can.

    In Kueue it is enough that their queue borrows anything that is contested: it loses workloads within its quota to
    one that borrows that quota, and they preempt it in turn, without end.
    """
    world = query.world
    return "VerifyBeforeAdmit" in world.gates and query.old is None and not world.settings.fair_sharing


def _victims(
    query: FlavorQuery,
    entry: PendingWorkload,
    plan: Plan,
    asked: dict[FlavorResource, int],
    wanted: Wanted,
    again: Replan | None,
) -> list[Victim]:
    """The victims; the plan gets the places that are free without them."""
    world, contested = query.world, frozenset(plan.contested())
    if plan.undue and _takes_only_what_is_due(query):
        contested = plan.due

    def settle() -> None:
        if wanted:
            _settle(plan, place_all(world, wanted))

    search = _search(world, entry, asked, contested, RoomTest(world, wanted), again)
    search.when_found = settle
    if "VictimsByDomain" in world.gates and wanted and not world.settings.fair_sharing:
        return by_domain(search, wanted)
    return _find(search)


def _find(search: VictimSearch) -> list[Victim]:
    return fair(search) if search.world.settings.fair_sharing else classical(search)


def _search(
    world: World,
    entry: PendingWorkload,
    asked: dict[FlavorResource, int],
    contested: frozenset[FlavorResource],
    room: RoomTest,
    again: Replan | None,
) -> VictimSearch:
    queue, node = world.cluster_queues[entry.queue], world.node_of(entry.queue)
    gone, borrowers = (frozenset[str](), None) if again is None else (again.gone, again.borrowers)
    return VictimSearch(world, entry, queue, node, asked, contested, room, gone, borrowers)


def _simulate(
    world: World, entry: PendingWorkload, again: Replan | None, fr: FlavorResource, amount: int
) -> tuple[Mode, int]:
    """What it would take to get this amount of one resource, by quota alone."""
    node = world.node_of(entry.queue)
    victims = _find(_search(world, entry, {fr: amount}, frozenset({fr}), RoomTest(world, {}), again))
    if not victims:
        return Mode.NO_CANDIDATES, node.borrowing_height(fr, amount)[0]
    mark = world.tree.checkpoint()
    for victim in victims:
        world.tree.remove(victim.holding.queue, victim.holding.usage)
    height, _ = node.borrowing_height(fr, amount)
    world.tree.rollback(mark)
    own = any(victim.holding.queue == entry.queue for victim in victims)
    return (Mode.PREEMPT if own else Mode.RECLAIM), height


# With fewer pods


def _with_fewer(demands: tuple[Demand, ...], make: Callable[[Sequence[Demand]], Nomination]) -> Nomination | None:
    """The largest pod counts that work, by binary search; None if not even the minimum does.

    Pod sets shrink together: from 10 to at least 4 and from 5 to at least 2 pods, step 3 of 9 is 8 and 4.
    """
    most = [one.count for one in demands]
    least = [one.count if one.part.min_count is None else min(one.count, one.part.min_count) for one in demands]
    deltas = [high - low for high, low in zip(most, least, strict=True)]
    steps = sum(deltas)
    if steps == 0:
        return None
    low, high = 0, steps + 1
    best: Nomination | None = None
    while low < high:
        step = (low + high) // 2
        counts = [full - delta * step // steps for full, delta in zip(most, deltas, strict=True)]
        tried = make([one.of(count) for one, count in zip(demands, counts, strict=True)])
        if tried.works:
            best, high = tried, step
        else:
            low = step + 1
    return best


# Second pass: workloads that hold quota already


def _second_pass(world: World, entry: PendingWorkload) -> Nomination:
    """Keep the flavors, and find places for pod sets that were delayed or have lost a node."""
    workload = entry.workload
    admission = workload.status.admission
    assert admission is not None
    plan = Plan([])
    demands = {one.name: one for one in entry.demands}
    for given in admission.pod_sets:
        if given.name not in demands:
            return _stranger(entry.demands[0], given.name)
        flavors = {resource: FlavorChoice(flavor, Mode.FIT) for resource, flavor in given.flavors.items()}
        demand = demands[given.name].of(given.count)
        one = PodSetPlan(demand, flavors, topology=given.topology, delayed=given.delayed, given=given)
        plan.pod_sets.append(one)
        plan.charge(one)
    if workload.status.unhealthy:
        placed = replace_all(world, workload, plan)
    else:
        query = _query(world, entry, None, False)
        wanted = asks(query, workload, plan)
        if isinstance(wanted, TopologyResult):
            placed = wanted
        else:
            placed = place_all(world, delayed(wanted, plan))
    if placed.fits:
        _settle(plan, placed)
        for one in plan.pod_sets:
            one.delayed = "Ready" if one.delayed == "Pending" else one.delayed
    else:
        failed = plan.pod_set(placed.failed)
        failed.reasons.append(placed.reason)
        plan.lower([failed.name], Mode.NO_FIT)
    return Nomination(plan)


def _stranger(demand: Demand, name: str) -> Nomination:
    """A failed plan for an admission that names a pod set which the workload does not have."""
    text = f"the admission names pod set {name}, which the workload does not have"
    return Nomination(Plan([PodSetPlan(demand, failed=True, error=text)]))
