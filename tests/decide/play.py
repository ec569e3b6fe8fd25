"""A host for a scheduler: it writes what was decided and reports it back, as a cluster would show it.

Jobs play along: a preempted one stops at once, or never does, and keeps what it holds until it is finished.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from closeknit.decide.decision import Admit, Decision, Preempt, Wait
from closeknit.decide.scheduler import Scheduler
from closeknit.decide.status import carried_out
from closeknit.model.quota import FlavorResource
from closeknit.model.workload import Workload
from closeknit.queue.wake import WakeEvent


class Play:
    """`known` is every workload as the cluster has it; `victims_stop` tells whether evictions come to their end."""

    def __init__(self, scheduler: Scheduler, victims_stop: bool = True) -> None:
        self.scheduler, self.victims_stop = scheduler, victims_stop
        self.known: dict[str, Workload] = {}

    def put(self, *workloads: Workload, at: float = 0.0) -> None:
        for one in workloads:
            self.known[one.key] = one
            self.scheduler.put(one, at)

    def cycle(self, at: float = 0.0) -> list[Decision]:
        """One cycle, written and seen."""
        decisions = self.scheduler.cycle(at)
        changed: dict[str, Workload] = {}
        for decision in decisions:
            if isinstance(decision, Admit | Preempt | Wait):
                one, _ = carried_out(self.scheduler.world, decision, at)[0]
                changed[one.key] = one
        self.put(*(changed[key] for key in sorted(changed)), at=at)
        if self.victims_stop:
            self._stop([one for one in self.known.values() if one.evicted and one.reserved], at)
        return decisions

    def cycles(self, most: int, at: float = 0.0) -> list[Decision]:
        """Until no workload is ready, or this many cycles have run."""
        found: list[Decision] = []
        while most and self.scheduler.is_ready:
            found += self.cycle(at)
            most -= 1
        return found

    def finish(self, key: str, at: float = 0.0) -> None:
        one = self.known.pop(key)
        name = self.scheduler.pending.queue_of(one)
        self.scheduler.drop(key)
        self.scheduler.wake(WakeEvent.WORKLOAD_FINISHED, name, at)

    def _stop(self, victims: Iterable[Workload], at: float) -> None:
        queues = [self.scheduler.pending.queue_of(one) for one in victims]
        self.put(*(stopped(one, at) for one in victims), at=at)
        for name in queues:
            self.scheduler.wake(WakeEvent.WORKLOAD_EVICTED, name, at)

    # What came of it

    @property
    def holding(self) -> list[Workload]:
        return [one for one in self.known.values() if one.reserved]

    @property
    def admitted(self) -> set[str]:
        """The names of those that hold quota."""
        return {one.name for one in self.holding}

    def used(self) -> dict[str, dict[FlavorResource, int]]:
        """By ClusterQueue what its workloads hold, by what is written in their status."""
        found: dict[str, dict[FlavorResource, int]] = {}
        for one in self.holding:
            assert one.status.admission is not None
            of_queue = found.setdefault(one.status.admission.queue, {})
            for given in one.status.admission.pod_sets:
                for resource, amount in given.usage.items():
                    key = FlavorResource(given.flavors[resource], resource)
                    of_queue[key] = of_queue.get(key, 0) + amount
        return found


def stopped(one: Workload, at: float) -> Workload:
    """An eviction that is complete: quota is given back, and the workload may queue again."""
    status = one.status.condition("Requeued", True, "Preempted", "", at)
    status = status.condition("QuotaReserved", False, "PendingEvaluation", "", at)
    status = status.condition("Admitted", False, "NoReservation", "", at)
    return replace(one, status=replace(status, admission=None))
