"""Why a workload is pending and what would help: one reason, one message and one remedy per workload.

Reasons and messages are those that Kueue writes into the workload's condition QuotaReserved. The obstacle may be the
workload itself, its LocalQueue, its ClusterQueue, or the other workloads; they are checked in that order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from heapq import nsmallest
from typing import NamedTuple

from ..model.cluster_queue import ClusterQueue
from ..model.nearest import did_you_mean
from ..model.workload import Workload
from ..queue.pending_queue import BYPASSED, PendingQueue
from ..queue.pending_queues import backing_off
from ..queue.wake import RequeueReason
from .activity import Inactive
from .decision import Wait
from .prospects import Prospects, prospects
from .scheduler import Scheduler
from .trial import Trial
from .what_if import BACKS_OFF, Story

FEW = 3
"""How many remedies are shown in one line."""

TRIED = ("TopologyPlacementFailed", "WaitingForQuota", "ExceedsMaxQuota")
"""Reasons about quota or room, for which changes can be tried."""
WAITING = "wait until other workloads finish"
NOTHING = "no change helped (tried fewer pods, other levels, more quota, other nodes)"

HINTS = (
    (
        "unavailable in ClusterQueue",
        "request only what ClusterQueue {queue} has ({resources}), or add the resource to its spec.resourceGroups",
    ),
    ("does not contain the requested level", "use a level of the flavor's Topology: {levels}"),
    ("does not support TopologyAwareScheduling", "set spec.topologyName of the flavor, or request no topology"),
    ("supports only TopologyAwareScheduling", "request a topology, at least podset-unconstrained-topology"),
    ("information missing in TAS cache", "create the Topology that the flavor names"),
    ("untolerated taint", "tolerate the taint, in the job or in the flavor's spec.tolerations"),
    ("doesn't match node affinity", "change the node selector or affinity of the pods"),
    ("not found", "create the flavor"),
    ("TAS flavor assigned", "give ClusterQueue {queue} one flavor with a topology for all resources of the pods"),
)
"""What helps if no flavor fits the pods, by a part of the message."""


def in_one_line(found: Prospects) -> str:
    """The first changes that help; waiting for other workloads is one of them unless that cannot be enough.

    Each of several is numbered, since one may consist of two steps.
    """
    if found.first:
        return " and ".join(found.first)
    waiting = [WAITING] if found.may_wait else []
    offers = [*waiting, *(str(remedy) for remedy in found.remedies[:FEW])]
    if len(offers) < 2:
        return offers[0] if offers else NOTHING
    return "one of: " + "; ".join(f"({number}) {offer}" for number, offer in enumerate(offers, start=1))


Command = Callable[..., str]
"""Turns the words of a command into a line to type; empty if it cannot be typed here."""


def typed(*words: str) -> str:
    """The default: `closeknit` followed by the words."""
    return " ".join(["closeknit", *words])


def remedy_for(queue: str, why: Inactive, command: Command = typed) -> str:
    """The remedy for an inactive ClusterQueue, with the command if there is one."""
    return why.remedy + _typed(command("queue", "resume", queue)) if why.reason == "Stopped" else why.remedy


def _typed(line: str) -> str:
    return f": `{line}`" if line else ""


class Obstacle(NamedTuple):
    """`like` is the workload that was evaluated for the whole equivalence class, and `cause` its message."""

    reason: str
    message: str
    remedy: str = ""
    like: str = ""
    cause: str = ""


class Obstacles:
    """Why workloads of a story are not admitted, by the scheduler's state at its end.

    `left_out` names objects that were ignored because they are invalid; `command` formats commands for the user. With
    `is_present` the story begins in the state that other commands also answer for, so that they may be advised.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        story: Story,
        now: float,
        left_out: Collection[str] = (),
        command: Command = typed,
        is_present: bool = True,
    ) -> None:
        self.scheduler, self.story, self.now, self.left_out = scheduler, story, now, left_out
        self.command, self.is_present = command, is_present
        self.world, self.pending = scheduler.world, scheduler.pending
        self._first: dict[str, list[str]] = {}
        self._like: dict[tuple[str, Hashable], Wait | None] = {}

    def of(self, one: Workload, tries: bool = False) -> Obstacle:
        """The obstacle of one workload; with `tries`, remedies are tried where quota or room is short."""
        if one.key in self.story.cut:
            victim = self.story.cut[one.key].workload.key
            message = f"Workload {victim} would be preempted over and over"
            remedy = "give the two different priorities, or change spec.preemption of their ClusterQueues"
            return Obstacle("WaitingForPreemptedWorkloads", message, remedy)
        found = self._held_up(one) or self._itself(one) or self._way(one)
        if found is not None:
            return found
        wait = self.story.waits.get(one.key)
        return self._in_line(one) if wait is None else self._from_wait(one, wait, tries)

    # The workload itself

    def _held_up(self, one: Workload) -> Obstacle | None:
        """The workload has its quota, but waits for checks or places."""
        if not one.reserved:
            return None
        retry = self.story.retries.get(one.key)
        if retry is not None:
            return Obstacle("PendingDelayedTopologyRequests", retry.message, "wait for nodes, or add some")
        waiting = [check for check in one.status.checks if check.state != "Ready"]
        names = ", ".join(f"{check.name} ({check.message or check.state})" for check in waiting)
        message = f"The workload has not all checks ready: {names}"
        remedy = "wait until their controllers set these checks to Ready; until then it keeps its quota"
        return Obstacle("UnsatisfiedAdmissionChecks", message, remedy)

    def _itself(self, one: Workload) -> Obstacle | None:
        if self.scheduler.is_admissible(one):
            return None
        if not one.active:
            remedy = f"set spec.active of Workload {one.key} to true"
            return Obstacle("Deactivated", "The workload is deactivated", remedy)
        reserved = one.status.conditions.get("QuotaReserved")
        if reserved is not None and reserved.reason == "OnHold":
            return Obstacle("OnHold", reserved.message or "The workload is on hold", "check its job")
        if one.gated_by:
            return Obstacle("AdmissionGated", f"The admission is gated by: {one.gated_by}", "remove the gate")
        return Obstacle("WaitingForReplacementPods", "The workload lacks pods of its group", "create the pods again")

    # Its LocalQueue and ClusterQueue

    def _way(self, one: Workload) -> Obstacle | None:
        local = self.pending.local_queues.get(one.local_queue)
        if local is None:
            remedy = self._fix_for(f"LocalQueue {one.local_queue}") or self._other_queues(one)
            return Obstacle("Misconfigured", f"LocalQueue {one.queue} doesn't exist", remedy)
        if local.stop != "None":
            remedy = f"set spec.stopPolicy of LocalQueue {local.key} to None"
            remedy += _typed(self.command("queue", "resume", local.key))
            return Obstacle("Suspended", f"LocalQueue {local.name} is inactive: it is stopped", remedy)
        name = local.cluster_queue
        if name not in self.world.cluster_queues:
            remedy = self._fix_for(f"ClusterQueue {name}")
            if not remedy:
                near = did_you_mean(name, self.world.cluster_queues)
                remedy = f"{near}create it, or recreate LocalQueue {local.name} with another clusterQueue"
            return Obstacle("Misconfigured", f"ClusterQueue {name} doesn't exist", remedy)
        why = self.world.inactive(name)
        if why is None:
            return None
        remedy = remedy_for(name, why, self.command)
        return Obstacle("Suspended", f"ClusterQueue {name} is inactive: {why.message}", remedy)

    def _fix_for(self, what: str) -> str:
        return f"fix {what}: it was ignored because of its errors" if what in self.left_out else ""

    def _other_queues(self, one: Workload) -> str:
        names = [each.name for each in self.pending.local_queues.values() if each.namespace == one.namespace]
        if not names:
            return f"create it: namespace {one.namespace} has no LocalQueue"
        known = f"namespace {one.namespace} has: {', '.join(names)}"
        return f"{did_you_mean(one.queue, names)}{known}; use one of them, or create LocalQueue {one.queue}"

    # Its position in the queue

    def _in_line(self, one: Workload) -> Obstacle:
        """The workload was not evaluated: it backs off, its class is parked, or another workload is ahead of it."""
        if backing_off(one.status, self.now):
            requeued = one.status.conditions.get("Requeued")
            if requeued is not None and not requeued.holds:
                told = requeued.message or requeued.reason
                message = told if told.startswith("Evicted") else f"Evicted: {told}"
                until = one.status.requeue_at
                if requeued.reason in BACKS_OFF:
                    later = "when its checks allow" if until is None else f"in {until - self.now:.0f} s"
                    return Obstacle("PendingEvaluation", message, f"it is requeued {later}")
                return Obstacle("PendingEvaluation", message, "it is not requeued automatically: check its job")
            return Obstacle("PendingEvaluation", "Evicted, and not requeued yet", "wait")
        pending = self.pending.queues[self.pending.queue_of(one)]
        like = self._failed_like(pending, one)
        if like is not None:
            said = self._from_wait(one, like, tries=False)
            return said._replace(message=BYPASSED, like=like.workload.key, cause=like.message)
        before = next((key for key in self._front(pending) if key != one.key), None)
        if before is None:
            return Obstacle("PendingEvaluation", "")
        message = f"ClusterQueue {pending.name} is {pending.strategy}, and {before} is ahead of it"
        if pending.strategy == "StrictFIFO":
            return Obstacle("PendingEvaluation", message, "admit that one first, or use the strategy BestEffortFIFO")
        return Obstacle("PendingEvaluation", f"{message} and is retried over and over", f"check {before}")

    def _front(self, pending: PendingQueue) -> list[str]:
        """The first two workloads of a queue."""
        if pending.name not in self._first:
            found = nsmallest(2, pending.ready(), key=lambda entry: entry.order)
            self._first[pending.name] = [entry.key for entry in found]
        return self._first[pending.name]

    def _failed_like(self, pending: PendingQueue, one: Workload) -> Wait | None:
        """The decision on the workload that was evaluated for the whole equivalence class."""
        entry = pending.get(one.key)
        group = None if entry is None else pending.classes.get(entry.equivalence_key)
        if entry is None or group is None or not group.parked:
            return None
        key = (pending.name, entry.equivalence_key)
        if key not in self._like:
            waits = (self.story.waits.get(each.key) for each in group.members.values())
            self._like[key] = next((wait for wait in waits if wait is not None), None)
        return self._like[key]

    # Quota and room

    def _from_wait(self, one: Workload, wait: Wait, tries: bool) -> Obstacle:
        queue = self.world.cluster_queues[self.pending.queue_of(one)]
        return Obstacle(wait.reason, wait.message, self._remedy(one, queue, wait, tries))

    def _remedy(self, one: Workload, queue: ClusterQueue, wait: Wait, tries: bool) -> str:
        match wait.reason:
            case "Misconfigured":
                return self._of_namespace(one, queue, wait)
            case "NoMatchingFlavor":
                return self._of_flavors(one, queue, wait)
            case reason if reason in TRIED:
                return self._tried(one) if tries else self._untried(one)
            case "PendingEvaluation":
                return "check its admission checks"
            case "WaitingForPodsReady":
                return "see why their pods do not start, or set waitForPodsReady.blockAdmission to false"
        return ""

    def _tried(self, one: Workload) -> str:
        found = self.prospects(one)
        return self._untried(one) if found is None else in_one_line(found)

    def _untried(self, one: Workload) -> str:
        if not self.is_present or any(step.by and step.workload.key == one.key for step in self.story.steps):
            return ""
        return f"`{self.command('explain', one.name, '-n', one.namespace)}` tries possible changes"

    def _of_namespace(self, one: Workload, queue: ClusterQueue, wait: Wait) -> str:
        if wait.why is RequeueReason.NAMESPACE and queue.selector is None:
            return f"give ClusterQueue {queue.name} a spec.namespaceSelector: without one it serves no namespace"
        if wait.why is RequeueReason.NAMESPACE and queue.selector is not None:
            rules = (f"{one.key} {one.operator} {','.join(one.values)}".strip() for one in queue.selector.requirements)
            selector = f"the selector of ClusterQueue {queue.name}"
            return f"label namespace {one.namespace} to match {selector}: {', '.join(rules)}"
        if one.namespace not in self.world.namespaces:
            return f"create namespace {one.namespace}"
        return f"change the pods' requests, or the LimitRanges of namespace {one.namespace}"

    def _of_flavors(self, one: Workload, queue: ClusterQueue, wait: Wait) -> str:
        flavors = [self.world.flavors[name] for name in queue.flavors if name in self.world.flavors]
        named = [flavor.topology for flavor in flavors]
        topologies = [self.world.topologies[name] for name in named if name in self.world.topologies]
        levels = ", ".join(dict.fromkeys(level for topology in topologies for level in topology.levels))
        hints = [hint for part, hint in HINTS if part in wait.message]
        known = [level for topology in topologies for level in topology.levels]
        asked = {level for _, wanted in one.request.walk() for each in wanted for level in each.levels}
        near = "".join(did_you_mean(level, known) for level in sorted(asked.difference(known)))
        have = [resource for group in queue.groups for resource in group.covered]
        wanted = {resource for part in one.parts for resource in part.requests}
        near += "".join(did_you_mean(resource, have) for resource in sorted(wanted.difference(have)))
        return near + "; or ".join(hints).format(queue=queue.name, levels=levels, resources=", ".join(have))

    def prospects(self, one: Workload) -> Prospects | None:
        """What it would take to admit the workload now; None if quota and room are not the obstacle."""
        if self._held_up(one) or self._itself(one) or self._way(one):
            return None
        name = self.pending.queue_of(one)
        wait = self.story.waits.get(one.key) or self._failed_like(self.pending.queues[name], one)
        if wait is None or wait.reason not in TRIED:
            return None
        queue = self.world.cluster_queues[name]
        return prospects(Trial(self.world, one, queue, wait.plan), wait)
