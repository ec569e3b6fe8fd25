"""Whether a ClusterQueue is active, and if not, why and what to do about it.

Reasons and messages are Kueue's where it has them; remedies are ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from ..model.cluster_queue import CheckRule, ClusterQueue, LocalQueue
from ..model.gates import Gates
from ..model.workload import Condition
from ..quota.tree import MOST_LEVELS

if TYPE_CHECKING:
    from .world import World

MULTIKUEUE = "kueue.x-k8s.io/multikueue"
PROVISIONING = "kueue.x-k8s.io/provisioning-request"

MISTAKE, CYCLE, TOO_DEEP = "Misconfigured", "CohortCycle", "CohortTooDeep"
UNKNOWN = "Unknown", "Can't admit new workloads."
"""Kueue's reason and message for anything that it has no reason for."""


class Inactive(NamedTuple):
    """`reason` and `message` of the condition Active=False, and the `remedy`."""

    reason: str
    message: str
    remedy: str


def inactive(world: World, name: str) -> Inactive | None:
    queue = world.cluster_queues.get(name)
    if queue is None:
        return Inactive("NotFound", f"ClusterQueue {name} not found", "create it, or correct the LocalQueue")
    if queue.terminating:
        return Inactive("Terminating", "Can't admit new workloads; clusterQueue is terminating", "create it again")
    found = list(_obstacles(world, name))
    if not found:
        return None
    reason = found[0][0]
    texts = ", ".join(text for _, text, _ in found)
    remedies = "; ".join(dict.fromkeys(remedy for _, _, remedy in found))
    return Inactive(reason, f"Can't admit new workloads: {texts}.", remedies)


def _obstacles(world: World, name: str) -> Iterator[tuple[str, str, str]]:
    queue = world.cluster_queues[name]
    if queue.stop != "None":
        yield "Stopped", "is stopped", f"set spec.stopPolicy of ClusterQueue {name} to None"
    missing = [flavor for flavor in queue.flavors if flavor not in world.flavors]
    if missing:
        names = ",".join(missing)
        yield "FlavorNotFound", f"references missing ResourceFlavor(s): {names}", "create these ResourceFlavors"
    yield from _checks(world, name)
    if "TopologyAwareScheduling" in world.gates:
        for flavor in queue.flavors:
            topology = world.flavors[flavor].topology if flavor in world.flavors else ""
            if topology and topology not in world.topologies:
                text = f'there is no Topology "{topology}" for TAS flavor "{flavor}"'
                yield "TopologyNotFound", text, f"create Topology {topology}, or change spec.topologyName of the flavor"
    if "RefuseMultiKueueWithTopology" in world.gates:
        yield from _elsewhere(world, queue)
    if name in world.tree.cyclic:
        yield _cyclic(world, queue.cohort)
    if name in world.tree.cut_off:
        yield _too_deep(queue.cohort)
    yield from _mistakes(world, queue)


def _cyclic(world: World, cohort: str) -> tuple[str, str, str]:
    ring = cycle_above(world, cohort)
    text = f"cohorts form a cycle: {' → '.join([*ring, ring[0]])}"
    return CYCLE, text, f"give one of the Cohorts {', '.join(ring)} another spec.parentName, or none"


def _too_deep(cohort: str) -> tuple[str, str, str]:
    text = f"Cohort {cohort} has more than {MOST_LEVELS - 1} Cohorts above it"
    return TOO_DEEP, text, f"set spec.parentName of Cohort {cohort} to one that is nearer to the root, or to none"


def inactive_cohort(world: World, name: str) -> Inactive | None:
    """Why the queues of a cohort cannot use it; None if they can. By Kueue's rules, a cycle is told to queues only."""
    if name in world.tree.too_deep:
        reason, text, remedy = _too_deep(name)
    elif name in world.tree.rootless and "RemedyInConditions" in world.gates:
        reason, text, remedy = _cyclic(world, name)
    else:
        return None
    return Inactive(reason, f"Can't share quota: {text}.", remedy)


def cycle_above(world: World, cohort: str) -> list[str]:
    """The cohorts of the cycle that this cohort leads to."""
    seen: list[str] = []
    while cohort not in seen:
        seen.append(cohort)
        parent = world.cohorts.get(cohort)
        cohort = parent.parent if parent is not None else cohort
    ring = seen[seen.index(cohort) :]
    first = ring.index(min(ring))
    return ring[first:] + ring[:first]


