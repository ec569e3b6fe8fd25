"""How a decision changes the status of workloads, and which events it records.

The texts are Kueue's to the letter. Nothing is written here: the caller of the cycle writes, and the decision takes
effect when that has succeeded.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..model.cluster_queue import ClusterQueue
from ..model.event import Event
from ..model.gates import Gates
from ..model.workload import LONG_AGO, Conditions, Status, Workload
from ..queue.pending_workload import effective_priority
from ..quota.demand import demands
from .decision import Admit, Decision, Evict, Preempt, Replace, Retry, Wait
from .plan import Mode, Plan
from .world import World

MAX_WAIT = 9223372037
"""The age in seconds of an object without a creation time."""

Changed = tuple[Workload, list[Event]]


def carried_out(world: World, decision: Decision, now: float) -> list[Changed]:
    """The workloads that a decision changes, with their new status, and the events to record."""
    match decision:
        case Admit():
            after = decision.after
            return [(after, list(decision.events)) if after is not None else _admitted(world, decision, now)]
        case Preempt():
            return _preempted(world, decision, now)
        case Evict():
            return [evicted(decision.workload, "NodeFailures", decision.message, now)]
        case Wait():
            return [_waiting(world, decision, now)]
        case Retry():
            event = Event(decision.workload.key, "Warning", "SecondPassFailed", decision.message)
            return [(decision.workload, [event])]
        case Replace():
            return [_replaced(decision, now)]


# Admission


def _admitted(world: World, decision: Admit, now: float) -> Changed:
    workload, queue = decision.workload, world.cluster_queues[decision.admission.queue]
    status = replace(workload.status, admission=decision.admission, unhealthy=())
    changes: Conditions = {}
    events = []
    since = _since(workload)
    if not workload.reserved:
        message = f"Quota reserved in ClusterQueue {queue.name}"
        changes["QuotaReserved"] = (True, "QuotaReserved", message)
        changes.update(_reset(status, ("Evicted", "Preempted")))
        waited = f"{message}, wait time since queued was {_seconds(now, since)}s{_considered(decision.plan)}"
        events.append(Event(workload.key, "Normal", "QuotaReserved", waited))
    was_admitted = workload.admitted
    if is_ready(queue, status):
        changes["Admitted"] = ADMITTED
        if not was_admitted:
            reserved = status.conditions["QuotaReserved"].since if workload.reserved else now
            events.append(admitted_event(workload, queue.name, reserved, now))
    elif not was_admitted and {check.name for check in status.checks} >= set(required_checks(queue, status)):
        changes["Admitted"] = not_yet(world.gates, status)
    return replace(workload, status=status.changed(changes, now, workload.generation)), events


ADMITTED = (True, "Admitted", "The workload is admitted")


def admitted_event(workload: Workload, queue: str, reserved: float, now: float) -> Event:
    waited = f"wait time since reservation was {_seconds(now, reserved)}s"
    return Event(workload.key, "Normal", "Admitted", f"Admitted by ClusterQueue {queue}, {waited}")


def not_yet(gates: Gates, status: Status) -> tuple[bool, str, str]:
    """What an admission still waits for."""
    if all(check.state == "Ready" for check in status.checks):
        return False, "PendingDelayedTopologyRequests", "There are pending delayed topology requests"
    granular = "UnadmittedWorkloadsObservability" in gates
    reason = "UnsatisfiedAdmissionChecks" if granular else "UnsatisfiedChecks"
    return False, reason, "The workload has not all checks ready"


def is_ready(queue: ClusterQueue, status: Status) -> bool:
    """Whether a workload with quota is admitted: all checks of its flavors are ready, and no placement is delayed."""
    if status.admission is None or any(one.delayed == "Pending" for one in status.admission.pod_sets):
        return False
    listed = {check.name: check.state for check in status.checks}
    return all(listed.get(name) == "Ready" for name in required_checks(queue, status)) and all(
        state == "Ready" for state in listed.values()
    )


def required_checks(queue: ClusterQueue, status: Status) -> list[str]:
    """The checks that an admission has to pass, by its flavors."""
    flavors: set[str] = set()
    if status.admission is not None:
        flavors = {flavor for one in status.admission.pod_sets for flavor in one.flavors.values()}
    return [rule.name for rule in queue.checks if not rule.flavors or flavors & set(rule.flavors)]


def _reset(status: Status, kinds: Iterable[str]) -> Conditions:
    """Reset the conditions of an earlier eviction."""
    return {
        kind: (False, "QuotaReserved", f"Previously: {old.message}")
        for kind in kinds
        if (old := status.conditions.get(kind)) is not None and old.holds
    }


def _since(workload: Workload) -> float:
    requeued = workload.status.conditions.get("Requeued")
    return requeued.since if requeued is not None and requeued.holds else workload.created


def _seconds(now: float, since: float) -> int:
    return MAX_WAIT if since == LONG_AGO else int(now - since)


def _considered(plan: Plan) -> str:
    """The flavors that were tried and did not fit, or fit only by borrowing."""
    texts = []
    for one in plan.pod_sets:
        tried = [attempt for attempt in one.attempts if attempt.mode is not Mode.FIT or attempt.borrow]
        if tried:
            shown = ", ".join(_attempt(each.flavor, each.mode, each.borrow, each.reasons) for each in tried)
            texts.append(f"{one.name}: {shown}")
    return f"; Flavors considered: {' | '.join(texts)}" if texts else ""


def _attempt(flavor: str, mode: Mode, borrow: int, reasons: tuple[str, ...]) -> str:
    names = {Mode.NO_FIT: "NoFit", Mode.FIT: "Fit", Mode.NO_CANDIDATES: "preemptionMode=NoCandidates"}
    name = names.get(mode, f"preemptionMode={mode.name.capitalize()}")
    parts = [name, *([f"borrow={borrow}"] if borrow else []), *([",".join(reasons)] if reasons else [])]
    return f"{flavor}({';'.join(parts)})"


# Eviction


def evicted(workload: Workload, reason: str, message: str, now: float, cause: str = "") -> Changed:
    """The workload being evicted: it keeps what it holds until it has stopped, and its checks are reset."""
    status = workload.status.condition("Evicted", True, reason, message, now, workload.generation)
    checks = tuple(
        check
        if check.state == "Pending"
        else check._replace(
            state="Pending",
            message=f"Reset to Pending after eviction. Previously: {check.state}",
            since=now,
            updates=(),
            retries=check.retries + 1 if check.state == "Retry" else 0,
        )
        for check in status.checks
    )
    count = {**status.evictions, (reason, cause): status.evictions.get((reason, cause), 0) + 1}
    status = replace(status, checks=checks, unhealthy=(), evictions=count, open_gates=frozenset())
    event = Event(workload.key, "Normal", f"EvictedDueTo{reason}{f'DueTo{cause}' if cause else ''}", message)
    return replace(workload, status=status), [event]


def _preempted(world: World, decision: Preempt, now: float) -> list[Changed]:
    victim, events = evicted(decision.victim, "Preempted", decision.message, now)
    cause = decision.cause.value
    status = victim.status.condition("Preempted", True, cause, decision.message, now, victim.generation)
    ranks = _ranks(world, decision)
    events.append(Event(victim.key, "Normal", "Preempted", f"{decision.message}; {ranks}"))
    told = f"Preempted workload {victim.key} (UID: {victim.uid}) in ClusterQueue {decision.queue}; {ranks}"
    by = decision.by
    return [(replace(victim, status=status), events), (by, [Event(by.key, "Normal", "PreemptedWorkload", told)])]


def _ranks(world: World, decision: Preempt) -> str:
    texts = []
    for name, one in (("preemptor", decision.by), ("preemptee", decision.victim)):
        total = effective_priority(one, world.gates)
        texts.append(f"{name} effective priority: {total} (base: {one.priority}, boost: {total - one.priority})")
    return "; ".join(texts)


def _replaced(decision: Replace, now: float) -> Changed:
    old, by = decision.old, decision.by
    message = (
        f"Replaced to accommodate a workload (UID: {by.uid}, JobUID: {by.job_uid}) due to workload slice aggregation"
    )
    status = old.status.condition("Finished", True, "WorkloadSliceReplaced", message, now, old.generation)
    return replace(old, status=status), [Event(old.key, "Normal", "WorkloadSliceReplaced", message)]


# Waiting


def _waiting(world: World, decision: Wait, now: float) -> Changed:
    workload = decision.workload
    generation = workload.generation
    reason = decision.reason if "UnadmittedWorkloadsObservability" in world.gates else "Pending"
    changes: Conditions = {"QuotaReserved": (False, reason, decision.message)}
    if decision.gated:
        changes["BlockedOnPreemptionGates"] = (True, "PreemptionGated", decision.message)
    if "UnadmittedWorkloadsObservability" in world.gates:
        changes["Admitted"] = (False, "NoReservation", "The workload has no reservation")
    asked = demands(workload, world.settings, "ReclaimablePods" in world.gates)
    status = replace(workload.status, admission=None, requests=tuple((one.name, one.total) for one in asked))
    status = status.changed(changes, now, generation)
    event = Event(workload.key, "Warning", reason, decision.message)
    return replace(workload, status=status), [event]
