"""Queues as administrators write them: a ClusterQueue holds quota and policy, a LocalQueue points to one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from .quota import ResourceGroup
from .shape import Requirement

Strategy = Literal["BestEffortFIFO", "StrictFIFO"]
StopPolicy = Literal["None", "Hold", "HoldAndDrain"]


class Fungibility(NamedTuple):
    """When to try the next flavor; `preference` decides between the flavors that were tried."""

    when_can_borrow: Literal["MayStopSearch", "TryNextFlavor"] = "MayStopSearch"
    when_can_preempt: Literal["TryNextFlavor", "MayStopSearch"] = "TryNextFlavor"
    preference: Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"] | None = None


class BorrowWithinCohort(NamedTuple):
    policy: Literal["Never", "LowerPriority"] = "Never"
    max_priority: int | None = None

    @property
    def allowed(self) -> bool:
        return self.policy != "Never"


class Preemption(NamedTuple):
    """An empty policy never got its default: it allows no preemption, but it is not equal to Never."""

    within_queue: Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"] = "Never"
    reclaim: Literal["Never", "LowerPriority", "Any", ""] = "Never"
    borrow: BorrowWithinCohort = BorrowWithinCohort()


class Selector(NamedTuple):
    """Which namespaces may use a queue. A selector without expressions matches every namespace."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(one.admits(labels.get(one.key)) for one in self.requirements)


class CheckRule(NamedTuple):
    """A check that admission waits for; without flavors it applies to every flavor of the queue."""

    name: str
    flavors: tuple[str, ...] = ()


DEFAULT_FUNGIBILITY = Fungibility()
NO_PREEMPTION = Preemption()


@dataclass(frozen=True, slots=True)
class ClusterQueue:
    """`selector` None matches no namespace."""

    name: str
    groups: tuple[ResourceGroup, ...] = ()
    cohort: str = ""
    strategy: Strategy = "BestEffortFIFO"
    selector: Selector | None = None
    fungibility: Fungibility = DEFAULT_FUNGIBILITY
    preemption: Preemption = NO_PREEMPTION
    checks: tuple[CheckRule, ...] = ()
    stop: StopPolicy = "None"
    weight: float = 1.0
    terminating: bool = False

    @property
    def flavors(self) -> list[str]:
        return [flavor.flavor for group in self.groups for flavor in group.flavors]

    def group_of(self, resource: str) -> ResourceGroup | None:
        return next((group for group in self.groups if resource in group.covered), None)


@dataclass(frozen=True, slots=True)
class LocalQueue:
    namespace: str
    name: str
    cluster_queue: str
    stop: StopPolicy = "None"
    weight: float = 1.0

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class AdmissionCheck:
    """`active` is None while the check's controller has not reported."""

    name: str
    controller: str
    active: bool | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
