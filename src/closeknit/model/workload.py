"""A workload: what a job requests, its place in the queue, and its status so far.

Everything is an immutable value: a change creates a new one, so a reference to an old one never changes. Times are
seconds since 1970; an object without a creation time counts as older than all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from .assignment import Assignment
from .quota import FlavorResource
from .request import NOTHING, PodSet, Request
from .resources import Resources
from .shape import Shape, Toleration

LONG_AGO = float("-inf")
"""The creation time of an object that has none."""

Conditions = dict[str, tuple[bool, str, str]]
"""Changes to conditions, by type: whether it holds, reason, message."""

Delay = Literal["Pending", "Ready"]
CheckState = Literal["Pending", "Ready", "Retry", "Rejected"]


class Condition(NamedTuple):
    """`since` is when `holds` last changed."""

    holds: bool
    reason: str
    message: str = ""
    since: float = LONG_AGO
    generation: int = 0


@dataclass(frozen=True, slots=True)
class WorkloadPodSet:
    """One pod set of a workload as admission sees it; pod counts and constraints are in the request.

    `requests` is what quota counts per pod; placement uses the pod's shape. `template_digest` covers whatever else in
    the pod template makes two workloads different for the scheduler.
    """

    name: str
    requests: Resources
    min_count: int | None = None
    template_digest: str = ""


@dataclass(frozen=True, slots=True)
class PodSetAssignment:
    """What one pod set was assigned. If `delayed` is Pending it has quota now and gets places once checks are ready."""

    name: str
    flavors: Mapping[str, str]
    usage: Resources
    count: int
    topology: Assignment | None = None
    delayed: Delay | None = None


@dataclass(frozen=True, slots=True)
class Admission:
    queue: str
    pod_sets: tuple[PodSetAssignment, ...]


class PodSetUpdate(NamedTuple):
    """What a ready check adds to the pods of one pod set."""

    name: str
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    selector: Mapping[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()


class Check(NamedTuple):
    """The state of one admission check."""

    name: str
    state: CheckState = "Pending"
    message: str = ""
    since: float = LONG_AGO
    updates: tuple[PodSetUpdate, ...] = ()
    requeue_after: int | None = None
    retries: int = 0


@dataclass(frozen=True, slots=True)
class Status:
    """The status of a workload. `evictions` counts by reason and underlying cause."""

    conditions: Mapping[str, Condition] = field(default_factory=dict)
    admission: Admission | None = None
    requeue_at: float | None = None
    requeues: int = 0
    reclaimable: Mapping[str, int] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()
    unhealthy: tuple[str, ...] = ()
    evictions: Mapping[tuple[str, str], int] = field(default_factory=dict)
    open_gates: frozenset[str] = frozenset()
    requests: tuple[tuple[str, Resources], ...] = ()
    executed: int = 0
    """Seconds that the workload ran in earlier admissions."""

    def holds(self, kind: str) -> bool:
        condition = self.conditions.get(kind)
        return condition is not None and condition.holds

    def condition(self, kind: str, holds: bool, reason: str, message: str, now: float, generation: int = 0) -> Status:
        return self.changed({kind: (holds, reason, message)}, now, generation)

    def changed(self, changes: Conditions, now: float, generation: int = 0) -> Status:
        """The status with these conditions; `since` moves only when a condition flips."""
        conditions = dict(self.conditions)
        for kind, (holds, reason, message) in changes.items():
            old = conditions.get(kind)
            since = old.since if old is not None and old.holds == holds else now
            conditions[kind] = Condition(holds, reason, message, since, generation)
        return replace(self, conditions=conditions)

    def without(self, kind: str) -> Status:
        return replace(self, conditions={name: one for name, one in self.conditions.items() if name != kind})


@dataclass(frozen=True, slots=True)
class Workload:
    """`request` is what to place, group by group; `parts` has one entry per pod set, in spec order.

    `replaces` names the workload that an elastic job's new slice replaces.
    """

    namespace: str
    name: str
    request: Request = NOTHING
    parts: tuple[WorkloadPodSet, ...] = ()
    queue: str = ""
    uid: str = ""
    priority: int = 0
    created: float = LONG_AGO
    active: bool = True
    job_uid: str = ""
    boost: int = 0
    gated_by: str = ""
    preemption_gates: tuple[str, ...] = ()
    replaces: str = ""
    owned_by_pod: bool = False
    max_seconds: int | None = None
    generation: int = 0
    status: Status = Status()

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def local_queue(self) -> str:
        return f"{self.namespace}/{self.queue}"

    @property
    def reserved(self) -> bool:
        return self.status.holds("QuotaReserved")

    @property
    def admitted(self) -> bool:
        return self.status.holds("Admitted")

    @property
    def evicted(self) -> bool:
        return self.status.holds("Evicted")

    @property
    def finished(self) -> bool:
        return self.status.holds("Finished")

    @property
    def shapes(self) -> Iterator[Shape]:
        """The shape of each part's pods, in spec order."""
        shapes = {one.name: one.shape for one in self.request.pod_sets}
        return (shapes[part.name] for part in self.parts)

    def pod_set(self, name: str) -> PodSet | None:
        return next((one for one in self.request.pod_sets if one.name == name), None)


def usage_of(admission: Admission) -> dict[FlavorResource, int]:
    """What an admission holds, by flavor and resource."""
    usage: dict[FlavorResource, int] = {}
    for one in admission.pod_sets:
        for resource, amount in one.usage.items():
            flavor = one.flavors.get(resource)
            if flavor is not None:
                key = FlavorResource(flavor, resource)
                usage[key] = usage.get(key, 0) + amount
    return usage
