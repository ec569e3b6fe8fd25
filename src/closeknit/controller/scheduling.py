"""Runs scheduling cycles while any workload is ready, and writes what they decide.

A cycle is worth running only if something has changed since the last one without effect. A StrictFIFO queue would
otherwise be scheduled forever: after a few cycles with the same outcome the scheduler waits for a change.

Every event may start a cycle, and a cycle plans the heads of all queues. On a busy server events arrive one at a time,
faster than cycles run, so a host may ask for a rest between cycles: the first event after a quiet time is handled at
once, and events that arrive during the rest are handled together in the next cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ..cluster.errors import Conflict, NotFound, Refused
from ..cluster.kinds import WORKLOAD
from ..cluster.port import Change, Raw, Write
from ..decide.decision import Admit, Decision, Evict, Preempt, Replace, Retry, Wait
from ..decide.status import carried_out
from ..model.workload import Workload
from ..observe.cluster_cache import ClusterCache
from ..write.events import Recorder, RecordEvent
from ..write.in_flight import Flight, flights
from ..write.workloads import status_write
from .cycle_backoff import CycleBackoff
from .decision_log import DecisionLog, Record, record_of
from .pending_reporter import PendingReporter
from .reconciler import WriteInFlight, with_initial_pods_ready

LONGEST_REST, SPARING = 0.25, 15
"""The longest rest in seconds, and the shortest as a multiple of the duration of a cycle in which all workloads wait.
The more of them were admitted, the shorter it is: a cycle admits one workload per queue, and others are behind it."""
RETRY = 0.05
"""Seconds until the next cycle after a write was refused."""
SAID = ("QuotaReserved", "Admitted", "PodsReady")
"""Conditions that report on a pending workload."""
RESTS = "the last cycles only repeated earlier outcomes: scheduling pauses until something changes"


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision whose write is in flight, and its record for the decision log."""

    decision: Decision
    record: Record | None


