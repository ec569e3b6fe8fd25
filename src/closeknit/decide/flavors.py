"""Flavor assignment: for every resource of every pod set, a flavor whose quota it can use.

A queue lists flavors in order of preference. The search starts after the flavor that was tried last, skips flavors that
the pods cannot use, and stops at the first that is good enough; if none is, it takes the best one seen. `simulate`
determines whether preemption would be needed, one flavor and resource at a time, by quota alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from ..model.cluster_queue import ClusterQueue, Fungibility
from ..model.flavor import Flavor
from ..model.quota import UNLIMITED, FlavorResource, ResourceGroup, minus, plus
from ..model.request import AUTO, Request
from ..model.resources import PODS, canonical
from ..model.shape import HARD_EFFECTS, Requirement, Shape, Term
from ..queue.pending_workload import FlavorProgress
from ..quota.demand import Demand, sum_requests
from ..quota.tree import QuotaNode
from ..state.ledger import Holding
from .plan import Attempt, FlavorChoice, Mode, Plan, PodSetPlan, Severity
from .world import World

Pins = Mapping[tuple[str, str], str]
"""By pod set and resource: the only flavor that may be used."""


class Simulate(Protocol):
    """The preemption mode for one flavor and resource, and how many levels up it would still borrow."""

    def __call__(self, fr: FlavorResource, amount: int) -> tuple[Mode, int]: ...


@dataclass(frozen=True, slots=True)
class FlavorQuery:
    """The input of a search through the flavors."""

    world: World
    queue: ClusterQueue
    node: QuotaNode
    request: Request
    simulate: Simulate
    progress: FlavorProgress | None = None
    pins: Pins | None = None
    old: Holding | None = None
    """The previous slice of the workload: its holding may be reused, and its flavors are kept."""

    def kept_flavor(self, pod_set: str, resource: str) -> str | None:
        admission = None if self.old is None else self.old.workload.status.admission
        given = () if admission is None else admission.pod_sets
        return next((one.flavors.get(resource) for one in given if one.name == pod_set), None)


def assign(query: FlavorQuery, demands: Sequence[Demand]) -> Plan:
    """A plan for these pod sets by quota alone."""
    plan = Plan([])
    for members in _groups(query.request, demands):
        place = next(at for at, demand in enumerate(demands) if demand is members[0])
        if not _assign_group(query, plan, members, place):
            break
    return plan


def _groups(request: Request, demands: Sequence[Demand]) -> list[list[Demand]]:
    """Pod sets that share their flavors because they are placed together: those of each outermost group."""
    asked = {demand.name: demand for demand in demands}
    return [[asked[one.name] for one in group.pod_sets] for group in request.groups]


def _assign_group(query: FlavorQuery, plan: Plan, members: list[Demand], place: int) -> bool:
    requests = sum_requests(members)
    if query.queue.group_of(PODS) is not None:
        requests[PODS] = sum(member.count for member in members)
    chosen: dict[str, FlavorChoice] = {}
    walk = Walk(query, plan, members, requests, place)
    ok = True
    for resource in sorted(requests, key=_fnv):
        if resource in chosen:
            continue
        group = query.queue.group_of(resource)
        if group is None:
            if requests[resource] and not query.world.settings.ignore_undeclared:
                walk.uncovered(resource)
                ok = False
                break
            continue
        found = walk.choose(group, resource)
        if not found:
            ok = False
            break
        chosen.update(found)
    for member in members:
        mine = _choices(query, member, members, chosen) if ok else {}
        one = PodSetPlan(member, mine, list(walk.reasons), walk.severity, tuple(walk.attempts), failed=not ok)
        plan.pod_sets.append(one)
        if ok:
            plan.charge(one)
        plan.cut_short |= ok and bool(member.total) and not mine and "VerifyBeforeAdmit" not in query.world.gates
    return ok and not plan.cut_short


def _choices(
    query: FlavorQuery, member: Demand, members: list[Demand], chosen: Mapping[str, FlavorChoice]
) -> dict[str, FlavorChoice]:
    """The choices for what a pod set requests; one that requests nothing shares those of its group."""
    asked = {*member.total, *([PODS] if PODS in chosen else [])}
    if not asked and len(members) > 1:
        asked = {resource for resource, choice in chosen.items() if choice.flavor in query.world.views}
    return {
        resource: FlavorChoice(one.flavor, one.mode, one.borrow, one.tried)
        for resource, one in chosen.items()
        if resource in asked
    }


class Walk:
    """The search through the flavors for one group of pod sets; failures are collected in `reasons`."""

    def __init__(
        self, query: FlavorQuery, plan: Plan, members: list[Demand], requests: Mapping[str, int], place: int
    ) -> None:
        self.query, self.plan, self.members, self.requests = query, plan, members, requests
        self.place = place
        self.reasons: list[str] = []
        self.attempts: list[Attempt] = []
        self.severity: Severity | None = None

    def uncovered(self, resource: str) -> None:
        self.reasons.append(f"resource {resource} unavailable in ClusterQueue")
        self.severity = Severity.FLAVOR

    def choose(self, group: ResourceGroup, resource: str) -> dict[str, FlavorChoice]:
        """A choice for every requested resource of the group; empty if no flavor fits."""
        wanted = {name: self.requests[name] for name in group.covered if name in self.requests}
        progress = self.query.progress
        start = 0 if progress is None else progress.start(self.place, resource)
        best: dict[str, FlavorChoice] = {}
        best_mode = (Mode.NO_FIT, 0)
        stopped = -1
        reasons: list[str] = []
        tried: list[Attempt] = []
        for index in range(start, len(group.flavors)):
            attempt, choices = self._try(group.flavors[index].flavor, wanted, resource)
            tried.append(attempt)
            reasons += attempt.reasons
            here = (attempt.mode, attempt.borrow)
            last = index == len(group.flavors) - 1
            if attempt.mode is not Mode.NO_FIT and _stops(here, self.query.queue.fungibility):
                best, best_mode = choices, here
                stopped = -1 if last else index
                break
            if preferred(here, best_mode, self.query.queue.fungibility):
                best, best_mode = choices, here
        self.attempts += tried
        for choice in best.values():
            choice.tried = stopped
        if best_mode[0] is not Mode.FIT:
            self.reasons += reasons
            severity = min((attempt.severity for attempt in tried), default=Severity.FLAVOR)
            self.severity = severity if self.severity is None else max(self.severity, severity)
        return best

    def _try(self, name: str, wanted: Mapping[str, int], looked_up: str) -> tuple[Attempt, dict[str, FlavorChoice]]:
        obstacle = self._obstacle(name, wanted, looked_up)
        if obstacle is not None:
            return Attempt(name, Mode.NO_FIT, 0, (obstacle,), Severity.FLAVOR), {}
        worst = (Mode.FIT, 0)
        choices: dict[str, FlavorChoice] = {}
        reasons: list[str] = []
        severity = Severity.TOPOLOGY
        for resource in sorted(wanted, key=_fnv):
            mode, borrow, reason = self._quota(FlavorResource(name, resource), wanted[resource])
            if reason:
                reasons.append(reason)
                severity = max(severity, Severity.MAXIMUM if "maximum capacity" in reason else Severity.QUOTA)
            if preferred(worst, (mode, borrow), self.query.queue.fungibility):
                worst = (mode, borrow)
            if mode is Mode.NO_FIT:
                choices = {}
                break
            choices[resource] = FlavorChoice(name, mode, borrow)
        return Attempt(name, *worst, tuple(reasons), severity), choices

    def _obstacle(self, name: str, wanted: Mapping[str, int], resource: str) -> str | None:
        """Why these pods cannot use a flavor, regardless of its quota."""
        pins = self.query.pins
        if pins is not None and not any(pins.get((member.name, resource)) == name for member in self.members):
            return f"skipping flavor {name} as it is not found in the nomination mapping for resource {resource}"
        for member in self.members:
            kept = self.query.kept_flavor(member.name, resource)
            if kept is not None and kept != name:
                return f"could not assign {name} flavor since the original workload is assigned: {kept}"
        flavor = self.query.world.flavors.get(name)
        if flavor is None:
            return f"flavor {name} not found"
        for member in self.members:
            found = _unsuited(self.query, member, flavor, wanted)
            if found is not None:
                return found
        return None

    def _quota(self, fr: FlavorResource, amount: int) -> tuple[Mode, int, str]:
        node = self.query.node
        before = self.plan.usage.get(fr, 0)
        need = plus(before, amount)
        if self.query.old is not None:
            need = max(0, minus(need, self.query.old.usage.get(fr, 0)))
        most = node.potentially_available(fr)
        if need > most:
            return Mode.NO_FIT, 0, _beyond(fr, before, amount, most)
        height, below_top = node.borrowing_height(fr, need)
        available = max(0, node.available(fr))
        if need <= available:
            return Mode.FIT, height, ""
        more = canonical(fr.resource, minus(need, available))
        text = f"insufficient unused quota for {fr.resource} in flavor {fr.flavor}, {more} more needed"
        if node.nominal(fr) >= need or below_top or self._may_borrow():
            mode, borrow = self.query.simulate(fr, need)
            return mode, borrow, text
        return Mode.NO_FIT, 0, text

    def _may_borrow(self) -> bool:
        """Whether the queue may preempt although it borrows."""
        policy = self.query.queue.preemption
        return policy.borrow.allowed or (bool(self.query.world.settings.fair_sharing) and policy.reclaim != "Never")


def _beyond(fr: FlavorResource, before: int, amount: int, most: int) -> str:
    limit = "<unlimited>" if most == UNLIMITED else canonical(fr.resource, most)
    return (
        f"insufficient quota for {fr.resource} in flavor {fr.flavor}, previously considered podsets requests "
        f"({canonical(fr.resource, before)}) + current podset request ({canonical(fr.resource, amount)}) "
        f"> maximum capacity ({limit})"
    )


def preferred(left: tuple[Mode, int], right: tuple[Mode, int], rule: Fungibility) -> bool:
    """Whether `left` (mode, borrowing height) is strictly better."""
    if min(left[0], right[0]) <= Mode.NO_CANDIDATES and left[0] is not right[0]:
        return left[0] > right[0]
    if left[0] is Mode.NO_FIT:
        return False
    if rule.preference == "PreemptionOverBorrowing":
        return (-left[1], left[0]) > (-right[1], right[0])
    return (left[0], -left[1]) > (right[0], -right[1])


def _stops(found: tuple[Mode, int], rule: Fungibility) -> bool:
    mode, borrow = found
    if mode <= Mode.NO_CANDIDATES:
        return False
    if mode in (Mode.PREEMPT, Mode.RECLAIM) and rule.when_can_preempt == "TryNextFlavor":
        return False
    return not (borrow and rule.when_can_borrow == "TryNextFlavor")


# Which flavors pods can use


def _unsuited(query: FlavorQuery, member: Demand, flavor: Flavor, wanted: Mapping[str, int]) -> str | None:
    if "TopologyAwareScheduling" in query.world.gates:
        found = _topology_mismatch(query, member, flavor, wanted)
        if found is not None:
            return found
    shape = member.pod_set.shape
    for taint in flavor.taints:
        if taint.effect in HARD_EFFECTS and not any(
            one.tolerates(taint) for one in (*shape.tolerations, *flavor.tolerations)
        ):
            return f"untolerated taint {{{taint.key} {taint.value} {taint.effect} <nil>}} in flavor {flavor.name}"
    if not _selects(shape, flavor):
        return f"flavor {flavor.name} doesn't match node affinity"
    return None


def _topology_mismatch(query: FlavorQuery, member: Demand, flavor: Flavor, wanted: Mapping[str, int]) -> str | None:
    """A pod set that requests a topology needs a flavor with its levels, and a TAS flavor needs such a pod set."""
    constraints = query.request.constraints(member.name)
    if not constraints:
        if flavor.topology and not topology_only(query):
            return f'Flavor "{flavor.name}" supports only TopologyAwareScheduling'
        return None
    if not flavor.topology:
        if any(resource in dict(member.pod_set.shape.requests) for resource in _covered(query, wanted)):
            return f'Flavor "{flavor.name}" does not support TopologyAwareScheduling'
        return None
    view = query.world.views.get(flavor.name)
    if view is None:
        return f'Flavor "{flavor.name}" information missing in TAS cache'
    asked = [level for one in constraints for level in one.levels]
    if any(view.topology.level(level) is None for level in asked if level != AUTO):
        return f'Flavor "{flavor.name}" does not contain the requested level'
    return None


def _covered(query: FlavorQuery, wanted: Mapping[str, int]) -> Sequence[str]:
    """The resources of the group that `wanted` belongs to."""
    group = query.queue.group_of(next(iter(wanted)))
    return () if group is None else group.covered


def topology_only(query: FlavorQuery) -> bool:
    """Whether every flavor of the queue has a topology, so that pods without a constraint are placed too."""
    flavors = query.world.flavors
    return all(name in flavors and flavors[name].topology for name in query.queue.flavors)


def _selects(shape: Shape, flavor: Flavor) -> bool:
    """Whether selector and required affinity match the flavor's labels; other label keys are ignored."""
    labels = flavor.labels
    if any(key in labels and labels[key] != value for key, value in shape.selector):
        return False
    if shape.required is None:
        return True
    terms = [list(_about(term, labels)) for term in shape.required]
    if any(not term for term in terms):
        return True
    return any(all(one.admits(labels.get(one.key)) for one in term) for term in terms)


def _about(term: Term, labels: Mapping[str, str]) -> Iterator[Requirement]:
    return (one for one in term.labels if one.key in labels)


@lru_cache(maxsize=1024)
def _fnv(name: str) -> int:
    """Kueue visits resources in the order of their FNV-64a hash; messages show that order."""
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value
