"""The control plane on one screen: every change updates the cache, reconcilers act on it, the scheduler decides.

    change ──▶ cache ──▶ jobs            create, start, stop and finish workloads for jobs
                    ├──▶ groups          the same for pod groups and sets
                    ├──▶ workloads       admission checks, stopped queues, time limits, requeuing
                    ├──▶ maintenance     windows that begin or end
                    ├──▶ provisioning    ProvisioningRequests for admission checks
                    ├──▶ ungater         ungate pods onto their assigned domains
                    ├──▶ refusals        pods that kubelets refuse for their NUMA zones
                    ├──▶ hostfiles       ConfigMaps for launchers
                    ├──▶ nodes           node failures under placed pods
                    ├──▶ prompt status   queues that have just become empty or non-empty
                    ├──▶ scheduling      cycles ──▶ writes
                    ├──▶ pending         why a workload is pending
                    ├──▶ queues          queue status, finalizers of what is in use
                    ├──▶ parked classes  the shared reason for every workload of a parked class
                    ├──▶ ungateable      pods that name a queue but cannot be gated
                    ├──▶ zone reports    mistakes in NodeResourceTopologies
                    ├──▶ redelivery      changes on which a reader raised an exception
                    └──▶ recorder        events, after everything else

A host's loop drives it: `see` takes changes, `step` returns writes, `done` takes the results of writes. A host may
delay writes, as long as it shows the resulting change before it reports the write as done. While a write to an object
is in flight no other component writes to that object, because it would decide on state that is about to change.

No exception leaves it: what a component raises for one object is reported there and tried again, and the rest goes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ..cluster.errors import Refused
from ..cluster.kinds import POD_TEMPLATE, WORKLOAD, Kind
from ..cluster.port import Change, Raw, Write, target_of
from ..model.gates import Gates as FeatureGates
from ..model.settings import Settings
from ..model.workload import Workload
from ..observe.cluster_cache import ClusterCache
from ..observe.live_jobs import Managed
from ..observe.membership import links
from ..write.events import Recorder
from ..write.in_flight import Flight, InFlight
from ..write.token_bucket import Rate
from .decision_log import DecisionLog, Record, eviction
from .groups import SETS, PodGroupReconciler
from .hostfiles import HostfileReconciler
from .jobs import NAMED, JobReconciler
from .maintenance import MaintenanceReconciler
from .pending_reporter import PendingReporter, ReportPolicy
from .placing import NodeFailureReconciler, TopologyUngater
from .provisioning import ProvisioningReconciler
from .queues import PromptQueueStatus, QueueStatusReconciler
from .reconciler import WriteInFlight
from .redelivery import Redelivery
from .scheduling import SchedulingReconciler
from .ungateable import UngateableReporter
from .workloads import ParkedClassReporter, WorkloadReconciler
from .zone_refusals import ZoneRefusals
from .zone_reports import ZoneReportChecker

PAUSE = 1.0
"""Seconds for which a component is left alone after an exception that belongs to no key."""


class Component(Protocol):
    def see(self, change: Change) -> None: ...

    def due(self) -> float | None: ...

    def step(self, now: float) -> Sequence[Flight[Any]]: ...

    def done(self, flight: Flight[Any], result: Raw | Refused, now: float) -> None: ...


class ControlPlane:
    """`now` is the time of day and `cost` the clock that measures cycles; the host provides both."""

    def __init__(
        self,
        gates: FeatureGates,
        settings: Settings,
        now: Callable[[], float],
        cost: Callable[[], float],
        managed: Managed | None = None,
        keep: Callable[[Record], None] = lambda _: None,
        pace: Rate | None = None,
        policy: ReportPolicy | None = None,
        rest: float = 0.0,
    ) -> None:
        managed = managed or Managed()
        self.cache = ClusterCache(gates, settings, now, managed.without_queue, self._unreadable)
        self.decision_log = DecisionLog(keep, self.cache)
        self.recorder = recorder = Recorder(pace, self.cache.ending)
        self.faults = recorder.faults
        self.redelivery = Redelivery(self.cache, self.faults)
        self.zone_refusals = ZoneRefusals(self.cache, recorder)
        self._paused: dict[Component, float] = {}
        """Components that raised an exception without naming a key, and when they may run again."""
        jobs, workloads = JobReconciler(self.cache, recorder, managed), WorkloadReconciler(self.cache, recorder)
        pending, queues = PendingReporter(self.cache, recorder, policy), QueueStatusReconciler(self.cache, recorder)
        groups, ungateable = (
            PodGroupReconciler(self.cache, recorder, managed),
            UngateableReporter(self.cache, recorder, managed),
        )
        self.parts: tuple[Component, ...] = (
            jobs,
            groups,
            workloads,
            MaintenanceReconciler(self.cache, recorder, workloads),
            ProvisioningReconciler(self.cache, recorder),
            HostfileReconciler(self.cache, recorder),
            TopologyUngater(self.cache, recorder),
            self.zone_refusals,
            NodeFailureReconciler(self.cache, recorder),
            PromptQueueStatus(queues),
            SchedulingReconciler(self.cache, recorder, self.decision_log, pending, cost, rest),
            pending,
            queues,
            ParkedClassReporter(self.cache, workloads, pending.bucket),
            ungateable,
            ZoneReportChecker(self.cache, recorder),
            self.redelivery,
            recorder,
        )
        managing = (*jobs.live.kinds, *filter(groups.live.is_on, SETS))
        owners = links(self.cache, managing)
        watched = (*self.cache.kinds, *managing, *owners, *NAMED, *ungateable.kinds, POD_TEMPLATE)
        self.watches: tuple[Kind, ...] = tuple(dict.fromkeys(watched))
        """The kinds whose changes the host has to pass to `see`."""
        self._in_flight: InFlight[Component] = InFlight()
        self.answered: Counter[tuple[str, str]] = Counter()
        """Completed writes, counted by verb and result, such as ("update", "Conflict")."""

    @property
    def in_flight(self) -> int:
        """Number of writes that have no result yet."""
        return len(self._in_flight)

    def see(self, change: Change) -> None:
        self.redelivery.forget(change.key)
        before = self._before(change)
        self.redelivery.read(self.cache, change)
        self._note(before)
        for part in self.parts:
            self.redelivery.read(part, change)

    def _unreadable(self, change: Change, error: Exception) -> None:
        """The cache cannot read an object: its user is told, and it is read again later."""
        self.faults.invalid(self.cache, change.object, error, self.cache.now())
        self.redelivery.again(self.cache, change)

    def _before(self, change: Change) -> Workload | None:
        """The workload as cached before this change."""
        if change.kind is not WORKLOAD:
            return None
        meta = change.object["metadata"]
        return self.cache.workloads.get(f"{meta['namespace']}/{meta['name']}")

    def _note(self, before: Workload | None) -> None:
        """Record in the decision log an eviction that no cycle decided."""
        after = None if before is None else self.cache.workloads.get(before.key)
        if before is None or after is None or after is before:
            return
        record = eviction(before, after, self.cache.now())
        if record is not None and after.status.conditions["Evicted"].reason != "Preempted":
            self.decision_log.write(record)

    def due(self) -> float | None:
        soonest: float | None = None
        for part in self.parts:
            at = self._due(part)
            if at == 0.0:  # nothing is sooner
                return at
            if at is not None and (soonest is None or at < soonest):
                soonest = at
        return soonest

    def step(self, now: float) -> Sequence[Write]:
        """Run the first component that is due. Scheduling comes late in the order, after everything that informs it."""
        for part in self.parts:
            at = self._due(part)
            if at is not None and at <= now:
                try:
                    return self._sent_off(part, part.step(now), now)
                except Exception as error:
                    self._pause(part, error)
        return ()

    def _due(self, part: Component) -> float | None:
        if self._paused and self._paused.get(part, 0.0) > self.cache.now():
            return self._paused[part]
        try:
            return part.due()
        except Exception as error:
            return self._pause(part, error)

    def _pause(self, part: Component, error: Exception) -> float:
        """Leave a component alone for a moment: what it failed for is unknown, and it would fail again at once."""
        self.faults.report(part, None, error, self.cache.now())
        self._paused[part] = self.cache.now() + PAUSE
        return self._paused[part]

    def _sent_off(self, part: Component, flights: Sequence[Flight[Any]], now: float) -> Sequence[Write]:
        """The writes to send now; one to an object with another component's write in flight is refused here."""
        early = [flight for flight in flights if self._in_flight.is_open(target_of(flight.write))]
        ready = [flight for flight in flights if flight not in early]
        for flight in early:
            part.done(flight, WriteInFlight(f"another write to {target_of(flight.write)} is in flight"), now)
        for flight in ready:
            self._in_flight.depart(part, flight)
        return [flight.write for flight in ready]

    def done(self, write: Write, result: Raw | Refused, now: float) -> None:
        landed = self._in_flight.land(write)
        if landed is None:
            return
        self.answered[type(write).__name__.lower(), _outcome(result)] += 1
        if not isinstance(result, Refused):
            for tell in landed.flight.events:
                self.recorder.record(tell)
        try:
            landed.part.done(landed.flight, result, now)
        except Exception as error:
            self.faults.report(landed.part, self.cache.find(target_of(write)), error, now)


def _outcome(result: Raw | Refused) -> str:
    return type(result).__name__ if isinstance(result, Refused) else "done"
