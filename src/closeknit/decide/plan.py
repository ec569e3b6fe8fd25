"""A plan: which flavors a workload would get, where its pods would go, and whether that fits.

Plans are made for the heads of all queues on the same view of the world, then carried out one after another. A plan
that does not fit reports what was tried, flavor by flavor, and why it failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum

from ..model.assignment import Assignment
from ..model.quota import FlavorResource, plus
from ..model.resources import PODS
from ..model.workload import Admission, Delay, PodSetAssignment
from ..quota.demand import Demand


class Mode(IntEnum):
    """How well a flavor fits, worst first. NO_CANDIDATES: preemption is needed, but nothing may be preempted."""

    NO_FIT = 0
    NO_CANDIDATES = 1
    PREEMPT = 2
    RECLAIM = 3
    FIT = 4

    @property
    def preempts(self) -> bool:
        return Mode.NO_CANDIDATES <= self <= Mode.RECLAIM


class Severity(IntEnum):
    """Why a workload is pending, from causes that pass by themselves to those that need an administrator."""

    TOPOLOGY = 0
    QUOTA = 1
    MAXIMUM = 2
    FLAVOR = 3

    @property
    def reason(self) -> str:
        """The reason of the condition QuotaReserved=False."""
        return ("TopologyPlacementFailed", "WaitingForQuota", "ExceedsMaxQuota", "NoMatchingFlavor")[self]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One flavor that was tried for a resource group."""

    flavor: str
    mode: Mode
    borrow: int = 0
    reasons: tuple[str, ...] = ()
    severity: Severity = Severity.QUOTA


@dataclass(slots=True)
class FlavorChoice:
    """The flavor chosen for one resource."""

    flavor: str
    mode: Mode
    borrow: int = 0
    tried: int = -1


@dataclass(slots=True)
class PodSetPlan:
    """The plan of one pod set. `reasons` is empty if it fits."""

    demand: Demand
    flavors: dict[str, FlavorChoice] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    severity: Severity | None = None
    attempts: tuple[Attempt, ...] = ()
    topology: Assignment | None = None
    delayed: Delay | None = None
    failed: bool = False
    error: str = ""
    limit: Mode = Mode.FIT
    """The best mode that topology allows."""
    given: PodSetAssignment | None = None
    """Its current assignment in a second pass; only places may change."""

    @property
    def name(self) -> str:
        return self.demand.name

    @property
    def mode(self) -> Mode:
        """The worst mode of its resources; a pod set without any reasons fits."""
        if self.failed:
            return Mode.NO_FIT
        if not self.reasons:
            return Mode.FIT
        if not self.flavors:
            return Mode.NO_FIT
        return min((self.limit, *(choice.mode for choice in self.flavors.values())))

    def assignment(self) -> PodSetAssignment:
        if self.given is not None:
            return replace(self.given, topology=self.topology, delayed=self.delayed)
        flavors = {resource: choice.flavor for resource, choice in sorted(self.flavors.items())}
        return PodSetAssignment(self.name, flavors, self.requests, self.demand.count, self.topology, self.delayed)

    @property
    def requests(self) -> dict[str, int]:
        """The quota it would use, by resource."""
        total = self.demand.total
        return {
            resource: self.demand.count if resource == PODS else total.get(resource, 0) for resource in self.flavors
        }


