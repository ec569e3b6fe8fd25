"""Scheduling cycles: one with everything that it writes, or several in waves."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from closeknit.decide.decision import Admit, Evict, Preempt, Replace, Wait
from closeknit.decide.scheduler import Scheduler, needs_second_pass
from closeknit.decide.status import carried_out
from closeknit.dialects.kueue import objects as kueue
from closeknit.dialects.timestamps import parse
from closeknit.model.event import Event
from closeknit.model.resources import amounts
from closeknit.model.workload import Workload
from closeknit.queue.wake import WakeEvent as Wake

from .case import Case, Prepared, tidy
from .cluster import admission, now, plain_admission, scheduler, workloads


def one_cycle(case: Case) -> Prepared:
    """One cycle at `now`, with the status of every workload after it."""
    return Prepared(lambda: _prepared(case), lambda ran: _shown(case, *ran), _wanted(case))


def _prepared(case: Case) -> Ran:
    built = scheduler(case)
    known = {one.key: one for one in workloads(case)}
    at = now(case)
    for one in known.values():
        if one.reserved or one.status.admission is not None:
            built.world.confirm(one)
            if needs_second_pass(one):
                built.second_pass[one.key] = (at, 1.0)
        elif built.is_admissible(one):
            built.pending.put(one, at)
    return _run(built, case, known, at)


Ran = tuple[Scheduler, dict[str, Workload], dict[str, Workload], list[Event]]


def _run(built: Scheduler, case: Case, before: dict[str, Workload], at: float) -> Ran:
    known, events = dict(before), []
    fails = case.get("admissionError") or case.get("patchStatusErr")
    decisions = built.cycle(at)
    for decision in decisions:
        if fails and not isinstance(decision, Wait):
            events += _failed(built, decision, fails, at)
            continue
        for changed, recorded in carried_out(built.world, decision, at):
            if not isinstance(decision, Preempt) or changed.key == decision.victim.key:
                known[changed.key] = changed
            events += recorded
    return built, before, known, events


def _failed(built: Scheduler, decision: Any, error: str, at: float) -> list[Event]:
    if isinstance(decision, Admit):
        built.failed(decision.workload, at)
    if isinstance(decision, Evict) and "not found" not in error:
        return carried_out(built.world, built.not_evicted(decision, at), at)[0][1]
    return []


def _shown(
    case: Case, built: Scheduler, before: dict[str, Workload], known: dict[str, Workload], events: list[Event]
) -> Any:
    answer: dict[str, Any] = {
        "left": _by_queue(built, ready=True),
        "inadmissible": _by_queue(built, ready=False),
    }
    holding = {key: one for key, one in known.items() if key in built.world.ledger and one.status.admission is not None}
    if "wantAssignments" in case:
        answer["assignments"] = {key: admission(one) for key, one in holding.items()}
    if "wantNewAssignments" in case:
        new = {key for key in holding if not before[key].admitted or before[key].status.unhealthy}
        answer["assignments"] = {key: admission(holding[key]) for key in new}
    if case.get("wantWorkloads") is not None:
        answer["workloads"] = {key: _status(kueue.workload_status(one.status)) for key, one in known.items()}
    if case.get("wantEvents") is not None or "wantNewAssignments" in case:
        counts = Counter(f"{one.key} {one.type} {one.reason}" for one in events)
        answer["events"] = dict(counts)
    if case.get("wantSkippedPreemptions"):
        skipped = Counter(entry.queue for entry in built.last.entries if entry.skipped_preemption)
        answer["skipped"] = {queue: skipped.get(queue, 0) for queue in case["wantSkippedPreemptions"]}
    if case.get("wantPreemptionTargetRecomputations"):
        outcomes = Counter((entry.queue, entry.recomputed) for entry in built.last.entries if entry.recomputed)
        listed = case["wantPreemptionTargetRecomputations"]
        answer["recomputed"] = {
            f"{q} {what}": outcomes.get((q, what), 0) for q, each in listed.items() for what in each
        }
    return answer


def _wanted(case: Case) -> Any:
    wanted: dict[str, Any] = {
        "left": _sorted(case.get("wantLeft")),
        "inadmissible": _sorted(case.get("wantInadmissibleLeft")),
    }
    given = case.get("wantAssignments") if "wantAssignments" in case else case.get("wantNewAssignments")
    wanted["assignments"] = {key: plain_admission(one) for key, one in (given or {}).items()}
    if case.get("wantWorkloads") is not None:
        wanted["workloads"] = {
            f"{one['metadata'].get('namespace', '')}/{one['metadata']['name']}": _status(one.get("status") or {})
            for one in case["wantWorkloads"]
        }
    if case.get("wantEvents") is not None or "wantNewAssignments" in case:
        counts = Counter(
            f"{one['Key']['Namespace']}/{one['Key']['Name']} {one['EventType']} {one['Reason']}"
            for one in case.get("wantEvents") or ()
        )
        wanted["events"] = dict(counts)
    if case.get("wantSkippedPreemptions"):
        wanted["skipped"] = case["wantSkippedPreemptions"]
    if case.get("wantPreemptionTargetRecomputations"):
        wanted["recomputed"] = {
            f"{queue} {what}": count
            for queue, outcomes in case["wantPreemptionTargetRecomputations"].items()
            for what, count in outcomes.items()
        }
    return wanted


def _sorted(by_queue: Any) -> dict[str, list[str]]:
    return {queue: sorted(keys) for queue, keys in (by_queue or {}).items() if keys}


def _by_queue(built: Scheduler, ready: bool) -> dict[str, list[str]]:
    found = {}
    for name, line in built.pending.queues.items():
        keys = sorted(one.key for one in (line.ready() if ready else line.all_parked()))
        if keys:
            found[name] = keys
    return found


def _status(raw: Any) -> Any:
    """A status with conditions by type and amounts as numbers."""
    status = tidy(dict(raw))
    status["conditions"] = {one["type"]: {**one, "type": None} for one in status.get("conditions") or ()}
    if "admission" in status:
        status["admission"] = plain_admission(status["admission"])
    status["resourceRequests"] = {
        one["name"]: amounts(one.get("resources") or {}) for one in status.get("resourceRequests") or ()
    }
    return tidy(status)


def waves(case: Case) -> Prepared:
    """Several cycles in waves, with finishes, un-parking and completed evictions."""
    want = [_wave_wanted(one) for one in case["want"]]
    return Prepared(
        lambda: _Play(case).run(),
        lambda answers: [_only(one, full) for one, full in zip(answers, want, strict=True)],
        want,
    )


def _wave_wanted(one: dict[str, Any]) -> dict[str, Any]:
    wanted = {
        "admissions": {name: plain_admission(raw) for name, raw in (one.get("admissions") or {}).items()},
        "preempted": one.get("preempted") or {},
        "left": _sorted(one.get("left")),
        "inadmissible": _sorted(one.get("inadmissible")),
    }
    if "cyclesRun" in one:
        wanted["cyclesRun"] = one["cyclesRun"]
        wanted["evictions"] = one.get("evictions") or {}
    return wanted


def _only(answer: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    return {key: answer[key] for key in wanted}


class _Play:
    """The waves of one case, one after another."""

    def __init__(self, case: Case) -> None:
        self.case, self.built = case, scheduler(case)
        self.known: dict[str, Workload] = {}
        self.observes = "evictCompletes" in case

    def run(self) -> list[dict[str, Any]]:
        return [self._wave(wave) for wave in self.case["waves"]]

    def _wave(self, wave: dict[str, Any]) -> dict[str, Any]:
        at = parse(wave["now"])
        trees = [self._finish(name) for name in wave.get("finish") or ()]
        self._unpark(trees, at)
        for raw in wave.get("workloads") or ():
            one = kueue.workload(raw)
            self.known[one.key] = one
            self.built.pending.put(one, at)
        ran = 0
        while ran < wave["cycles"] and self.built.is_ready:
            ran += 1
            self._cycle(at)
        return self._answer(ran)

    def _finish(self, name: str) -> str:
        one = self.known.pop(f"default/{name}")
        queue = self.built.pending.queue_of(one)
        self.built.drop(one.key)
        return queue

    def _unpark(self, queues: list[str], at: float) -> None:
        for queue in queues:
            self.built.wake(Wake.WORKLOAD_FINISHED, queue, at)

    def _cycle(self, at: float) -> None:
        changed: dict[str, Workload] = {}
        for decision in self.built.cycle(at):
            if isinstance(decision, Preempt) and self.known[decision.victim.key].evicted:
                continue
            if isinstance(decision, (Admit, Preempt, Wait)):
                one, _ = carried_out(self.built.world, decision, at)[0]
                changed[one.key] = one
            assert not isinstance(decision, Replace)
        self.known.update(changed)
        for key in sorted(changed):
            one = changed[key]
            if not self.observes:
                if one.reserved and not one.evicted:
                    self.built.world.ledger.holdings[key].workload = one
            else:
                self.built.put(one, at)
        if self.case.get("evictCompletes"):
            self._complete(at)

    def _complete(self, at: float) -> None:
        done = []
        for key in sorted(self.known):
            one = self.known[key]
            if one.evicted and one.reserved:
                self.known[key] = one = stopped(one, at)
                done.append(self.built.pending.queue_of(one))
                self.built.put(one, at)
        self._unpark(done, at)

    def _answer(self, ran: int) -> dict[str, Any]:
        known = self.known.values()
        return {
            "admissions": {one.name: admission(one) for one in known if one.reserved},
            "preempted": {
                one.name: one.status.conditions["Preempted"].reason for one in known if one.status.holds("Preempted")
            },
            "evictions": {one.name: sum(one.status.evictions.values()) for one in known if one.status.evictions},
            "left": _by_queue(self.built, ready=True),
            "inadmissible": _by_queue(self.built, ready=False),
            "cyclesRun": ran,
        }


def stopped(one: Workload, at: float) -> Workload:
    """An eviction that is complete: the workload gave back its quota and may queue again."""
    status = one.status.condition("Requeued", True, "Preempted", "", at)
    status = status.condition("QuotaReserved", False, "PendingEvaluation", "", at)
    status = status.condition("Admitted", False, "NoReservation", "", at)
    return replace(one, status=replace(status, admission=None))
