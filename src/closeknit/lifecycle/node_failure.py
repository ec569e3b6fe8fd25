"""Node failure: which workloads have lost a node, so that their pods there need another one.

One node is reconciled, with every workload that is assigned to it or has pods that select it. A deleted node is lost at
once. A node that is not ready, or has a taint that the pods do not tolerate, is lost when its pods have stopped: until
then it may recover and they would keep running. Pods that wait for a lost node can never start; they are failed, so
that their job creates new ones. The scheduler replaces lost nodes in its second pass. While pods of the workload still
run on the node, new ones would be sent there again, so they are left to wait (gate SparePodsOfUsedNodes).

    gates TASReplaceNode…      OnPodTermination on            OnPodTermination off
    not ready                  lost when pods have stopped    lost after a delay, 30 s
    not ready, and …DueToNotReadyOverFixedTime: lost after the delay, whatever the pods do; in Kueue 0.14 (gate
    HotSwapOfKueue014) that is so if TASFailedNodeReplacementFailFast is off
    ready, and …OnNodeTaints:
      taint not tolerated      lost when pods have stopped    lost at once
      tolerated for a time     lost when pods have stopped    lost when pods have stopped
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import NamedTuple

from ..decide.status import evicted
from ..decide.topology import updates_of
from ..model.event import Event
from ..model.flavor import Flavor
from ..model.gates import Gates
from ..model.node import Node
from ..model.pod import Pod
from ..model.settings import NOT_READY_DELAY
from ..model.shape import HARD_EFFECTS, Taint, Toleration
from ..model.topology import HOSTNAME
from ..model.workload import PodSetAssignment, Workload
from .action import Action, EndPod, Requeue, StatusChange

BATCH = 0.1
"""Seconds for which changes to the pods of one node are batched."""

MOST_UNHEALTHY = 8
"""The maximum length of `unhealthyNodes`."""

MANY_FAILED = "Workload eviction triggered due to multiple TAS assigned node failures, including: "
POD_ENDED = "Pod terminated by Kueue NodeController due to node taint"


class Affected(NamedTuple):
    """A workload, and those of its pods that are on the node or select its host."""

    workload: Workload
    pods: Sequence[Pod] = ()


@dataclass(frozen=True, slots=True)
class NodeView:
    """`node` is None if it was deleted; `known_as` is then its former hostname, if that was not its name.

    `delay`: seconds that a node may be unready, where pods' tolerations do not decide.
    """

    name: str
    node: Node | None
    affected: Sequence[Affected]
    gates: Gates
    flavors: Mapping[str, Flavor] = field(default_factory=dict)
    known_as: str = ""
    delay: float = NOT_READY_DELAY

    @property
    def host(self) -> str:
        """The hostname that assignments and selectors use."""
        label = self.node.labels.get(HOSTNAME) if self.node is not None else None
        return label or self.known_as or self.name


class NodeVerdict(NamedTuple):
    """With `ends_waiting`, pods that wait for the node can never start there and are failed."""

    lost: bool
    ends_waiting: bool = False


FINE = NodeVerdict(lost=False)


def node_failure(view: NodeView, now: float) -> list[Action]:
    """Reconcile a node: update the workloads that have a place on it."""
    if "TASFailedNodeReplacement" not in view.gates:
        return []
    node = view.node
    if node is None or node.ready_since is None:
        here = (one for one in _alive(view) if any(_pod_sets_on(one.workload, view.host)))
        return [action for one in here for action in _carried_out(view, one, NodeVerdict(lost=True), now)]
    unready = 0.0 if node.ready else now - node.ready_since
    by_pods = "TASReplaceNodeOnPodTermination" in view.gates
    by_both = "HotSwapOfKueue014" in view.gates and "TASFailedNodeReplacementFailFast" not in view.gates
    actions: list[Action] = []
    if not node.ready and unready < view.delay and (by_both or not by_pods):
        actions.append(Requeue(node.ready_since + view.delay))
        if not by_pods:
            return actions
    by_time = by_both or "TASReplaceNodeDueToNotReadyOverFixedTime" in view.gates
    overdue = unready >= view.delay and by_time
    for one in _alive(view):
        actions += _carried_out(view, one, _judged(view, node, one, overdue), now)
    return actions


def _alive(view: NodeView) -> Iterator[Affected]:
    return (one for one in view.affected if not one.workload.finished and not one.workload.evicted)


def _pod_sets_on(workload: Workload, host: str) -> Iterator[PodSetAssignment]:
    """The pod sets that have a place on a host; none if the workload is not admitted."""
    admission = workload.status.admission if workload.admitted else None
    for given in () if admission is None else admission.pod_sets:
        topology = given.topology
        if topology is not None and topology.by_host and any(path[-1] == host for path in topology.values):
            yield given


# Is the node lost?


def _judged(view: NodeView, node: Node, one: Affected, overdue: bool) -> NodeVerdict:
    pod_sets = list(_pod_sets_on(one.workload, view.host))
    if not pod_sets:
        return NodeVerdict(lost=False, ends_waiting=True)
    by_pods = "TASReplaceNodeOnPodTermination" in view.gates
    stopped = not any(pod.node == view.name and not pod.deleting and not pod.ended for pod in one.pods)
    ends = stopped or overdue or "SparePodsOfUsedNodes" not in view.gates
    if not node.ready:
        return NodeVerdict(stopped or overdue, ends) if by_pods else NodeVerdict(lost=True)
    patience = _patience(view, node, one.workload, pod_sets)
    if patience is TolerationTime.ENDLESS:
        return FINE
    if patience is TolerationTime.NONE and not by_pods:
        return NodeVerdict(lost=True)
    return NodeVerdict(stopped, ends)


class TolerationTime(IntEnum):
    """How long pods tolerate the taints of a node."""

    NONE = 0
    FOR_A_TIME = 1
    ENDLESS = 2


def _patience(view: NodeView, node: Node, workload: Workload, pod_sets: Iterable[PodSetAssignment]) -> TolerationTime:
    """The shortest toleration of any pod set for any hard taint."""
    hard = [taint for taint in node.taints if taint.effect in HARD_EFFECTS]
    if not hard or "TASReplaceNodeOnNodeTaints" not in view.gates:
        return TolerationTime.ENDLESS
    tolerations = [list(_tolerations(view, workload, given)) for given in pod_sets]
    return min(_bears(own, taint) for own in tolerations for taint in hard)


def _tolerations(view: NodeView, workload: Workload, given: PodSetAssignment) -> Iterator[Toleration]:
    """Tolerations of the pod template, of its flavors, and those that ready checks add."""
    pod_set = workload.pod_set(given.name)
    if pod_set is not None:
        yield from pod_set.shape.tolerations
    for name in set(given.flavors.values()) & view.flavors.keys():
        yield from view.flavors[name].tolerations
    for update in updates_of(workload, given.name):
        yield from update.tolerations


def _bears(tolerations: Iterable[Toleration], taint: Taint) -> TolerationTime:
    """How long a taint is tolerated; Gt and Lt are ignored, as in Kueue."""
    fitting = [one for one in tolerations if one.operator not in ("Gt", "Lt") and one.tolerates(taint)]
    if not fitting:
        return TolerationTime.NONE
    return TolerationTime.ENDLESS if any(one.seconds is None for one in fitting) else TolerationTime.FOR_A_TIME


# Actions


def _carried_out(view: NodeView, one: Affected, verdict: NodeVerdict, now: float) -> Iterator[Action]:
    change = _lost(view, one.workload, now) if verdict.lost else _found(view, one.workload)
    if change is not None:
        yield change
        if change.after.evicted:
            return
    if verdict.ends_waiting:
        for pod in one.pods:
            if _waits_for(pod, view.host):
                yield _ended(pod)


def _lost(view: NodeView, workload: Workload, now: float) -> StatusChange | None:
    """List the node for the scheduler to replace; evict a workload that lost more than can be replaced at once."""
    listed = workload.status.unhealthy
    names = listed if view.host in listed else (*listed, view.host)
    most = MOST_UNHEALTHY if "ReplaceSeveralNodes" in view.gates else 1
    if len(names) > most:
        after, events = evicted(workload, "NodeFailures", MANY_FAILED + ", ".join(names), now)
        return StatusChange(workload, after, tuple(events))
    return None if names is listed else _listing(workload, names)


def _found(view: NodeView, workload: Workload) -> StatusChange | None:
    names = workload.status.unhealthy
    if view.host not in names:
        return None
    return _listing(workload, tuple(name for name in names if name != view.host))


def _listing(workload: Workload, names: tuple[str, ...]) -> StatusChange:
    return StatusChange(workload, replace(workload, status=replace(workload.status, unhealthy=names)))


def _waits_for(pod: Pod, host: str) -> bool:
    """Whether the pod was ungated for this host and is not bound yet."""
    return pod.selector.get(HOSTNAME) == host and not pod.node and pod.phase == "Pending" and not pod.gated


def _ended(pod: Pod) -> EndPod:
    told = Event(pod.key, "Normal", "PodTerminatedByKueue", POD_ENDED)
    return EndPod(pod, "TerminatedByKueue", "UnschedulableOnAssignedNode", POD_ENDED, (told,))