class SchedulingReconciler:
    """`cost` is the clock that measures cycles; `rest` is the pause after a cycle; both in seconds."""

    def __init__(
        self,
        cache: ClusterCache,
        recorder: Recorder,
        decision_log: DecisionLog,
        pending: PendingReporter,
        cost: Callable[[], float],
        rest: float = 0.0,
    ) -> None:
        self.cache, self.recorder, self.decision_log, self.pending = cache, recorder, decision_log, pending
        self._cost, self.rest = cost, rest
        self._patience = CycleBackoff()
        self._pause = 0.0
        """No cycle runs before this time: the rest after the last cycle, or the delay after a refused write."""
        self._evicting: set[str] = set()
        """Uids of victims whose eviction is written but not in the cache yet."""

    def see(self, change: Change) -> None:
        """A pending workload's status as written by a cycle starts no other cycle; other kinds come through wakes."""
        if change.kind is not WORKLOAD:
            return
        uid = change.object["metadata"].get("uid", "")
        if uid in self._evicting or not _is_only_said(change):
            self._patience.renew()
            self._evicting.discard(uid)

    def due(self) -> float | None:
        scheduler = self.cache.scheduler
        if scheduler.is_ready and not self._patience.is_over:
            return self._pause
        wake = self.cache.wakes.next
        times = [scheduler.next_timer, None if wake is None else max(wake, self._pause)]
        return min((one for one in times if one is not None), default=None)

    def step(self, now: float) -> Sequence[Flight[Decided]]:
        cache, moment = self.cache, float(int(now))
        if cache.wakes.pass_on(now):
            self._patience.renew()
        cache.scheduler.tick(moment)
        if not cache.scheduler.has_work(moment):
            return ()
        begin = self._cost()
        decisions = cache.scheduler.cycle(moment)
        took = self._cost() - begin
        for workload, error in cache.scheduler.faults:
            self.recorder.faults.report(self, cache.raw_workload(workload.key), error, now)
        if self.rest:
            waits = sum(isinstance(one, Wait) for one in decisions) / max(1, len(decisions))
            self._pause = self.cache.now() + min(LONGEST_REST, max(self.rest, SPARING * took * waits))
        cost = took / max(1, len(decisions))
        self._count(decisions, now)
        made: list[Flight[Decided]] = []
        for decision in decisions:
            if self._is_under_way(decision):
                continue
            try:
                made += self._sent(decision, now, cost)
            except Exception as error:
                key = _subject(decision).key
                self.recorder.faults.report(self, cache.raw_workload(key), error, now)
                self._undo(decision, now)
        return made

    def _sent(self, decision: Decision, now: float, cost: float) -> Sequence[Flight[Decided]]:
        """The writes of a decision, which is logged once they succeed, or at once if there are none."""
        record = record_of(decision, now, cost)
        sent: Sequence[Flight[Decided]] = ()
        if isinstance(decision, Wait):
            self.pending.report(decision, now)
        else:
            steps = self._writes(decision, float(int(now)))
            sent = flights(Decided(decision, record), steps, self.recorder.record)
        if record is not None and not sent:
            self.decision_log.write(record)
        return sent

    def _count(self, decisions: Sequence[Decision], now: float) -> None:
        outcome = tuple(_outcome(one) for one in decisions if isinstance(one, Wait) or self._is_under_way(one))
        if len(outcome) != len(decisions):
            self._patience.fruitful()
        elif self._patience.fruitless(outcome) and outcome:
            self.decision_log.write(Record(now, outcome[0][1], "Rests", "", "", (), RESTS, 0))

    def _is_under_way(self, decision: Decision) -> bool:
        """Whether it repeats a preemption whose eviction is written but not in the cache yet."""
        return isinstance(decision, Preempt) and decision.victim.uid in self._evicting

    def _writes(self, decision: Decision, now: float) -> Iterator[Write | RecordEvent]:
        if isinstance(decision, Preempt):
            self._evicting.add(decision.victim.uid)
        for after, events in carried_out(self.cache.world, decision, now):
            before, raw = self.cache.workloads.get(after.key), self.cache.raw_workload(after.key)
            if before is None or raw is None:
                if isinstance(decision, Admit):
                    self.cache.scheduler.drop(after.key)
                continue
            if not _concerns_another(decision, after.key):
                write = status_write(raw, before, with_initial_pods_ready(self.cache, raw, after, now))
                if write is not None:
                    yield write
            for event in events:
                yield RecordEvent(raw, event, now)

    def done(self, flight: Flight[Decided], result: Raw | Refused, now: float) -> None:
        decided = flight.key
        if not isinstance(result, Refused):
            if decided.record is not None:
                self.decision_log.write(decided.record)
            return
        if not (isinstance(decided.decision, Preempt) and _is_out_of_date(result)):
            self._undo(decided.decision, now)

    def _undo(self, decision: Decision, now: float) -> None:
        """The writes of a decision failed: its workload is decided about again."""
        moment = float(int(now))
        self._pause = max(self._pause, now + RETRY)
        match decision:
            case Admit(workload):
                current = self.cache.workloads.get(workload.key)
                if current is None:
                    self.cache.scheduler.drop(workload.key)
                else:
                    self.cache.scheduler.failed(current, moment)
            case Evict():
                if decision.workload.key in self.cache.workloads:
                    self.cache.scheduler.not_evicted(decision, moment)
            case Preempt():
                self._evicting.discard(decision.victim.uid)
            case _:
                pass
        self._patience.renew()


def _is_out_of_date(refused: Refused) -> bool:
    """Whether the object has changed or gone on the server. Until the informer shows it, it counts as evicted."""
    return isinstance(refused, Conflict | NotFound) and not isinstance(refused, WriteInFlight)


def _subject(decision: Decision) -> Workload:
    """The workload that a decision is about."""
    match decision:
        case Preempt():
            return decision.victim
        case Replace():
            return decision.old
    return decision.workload


def _outcome(decision: Decision) -> tuple[str, str, str]:
    match decision:
        case Wait() | Retry() | Evict():
            return type(decision).__name__, decision.workload.key, decision.message
        case Preempt():
            return "Preempt", decision.victim.key, decision.by.key
    return type(decision).__name__, "", ""


def _is_only_said(change: Change) -> bool:
    """Whether the change only reports on a pending workload."""
    if change.type != "MODIFIED" or change.old is None:
        return False
    if change.old["metadata"].get("generation") != change.object["metadata"].get("generation"):
        return False
    return _but_for_waiting(change.old) == _but_for_waiting(change.object)


def _but_for_waiting(raw: Raw) -> object:
    status = dict(raw.get("status") or {})
    conditions = status.pop("conditions", None) or ()
    status.pop("resourceRequests", None)
    kept = [one for one in conditions if one["status"] == "True" or one["type"] not in SAID]
    return status, kept


def _concerns_another(decision: Decision, key: str) -> bool:
    """Whether the workload only gets an event: a preemption changes the victim, not the preemptor."""
    match decision:
        case Preempt():
            return key != decision.victim.key
        case Retry():
            return True
        case Replace():
            return key != decision.old.key
    return False
