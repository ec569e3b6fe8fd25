"""A trial: would a workload be admitted if something were changed?

Quota and room are tested together, by the same nomination that a cycle runs, and the world is left unchanged. A quota
shortage is a value, and a larger quota is tried by giving it to the queue temporarily.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace

from ..model.cluster_queue import ClusterQueue
from ..model.quota import UNLIMITED, FlavorResource, ResourceGroup, plus
from ..model.request import Group, PodSet
from ..model.resources import CPU, PODS, show
from ..model.workload import Workload
from ..queue.pending_workload import PendingWorkload, pending_workload
from .nominate import Nomination, Replan, nominate, old_slice
from .plan import Plan
from .world import World

Pins = Mapping[tuple[str, str], str]


@dataclass(frozen=True, slots=True)
class Gap:
    """A quota shortage: what is requested, what is left now, and the queue's maximum."""

    of: FlavorResource
    need: int
    left: int
    most: int
    nominal: int

    @property
    def missing(self) -> int:
        return self.need - self.left

    @property
    def is_final(self) -> bool:
        """Whether waiting cannot help."""
        return self.need > self.most

    @property
    def what(self) -> str:
        return f"{self.of.resource} in flavor {self.of.flavor}"

    def amount(self, value: int) -> str:
        """An amount for people; cpu always in cores (9 and 28.8), never in milli-units."""
        if value == UNLIMITED:
            return "unlimited"
        if self.of.resource == CPU:
            return f"{value / 1000:.3f}".rstrip("0").rstrip(".")
        return show(self.of.resource, value)


class Trial:
    """`plan` is the scheduler's last plan: its flavors are kept, so that the trial tests what was refused."""

    def __init__(self, world: World, one: Workload, queue: ClusterQueue, plan: Plan | None) -> None:
        self.world, self.one, self.queue = world, one, queue
        self.flavors = _flavors(plan)
        chosen = plan is not None and len(plan.pod_sets) == len(one.parts) and not any(p.failed for p in plan.pod_sets)
        self.pins = _pins(plan) if chosen and plan is not None else None

    def nomination(self, one: Workload | None = None) -> Nomination:
        again = None if self.pins is None else Replan(self.pins)
        return nominate(self.world, self.entry(one), 0, again)

    def works(self, one: Workload | None = None) -> bool:
        found = self.nomination(one)
        return found.works or found.plan.waits_for_tighter

    def at_least(self) -> Trial:
        """The trial with the minimum of pods that the workload accepts."""
        fewer = list(_fewer(self.one))
        if "PartialAdmission" not in self.world.gates or not fewer:
            return self
        least = copy(self)
        parts = tuple(replace(part, min_count=None) for part in self.one.parts)
        least.one = replace(self.changed(fewer), parts=parts)
        return least

    def entry(self, one: Workload | None = None) -> PendingWorkload:
        return pending_workload(one or self.one, self.queue.name, self.world.settings, self.world.gates)

    # Quota

    def gaps(self, one: Workload | None = None) -> list[Gap]:
        """The flavors and resources whose quota is short now."""
        old = old_slice(self.world, self.entry(one))
        node = self.world.node_of(self.queue.name)
        found = []
        for fr, amount in self.asked(one).items():
            need = amount - (0 if old is None else old.usage.get(fr, 0))
            left = max(0, node.available(fr))
            if need > left:
                found.append(Gap(fr, need, left, node.potentially_available(fr), node.nominal(fr)))
        return found

    def asked(self, one: Workload | None = None) -> dict[FlavorResource, int]:
        """What is requested of the flavors that were tried; if none was, of the first flavor of the queue."""
        asked: dict[FlavorResource, int] = {}
        for demand in self.entry(one).demands:
            for resource, amount in {**demand.total, PODS: demand.count}.items():
                group = self.queue.group_of(resource)
                if group is None or not group.flavors or not amount:
                    continue
                tried = self.flavors.get((demand.name, resource)) or self.flavors.get((demand.name, ""))
                have = [each.flavor for each in group.flavors]
                key = FlavorResource(tried if tried in have else have[0], resource)
                asked[key] = plus(asked.get(key, 0), amount)
        return asked

    @contextmanager
    def raised(self, gaps: Iterable[Gap]) -> Iterator[None]:
        """Temporarily raise the quota by what is missing."""
        more = {gap.of: gap.missing for gap in gaps}
        groups = tuple(_raised(group, more) for group in self.queue.groups)
        with self.instead(replace(self.queue, groups=groups)):
            yield

    @contextmanager
    def instead(self, queue: ClusterQueue) -> Iterator[None]:
        """Temporarily replace the queue."""
        self.world.put_cluster_queue(queue)
        try:
            yield
        finally:
            self.world.put_cluster_queue(self.queue)

    @contextmanager
    def gated(self, gate: str) -> Iterator[None]:
        """Temporarily turn on a gate."""
        before = self.world.gates
        self.world.gates = before.changed({gate: True})
        try:
            yield
        finally:
            self.world.gates = before

    # Room and quota together

    def admits(self, changed: Group, in_place: bool) -> str | None:
        """For a changed group that has room: None if the workload is not admitted, else what is needed in addition."""
        one = self.changed(changed.pod_sets)
        gaps = self.gaps(one)
        if not gaps:
            return "" if not in_place or self.works(one) else None
        if in_place and self.works(one):
            return ""
        with self.raised(gaps):
            helps = not self.gaps(one) and (not in_place or self.works(one))
        return besides(gaps, self.queue) if helps else None

    def changed(self, pod_sets: Iterable[PodSet]) -> Workload:
        return replace(self.one, request=self.one.request.changed(pod_sets))


def _fewer(one: Workload) -> Iterator[PodSet]:
    """The pod sets that accept fewer pods, with their minimum."""
    least = {part.name: part.min_count for part in one.parts}
    for pod_set in one.request.pod_sets:
        count = least[pod_set.name]
        if count is not None and count < pod_set.count:
            yield replace(pod_set, count=count)


def besides(gaps: Iterable[Gap], queue: ClusterQueue) -> str:
    """What has to be done about quota."""
    return " and ".join(_more(gap, queue) if gap.is_final else _back(gap) for gap in gaps)


def _back(gap: Gap) -> str:
    return f"wait until quota for {gap.amount(gap.missing)} more {gap.what} is free"


def _more(gap: Gap, queue: ClusterQueue) -> str:
    new = gap.amount(plus(gap.nominal, gap.missing))
    return f"raise the quota of ClusterQueue {queue.name} for {gap.what} from {gap.amount(gap.nominal)} to {new}"


def raising(gaps: Iterable[Gap], queue: ClusterQueue) -> str:
    return " and ".join(_more(gap, queue) for gap in gaps)


def _raised(group: ResourceGroup, more: Mapping[FlavorResource, int]) -> ResourceGroup:
    flavors = (
        replace(
            each,
            resources={
                name: quota._replace(nominal=plus(quota.nominal, more.get(FlavorResource(each.flavor, name), 0)))
                for name, quota in each.resources.items()
            },
        )
        for each in group.flavors
    )
    return replace(group, flavors=tuple(flavors))


def _pins(plan: Plan) -> dict[tuple[str, str], str]:
    return {(one.name, resource): choice.flavor for one in plan.pod_sets for resource, choice in one.flavors.items()}


def _flavors(plan: Plan | None) -> dict[tuple[str, str], str]:
    """The chosen flavor by pod set and resource; under resource "" the first flavor that was tried."""
    if plan is None:
        return {}
    tried = {(one.name, ""): one.attempts[0].flavor for one in plan.pod_sets if one.attempts}
    return {**tried, **_pins(plan)}
