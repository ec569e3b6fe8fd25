"""One workload in line: what it asks for, its place, and how far it has got through the flavors."""

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

Pod sets come in the order of the plan but are looked up by their place in the workload, as Kueue does it; the two
differ where the members of a group are not neighbours.
"""

MILLISECOND = 0.001

RETURNING = ("PendingEvaluation", "Pending", "Deactivated", "Suspended")
"""What a condition says of a workload that nobody has looked at since it came back into line."""


NOT_THERE = "doesn't exist"
"""How a condition ends that tells of a missing queue."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Which flavors were tried in which cycle, and how the queue stood then; `earlier` is where the walk was before."""

    tried: Tried
    cycle: int
    generation: int
    likeness: Hashable
    earlier: frozenset[Hashable] = frozenset()

    @property
    def pending(self) -> bool:
        """Some flavor was not tried yet."""
        return any(index != -1 for of_set in self.tried for index in of_set.values())

    @property
    def place(self) -> Hashable:
        return tuple(tuple(sorted(of_set.items())) for of_set in self.tried)

    def after(self, before: Progress | None) -> Progress | None:
        """As the next step of a walk; None if that has come back to where it was, so that all there is was tried.

        Two pod sets out of step, one on its first flavor while the other is on its last, would go round for ever.
        """
        state = (self.generation, self.likeness)
        if before is None or not before.pending or (before.generation, before.likeness) != state:
            return self
        earlier = before.earlier if before.cycle == self.cycle else before.earlier | {before.place}
        return None if self.place in earlier else replace(self, earlier=earlier)

    def start(self, at: int, resource: str) -> int:
        """Where to go on for the pod set at this place in the workload."""
        return self.tried[at].get(resource, -1) + 1 if at < len(self.tried) else 0


@dataclass(slots=True, eq=False)
class Waiting:
    """`likeness` is equal for workloads that a scheduler cannot tell apart; what failed for one fails for all."""

    workload: Workload
    queue: str
    demands: tuple[Demand, ...]
    likeness: Hashable
    priority: int
    time: float
    progress: Progress | None = None
    parked_for: str = ""
    waits_since: float | None = None
    """Since when it waits for a tighter placement, though it could have a looser one."""
    waits_until: float | None = None
    planned: tuple[Hashable, object] | None = None
    """The last plan for it, and the state of the world that it was made on; the scheduler keeps it here."""
    unexplained: bool = False
    """Its status does not say why it waits."""
    order: tuple[int, float, str] = field(init=False)

    def __post_init__(self) -> None:
        self.order = (-self.priority, self.time, self.workload.uid or self.workload.key)

    @property
    def key(self) -> str:
        return self.workload.key


def waiting(workload: Workload, queue: str, settings: Settings, gates: Gates) -> Waiting:
    asked = demands(workload, settings, "ReclaimablePods" in gates)
    priority = effective_priority(workload, gates)
    likeness = (_likeness(priority, workload.request, asked, Policy.of(gates)), workload.replaces)
    entry = Waiting(workload, queue, asked, likeness, priority, queue_time(workload, settings, gates))
    entry.unexplained = is_unexplained(workload, gates)
    return entry


def is_unexplained(workload: Workload, gates: Gates) -> bool:
    """Whether its status has yet to say why it waits. Kueue leaves that open until a workload is first looked at."""
    if "UnadmittedWorkloadsObservability" not in gates:
        return False
    reserved = workload.status.conditions.get("QuotaReserved")
    if reserved is None:
        return "TellBypassed" in gates
    return reserved.reason in RETURNING or reserved.message.endswith(NOT_THERE)


def effective_priority(workload: Workload, gates: Gates) -> int:
    return workload.priority + (workload.boost if "PriorityBoost" in gates else 0)


def queue_time(workload: Workload, settings: Settings, gates: Gates) -> float:
    """Since when it is in line: its creation, unless it was evicted for pods not ready or by a check."""
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


def _likeness(priority: int, request: Request, asked: tuple[Demand, ...], policy: Policy) -> Hashable:
    """By Kueue's rules where sums decide: requests of containers are in the part's likeness, limits are not.

    A fit that looks at more of a shape tells workloads apart by that, too: what failed for one must fail for all.
    """
    sets = tuple(
        (one.name, one.count, one.part.min_count, policy.seen(one.pod_set.shape), one.part.likeness) for one in asked
    )
    return priority, request.outline, sets
