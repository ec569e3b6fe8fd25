"""Why nothing is preempted for a pending workload: its queue forbids it, no workload qualifies, or it is not enough."""

from __future__ import annotations

from ..model.number import number_of
from .topology import RoomTest
from .trial import Trial
from .victims import VictimSearch, candidates_of

NAMED = 3


def leave_to_preempt(trial: Trial) -> str:
    """The reason in one sentence; empty if something would be preempted, or if fair sharing decides."""
    if trial.world.settings.fair_sharing or trial.nomination().works:
        return ""
    rule = trial.queue.preemption
    reclaims = bool(trial.queue.cohort) and rule.reclaim not in ("Never", "")
    says = f"ClusterQueue {trial.queue.name} has {_policies(trial)}"
    if rule.within_queue == "Never" and not reclaims:
        return f"it may not preempt any workload: {says}"
    names = _candidates(trial)
    if not names:
        return f"no workload that it may preempt holds what it needs: {says}, and its priority is {trial.one.priority}"
    more = f" and {number_of(len(names) - NAMED, 'other')}" if len(names) > NAMED else ""
    return f"it may preempt {', '.join(names[:NAMED])}{more}, but that does not free enough"


def _policies(trial: Trial) -> str:
    rule = trial.queue.preemption
    within = f"withinClusterQueue: {rule.within_queue}"
    return f"{within}, reclaimWithinCohort: {rule.reclaim or 'Never'}" if trial.queue.cohort else within


def _candidates(trial: Trial) -> list[str]:
    world, asked = trial.world, trial.asked()
    node = world.node_of(trial.queue.name)
    search = VictimSearch(world, trial.entry(), trial.queue, node, asked, frozenset(asked), RoomTest(world, {}))
    return [one.holding.key for one in candidates_of(search)]
