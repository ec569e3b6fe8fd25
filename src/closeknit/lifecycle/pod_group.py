"""A group of pods and its workload: they wait, start and end together, and those that failed are replaced.

A group has no flag that stops it. Pods that wait are behind a gate, pods that run can only be deleted; whoever made
them makes others, and until these are there the workload does not stand in line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ..model.gates import Gates
from ..model.workload import Workload
from .action import Action, Change, Finalize, Start, Stop
from .job import finished_job, settled
from .release import released

LACKS = "WaitingForReplacementPods"
FAILED = "PodsFailed"


@dataclass(frozen=True, slots=True)
class GroupView:
    """`waiting` and `running` count pods behind the gate and past it; `gaps` those that have to be replaced."""

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


def group_life(view: GroupView, now: float) -> list[Action]:
    workload = view.workload
    if workload.finished:
        return [Finalize(workload)] if view.held else []
    if view.ended is not None:
        return [finished_job(workload, view.ended, now)]
    actions: list[Action] = []
    if workload.evicted:
        if view.running:
            return [Stop(workload, workload.status.conditions["Evicted"].message)]
        if workload.reserved and not view.active:
            workload = released(workload, view.gates, now)
    elif workload.admitted and view.waiting:
        actions.append(Start(workload))
    elif not workload.admitted and view.running:
        return [Stop(workload, "Not admitted by cluster queue")]
    after = _lacking(view, workload, now)
    after = settled(view.gates, after, view.reclaimable, view.ready if view.waits_for_pods else None, now)
    return actions if after == view.workload else [*actions, Change(view.workload, after)]


def _lacking(view: GroupView, workload: Workload, now: float) -> Workload:
    """Whether pods have to be replaced before it may go on."""
    status, before = workload.status, workload.status.conditions.get(LACKS)
    if view.gaps:
        evicted = status.conditions.get("Evicted")
        reason = evicted.reason if evicted is not None and evicted.holds else FAILED
        wanted = (True, reason, f"{view.gaps} pod(s) have to be replaced")
    elif before is not None and before.holds:
        wanted = (False, before.reason, "All pods are there")
    else:
        return workload
    if before is not None and (before.holds, before.reason, before.message) == wanted:
        return workload
    return replace(workload, status=status.changed({LACKS: wanted}, now, workload.generation))
