"""A pod group and its workload: the pods wait, start and end together, and failed pods are replaced.

A group cannot be suspended. Waiting pods have a scheduling gate, and running pods can only be deleted; their owner
creates replacements, and until these exist the workload is not queued.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ..model.gates import Gates
from ..model.workload import Conditions, Workload
from .action import Action, Finalize, Requeue, Start, StatusChange, Stop
from .job import MOMENT, NOT_ADMITTED, finished, finished_job, is_new, settled
from .release import NO_RESERVATION, released, without_quota

LACKS = "WaitingForReplacementPods"
FAILED = "PodsFailed"
NEEDED = "Some Failed pods need replacement"
DELETED = "The Workload was deleted"
OUT_OF_SYNC = "The prebuilt workload is out of sync with its user job"
ON_HOLD = "OnHold"


@dataclass(frozen=True, slots=True)
class GroupView:
    """`waiting` and `running` count gated and ungated pods; `gaps` counts pods that have to be replaced.

    `deleting`: the workload has a deletion timestamp. `in_sync`: the workload matches the existing pods, as far as
    known.
    """

    gates: Gates
    workload: Workload
    waiting: int
    running: int
    gaps: int = 0
    active: bool = False
    ready: bool = False
    ended: tuple[bool, str] | None = None
    reclaimable: Mapping[str, int] = field(default_factory=dict)
    held: bool = True
    waits_for_pods: bool = False
    deleting: bool = False
    in_sync: bool = True


def group_life(view: GroupView, now: float) -> list[Action]:
    workload = view.workload
    if workload.finished:
        return [Finalize(workload)] if view.held else []
    if view.ended is not None:
        return [finished_job(workload, view.ended, now)]
    if view.deleting:
        return _let_go(view)
    if not view.in_sync:
        return [finished(workload, "OutOfSync", OUT_OF_SYNC, now)]
    actions: list[Action] = []
    if workload.evicted:
        if view.running:
            return [Stop(workload, workload.status.conditions["Evicted"].message)]
        if workload.reserved and not view.active:
            workload = released(workload, view.gates, now)
    elif workload.admitted and view.waiting:
        actions.append(Start(workload))
    elif not workload.admitted and view.running:
        return [Stop(workload, NOT_ADMITTED)]
    after = _lacking(view, workload, now)
    after = settled(view.gates, after, view.reclaimable, view.ready if view.waits_for_pods else None, now)
    if after != view.workload:
        return [*actions, StatusChange(view.workload, after)]
    new = view.waits_for_pods and is_new(after, now)
    return [*actions, Requeue(after.created + MOMENT)] if new else actions


def _let_go(view: GroupView) -> list[Action]:
    """Finalize a deleted workload once none of its pods runs; the group then gets another one."""
    if view.running:
        return [Stop(view.workload, DELETED)]
    return [Finalize(view.workload)] if view.held and not view.active else []


def on_hold(workload: Workload, why: str, gates: Gates, waits_for_pods: bool, now: float) -> Workload:
    """The workload of a set that is scaled to zero: without quota, and not queued."""
    changes: Conditions = {"QuotaReserved": (False, ON_HOLD, why), "Admitted": NO_RESERVATION}
    return settled(gates, without_quota(workload, changes, now), {}, False if waits_for_pods else None, now)


def is_on_hold(workload: Workload) -> bool:
    reserved = workload.status.conditions.get("QuotaReserved")
    return reserved is not None and not reserved.holds and reserved.reason == ON_HOLD


def _lacking(view: GroupView, workload: Workload, now: float) -> Workload:
    """Set the condition that reports whether pods have to be replaced first."""
    status, before = workload.status, workload.status.conditions.get(LACKS)
    if view.gaps:
        evicted = status.conditions.get("Evicted")
        reason = evicted.reason if evicted is not None and evicted.holds else FAILED
        wanted = (True, reason, NEEDED)
    elif before is not None and before.holds:
        wanted = (False, before.reason, "All pods are there")
    else:
        return workload
    if before is not None and (before.holds, before.reason, before.message) == wanted:
        return workload
    return replace(workload, status=status.changed({LACKS: wanted}, now, workload.generation))
