"""A job and its workload: created for the job, started and stopped with it, finished when it ends.

The reconciler sees a job of any kind as a few facts: whether it is suspended, whether its pods run, how it ended. It
decides when to start and stop a job; the dialect knows how for each kind.

    job suspended, no workload      create one
    workload admitted               start the job with what it was assigned
    workload evicted                stop the job; once no pod runs, release what the workload held
    job ended                       finish the workload
    job runs without admission      stop it
    workload deleted                stop the job, remove the finalizer; then create another workload
    job on hold                     keep its workload out of the queue
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ..model.event import Event
from ..model.gates import Gates
from ..model.workload import Conditions, Workload
from .action import Action, Finalize, MakeWorkload, Remove, Requeue, Rewrite, Start, StatusChange, Stop
from .pods_ready import readiness
from .release import NO_RESERVATION, pending_reason, released, without_quota

NOT_ADMITTED = "Not admitted by cluster queue"
NO_MATCH = "No matching Workload; restoring pod templates according to existent Workload"
MISSING = "Missing Workload; unable to restore pod templates"
DELETED = "Workload is deleted"
OUT_OF_SYNC = "The prebuilt workload is out of sync with its user job"
ON_HOLD = "OnHold"
MOMENT = 5.0
"""Seconds after which PodsReady=False is written alone, if no other write includes it."""


@dataclass(frozen=True, slots=True)
class JobView:
    """`workload` is the one that matches the job, `others` those that do not or no longer do.

    `stale`: the workload differs only in fields that may be updated. `held`: it still has our finalizer; `deleting`: it
    has a deletion timestamp. `going`: the job itself is being deleted, so it need not be stopped. `prebuilt`: the job
    names a workload created elsewhere, and `differs` means that this workload does not match the job. `on_hold`: why
    the job must not be admitted for now. `waits_for_pods`: whether pod readiness is tracked. `ended`: success and
    message.
    """

    gates: Gates
    suspended: bool
    active: bool = False
    ready: bool = False
    ended: tuple[bool, str] | None = None
    reclaimable: Mapping[str, int] = field(default_factory=dict)
    workload: Workload | None = None
    stale: bool = False
    held: bool = True
    deleting: bool = False
    going: bool = False
    prebuilt: bool = False
    differs: bool = False
    on_hold: str = ""
    others: tuple[Workload, ...] = ()
    waits_for_pods: bool = False


def job_life(view: JobView, now: float) -> list[Action]:
    """Reconcile a job."""
    workload = view.workload
    if view.differs and view.ended is None and not view.suspended:
        return [Stop(workload, NO_MATCH)]
    if workload is not None and workload.finished:
        return [Finalize(workload)] if view.held else []
    removals: list[Action] = [Remove(one) for one in view.others]
    if view.ended is not None:
        return [*([] if workload is None else [finished_job(workload, view.ended, now)]), *removals]
    if view.others and workload is None and not view.suspended:
        return [Stop(view.others[0], NO_MATCH)]
    if removals:
        return removals
    if workload is None:
        if not view.suspended:
            return [Stop(None, MISSING)]
        return [] if view.prebuilt else [MakeWorkload()]
    if view.deleting:
        return _let_go(view, workload)
    if view.differs:
        return [finished(workload, "OutOfSync", OUT_OF_SYNC, now)]
    if view.stale:
        return [Rewrite(workload)]
    return _held_back(view, workload, now) or _follow(view, workload, now)


def _let_go(view: JobView, workload: Workload) -> list[Action]:
    """A deleted workload keeps what it holds until no pod of its job runs."""
    if not view.suspended and not view.going:
        return [Stop(workload, DELETED)]
    return [Finalize(workload)] if view.held and not view.active else []


def _held_back(view: JobView, workload: Workload, now: float) -> list[Action]:
    """A job on hold releases what its workload holds and stays out of the queue until the hold ends."""
    before = workload.status.conditions.get("QuotaReserved")
    is_held = before is not None and not before.holds and before.reason == ON_HOLD
    if view.on_hold and not view.suspended:
        return [Stop(workload, view.on_hold)]
    if view.on_hold and not is_held:
        reserved = False, ON_HOLD, view.on_hold
    elif is_held and not view.on_hold:
        reserved = False, pending_reason(view.gates), "The job is no longer on hold"
    else:
        return []
    return [
        StatusChange(workload, without_quota(workload, {"QuotaReserved": reserved, "Admitted": NO_RESERVATION}, now))
    ]


def _follow(view: JobView, workload: Workload, now: float) -> list[Action]:
    """Start or stop the job as its workload requires, and report the job's state on the workload."""
    if workload.evicted:
        if not view.suspended and not view.going:
            return [Stop(workload, workload.status.conditions["Evicted"].message)]
        if workload.reserved and not view.active:
            return [StatusChange(workload, _settled(view, released(workload, view.gates, now), now))]
    elif view.suspended and workload.admitted:
        return [Start(workload)]
    elif not view.suspended and not workload.admitted:
        return [Stop(workload, NOT_ADMITTED)]
    after, told = _settled(view, workload, now), _pending_checks(view, workload)
    if after == workload and not told:
        return [Requeue(workload.created + MOMENT)] if view.waits_for_pods and is_new(workload, now) else []
    return [StatusChange(workload, after, told)]


def _pending_checks(view: JobView, workload: Workload) -> tuple[Event, ...]:
    """An event with the messages of the checks that the job still waits for."""
    if not view.suspended or not workload.reserved or workload.evicted:
        return ()
    said = [f"{one.name}: {one.message}" for one in workload.status.checks if one.state == "Pending" and one.message]
    return (Event(workload.key, "Normal", "UpdatedAdmissionCheck", "; ".join(said)),) if said else ()


def _settled(view: JobView, workload: Workload, now: float) -> Workload:
    return settled(view.gates, workload, view.reclaimable, view.ready if view.waits_for_pods else None, now)


def is_new(workload: Workload, now: float) -> bool:
    """Whether its first status write is still to come and will include PodsReady=False."""
    return not workload.status.conditions and now < workload.created + MOMENT


def settled(
    gates: Gates, workload: Workload, reclaimable: Mapping[str, int], ready: bool | None, now: float
) -> Workload:
    """The workload with its job's pod counts: how many are reclaimable, and whether all are ready, if tracked."""
    status = workload.status
    if workload.reserved and "ReclaimablePods" in gates:
        done = {name: max(count, status.reclaimable.get(name, 0)) for name, count in reclaimable.items() if count}
        done = {**status.reclaimable, **done}
        if done != status.reclaimable:
            status = replace(status, reclaimable=done)
    elif status.reclaimable and not workload.reserved:
        status = replace(status, reclaimable={})
    if ready is not None and not is_new(workload, now):
        wanted, before = readiness(workload, ready), status.conditions.get("PodsReady")
        if before is None or (before.holds, before.reason) != wanted[:2]:
            status = status.changed({"PodsReady": wanted}, now, workload.generation)
    return workload if status is workload.status else replace(workload, status=status)


def finished_job(workload: Workload, ended: tuple[bool, str], now: float) -> StatusChange:
    success, message = ended
    return finished(workload, "Succeeded" if success else "Failed", message, now)


def finished(workload: Workload, reason: str, message: str, now: float) -> StatusChange:
    """Mark a workload as finished, with any reason."""
    changes: Conditions = {"Finished": (True, reason, message)}
    status = workload.status.changed(changes, now, workload.generation)
    event = Event(workload.key, "Normal", "FinishedWorkload", f"Workload '{workload.key}' is declared finished")
    return StatusChange(workload, replace(workload, status=status), (event,))
