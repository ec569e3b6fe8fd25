"""The scheduler: it takes objects and workloads, runs cycles, and returns decisions.

It does no I/O and reads no clock. The caller passes in what it observes, runs a cycle when a workload is ready, writes
the decisions, and calls `failed` if a write fails.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..model.cluster_queue import ClusterQueue, LocalQueue
from ..model.gates import Gates
from ..model.quota import FlavorResource
from ..model.settings import Settings
from ..model.workload import Workload
from ..queue.pending_queues import PendingQueues
from ..queue.pending_workload import PendingWorkload, pending_workload
from ..queue.wake import FREED, PARKS_ITS_CLASS, RULES, Reach, RequeueReason, WaitStage, WakeEvent
from ..quota.demand import Demand
from .cycle import CycleResult, run, waits
from .decision import Admit, Decision, Evict, Preempt, Retry, Wait
from .entry import Entry, Fate
from .plan import Severity
from .reclaimers import reclaimers
from .status import carried_out, required_checks
from .world import World

FIRST_DELAY, LAST_DELAY = 1.0, 30.0
LAST_FAULT = 300.0
"""The longest backoff in seconds of a workload about which no decision can be made."""
FAULT = "Deciding about it failed with {}: it is tried again, and the log of the controller has details"


class Scheduler:
    """`second_pass` holds workloads that have quota but lack places: when they are due, and their last delay."""

    def __init__(self, gates: Gates, settings: Settings | None = None) -> None:
        self.world = World(gates, settings)
        self.pending = PendingQueues(self.world.settings, gates)
        self.second_pass: dict[str, tuple[float, float]] = {}
        self.in_the_way: frozenset[str] = frozenset()
        """Workloads that reserve room in every cycle and because of which others were parked."""
        self.claims: dict[str, None] = {}
        """Workloads that others were preempted for and that still wait for what this frees, the first first."""
        self.number = 0
        self.last = CycleResult()
        self.faults: list[tuple[Workload, Exception]] = []
        """The workloads about which the last cycle could not decide, because of an exception."""
        self._fault_delays: dict[str, float] = {}

    # Queues

    def put_cluster_queue(self, queue: ClusterQueue) -> None:
        self.world.put_cluster_queue(queue)
        self.pending.put_queue(queue)

    def drop_cluster_queue(self, name: str) -> None:
        """Remove a queue. Its pending workloads are left without a queue; admitted ones keep their quota."""
        self.world.drop_cluster_queue(name)
        self.pending.drop_queue(name)

    def put_local_queue(self, queue: LocalQueue) -> None:
        self.pending.put_local_queue(queue)

    def drop_local_queue(self, key: str) -> None:
        self.pending.drop_local_queue(key)

    # Workloads

    def put(self, workload: Workload, now: float) -> None:
        """Add or update an observed workload: it is pending, holds quota, or cannot be admitted."""
        if workload.finished:
            self.drop(workload.key)
        elif self.world.ledger.is_assumed(workload.key) and not self._is_assumption(workload):
            return  # stale: the write of a later decision is still in flight
        elif workload.reserved and workload.status.admission is not None:
            self.world.confirm(workload)
            self.pending.drop(workload.key)
            if self.needs_second_pass(workload):
                self.second_pass.setdefault(workload.key, (now + FIRST_DELAY, FIRST_DELAY))
            else:
                self.second_pass.pop(workload.key, None)
        else:
            self.world.release(workload.key)
            self.second_pass.pop(workload.key, None)
            if self.is_admissible(workload):
                self.pending.put(workload, now)
            else:
                self.pending.drop(workload.key)

    def needs_second_pass(self, workload: Workload) -> bool:
        """Whether it has quota but lacks places; in Kueue a workload without any check waits for them forever."""
        admission = workload.status.admission
        queue = None if admission is None else self.world.cluster_queues.get(admission.queue)
        unchecked = queue is not None and not required_checks(queue, workload.status)
        return needs_second_pass(workload, unchecked and "PlaceWithoutChecks" in self.world.gates)

    def _is_assumption(self, workload: Workload) -> bool:
        """Whether the observed workload matches the assumption."""
        holding = self.world.ledger.get(workload.key)
        return holding is not None and holding.workload.status.admission == workload.status.admission

    def is_admissible(self, workload: Workload) -> bool:
        """Whether the workload may be queued at all."""
        reserved = workload.status.conditions.get("QuotaReserved")
        on_hold = reserved is not None and not reserved.holds and reserved.reason == "OnHold"
        gated = workload.gated_by and "AdmissionGatedBy" in self.world.gates
        lacks_pods = workload.status.holds("WaitingForReplacementPods")
        return workload.active and not (workload.finished or workload.reserved or on_hold or gated or lacks_pods)

    def drop(self, key: str) -> None:
        """Forget a workload that finished or was deleted, and release what it held."""
        self.world.release(key)
        self.pending.drop(key)
        self.second_pass.pop(key, None)
        self._fault_delays.pop(key, None)

    def wake(self, event: WakeEvent, queue: str, now: float) -> int:
        """Wake parked workloads after an event on a queue or one of its workloads; return how many."""
        queues = [queue] if RULES[event].reach is Reach.QUEUE else self.world.tree_of(queue)
        count = self.wake_queues(event, queues, now)
        if "WakeByReason" in self.world.gates and RULES[event].wakes is FREED and any(map(self._places_pods, queues)):
            others = self.world.cluster_queues.keys() - set(queues)
            count += self.wake_queues(WakeEvent.ROOM_FREED, sorted(filter(self._places_pods, others)), now)
        return count

    def wake_likely(self, queue: str, now: float) -> int:
        """Quota was released: wake only workloads that have enough quota now, which is cheap to check."""
        queues = self.world.tree_of(queue)
        return self.pending.wake(WakeEvent.WORKLOAD_FINISHED, queues, self._matches, now, self._has_quota)

    def _has_quota(self, entry: PendingWorkload) -> bool:
        """Whether each pod set alone, with its minimum of pods, has enough quota in some flavor."""
        queue, node = self.world.cluster_queues[entry.queue], self.world.node_of(entry.queue)
        return bool(entry.workload.replaces) or all(
            any(node.available(FlavorResource(one.flavor, resource)) >= amount for one in group.flavors)
            for demand in entry.demands
            for resource, amount in demand.of(_fewest(demand)).total.items()
            if amount and (group := queue.group_of(resource)) is not None
        )

    def _places_pods(self, queue: str) -> bool:
        """Whether workloads of a queue hold room on nodes that workloads of other cohorts may wait for."""
        known = self.world.cluster_queues.get(queue)
        return known is not None and any(flavor in self.world.views for flavor in known.flavors)

    def wake_queues(self, event: WakeEvent, queues: Iterable[str], now: float) -> int:
        return self.pending.wake(event, queues, self._matches, now)

    def retry_second_passes(self, event: WakeEvent, now: float) -> None:
        """Make second passes due that have failed and are retried later, if there may be room for them now."""
        if "RetryReplacementsAtOnce" not in self.world.gates or WaitStage.ROOM not in RULES[event].wakes:
            return
        for key, (at, delay) in self.second_pass.items():
            if at > now and delay > FIRST_DELAY:
                self.second_pass[key] = (now, delay)

    def _matches(self, entry: PendingWorkload) -> bool:
        queue = self.world.cluster_queues.get(entry.queue)
        labels = self.world.namespaces.get(entry.workload.namespace)
        return queue is not None and queue.selector is not None and queue.selector.matches(labels or {})

    @property
    def next_timer(self) -> float | None:
        """When to call `tick` next; None if there is no timer."""
        due = [at for at, _ in self.second_pass.values()]
        timers = [*due, *([] if self.pending.next_timer is None else [self.pending.next_timer])]
        return min(timers, default=None)

    def tick(self, now: float) -> int:
        """Make workloads ready whose backoff, or wait for a tighter placement, is over."""
        return self.pending.tick(now)

    # Cycles

    @property
    def is_ready(self) -> bool:
        """Whether an active queue has a ready workload, or a reservation has parked workloads that may wake."""
        return bool(self.in_the_way) or any(self.world.is_active(one.name) for one in self.pending.ready())

    def has_work(self, now: float) -> bool:
        """Whether a cycle would have anything to do: a ready workload, or one due for a second pass."""
        return self.is_ready or any(at <= now for at, _ in self.second_pass.values())

    def cycle(self, now: float) -> list[Decision]:
        """Run one cycle. What it admits is assumed from here on; the other heads are requeued or parked."""
        self.number += 1
        self.world.now = now
        self.faults = []
        try:
            heads = [*self._due(now), *self.pending.heads(self.world.is_active, self._has_quota)]
            return self._run(heads, now)
        except BaseException:
            self.pending.put_back()
            raise

    def _run(self, heads: list[PendingWorkload], now: float) -> list[Decision]:
        try:
            self.last = run(self.world, heads, self.number, self._is_preemptor, self.claims)
        except Exception as error:
            if len(heads) == 1:
                return self._at_fault(heads[0], error, now)
            return [decision for head in heads for decision in self._run([head], now)]
        decisions = [made for one in self.last.decisions for made in self._concluded(one, now)]
        for entry in self.last.entries:
            decisions += self._settle(entry, now)
        self._note_claims()
        self._wake_reclaimers(now)
        self._clear_the_way(now)
        return decisions

    def _concluded(self, decision: Decision, now: float) -> list[Decision]:
        if not isinstance(decision, Admit):
            return [decision]
        try:
            return [self._assumed(decision, now)]
        except Exception as error:
            self.world.expire(decision.workload.key)
            entry = next(one for one in self.last.entries if one.workload.key == decision.workload.key)
            return self._at_fault(entry.waiting, error, now)

    def _at_fault(self, head: PendingWorkload, error: Exception, now: float) -> list[Decision]:
        """Deciding about this workload alone raises an exception: set it aside for a while, so that others go on."""
        self.faults.append((head.workload, error))
        if head.workload.reserved:
            delay = min(LAST_DELAY, self.second_pass.get(head.key, (now, FIRST_DELAY))[1] * 2)
            self.second_pass[head.key] = (now + delay, delay)
            return []
        delay = self._fault_delays[head.key] = min(LAST_FAULT, self._fault_delays.get(head.key, FIRST_DELAY) * 2)
        self.pending.set_aside(head, now + delay)
        return [Wait(head.workload, RequeueReason.OTHER, WaitStage.FAULT.value, FAULT.format(type(error).__name__))]

    def _clear_the_way(self, now: float) -> None:
        """Once a workload no longer reserves room, wake the workloads that were parked because of it."""
        entries = self.last.entries
        insisting = frozenset(entry.workload.key for entry in entries if entry.insists)
        if self.in_the_way - insisting:
            self.in_the_way = frozenset()
            self.wake_queues(WakeEvent.RESERVATION_ENDED, (), now)
        if any(entry.outrun and entry.why in PARKS_ITS_CLASS for entry in entries):
            self.in_the_way |= insisting

    def _note_claims(self) -> None:
        """What a preemption frees belongs to its preemptor, in this order, until it no longer waits for it.

        Otherwise a workload that goes ahead of it takes the freed room, the victim is admitted elsewhere or again, and
        is preempted again.
        """
        if "KeepFreedRoom" not in self.world.gates:
            return
        self.claims |= dict.fromkeys(one.by.key for one in self.last.decisions if isinstance(one, Preempt))
        done = {one.workload.key for one in self.last.entries if one.why is not RequeueReason.PENDING_PREEMPTION}
        self.claims = {key: None for key in self.claims if key in self.pending.queue_name_of and key not in done}

    def _wake_reclaimers(self, now: float) -> None:
        """Wake the workloads that may preempt because of what was admitted; Kueue leaves them to the next event."""
        if "WakeByReason" in self.world.gates:
            grown = {one.queue for one in self.last.entries if one.fate is Fate.ADMITTED and not one.is_second_pass}
            for queue in sorted(grown):
                self.wake_queues(WakeEvent.QUEUE_BORROWS, reclaimers(self.world, queue), now)

    def _due(self, now: float) -> list[PendingWorkload]:
        due = [key for key, (at, _) in self.second_pass.items() if at <= now]
        holdings = [self.world.ledger.get(key) for key in due]
        return [
            pending_workload(one.workload, one.queue, self.world.settings, self.world.gates)
            for one in holdings
            if one is not None
        ]

    def _is_preemptor(self, entry: Entry) -> bool:
        return self.pending.queues[entry.queue].preemptor == entry.workload.key

    def _assumed(self, decision: Admit, now: float) -> Admit:
        workload, events = carried_out(self.world, decision, now)[0]
        self.world.assume(self.world.holding_of(workload, now))
        self.pending.drop(workload.key)
        self.second_pass.pop(workload.key, None)
        return replace(decision, after=workload, events=tuple(events))

    def _settle(self, entry: Entry, now: float) -> list[Decision]:
        """Requeue or park an entry that was not admitted."""
        key = entry.workload.key
        if entry.fate in (Fate.ADMITTED, Fate.EVICTED, Fate.DROPPED):
            if entry.fate is not Fate.ADMITTED:
                self.second_pass.pop(key, None)
                self.pending.drop(key) if entry.fate is Fate.DROPPED else None
            return []
        if entry.is_second_pass:
            delay = min(LAST_DELAY, self.second_pass.get(key, (now, FIRST_DELAY))[1] * 2)
            self.second_pass[key] = (now + delay, delay)
            return [] if entry.recorded else [Retry(entry.workload, entry.message)]
        alone = self.world.keeps_away(entry.workload)
        self.pending.requeue(entry.waiting, entry.why, _stage(entry), now, entry.reason, alone)
        return [waits(entry)]

    def failed(self, workload: Workload, now: float) -> None:
        """The write of an admission failed: undo it and queue the workload again."""
        self.world.expire(workload.key)
        if workload.key in self.world.ledger:
            self.second_pass[workload.key] = (now + FIRST_DELAY, FIRST_DELAY)
        elif self.is_admissible(workload):
            self.pending.put(workload, now)

    def expire(self, before: float) -> list[str]:
        """Drop assumptions made before that time and never observed; the caller puts the named workloads in again."""
        keys = [holding.key for holding in self.world.ledger.assumed_before(before)]
        for key in keys:
            self.world.expire(key)
            if key in self.world.ledger:
                self.second_pass[key] = (before, FIRST_DELAY)
        return keys

    def not_evicted(self, decision: Evict, now: float) -> Retry:
        """The write of an eviction failed: retry it later."""
        self.second_pass[decision.workload.key] = (now + FIRST_DELAY, FIRST_DELAY)
        return Retry(decision.workload, decision.found)


def _fewest(demand: Demand) -> int:
    least = demand.part.min_count
    return demand.count if least is None else min(demand.count, least)


def _stage(entry: Entry) -> WaitStage:
    """What would have to change before the workload can be admitted; if that is uncertain, any event wakes it.

    It is certain for a workload of one group without partial admission, if every flavor was considered without the
    promises of a cycle. A lack of room is certain only if no other flavor was possible.
    """
    if entry.why is RequeueReason.NAMESPACE:
        return WaitStage.NAMESPACE
    demands, partial = entry.waiting.demands, entry.resumed or entry.outrun or entry.workload.replaces
    may_shrink = any(one.part.min_count is not None for one in demands)
    if entry.why is RequeueReason.NO_CANDIDATES:
        return WaitStage.QUOTA if entry.plan.lacks_quota and not partial and not may_shrink else WaitStage.ROOM
    if entry.why is not RequeueReason.NO_FIT or partial or entry.nomination is None:
        return WaitStage.UNKNOWN
    plan = entry.plan
    if len(entry.workload.request.groups) > 1 or may_shrink:
        return WaitStage.UNKNOWN
    if plan.severity is Severity.TOPOLOGY and any(len(one.attempts) > 1 for one in plan.pod_sets):
        return WaitStage.UNKNOWN
    return WaitStage(plan.severity.reason)


def needs_second_pass(workload: Workload, unchecked: bool = False) -> bool:
    """Whether it has quota but lacks places or lost a node; with `unchecked` no check has to be ready first."""
    status = workload.status
    if status.admission is None or workload.finished or workload.evicted:
        return False
    if workload.admitted:
        lost = set(status.unhealthy)
        return any(
            path[-1] in lost
            for one in status.admission.pod_sets
            if one.topology is not None
            for path in one.topology.values
        )
    ready = (bool(status.checks) or unchecked) and all(check.state == "Ready" for check in status.checks)
    return ready and any(one.delayed == "Pending" for one in status.admission.pod_sets)
