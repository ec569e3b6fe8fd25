"""One pending workload: its demands, its order in the queue, and which flavors were tried for it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..engine.policy import Policy
from ..model.gates import Gates
from ..model.request import Request
from ..model.settings import Settings
from ..model.workload import Workload
from ..quota.demand import Demand, demands

Tried = Sequence[Mapping[str, int]]
"""For each pod set, by resource: the index of the last flavor tried, -1 if there is none after it.

Pod sets come in the order of the plan but are looked up by their index in the workload, as in Kueue; the two differ
where the members of a group are not adjacent.
"""

MILLISECOND = 0.001

RETURNING = ("PendingEvaluation", "Pending", "Deactivated", "Suspended")
"""Reasons on a workload that was requeued and not evaluated since."""


NOT_THERE = "doesn't exist"
"""How the message about a missing queue ends."""


@dataclass(frozen=True, slots=True)
class FlavorProgress:
    """Which flavors were tried in which cycle and queue generation; `earlier` holds the positions before this one."""

    tried: Tried
    cycle: int
    generation: int
    equivalence_key: Hashable
    earlier: frozenset[Hashable] = frozenset()

    @property
    def pending(self) -> bool:
        """Whether some flavor was not tried yet."""
        return any(index != -1 for of_set in self.tried for index in of_set.values())

    @property
    def place(self) -> Hashable:
        return tuple(tuple(sorted(of_set.items())) for of_set in self.tried)

    def after(self, before: FlavorProgress | None) -> FlavorProgress | None:
        """The next step of a search; None if this position was already visited and all flavors were tried.

        Two pod sets out of step, one on its first flavor while the other is on its last, would otherwise loop forever.
        """
        state = (self.generation, self.equivalence_key)
        if before is None or not before.pending or (before.generation, before.equivalence_key) != state:
            return self
        earlier = before.earlier if before.cycle == self.cycle else before.earlier | {before.place}
        return None if self.place in earlier else replace(self, earlier=earlier)

    def start(self, at: int, resource: str) -> int:
        """The flavor to continue with for the pod set at this index in the workload."""
        return self.tried[at].get(resource, -1) + 1 if at < len(self.tried) else 0


@dataclass(slots=True, eq=False)
class PendingWorkload:
    """`equivalence_key` is equal for workloads that the scheduler cannot tell apart: if one fails, all of them do."""

    workload: Workload
    queue: str
    demands: tuple[Demand, ...]
    equivalence_key: Hashable
    priority: int
    time: float
    progress: FlavorProgress | None = None
    parked_for: str = ""
    waits_since: float | None = None
    """Since when it waits for a tighter placement although a looser one is possible."""
    waits_until: float | None = None
    planned: tuple[Hashable, object] | None = None
    """A cache for the scheduler: the last plan and the state of the world that it was made for."""
    unexplained: bool = False
    """Its status does not report why it is pending."""
    order: tuple[int, float, str] = field(init=False)

    def __post_init__(self) -> None:
        self.order = (-self.priority, self.time, self.workload.uid or self.workload.key)

    @property
    def key(self) -> str:
        return self.workload.key


def pending_workload(workload: Workload, queue: str, settings: Settings, gates: Gates) -> PendingWorkload:
    asked = demands(workload, settings, "ReclaimablePods" in gates)
    priority = effective_priority(workload, gates)
    key = (
        _equivalence_key(priority, workload.request, asked, Policy.of(gates)),
        workload.replaces,
        _limit(workload, gates),
    )
    entry = PendingWorkload(workload, queue, asked, key, priority, queue_time(workload, settings, gates))
    entry.unexplained = is_unexplained(workload, gates)
    return entry


def _limit(workload: Workload, gates: Gates) -> int | None:
    """The seconds that it may still run, which decide whether it may use nodes until their maintenance begins."""
    if workload.max_seconds is None or "MaintenanceWindows" not in gates:
        return None
    return workload.max_seconds - workload.status.executed


def is_unexplained(workload: Workload, gates: Gates) -> bool:
    """Whether its status does not yet report why it is pending. Kueue sets that only once it evaluates a workload."""
    if "UnadmittedWorkloadsObservability" not in gates:
        return False
    reserved = workload.status.conditions.get("QuotaReserved")
    if reserved is None:
        return "TellBypassed" in gates
    return reserved.reason in RETURNING or reserved.message.endswith(NOT_THERE)


def effective_priority(workload: Workload, gates: Gates) -> int:
    return workload.priority + (workload.boost if "PriorityBoost" in gates else 0)


def queue_time(workload: Workload, settings: Settings, gates: Gates) -> float:
    """The time that orders it in the queue: its creation, or its eviction for unready pods or by a check."""
    conditions = workload.status.conditions
    evicted = conditions.get("Evicted")
    if evicted is not None and evicted.holds:
        timed_out = evicted.reason == "PodsReadyTimeout" and settings.requeue_by == "Eviction"
        if timed_out or evicted.reason == "AdmissionCheck":
            return evicted.since
    preempted = conditions.get("Preempted")
    if (
        "PrioritySortingWithinCohort" not in gates
        and preempted is not None
        and preempted.holds
        and preempted.reason == "InCohortReclaimWhileBorrowing"
    ):
        return preempted.since + MILLISECOND
    return workload.created


def _equivalence_key(priority: int, request: Request, asked: tuple[Demand, ...], policy: Policy) -> Hashable:
    """Kueue's rules where sums of requests decide: container requests are in the pod set's digest, limits are not.

    A fit that uses more of the shape distinguishes workloads by that too: what failed for one must fail for all.
    """
    sets = tuple(
        (one.name, one.count, one.part.min_count, policy.seen(one.pod_set.shape), one.part.template_digest)
        for one in asked
    )
    return priority, request.outline, sets