@dataclass(slots=True)
class Plan:
    """Pod sets in the order in which they were planned; those after a failure are missing."""

    pod_sets: list[PodSetPlan]
    usage: dict[FlavorResource, int] = field(default_factory=dict)
    waits_for_tighter: bool = False
    """It could be placed, but waits for a tighter placement."""
    cut_short: bool = False
    """Kueue stops at a pod set that requests nothing covered: it ignores later pod sets and places nothing."""
    due: frozenset[FlavorResource] = frozenset()
    """What is short of quota and can be had by preemption, each by itself and regardless of placement."""

    @property
    def mode(self) -> Mode:
        return min((one.mode for one in self.pod_sets), default=Mode.FIT)

    @property
    def fits(self) -> bool:
        return self.mode is Mode.FIT

    @property
    def preempts(self) -> bool:
        return self.mode.preempts

    @property
    def borrowing(self) -> int:
        return max((choice.borrow for one in self.pod_sets for choice in one.flavors.values()), default=0)

    @property
    def message(self) -> str:
        """Why the plan does not fit, as conditions report it."""
        texts = []
        for one in self.pod_sets:
            if one.error:
                texts.append(f"failed to assign flavors to pod set {one.name}: {one.error}")
            elif one.reasons:
                reasons = ", ".join(sorted(set(one.reasons)))
                texts.append(f"couldn't assign flavors to pod set {one.name}: {reasons}")
        return "; ".join(texts)

    @property
    def severity(self) -> Severity:
        """The worst severity. If one pod set cannot fit, reasons that preemption could resolve are ignored."""
        lost = [one for one in self.pod_sets if one.mode is Mode.NO_FIT] or self.pod_sets
        return max((one.severity for one in lost if one.severity is not None), default=Severity.QUOTA)

    def tried(self) -> tuple[dict[str, int], ...]:
        """For each pod set, in the order of the plan: the last flavor tried, by resource."""
        return tuple({resource: choice.tried for resource, choice in one.flavors.items()} for one in self.pod_sets)

    def charge(self, one: PodSetPlan) -> None:
        """Count the usage of a pod set that has its flavors, for the next pod sets."""
        for resource, amount in one.requests.items():
            key = FlavorResource(one.flavors[resource].flavor, resource)
            self.usage[key] = plus(self.usage.get(key, 0), amount)

    def asked(self) -> dict[FlavorResource, int]:
        """What has to fit after preemption; quota for `pods` is ignored then."""
        return {key: amount for key, amount in self.usage.items() if amount and key.resource != PODS}

    def asked_in_place(self, demands: Sequence[Demand]) -> dict[FlavorResource, int]:
        """The same as Kueue computes it: each pod set of the workload with the count and flavors at its index.

        Where the members of a group are not adjacent, the indexes differ and the sum is wrong.
        """
        if len(demands) != len(self.pod_sets):
            return self.asked()
        sums: dict[FlavorResource, int] = {}
        for demand, one in zip(demands, self.pod_sets, strict=True):
            for resource, amount in demand.of(one.demand.count).total.items():
                if amount and resource in one.flavors:
                    key = FlavorResource(one.flavors[resource].flavor, resource)
                    sums[key] = plus(sums.get(key, 0), amount)
        return sums

    def contested(self) -> set[FlavorResource]:
        """The flavors and resources that need preemption."""
        return {
            FlavorResource(choice.flavor, resource)
            for one in self.pod_sets
            for resource, choice in one.flavors.items()
            if choice.mode.preempts
        }

    @property
    def undue(self) -> set[FlavorResource]:
        """What is short of quota and cannot be had by preemption; quota for `pods` is ignored then."""
        return {
            FlavorResource(choice.flavor, resource)
            for one in self.pod_sets
            for resource, choice in one.flavors.items()
            if choice.mode is Mode.NO_CANDIDATES and resource != PODS
        }

    @property
    def lacks_quota(self) -> bool:
        """Whether quota is short and nothing that is short can be had by preemption, regardless of placement."""
        return bool(self.undue) and not self.due

    def lower(self, names: Iterable[str], mode: Mode) -> None:
        """Limit these pod sets to at most `mode`."""
        chosen = set(names)
        for one in self.pod_sets:
            if one.name in chosen:
                one.limit = min(one.limit, mode)
                for choice in one.flavors.values():
                    choice.mode = min(choice.mode, mode)

    def pod_set(self, name: str) -> PodSetPlan:
        return next(one for one in self.pod_sets if one.name == name)

    def admission(self, queue: str) -> Admission:
        return Admission(
            queue,
            tuple(one.assignment() for one in self.pod_sets),
        )
