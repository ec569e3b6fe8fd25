"""The desk of the scheduler: cycles run while somebody is ready, and what they decide is written.

A cycle is worth running when something has changed since the last one came to nothing. A queue that insists on its
first workload would otherwise be looked at for ever: after a few rounds with the same outcome it waits for a change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter

from ..cluster.errors import Refused
from ..cluster.kinds import EVENT, WORKLOAD
from ..cluster.port import Change, Raw, Write
from ..decide.decision import Admit, Decision, Evict, Preempt, Replace, Retry, Wait
from ..decide.status import carried_out
from ..observe.known import Known
from ..write.events import Recorder
from ..write.workloads import status_write
from .records import Diary, record_of

RETRY = 0.05
"""Seconds until the next cycle after a write was refused."""

SAME, MOST = 3, 50
"""So many rounds with the same outcome, or without any, and nothing else happening, are enough."""


class Scheduling:
    def __init__(self, known: Known, recorder: Recorder, diary: Diary) -> None:
        self.known, self.recorder, self.diary = known, recorder, diary
        self._sent: dict[int, tuple[Write, Decision]] = {}
        self._outcome: object = None
        self._rounds = self._fruitless = 0
        self._pause = 0.0
        """Until then no cycle is run: a write was refused, and what is known may be out of date."""
        self._evicting: set[str] = set()
        """Victims whose eviction was written and has not been seen yet, by uid."""

    def see(self, change: Change) -> None:
        """What a cycle itself says of those who wait is no reason for another one."""
        if change.kind is not EVENT and not _is_only_said(change):
            self._rounds = self._fruitless = 0
            self._evicting.discard(change.object["metadata"].get("uid", ""))

    def due(self) -> float | None:
        scheduler = self.known.scheduler
        rests = self._rounds >= SAME or self._fruitless >= MOST
        if self.known.wakes or (scheduler.is_ready and not rests):
            return self._pause
        return scheduler.next_timer

    def step(self, now: float) -> Sequence[Write]:
        known, moment = self.known, float(int(now))
        if known.wakes:
            self._rounds = self._fruitless = 0
        known.pass_on_wakes()
        known.scheduler.tick(moment)
        if not known.scheduler.has_work(moment):
            return ()
        begin = perf_counter()
        decisions = known.scheduler.cycle(moment)
        cost = (perf_counter() - begin) / max(1, len(decisions))
        self._count_rounds(decisions)
        writes: list[Write] = []
        for decision in decisions:
            record = record_of(decision, now, cost)
            if record is not None:
                self.diary.write(record)
            writes += self._writes(decision, moment)
        return writes

    def _count_rounds(self, decisions: Sequence[Decision]) -> None:
        outcome = [_outcome(one) for one in decisions if isinstance(one, Wait) or self._is_under_way(one)]
        fruitless = len(outcome) == len(decisions)
        self._fruitless = self._fruitless + 1 if fruitless else 0
        self._rounds = self._rounds + 1 if fruitless and outcome == self._outcome else 0
        self._outcome = outcome

    def _is_under_way(self, decision: Decision) -> bool:
        """Whether it says again what was written before: the victim has not been seen to go yet."""
        return isinstance(decision, Preempt) and decision.victim.uid in self._evicting

    def _writes(self, decision: Decision, now: float) -> Iterator[Write]:
        if self._is_under_way(decision):
            return
        if isinstance(decision, Preempt):
            self._evicting.add(decision.victim.uid)
        for after, events in carried_out(self.known.world, decision, now):
            before, raw = self.known.workloads.get(after.key), self.known.raw_workload(after.key)
            if before is None or raw is None:
                if isinstance(decision, Admit):
                    self.known.scheduler.drop(after.key)
                continue
            write = None if _concerns_another(decision, after.key) else status_write(raw, before, after)
            if write is not None:
                self._sent[id(write)] = write, decision
                yield write
            for event in events:
                yield from self.recorder.tell(raw, event, now)

    def done(self, write: Write, result: Raw | Refused, now: float) -> None:
        sent = self._sent.pop(id(write), None)
        if sent is None or not isinstance(result, Refused):
            return
        moment = float(int(now))
        self._pause = now + RETRY
        match sent[1]:
            case Admit(workload):
                known = self.known.workloads.get(workload.key)
                if known is None:
                    self.known.scheduler.drop(workload.key)
                else:
                    self.known.scheduler.failed(known, moment)
            case Evict() as decision:
                if decision.workload.key in self.known.workloads:
                    self.known.scheduler.not_evicted(decision, moment)
            case Preempt() as decision:
                self._evicting.discard(decision.victim.uid)
            case _:
                pass
        self._rounds = self._fruitless = 0


def _outcome(decision: Decision) -> tuple[str, str, str]:
    match decision:
        case Wait() | Retry() | Evict():
            return type(decision).__name__, decision.workload.key, decision.message
        case Preempt():
            return "Preempt", decision.victim.key, decision.by.key
    return type(decision).__name__, "", ""


def _is_only_said(change: Change) -> bool:
    """Whether a workload that waits is only told why."""
    if change.kind is not WORKLOAD or change.type != "MODIFIED" or change.old is None:
        return False
    if change.old["metadata"].get("generation") != change.object["metadata"].get("generation"):
        return False
    return _but_for_waiting(change.old) == _but_for_waiting(change.object)


def _but_for_waiting(raw: Raw) -> object:
    status = dict(raw.get("status") or {})
    conditions = status.pop("conditions", None) or ()
    status.pop("resourceRequests", None)
    kept = [one for one in conditions if one["status"] == "True" or one["type"] not in ("QuotaReserved", "Admitted")]
    return status, kept


def _concerns_another(decision: Decision, key: str) -> bool:
    """Whether this one is only told something: who preempts is not changed by it."""
    match decision:
        case Preempt():
            return key != decision.victim.key
        case Retry():
            return True
        case Replace():
            return key != decision.old.key
    return False