def _mistakes(world: World, queue: ClusterQueue) -> Iterator[tuple[str, str, str]]:
    """Errors that an API server would have rejected."""
    if queue.weight < 0:
        yield MISTAKE, f"spec.fairSharing.weight is {queue.weight:g}", "set a weight of 0 or more"
    for cohort in world.tree.queues[queue.name].ancestors:
        if cohort.weight < 0:
            remedy = f"give Cohort {cohort.name} a weight of 0 or more"
            yield MISTAKE, f"Cohort {cohort.name} has spec.fairSharing.weight {cohort.weight:g}", remedy
    for group in queue.groups:
        for flavor in group.flavors:
            for resource in sorted(flavor.resources.keys() ^ set(group.covered)):
                if resource in flavor.resources:
                    text = f"flavor {flavor.flavor} has quota for {resource}, which is not in coveredResources"
                    yield MISTAKE, text, f"add {resource} to coveredResources, or remove its quota"
                else:
                    text = f"flavor {flavor.flavor} has no quota for {resource}, which is in coveredResources"
                    yield MISTAKE, text, f"give flavor {flavor.flavor} a nominalQuota for {resource}; it may be 0"


def _checks(world: World, name: str) -> Iterator[tuple[str, str, str]]:
    queue = world.cluster_queues[name]
    missing = sorted(rule.name for rule in queue.checks if rule.name not in world.checks)
    if missing:
        names = ",".join(missing)
        yield "AdmissionCheckNotFound", f"references missing AdmissionCheck(s): {names}", "create these AdmissionChecks"
    known = [rule for rule in queue.checks if rule.name in world.checks]
    idle = sorted(rule.name for rule in known if world.checks[rule.name].active is False)
    if idle:
        names = ",".join(idle)
        yield "AdmissionCheckInactive", f"references inactive AdmissionCheck(s): {names}", "check their controllers"
    yield from _remote(
        [rule for rule in known if world.checks[rule.name].controller == MULTIKUEUE],
        [rule for rule in known if world.checks[rule.name].controller == PROVISIONING],
    )


def _remote(multi: list[CheckRule], provisioning: list[CheckRule]) -> Iterator[tuple[str, str, str]]:
    """Conflicts of MultiKueue's checks."""
    names = _names(multi)
    if len(multi) > 1:
        text = f"Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found: {names}"
        yield "MultipleMultiKueueAdmissionChecks", text, "keep one of them"
    if any(rule.flavors for rule in multi):
        found = _names(rule for rule in multi if rule.flavors)
        text = f"Cannot specify MultiKueue AdmissionCheck per flavor, found: {found}"
        yield "MultiKueueAdmissionCheckAppliedPerFlavor", text, "remove its onFlavors"
    if multi and provisioning:
        text = "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, found: "
        text += f"{names}, {_names(provisioning)}"
        yield "MultiKueueWithProvisioningRequest", text, "keep only one of the two kinds"


def _elsewhere(world: World, queue: ClusterQueue) -> Iterator[tuple[str, str, str]]:
    """Flavors with a topology whose jobs MultiKueue would send to another cluster, of which no node is known here."""
    checks = [one.name for one in queue.checks if one.name in world.checks]
    multi = sorted(name for name in checks if world.checks[name].controller == MULTIKUEUE)
    placed = [one for one in queue.flavors if one in world.flavors and world.flavors[one].topology]
    if multi and placed:
        text = f"TAS flavor(s) {','.join(placed)} cannot be used with MultiKueue AdmissionCheck(s): {','.join(multi)}"
        remedy = "remove the check from the queue, or use flavors without spec.topologyName"
        yield "NotSupportedWithTopologyAwareScheduling", text, remedy


def _names(rules: Iterable[CheckRule]) -> str:
    return ",".join(sorted(rule.name for rule in rules))


def inactive_local_queue(world: World, queue: LocalQueue) -> Inactive | None:
    """Why nothing can be submitted to a LocalQueue; None if it can."""
    if queue.stop != "None":
        return Inactive("Stopped", "LocalQueue is stopped", f"set spec.stopPolicy of LocalQueue {queue.key} to None")
    found = world.inactive(queue.cluster_queue)
    if found is None:
        return None
    exists = queue.cluster_queue in world.cluster_queues
    reason = "ClusterQueueIsInactive" if exists else "ClusterQueueDoesNotExist"
    return Inactive(reason, "Can't submit new workloads to clusterQueue", found.remedy)


def active_condition(found: Inactive | None, ready: str, now: float, gates: Gates) -> Condition:
    """The condition Active of a queue: Kueue's message, followed by the remedy if RemedyInConditions is on."""
    if found is None:
        return Condition(True, "Ready", ready, now)
    if "RemedyInConditions" not in gates:
        reason, message = UNKNOWN if found.reason in (MISTAKE, CYCLE, TOO_DEEP) else (found.reason, found.message)
        return Condition(False, reason, message, now)
    return Condition(False, found.reason, f"{found.message.rstrip('.')}: {found.remedy}", now)


QUEUE_READY = "Can admit new workloads"
LOCAL_QUEUE_READY = "Can submit new workloads to localQueue"
COHORT_READY = "Its queues share quota"
