"""Whether a ClusterQueue admits anything, and if not, why and what would change that.

The reasons and the first half of the texts are Kueue's; each ends in what to do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .world import World

MULTIKUEUE = "kueue.x-k8s.io/multikueue"
PROVISIONING = "kueue.x-k8s.io/provisioning-request"


class Inactive(NamedTuple):
    """`reason` and `message` of the condition Active=False; `remedy` says what to do."""

    reason: str
    message: str
    remedy: str


def inactive(world: World, name: str) -> Inactive | None:
    queue = world.cluster_queues.get(name)
    if queue is None:
        return Inactive("NotFound", f"ClusterQueue {name} not found", "create it, or correct the LocalQueue")
    if queue.terminating:
        return Inactive("Terminating", "Can't admit new workloads; clusterQueue is terminating", "create it anew")
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
        yield "FlavorNotFound", f"references missing ResourceFlavor(s): {','.join(missing)}", "create the flavors named"
    yield from _checks(world, name)
    if "TopologyAwareScheduling" in world.gates:
        used = (world.flavors[flavor].topology for flavor in queue.flavors if flavor in world.flavors)
        unknown = list(dict.fromkeys(one for one in used if one and one not in world.topologies))
        if unknown:
            yield (
                "TopologyNotFound",
                f"there is no Topology {','.join(unknown)} for TAS flavor",
                "create the topologies",
            )
    if name in world.tree.cyclic:
        yield "CohortCycle", f"cohort {queue.cohort} is its own ancestor", "change a Cohort's spec.parentName"


def _checks(world: World, name: str) -> Iterator[tuple[str, str, str]]:
    queue = world.cluster_queues[name]
    missing = [rule.name for rule in queue.checks if rule.name not in world.checks]
    if missing:
        names = ",".join(missing)
        yield "AdmissionCheckNotFound", f"references missing AdmissionCheck(s): {names}", "create the checks named"
    known = [rule for rule in queue.checks if rule.name in world.checks]
    idle = [rule.name for rule in known if world.checks[rule.name].active is False]
    if idle:
        names = ",".join(idle)
        yield "AdmissionCheckInactive", f"references inactive AdmissionCheck(s): {names}", "see to their controllers"
    multi = [rule for rule in known if world.checks[rule.name].controller == MULTIKUEUE]
    if len(multi) > 1:
        names = ",".join(rule.name for rule in multi)
        yield "MultipleMultiKueueAdmissionChecks", f"references several MultiKueue checks: {names}", "keep one of them"
    if any(rule.flavors for rule in multi):
        text = "a MultiKueue check can't be set per flavor"
        yield "MultiKueueAdmissionCheckAppliedPerFlavor", text, "remove its onFlavors"
    if multi and any(world.checks[rule.name].controller == PROVISIONING for rule in known):
        text = "MultiKueue and ProvisioningRequest checks can't be used together"
        yield "MultiKueueWithProvisioningRequest", text, "keep one kind of them"
