"""The lifecycle of a workload between decisions: checks, stopped queues, time limits, deactivation, requeueing.

One workload is reconciled together with its queues. The rules below are applied in order; the first that changes
something ends the pass, because its write triggers another one.

    pending ──reserve──▶ reserved ──checks ready──▶ admitted ──job ends──▶ finished
       ▲                    │  stopped, missing         │ check retries, queue drained, deactivated,
       │                    ▼                           │ pods not ready, preempted, nodes failed
       └── requeued ◀── released ◀─────────────────── evicted
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from ..decide.status import ADMITTED, admitted_event, evicted, is_ready, not_yet, required_checks
from ..model.cluster_queue import ClusterQueue, LocalQueue
from ..model.event import Event
from ..model.gates import Gates
from ..model.maintenance import EVICTED, Maintenance
from ..model.settings import Settings
from ..model.workload import Check, CheckState, Conditions, Status, Workload
from ..queue.pending_queue import BYPASSED
from ..queue.pending_workload import NOT_THERE, is_unexplained
from .action import Action, Deactivate, Remove, Requeue, StatusChange
from .job import finished
from .pod_group import LACKS
from .pods_ready import pods_ready, start
from .release import NO_RESERVATION, pending_reason, without_quota
from .starting import Unstarted

BACKING_OFF = ("PodsReadyTimeout", "AdmissionCheck")
GRANULAR = "UnadmittedWorkloadsObservability"
SAID_OF_QUEUES = ("Misconfigured", "Suspended", "Inadmissible")
"""Reasons that are not cleared by themselves once the queues of a workload exist and are active again."""
OWNERLESS = "The workload's owner no longer exists"


@dataclass(frozen=True, slots=True)
class WorkloadView:
    """`cluster_queue` is the one that it holds quota of or is queued in; `is_active`: whether that one is active.

    `orphaned`: it was created for a job that no longer exists. `bypassed`: the shared reason of its parked class, if it
    was not evaluated itself. `maintenance`: the window that has begun and drains its nodes. `unstarted` finds its pods
    that have not started.
    """

    workload: Workload
    gates: Gates
    settings: Settings
    local_queue: LocalQueue | None = None
    cluster_queue: ClusterQueue | None = None
    is_active: bool = True
    orphaned: bool = False
    bypassed: str = ""
    maintenance: Maintenance | None = None
    unstarted: Callable[[], Unstarted | None] = lambda: None

    @property
    def status(self) -> Status:
        return self.workload.status

    def changed(self, status: Status, *events: Event) -> StatusChange:
        return StatusChange(self.workload, replace(self.workload, status=status), events)

    def conditions(self, changes: Conditions, now: float, *events: Event) -> StatusChange:
        return self.changed(self.status.changed(changes, now, self.workload.generation), *events)

    def event(self, kind: str, reason: str, message: str) -> Event:
        return Event(self.workload.key, "Warning" if kind == "Warning" else "Normal", reason, message)


Rule = Callable[[WorkloadView, float], Iterable[Action]]


def workload_life(view: WorkloadView, now: float) -> list[Action]:
    """Reconcile a workload: what to do now, and when to reconcile again."""
    if view.workload.finished:
        return _kept(view, now)
    if view.orphaned:
        return [finished(view.workload, "OwnerNotFound", OWNERLESS, now)]
    later: list[Action] = []
    for rule in RULES:
        actions = list(rule(view, now))
        if any(not isinstance(one, Requeue) for one in actions):
            return actions
        later += actions
    return later


def _kept(view: WorkloadView, now: float) -> list[Action]:
    """Delete a finished workload after its retention time, if one is set."""
    keep = view.settings.keep_finished
    if keep is None:
        return []
    until = view.status.conditions["Finished"].since + keep
    return [Requeue(until)] if now < until else [Remove(view.workload)]


# Active and not


def _deactivated(view: WorkloadView, now: float) -> Iterable[Action]:
    """Deactivate a workload that is marked for it, and evict one that is inactive."""
    workload, status = view.workload, view.status
    target = status.conditions.get("DeactivationTarget")
    if workload.active:
        if target is not None and target.holds:
            yield Deactivate(workload)
        return
    if workload.evicted:
        if target is not None or status.requeue_at is not None or status.requeues:
            yield view.changed(replace(status.without("DeactivationTarget"), requeue_at=None, requeues=0))
        return
    cause, why = (target.reason, f" due to {target.message}") if target is not None and target.holds else ("", "")
    after, events = evicted(workload, "Deactivated", f"The workload is deactivated{why}", now, cause)
    status = after.status.without("DeactivationTarget")
    reason = f"DeactivatedDueTo{cause}" if cause else "Deactivated"
    changes: Conditions = {"Evicted": (True, reason, f"The workload is deactivated{why}")}
    if not workload.reserved:
        changes["Requeued"] = (False, reason, f"The workload is deactivated{why}")
        changes["QuotaReserved"] = (
            False,
            "Deactivated" if GRANULAR in view.gates else "Pending",
            changes["Evicted"][2],
        )
    status = status.changed(changes, now, workload.generation)
    yield StatusChange(workload, replace(after, status=replace(status, requeue_at=None, requeues=0)), tuple(events))


def _gated(view: WorkloadView, now: float) -> Iterable[Action]:
    """Report an admission gate, or that it was removed."""
    workload, before = view.workload, view.status.conditions.get("QuotaReserved")
    if "AdmissionGatedBy" not in view.gates or workload.reserved:
        return
    is_gated = before is not None and not before.holds and before.reason == "AdmissionGated"
    if workload.gated_by:
        message = f"Admission is gated by: {workload.gated_by}"
        if before is None or (before.reason, before.message) != ("AdmissionGated", message):
            event = view.event("Normal", "AdmissionGated", message)
            yield view.conditions({"QuotaReserved": (False, "AdmissionGated", message)}, now, event)
    elif is_gated and "PreemptionGated" not in {one.reason for one in view.status.conditions.values()}:
        event = view.event("Normal", "AdmissionGateCleared", "The admission is no longer gated")
        reason = "PendingEvaluation" if GRANULAR in view.gates else "Pending"
        yield view.conditions({"QuotaReserved": (False, reason, event.message)}, now, event)


def _back(view: WorkloadView, now: float) -> Iterable[Action]:
    """Requeue a workload once what kept it out of the queue is over."""
    requeued, status = view.status.conditions.get("Requeued"), view.status
    if requeued is None or requeued.holds or not view.workload.active or view.workload.reserved:
        return
    reason, queue, local = requeued.reason, view.cluster_queue, view.local_queue
    any_cause = "ReactivateAfterAnyCause" in view.gates and reason.startswith("DeactivatedDueTo")
    if reason == "Deactivated" or any_cause:
        yield view.conditions({"Requeued": (True, "Reactivated", "The workload was reactivated")}, now)
    elif reason in BACKING_OFF:
        at = status.requeue_at
        if at is not None and now < at:
            yield Requeue(at, reason)
            return
        over = "The workload backoff was finished"
        after = replace(status.condition("Requeued", True, "BackoffFinished", over, now), requeue_at=None)
        yield view.changed(after)
    elif reason == "ClusterQueueStopped" and queue is not None and queue.stop == "None":
        text = "The ClusterQueue was restarted after being stopped"
        yield view.conditions({"Requeued": (True, "ClusterQueueRestarted", text)}, now)
    elif reason == "LocalQueueStopped" and local is not None and local.stop == "None":
        text = "The LocalQueue was restarted after being stopped"
        yield view.conditions({"Requeued": (True, "LocalQueueRestarted", text)}, now)


# Checks


def _listed(view: WorkloadView, now: float) -> Iterable[Action]:
    """List exactly the required checks in the status."""
    queue, status = view.cluster_queue, view.status
    if queue is None or view.workload.evicted:
        return
    if status.admission is not None:
        names = required_checks(queue, status)
    else:
        every = set(queue.flavors)
        names = [rule.name for rule in queue.checks if not rule.flavors or set(rule.flavors) >= every]
    known = {check.name: check for check in status.checks}
    if set(names) != known.keys():
        checks = tuple(known.get(name) or Check(name, since=now) for name in sorted(set(names)))
        yield view.changed(replace(status, checks=checks))


def _judged(view: WorkloadView, now: float) -> Iterable[Action]:
    """Deactivate a workload that a check rejected, and evict one that a check wants to retry."""
    workload, status = view.workload, view.status
    is_going = workload.evicted and workload.reserved
    if is_going or not workload.active or status.holds("DeactivationTarget"):
        return
    rejected, again = _in_state(status, "Rejected"), _in_state(status, "Retry")
    if rejected:
        event = view.event("Warning", "AdmissionCheckRejected", f"Deactivated due to {_shown(rejected, 'Rejected')}")
        names = ", ".join(check.name for check in rejected)
        text = f"Admission check(s): {names}, were rejected"
        yield view.conditions({"DeactivationTarget": (True, "AdmissionCheck", text)}, now, event)
    elif again:
        yield _sent_back(view, again, now)


def _sent_back(view: WorkloadView, again: list[Check], now: float) -> StatusChange:
    """Evict until the latest retry time of its checks; a workload without quota leaves the queue at once."""
    workload, message = view.workload, f"Evicted due to {_shown(again, 'Retry')}"
    after, events = evicted(workload, "AdmissionCheck", message, now)
    at = max(check.since + (check.requeue_after or 0) for check in again)
    status = replace(after.status, requeue_at=max(at, view.status.requeue_at or 0.0))
    if not workload.reserved:
        status = status.condition("Requeued", False, "AdmissionCheck", message, now, workload.generation)
    return StatusChange(workload, replace(after, status=status), tuple(events))


def _in_state(status: Status, state: CheckState) -> list[Check]:
    return [check for check in status.checks if check.state == state]


def _shown(checks: list[Check], state: str) -> str:
    texts = "; ".join(f'"{check.name}" ({check.message})' for check in checks)
    return f"AdmissionCheck{'s' if len(checks) > 1 else ''} in {state} state: {texts}"


def _admitted(view: WorkloadView, now: float) -> Iterable[Action]:
    """Admit a workload that has quota, passed checks and places; it stays admitted if checks are added later."""
    workload, queue, status = view.workload, view.cluster_queue, view.status
    if queue is None or not workload.reserved or workload.evicted or workload.admitted:
        return
    if is_ready(queue, status):
        event = admitted_event(workload, queue.name, status.conditions["QuotaReserved"].since, now)
        yield view.conditions({"Admitted": ADMITTED}, now, event)
        return
    wanted, before = not_yet(view.gates, status), status.conditions.get("Admitted")
    if before is None or (before.holds, before.reason, before.message) != wanted:
        yield view.conditions({"Admitted": wanted}, now)


# Stopped queues and time limits


def _stopped(view: WorkloadView, now: float) -> Iterable[Action]:
    """Cancel reservations in a stopped queue; with HoldAndDrain, also evict admitted workloads."""
    workload, queue, local = view.workload, view.cluster_queue, view.local_queue
    if not workload.reserved or workload.evicted or view.status.admission is None:
        return
    name = view.status.admission.queue
    if workload.admitted:
        if queue is not None and queue.stop == "HoldAndDrain":
            yield _drained(view, "ClusterQueueStopped", "The ClusterQueue is stopped", now)
        elif local is not None and local.stop == "HoldAndDrain":
            yield _drained(view, "LocalQueueStopped", "The LocalQueue is stopped", now)
    elif queue is None or queue.terminating:
        yield _cancelled(view, "Misconfigured", f"ClusterQueue {name} is terminating or missing", now)
    elif queue.stop != "None":
        yield _cancelled(view, "Suspended", f"ClusterQueue {name} is stopped", now)
    elif local is None:
        yield _cancelled(view, "Misconfigured", f"LocalQueue {workload.queue} is terminating or missing", now)
    elif local.stop != "None":
        yield _cancelled(view, "Suspended", f"LocalQueue {workload.queue} is stopped", now)


def _maintained(view: WorkloadView, now: float) -> Iterable[Action]:
    """Evict a workload as a whole when the maintenance of some of its nodes begins; it is requeued once it stopped."""
    window, workload = view.maintenance, view.workload
    if window is not None and workload.reserved and not workload.evicted:
        yield _drained(view, EVICTED, window.begun, now)


def _drained(view: WorkloadView, reason: str, message: str, now: float) -> StatusChange:
    after, events = evicted(view.workload, reason, message, now)
    return StatusChange(view.workload, after, tuple(events))


def _cancelled(view: WorkloadView, reason: str, message: str, now: float) -> StatusChange:
    """Release a reservation at once: nothing runs yet."""
    granular = reason if GRANULAR in view.gates else "Inadmissible"
    changes: Conditions = {"QuotaReserved": (False, granular, message), "Admitted": NO_RESERVATION}
    return StatusChange(view.workload, without_quota(view.workload, changes, now))


def _ran_too_long(view: WorkloadView, now: float) -> Iterable[Action]:
    workload, status = view.workload, view.status
    if workload.max_seconds is None or not workload.admitted or workload.evicted or status.holds("DeactivationTarget"):
        return
    end = status.conditions["Admitted"].since + workload.max_seconds - status.executed
    if now < end:
        yield Requeue(end, "MaximumExecutionTimeExceeded")
        return
    text = "exceeding the maximum execution time"
    told = f"The maximum execution time ({workload.max_seconds}s) exceeded"
    event = view.event("Warning", "MaximumExecutionTimeExceeded", told)
    changes: Conditions = {"DeactivationTarget": (True, "MaximumExecutionTimeExceeded", text)}
    yield view.changed(replace(status.changed(changes, now, workload.generation), executed=0), event)


def _took_too_long(view: WorkloadView, now: float) -> Iterable[Action]:
    settings = view.settings.pods_ready
    tells = "StartTimeout" in view.gates
    if settings is not None:
        return pods_ready(view.workload, settings, now, view.unstarted if tells else lambda: None)
    return start(view.workload, view.settings.start_timeout, now, view.unstarted) if tells else ()


def _explained(view: WorkloadView, now: float) -> Iterable[Action]:
    """Report why a workload without a usable queue is pending."""
    workload, local, queue = view.workload, view.local_queue, view.cluster_queue
    if workload.reserved or not workload.active or workload.gated_by:
        return
    before = view.status.conditions.get("QuotaReserved")
    if before is not None and before.reason == "OnHold":
        return
    if local is None:
        reason, text = "Misconfigured", f"LocalQueue {workload.queue} {NOT_THERE}"
    elif local.stop != "None":
        reason, text = "Suspended", f"LocalQueue {workload.queue} is inactive"
    elif queue is None:
        reason, text = "Misconfigured", f"ClusterQueue {local.cluster_queue} {NOT_THERE}"
    elif not view.is_active:
        reason, text = "Suspended", f"ClusterQueue {queue.name} is inactive"
    elif view.bypassed and is_unexplained(workload, view.gates):
        reason, text = view.bypassed, BYPASSED
    elif before is not None and before.reason in SAID_OF_QUEUES and view.status.holds(LACKS):
        reason, text = pending_reason(view.gates), view.status.conditions[LACKS].message
    else:
        return
    is_lost = reason == "Misconfigured"
    reason = reason if GRANULAR in view.gates or reason == "Pending" else "Inadmissible"
    if before is None or (before.holds, before.reason, before.message) != (False, reason, text):
        events = (view.event("Warning", reason, text),) if is_lost else ()
        yield view.conditions({"QuotaReserved": (False, reason, text), "Admitted": NO_RESERVATION}, now, *events)


RULES: tuple[Rule, ...] = (
    _deactivated,
    _gated,
    _back,
    _listed,
    _judged,
    _stopped,
    _maintained,
    _ran_too_long,
    _took_too_long,
    _admitted,
    _explained,
)
