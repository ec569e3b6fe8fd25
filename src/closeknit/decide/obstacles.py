"""Why a workload waits, and what would help: one reason, one message, one remedy for everybody who is not admitted.

Reasons and messages are those that Kueue writes into the workload's condition QuotaReserved. What stands in the way
may be the workload itself, the way to its queue, the queue, or everybody else; that is also the order here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from heapq import nsmallest
from typing import NamedTuple

from ..model.cluster_queue import ClusterQueue
from ..model.nearest import did_you_mean
from ..model.workload import Workload
from ..queue.line import BYPASSED, Line
from ..queue.lines import backing_off
from ..queue.wake import Why
from .activity import Inactive
from .decision import Wait
from .prospects import Prospects, prospects
from .scheduler import Scheduler
from .trial import Trial
from .what_if import BACKS_OFF, Story

FEW = 3
"""So many remedies are passed on where there is one line for them."""

TRIED = ("TopologyPlacementFailed", "WaitingForQuota", "ExceedsMaxQuota")
"""Reasons that are about quota and room, so that changes can be tried."""
WAITING = "wait until others end"
NOTHING = "nothing that was tried: fewer pods, other levels, more quota, other nodes"

HINTS = (
    ("unavailable in ClusterQueue", "add the resource to the groups of ClusterQueue {queue}, or do not ask for it"),
    ("does not contain the requested level", "ask for a level of the flavor's Topology: {levels}"),
    ("does not support TopologyAwareScheduling", "set spec.topologyName of the flavor, or ask for no topology"),
    ("supports only TopologyAwareScheduling", "ask for a topology, if only podset-unconstrained-topology"),
    ("information missing in TAS cache", "create the Topology that the flavor names"),
    ("untolerated taint", "tolerate the taint, in the job or in the flavor's spec.tolerations"),
    ("doesn't match node affinity", "change the node selector or affinity of the pods"),
    ("not found", "create the flavor"),
    ("TAS flavor assigned", "give ClusterQueue {queue} one flavor with a topology for all resources of the pods"),
)
"""By a part of the message: what helps where no flavor suits the pods."""


def in_one_line(found: Prospects) -> str:
    """The first changes that help; waiting is one, where nothing is beyond what the cluster could ever give."""
    if found.first:
        return " and ".join(found.first)
    waiting = [] if found.never else [WAITING]
    return ", or ".join([*waiting, *(str(remedy) for remedy in found.remedies[:FEW])]) or NOTHING


Command = Callable[..., str]
"""Words to a line that can be typed."""


def typed(*words: str) -> str:
    """A command that users may type next, where nobody knows a better way to say it."""
    return " ".join(["closeknit", *words])


def to_mend(queue: str, why: Inactive, command: Command = typed) -> str:
    """What makes a ClusterQueue admit again."""
    return f"{why.remedy}: `{command('queue', 'resume', queue)}`" if why.reason == "Stopped" else why.remedy


class Obstacle(NamedTuple):
    """`like` is a workload that this one cannot be told from, and which failed for them both: `cause` says why."""

    reason: str
    message: str
    remedy: str = ""
    like: str = ""
    cause: str = ""


class Obstacles:
    """What keeps the workloads of a story from being admitted, as a scheduler stands at its end.

    `left_out` names objects that were not used because they break a rule; `command` words what users may type next.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        story: Story,
        now: float,
        left_out: Collection[str] = (),
        command: Command = typed,
    ) -> None:
        self.scheduler, self.story, self.now, self.left_out = scheduler, story, now, left_out
        self.command = command
        self.world, self.lines = scheduler.world, scheduler.lines
        self._first: dict[str, list[str]] = {}
        self._like: dict[tuple[str, Hashable], Wait | None] = {}

    def of(self, one: Workload, tries: bool = False) -> Obstacle:
        """Of one workload; with `tries` the engine looks for remedies where its pods have no place."""
        if one.key in self.story.cut:
            victim = self.story.cut[one.key].workload.key
            message = f"Workload {victim} would have to be preempted again and again"
            remedy = "give the two different priorities, or change spec.preemption of their ClusterQueues"
            return Obstacle("WaitingForPreemptedWorkloads", message, remedy)
        found = self._held_up(one) or self._itself(one) or self._way(one)
        if found is not None:
            return found
        wait = self.story.waits.get(one.key)
        return self._in_line(one) if wait is None else self._said(one, wait, tries)

    # The workload itself

    def _held_up(self, one: Workload) -> Obstacle | None:
        """It has its quota, but not everything that has to come after it."""
        if not one.reserved:
            return None
        retry = self.story.retries.get(one.key)
        if retry is not None:
            return Obstacle("PendingDelayedTopologyRequests", retry.message, "wait for nodes, or add some")
        waiting = [check for check in one.status.checks if check.state != "Ready"]
        names = ", ".join(f"{check.name} ({check.message or check.state})" for check in waiting)
        message = f"The workload has not all checks ready: {names}"
        return Obstacle("UnsatisfiedAdmissionChecks", message, "it holds its quota until their controllers are done")

    def _itself(self, one: Workload) -> Obstacle | None:
        if self.scheduler.is_admissible(one):
            return None
        if not one.active:
            remedy = f"set spec.active of Workload {one.key} to true"
            return Obstacle("Deactivated", "The workload is deactivated", remedy)
        reserved = one.status.conditions.get("QuotaReserved")
        if reserved is not None and reserved.reason == "OnHold":
            return Obstacle("OnHold", reserved.message or "The workload is on hold", "see to its job")
        if one.gated_by:
            return Obstacle("AdmissionGated", f"The admission is gated by: {one.gated_by}", "remove the gate")
        return Obstacle("WaitingForReplacementPods", "The workload lacks pods of its group", "create the pods again")

    # The way to its queue

    def _way(self, one: Workload) -> Obstacle | None:
        local = self.lines.local_queues.get(one.local_queue)
        if local is None:
            remedy = self._to_mend(f"LocalQueue {one.local_queue}") or self._other_queues(one)
            return Obstacle("Misconfigured", f"LocalQueue {one.queue} doesn't exist", remedy)
        if local.stop != "None":
            remedy = f"set spec.stopPolicy of LocalQueue {local.key} to None"
            remedy += f": `{self.command('queue', 'resume', local.key)}`"
            return Obstacle("Suspended", f"LocalQueue {local.name} is inactive: it is stopped", remedy)
        name = local.cluster_queue
        if name not in self.world.cluster_queues:
            remedy = self._to_mend(f"ClusterQueue {name}")
            if not remedy:
                near = did_you_mean(name, self.world.cluster_queues)
                remedy = f"{near}create it, or make a LocalQueue {local.name} that leads to another"
            return Obstacle("Misconfigured", f"ClusterQueue {name} doesn't exist", remedy)
        why = self.world.inactive(name)
        if why is None:
            return None
        remedy = to_mend(name, why, self.command)
        return Obstacle("Suspended", f"ClusterQueue {name} is inactive: {why.message}", remedy)

    def _to_mend(self, what: str) -> str:
        return f"mend {what}: it was left out for its mistakes" if what in self.left_out else ""

    def _other_queues(self, one: Workload) -> str:
        names = [each.name for each in self.lines.local_queues.values() if each.namespace == one.namespace]
        if not names:
            return f"create it: namespace {one.namespace} has no LocalQueue"
        return f"{did_you_mean(one.queue, names)}namespace {one.namespace} has: {', '.join(names)}"

    # Its place in line

    def _in_line(self, one: Workload) -> Obstacle:
        """It was not looked at: it waits for a time, or is like somebody who failed, or stands behind somebody."""
        if backing_off(one.status, self.now):
            requeued = one.status.conditions.get("Requeued")
            if requeued is not None and not requeued.holds:
                message = f"Evicted: {requeued.message or requeued.reason}"
                until = one.status.requeue_at
                if requeued.reason in BACKS_OFF:
                    later = (
                        "when its checks allow" if until is None else f"in {until - self.now:.0f} s; try a later --now"
                    )
                    return Obstacle("PendingEvaluation", message, f"it is queued again {later}")
                return Obstacle("PendingEvaluation", message, "it is not queued again by itself: see to its job")
            return Obstacle(
                "PendingEvaluation", "Evicted, and not to be queued again yet", "wait, or give a later time"
            )
        line = self.lines.lines[self.lines.queue_of(one)]
        like = self._failed_like(line, one)
        if like is not None:
            said = self._said(one, like, tries=False)
            return said._replace(message=BYPASSED, like=like.workload.key, cause=like.message)
        before = next((key for key in self._front(line) if key != one.key), None)
        if before is None:
            return Obstacle("PendingEvaluation", "")
        message = f"ClusterQueue {line.name} is {line.strategy}, and {before} is before it in line"
        if line.strategy == "StrictFIFO":
            return Obstacle("PendingEvaluation", message, "let that one in first, or use the strategy BestEffortFIFO")
        return Obstacle("PendingEvaluation", f"{message}, and is tried again and again", f"see to {before}")

    def _front(self, line: Line) -> list[str]:
        """The first two of a line."""
        if line.name not in self._first:
            found = nsmallest(2, line.ready(), key=lambda entry: entry.order)
            self._first[line.name] = [entry.key for entry in found]
        return self._first[line.name]

    def _failed_like(self, line: Line, one: Workload) -> Wait | None:
        """What was said of the workload that stands for all that are like this one."""
        entry = line.get(one.key)
        likes = None if entry is None else line.classes.get(entry.likeness)
        if entry is None or likes is None or not likes.parked:
            return None
        key = (line.name, entry.likeness)
        if key not in self._like:
            waits = (self.story.waits.get(each.key) for each in likes.members.values())
            self._like[key] = next((wait for wait in waits if wait is not None), None)
        return self._like[key]

    # Everybody else

    def _said(self, one: Workload, wait: Wait, tries: bool) -> Obstacle:
        queue = self.world.cluster_queues[self.lines.queue_of(one)]
        return Obstacle(wait.reason, wait.message, self._remedy(one, queue, wait, tries))

    def _remedy(self, one: Workload, queue: ClusterQueue, wait: Wait, tries: bool) -> str:
        match wait.reason:
            case "Misconfigured":
                return self._of_namespace(one, queue, wait)
            case "NoMatchingFlavor":
                return self._of_flavors(queue, wait)
            case reason if reason in TRIED:
                return self._tried(one) if tries else self._untried(one)
            case "PendingEvaluation":
                return "see to its admission checks"
        return ""

    def _tried(self, one: Workload) -> str:
        found = self.prospects(one)
        return self._untried(one) if found is None else in_one_line(found)

    def _untried(self, one: Workload) -> str:
        return f"`{self.command('explain', one.name, '-n', one.namespace)}` tries which changes would"

    def _of_namespace(self, one: Workload, queue: ClusterQueue, wait: Wait) -> str:
        if wait.why is Why.NAMESPACE and queue.selector is None:
            return f"give ClusterQueue {queue.name} a spec.namespaceSelector: without one it serves no namespace"
        if wait.why is Why.NAMESPACE and queue.selector is not None:
            rules = (f"{one.key} {one.operator} {','.join(one.values)}".strip() for one in queue.selector.requirements)
            return f"label namespace {one.namespace} as ClusterQueue {queue.name} wants it: {', '.join(rules)}"
        if one.namespace not in self.world.namespaces:
            return f"create namespace {one.namespace}"
        return f"change what the pods ask for, or the LimitRanges of namespace {one.namespace}"

    def _of_flavors(self, queue: ClusterQueue, wait: Wait) -> str:
        flavors = [self.world.flavors[name] for name in queue.flavors if name in self.world.flavors]
        topologies = [self.world.topologies[one.topology] for one in flavors if one.topology in self.world.topologies]
        levels = ", ".join(dict.fromkeys(level for topology in topologies for level in topology.levels))
        hints = [hint for part, hint in HINTS if part in wait.message]
        return "; or ".join(hints).format(queue=queue.name, levels=levels)

    def prospects(self, one: Workload) -> Prospects | None:
        """What it would take to get it in, tried on quota and nodes as they are used now; None where that is not it."""
        if self._held_up(one) or self._itself(one) or self._way(one):
            return None
        name = self.lines.queue_of(one)
        wait = self.story.waits.get(one.key) or self._failed_like(self.lines.lines[name], one)
        if wait is None or wait.reason not in TRIED:
            return None
        queue = self.world.cluster_queues[name]
        return prospects(Trial(self.world, one, queue, wait.plan), wait)
