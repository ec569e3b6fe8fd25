"""What would happen: run cycles until nothing changes, in a world where nothing takes time.

          ┌────────────────────────────── requeued ◀─────────────────────────────┐
          ▼                                                                       │
    pending ─▶ cycle ─▶ admitted ─▶ its checks become ready ─▶ runs ─▶ preempted, stops at once
                 │                  (or block it for good)           nothing else ever ends
                 └─▶ waits

The scheduler is the real one; only its surroundings are simplified. Some preemptions would alternate forever, so no
workload is preempted twice by the same preemptor, nor more than a few times in total: such a preemptor is removed from
its queue instead. So the simulation ends: admissions and preemptions are bounded, and a cycle that does neither and
tries nothing new is the last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from ..model.maintenance import EVICTED
from ..model.workload import Check, Workload
from ..queue.wake import WakeEvent
from .decision import Admit, Decision, Evict, Preempt, Replace, Retry, Wait
from .entry import Entry, Fate
from .scheduler import Scheduler
from .status import carried_out, evicted, is_ready, required_checks

DELETED = "WorkloadDeleted"
"""Why a workload ends whose object was deleted while its job was not: another one is created for the job."""

QUEUED_AGAIN = ("Preempted", "NodeFailures", DELETED, EVICTED)
"""Evictions after which a workload is requeued at once."""

MOST_TIMES = 5
"""A workload that was preempted this often is not preempted again."""

CUT = "the preemptions would repeat, so this job is not simulated further"


class StepKind(Enum):
    """What happened to a workload."""

    ADMITTED = "Admitted"
    RESERVED = "QuotaReserved"
    """It has quota, but still lacks checks or places."""
    MOVED = "Moved"
    """Its pods on a failed node got another node."""
    PREEMPTED = "Preempted"
    EVICTED = "Evicted"
    REPLACED = "Replaced"
    """A later slice of the same job replaced it."""
    CUT = "Cut"
    """It would be preempted again; the simulation stops that."""


@dataclass(frozen=True, slots=True)
class StoryStep:
    """One step of a story; `workload` is its state afterwards, `by` the workload it made room for."""

    kind: StepKind
    cycle: int
    workload: Workload
    queue: str
    by: Workload | None = None
    by_queue: str = ""
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class WhatIfOptions:
    """`pods_of` names pods, by workload, that end when it stops; `watch` is called after every cycle."""

    checks_ready: bool = True
    pods_of: Mapping[str, Sequence[str]] = field(default_factory=dict)
    watch: Callable[[Story], None] | None = None


BACKS_OFF = ("PodsReadyTimeout", "AdmissionCheck")
"""Evictions after which a workload is requeued after a backoff."""

PLAIN = WhatIfOptions()


@dataclass(slots=True)
class Story:
    """`workloads` at the end; `waits` and `retries` hold the last decision on those that were not admitted.

    `cut` holds, by preemptor, the step at which it was removed from its queue.
    """

    steps: list[StoryStep] = field(default_factory=list)
    workloads: dict[str, Workload] = field(default_factory=dict)
    waits: dict[str, Wait] = field(default_factory=dict)
    retries: dict[str, Retry] = field(default_factory=dict)
    cut: dict[str, StoryStep] = field(default_factory=dict)
    cycles: int = 0


def play(scheduler: Scheduler, workloads: Iterable[Workload], now: float, options: WhatIfOptions = PLAIN) -> Story:
    """Give these workloads to a scheduler that knows all other objects, and run it until nothing changes."""
    player = _Player(scheduler, now, options)
    player.start(list(workloads))
    while player.goes_on():
        player.cycle()
        if options.watch is not None:
            options.watch(player.story)
    return player.story


class _Player:
    """`seen` is what was evaluated without success since something last changed."""

    def __init__(self, scheduler: Scheduler, now: float, options: WhatIfOptions) -> None:
        self.scheduler, self.now, self.options = scheduler, now, options
        self.world = scheduler.world
        self.story = Story()
        self.seen: set[Hashable] = set()
        self.preempted: Counter[str] = Counter()
        self.pairs: set[tuple[str, str]] = set()
        self.idle = False
        self.restless = False
        self.passed = False
        """Whether second passes were made since something last changed."""

    # The beginning

    def start(self, workloads: list[Workload]) -> None:
        """Add all workloads; those that may not keep their quota release it."""
        leaving: list[tuple[Workload, str, str]] = []
        for one in workloads:
            one = _after_backoff(one, self.now)
            ending = _ending(self.scheduler, one, self.now) if one.reserved else None
            ready = one if ending else self._with_checks(one)
            self._observe(ready)
            if ending:
                leaving.append((one, *ending))
            elif ready.admitted and not one.admitted:
                self._tell(StepKind.ADMITTED, ready, self._queue_of(ready))
        for one, reason, message in leaving:
            last = one if one.evicted else evicted(one, reason, message, self.now)[0]
            self._tell(StepKind.EVICTED, last, self._queue_of(one), reason=reason, message=message)
            self._stop([last])

    # Cycles

    def goes_on(self) -> bool:
        """Whether another cycle may change something.

        When everything is quiet after a change, all parked workloads are woken once more: freed room may help other
        queues, and the last workload admitted may be preemptible for others. Then follow the second passes, which come
        a second later in a cluster.
        """
        if self.restless and (self.idle or not self._is_ready):
            self.restless = self.idle = False
            self.seen.clear()
            self.scheduler.wake_queues(WakeEvent.NODE_CHANGED, (), self.now)
        if (self.idle or not self._is_ready) and self.scheduler.second_pass and not self.passed:
            self.idle, self.passed = False, True
            for key, (_, delay) in self.scheduler.second_pass.items():
                self.scheduler.second_pass[key] = (self.now, delay)
        return not self.idle and self._is_ready

    @property
    def _is_ready(self) -> bool:
        due = any(at <= self.now for at, _ in self.scheduler.second_pass.values())
        return due or self.scheduler.is_ready

    def cycle(self) -> None:
        self.story.cycles += 1
        decisions = self.scheduler.cycle(self.now)
        cut = self._cut(decisions)
        stopping: dict[str, Workload] = {}
        changed = bool(cut)
        for decision in decisions:
            match decision:
                case Admit():
                    self._admit(decision)
                    changed = True
                case Preempt() if decision.by.key not in cut:
                    stopping[decision.victim.key] = self._preempt(decision)
                case Evict():
                    stopping[decision.workload.key] = self._evict(decision)
                case Replace():
                    self._replace(decision)
                    changed = True
                case Wait():
                    self.story.waits[decision.workload.key] = decision
                case Retry():
                    self.story.retries[decision.workload.key] = decision
        self._stop(stopping.values())
        self._judge(changed or bool(stopping))

    def _judge(self, changed: bool) -> None:
        """A cycle is idle if it changed nothing and evaluated only what was evaluated before."""
        if changed:
            self.restless, self.passed = True, False
            self.seen.clear()
            return
        looked_at = {_mark(entry) for entry in self.scheduler.last.entries if entry.fate is not Fate.ADMITTED}
        self.idle = looked_at <= self.seen
        self.seen |= looked_at

    def _admit(self, decision: Admit) -> None:
        before = decision.workload
        one = self._with_checks(carried_out(self.world, decision, self.now)[0][0])
        self.story.waits.pop(one.key, None)
        self.story.retries.pop(one.key, None)
        self._observe(one)
        if before.admitted:
            self._tell(StepKind.MOVED, one, decision.admission.queue)
        else:
            self._tell(StepKind.ADMITTED if one.admitted else StepKind.RESERVED, one, decision.admission.queue)

    def _preempt(self, decision: Preempt) -> Workload:
        victim, _ = carried_out(self.world, decision, self.now)[0]
        self.preempted[victim.key] += 1
        self.pairs.add((victim.key, decision.by.key))
        reason = decision.cause.value
        by = decision.by, decision.by_queue
        self._tell(StepKind.PREEMPTED, victim, decision.queue, *by, reason=reason, message=decision.message)
        return victim

    def _evict(self, decision: Evict) -> Workload:
        one, _ = carried_out(self.world, decision, self.now)[0]
        message = f"{decision.message}: {decision.found}" if decision.found else decision.message
        self._tell(StepKind.EVICTED, one, self._queue_of(one), reason="NodeFailures", message=message)
        return one

    def _replace(self, decision: Replace) -> None:
        old, _ = carried_out(self.world, decision, self.now)[0]
        queue = self._queue_of(old)
        self._observe(old)
        self._tell(StepKind.REPLACED, old, queue, decision.by, queue)

    def _cut(self, decisions: Sequence[Decision]) -> set[str]:
        """Remove preemptors that would preempt the same workload again from their queues, and return their keys."""
        again = [one for one in decisions if isinstance(one, Preempt) and self._is_repeated(one)]
        for one in again:
            if one.by.key not in self.story.cut:
                step = StoryStep(StepKind.CUT, self.story.cycles, one.victim, one.queue, one.by, one.by_queue, "", CUT)
                self.story.steps.append(step)
                self.story.cut[one.by.key] = step
                self.scheduler.pending.drop(one.by.key)
        return {one.by.key for one in again}

    def _is_repeated(self, one: Preempt) -> bool:
        victim = one.victim.key
        return (victim, one.by.key) in self.pairs or self.preempted[victim] == MOST_TIMES

    # What follows from a decision

    def _stop(self, stopping: Iterable[Workload]) -> None:
        """Stop workloads at once: release their quota and places, and wake the workloads that this may help."""
        queues: dict[str, None] = {}
        for one in stopping:
            queues[self._queue_of(one)] = None
            for pod in self.options.pods_of.get(one.key, ()):
                self.world.drop_pod(pod)
                self.world.drop_placed_pod(pod)
            self._observe(_stopped(one, self.now))
        for queue in queues:
            self.scheduler.wake(WakeEvent.WORKLOAD_EVICTED, queue, self.now)
        if queues:
            self.restless, self.passed = True, False

    def _observe(self, one: Workload) -> None:
        self.story.workloads[one.key] = one
        self.scheduler.put(one, self.now)

    def _with_checks(self, one: Workload) -> Workload:
        """Add the checks that its flavors require, ready if the options say so, and admit it if nothing is missing."""
        status = one.status
        queue = None if status.admission is None else self.world.cluster_queues.get(status.admission.queue)
        if queue is None or not one.reserved or one.finished or one.evicted:
            return one
        known = {check.name: check for check in status.checks}
        listed = [known.get(name, Check(name, since=self.now)) for name in sorted(required_checks(queue, status))]
        if self.options.checks_ready:
            listed = [each._replace(state="Ready") if each.state == "Pending" else each for each in listed]
        status = replace(status, checks=tuple(listed))
        if not one.admitted and is_ready(queue, status):
            status = status.condition(
                "Admitted", True, "Admitted", "The workload is admitted", self.now, one.generation
            )
        if status.holds("Admitted") and not one.admitted and self.world.settings.blocks_admission:
            status = status.condition("PodsReady", True, "Started", "Pods start at once", self.now, one.generation)
        return replace(one, status=status)

    def _queue_of(self, one: Workload) -> str:
        return "" if one.status.admission is None else one.status.admission.queue

    def _tell(
        self,
        kind: StepKind,
        one: Workload,
        queue: str,
        by: Workload | None = None,
        by_queue: str = "",
        reason: str = "",
        message: str = "",
    ) -> None:
        self.story.steps.append(StoryStep(kind, self.story.cycles, one, queue, by, by_queue, reason, message))


def _ending(scheduler: Scheduler, one: Workload, now: float) -> tuple[str, str] | None:
    """Why a workload has to release its quota, if it has to."""
    status = one.status
    if one.evicted:
        condition = status.conditions["Evicted"]
        return condition.reason, condition.message
    if not one.active:
        return "Deactivated", "The workload is deactivated"
    queue = None if status.admission is None else scheduler.world.cluster_queues.get(status.admission.queue)
    local = scheduler.pending.local_queues.get(one.local_queue)
    stops = (("ClusterQueue", "None" if queue is None else queue.stop), ("LocalQueue", local.stop if local else "None"))
    for kind, stop in stops:
        if stop == "HoldAndDrain" or (stop == "Hold" and not one.admitted):
            return f"{kind}Stopped", f"The {kind} is stopped"
    for state in ("Rejected", "Retry"):
        names = ", ".join(f'"{check.name}" ({check.message})' for check in status.checks if check.state == state)
        if names:
            reason = "DeactivatedDueToAdmissionCheck" if state == "Rejected" else "AdmissionCheck"
            return reason, f"Evicted due to AdmissionChecks in {state} state: {names}"
    window = scheduler.world.drained_by(one, now)
    return None if window is None else (EVICTED, window.begun)


def _after_backoff(one: Workload, now: float) -> Workload:
    """End the backoff of a workload whose time has come."""
    requeued, until = one.status.conditions.get("Requeued"), one.status.requeue_at
    waits = requeued is not None and not requeued.holds and requeued.reason in BACKS_OFF
    if one.reserved or not waits or (until is not None and now < until):
        return one
    status = one.status.condition("Requeued", True, "BackoffFinished", "The backoff is over", now, one.generation)
    return replace(one, status=replace(status, requeue_at=None))


def _stopped(one: Workload, now: float) -> Workload:
    """Complete an eviction. The workload of a single bare pod is not requeued: its pod is gone."""
    condition = one.status.conditions["Evicted"]
    again = condition.reason in QUEUED_AGAIN and not one.owned_by_pod
    status = one.status.changed(
        {
            "Requeued": (again, condition.reason, condition.message),
            "QuotaReserved": (False, "PendingEvaluation", condition.message),
            "Admitted": (False, "NoReservation", "The workload has no reservation"),
        },
        now,
        one.generation,
    )
    return replace(one, status=replace(status, admission=None))


def _mark(entry: Entry) -> Hashable:
    """What an entry was evaluated for: the workload, the result, and which flavors were tried."""
    progress = entry.waiting.progress
    tried = () if progress is None else tuple(tuple(sorted(each.items())) for each in progress.tried)
    return entry.workload.key, entry.why, tried
