"""Feature gates: which behaviours are on, as a value that is passed around and never as global state.

Kueue's gates keep their names and defaults, so Kueue's documentation applies. Our own gates fix or extend Kueue's
behaviour; the profile `kueue` turns them all off. The profile `kueue-0.14` does that too, turns off what Kueue turned
on later, and replaces failed nodes as the documentation of that version says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from .nearest import did_you_mean


class Gate(NamedTuple):
    name: str
    default: bool
    effect: str
    needs: tuple[str, ...] = ()
    ours: bool = False


_TAS = ("TopologyAwareScheduling",)
_SWAP = (*_TAS, "TASFailedNodeReplacement")

KUEUE_GATES = (
    Gate("TopologyAwareScheduling", True, "Master switch of topology-aware placement."),
    Gate(
        "TASProfileMixed",
        True,
        "Unconstrained pod sets fill the fullest hosts first; off: BestFit for all pod sets.",
        _TAS,
    ),
    Gate("TASFailedNodeReplacement", True, "Pods of a failed node are placed on another node.", _TAS),
    Gate("TASFailedNodeReplacementFailFast", True, "Evict a workload after its first failed replacement.", _SWAP),
    Gate("TASReplaceNodeOnPodTermination", True, "An unready or tainted node fails once its pods stop.", _SWAP),
    Gate("TASReplaceNodeDueToNotReadyOverFixedTime", False, "A node not Ready for 30 s counts as failed.", _SWAP),
    Gate("TASReplaceNodeOnNodeTaints", True, "A node with an untolerated hard taint counts as failed.", _TAS),
    Gate("SkipReassignmentForPodOwnedWorkloads", True, "A workload of one bare pod keeps its assignment."),
    Gate("TASBalancedPlacement", False, "Preferred pod sets are spread evenly over few domains.", _TAS),
    Gate("TASMultiLayerTopology", True, "Up to three layers of slices.", _TAS),
    Gate("TASRespectNodeAffinityPreferred", False, "Preferred node affinity outranks packing.", _TAS),
    Gate("TASHandleOverlappingFlavors", True, "Flavors over the same hosts share their usage.", _TAS),
    Gate(
        "TASRecomputeAssignmentWithinSchedulingCycle",
        True,
        "A stale placement is recomputed in its cycle.",
        _TAS,
    ),
    Gate("TASAssignmentsEncodingByHostnamePrefix", True, "Assignments are encoded by hostname prefix.", _TAS),
    Gate("TASValidateWorkloadSliceSize", True, "Workloads with invalid slice sizes are rejected.", _TAS),
    Gate("TASCacheNodeMatchResults", True, "Performance only; no effect here.", _TAS),
    Gate("TASCachingRemainingResources", True, "Performance only; no effect here.", _TAS),
    Gate("TASCacheTopologyTree", True, "Performance only; no effect here.", _TAS),
    Gate("VectorizedResourceRequests", True, "Performance only; no effect here."),
    Gate("ElasticJobsViaWorkloadSlices", True, "Running jobs may grow and shrink."),
    Gate(
        "ElasticJobsViaWorkloadSlicesWithTAS",
        False,
        "A resized pod set keeps its assignment; only the difference is placed.",
        (*_TAS, "ElasticJobsViaWorkloadSlices"),
    ),
    Gate("SchedulerLibraryIntegration", False, "kube-scheduler's node filters; always applied here.", _TAS),
    Gate("RecomputeAssignmentUponPreemptionTargetsOverlap", True, "Overlapping preemption victims are recomputed."),
    Gate("FlavorFungibilityPreserveScanProgress", True, "The next cycle continues at the next flavor."),
    Gate("UnadmittedWorkloadsObservability", True, "Conditions report the stage that a workload waits in."),
    Gate("SchedulingEquivalenceHashing", True, "Equivalent workloads are parked together."),
    Gate("ReclaimablePods", True, "Finished pods release their quota."),
    Gate("PartialAdmission", True, "A job may start with fewer pods."),
    Gate("PrioritySortingWithinCohort", True, "Workloads that borrow equally are ordered by priority."),
    Gate("PrioritizePreemptorWorkloads", False, "A workload that waits for its victims goes first in a cycle."),
    Gate("PriorityBoost", False, "The annotation priority-boost is added to the priority."),
    Gate("FairSharingPreemptWithinNominal", True, "Nominal quota is reclaimed regardless of fair shares."),
    Gate("FairSharingPrioritizeNonBorrowing", True, "With fair sharing, workloads that do not borrow go first."),
    Gate("MultiKueueOrchestratedPreemption", False, "A closed preemption gate holds back preemption."),
    Gate("AdmissionGatedBy", True, "The annotation admission-gated-by keeps a workload out of the queue."),
    Gate("CleanupProvisioningRequestsOnEviction", True, "An evicted workload's ProvisioningRequests are deleted."),
)

OUR_GATES = (
    Gate(
        "FilterAtEveryLevel",
        True,
        "Taints, selectors and required affinity also apply when the lowest level is not the host.",
        ours=True,
    ),
    Gate(
        "AllPodFilters",
        True,
        "Host ports, pod affinity, topology spread, volumes, nodeName and resource claims count where pods are placed.",
        (*_TAS, "FilterAtEveryLevel"),
        ours=True,
    ),
    Gate(
        "NumaZones",
        True,
        "Where a NodeResourceTopology describes a node, it holds the pods that its kubelet admits in its NUMA zones.",
        (*_TAS, "FilterAtEveryLevel", "CountDrainingPods"),
        ours=True,
    ),
    Gate("RefuseUnevenSlices", True, "Pod counts that the slice size does not divide are rejected.", ours=True),
    Gate(
        "RequiredAndPreferred",
        True,
        "Required and preferred may be combined; preferred applies inside required.",
        ours=True,
    ),
    Gate(
        "ReadFormerKeys",
        True,
        "The KEP's require-topology and prefer-topology mean podset-required- and podset-preferred-topology.",
        _TAS,
        ours=True,
    ),
    Gate("CheckLimitRatios", True, "A workload whose pods exceed a maxLimitRequestRatio is not admitted.", ours=True),
    Gate("AutoLevel", True, 'The level "auto" means the lowest level at which the job fits.', ours=True),
    Gate(
        "VerifyBeforeAdmit",
        True,
        "Admission never uses room that another workload's victims still hold; pod sets on one node are summed.",
        ours=True,
    ),
    Gate("KeepFreedRoom", True, "What a preemption frees is kept for the workload that preempted.", ours=True),
    Gate("WakeByReason", True, "An event wakes the workloads that it can help, and no others.", ours=True),
    Gate("WakeAtOnce", True, "Parked workloads are requeued at once on an event, not a second later.", ours=True),
    Gate("ReplaceSeveralNodes", True, "Several failed nodes are replaced in one decision.", _SWAP, ours=True),
    Gate(
        "ReuseFinishedPlaces",
        True,
        "Pods of a failed node take places freed by finished pods of their pod set.",
        (*_SWAP, "ReclaimablePods"),
        ours=True,
    ),
    Gate(
        "SparePodsOfUsedNodes",
        True,
        "Pods that wait for a tainted or unready node are not failed while pods of their workload run on it.",
        _SWAP,
        ours=True,
    ),
    Gate(
        "RetryReplacementsAtOnce",
        True,
        "A replacement that waits for a node is retried as soon as there is room.",
        _SWAP,
        ours=True,
    ),
    Gate(
        "HotSwapOfKueue014",
        False,
        "Without fail-fast, an unready node fails after 30 s too; without replacement, its gates have no effect.",
        _TAS,
        ours=True,
    ),
    Gate(
        "RefuseMultiKueueWithTopology",
        True,
        "A queue with a MultiKueue check and a flavor with a topology is inactive.",
        _TAS,
        ours=True,
    ),
    Gate("CountDaemonSets", True, "A DaemonSet's pods count on their nodes before they are bound.", _TAS, ours=True),
    Gate(
        "CountDrainingPods",
        True,
        "Pods whose workload gave up their place count until they are gone.",
        _TAS,
        ours=True,
    ),
    Gate(
        "OneLedgerForOverlappingFlavors",
        True,
        "What a cycle takes or frees on a host counts in every flavor that includes the host.",
        (*_TAS, "TASHandleOverlappingFlavors"),
        ours=True,
    ),
    Gate(
        "ReactivateAfterAnyCause", True, "A reactivated workload is queued again, whatever deactivated it.", ours=True
    ),
    Gate("TellBypassed", True, "Report the shared reason on every workload of a parked class.", ours=True),
    Gate("PlaceWithoutChecks", True, "A delayed placement also happens when the last check is removed.", ours=True),
    Gate("EndFlavorWalks", True, "A search through the flavors ends when it repeats itself.", ours=True),
    Gate("RemedyInConditions", True, "Conditions of queues include a remedy.", ours=True),
    Gate(
        "VerifyPodOwners",
        True,
        "A pod counts as a workload's only if its owners lead to the workload's owner.",
        ours=True,
    ),
    Gate(
        "PlacesOnPods",
        True,
        "Pods get labels with their rank and their domains; jobs that request it get host files.",
        _TAS,
        ours=True,
    ),
    Gate(
        "MaintenanceWindows",
        True,
        "Nodes of a Maintenance take only workloads that end before it, and are drained when it begins.",
        (*_TAS, "FilterAtEveryLevel"),
        ours=True,
    ),
    Gate(
        "StartTimeout",
        True,
        "An eviction of pods that did not start has the scheduler's message; it needs no waitForPodsReady.",
        ours=True,
    ),
    Gate(
        "PlacementPerReplica",
        True,
        "Annotations give each replica of a job the constraint by itself, keep replicas apart, and set the order.",
        _TAS,
        ours=True,
    ),
    Gate(
        "BacktrackPodSets",
        True,
        "Pod sets that do not fit in the order of the job are searched for together, with backtracking.",
        _TAS,
        ours=True,
    ),
    Gate("VictimsByDomain", False, "Victims are chosen so that one domain is freed at the lowest cost.", ours=True),
    Gate("WaitForTighter", False, "A preferred placement waits a limited time for a tighter one.", ours=True),
)

ALL_GATES = {gate.name: gate for gate in KUEUE_GATES + OUR_GATES}
PROFILES = ("closeknit", "kueue", "kueue-0.14")
_AFTER_014 = frozenset(
    {
        "TASProfileMixed",
        "TASReplaceNodeOnNodeTaints",
        "SkipReassignmentForPodOwnedWorkloads",
        "TASMultiLayerTopology",
        "TASHandleOverlappingFlavors",
        "TASRecomputeAssignmentWithinSchedulingCycle",
        "TASAssignmentsEncodingByHostnamePrefix",
        "TASValidateWorkloadSliceSize",
        "ElasticJobsViaWorkloadSlices",
        "RecomputeAssignmentUponPreemptionTargetsOverlap",
        "FlavorFungibilityPreserveScanProgress",
        "UnadmittedWorkloadsObservability",
        "SchedulingEquivalenceHashing",
    }
)
"""Gates of Kueue that were not on in its version 0.14."""
_AS_IN_014 = frozenset({"HotSwapOfKueue014", "RetryReplacementsAtOnce", "RefuseMultiKueueWithTopology"})


class GateError(ValueError):
    """A gate is unknown, malformed, or depends on a gate that is off."""


@dataclass(frozen=True, slots=True)
class Gates:
    """The gates that are on."""

    enabled: frozenset[str]

    @classmethod
    def profile(cls, name: str = "closeknit", changes: Mapping[str, bool] | None = None) -> Gates:
        """The defaults of a profile with some gates changed."""
        if name not in PROFILES:
            raise GateError(f'unknown profile "{name}"; use one of: {", ".join(PROFILES)}')
        gates = KUEUE_GATES + OUR_GATES if name == "closeknit" else KUEUE_GATES
        on = frozenset(gate.name for gate in gates if gate.default)
        if name == "kueue-0.14":
            on = on - _AFTER_014 | _AS_IN_014
        return cls(on).changed(changes or {})

    def changed(self, changes: Mapping[str, bool]) -> Gates:
        """The same with some gates changed."""
        enabled = set(self.enabled)
        for gate_name, on in changes.items():
            _known(gate_name)
            (enabled.add if on else enabled.discard)(gate_name)
        _check_needs(enabled, changes)
        return Gates(frozenset(enabled))

    def __contains__(self, name: str) -> bool:
        return name in self.enabled


def parse_changes(text: str) -> dict[str, bool]:
    """Parse `A=true,B=false` into a mapping."""
    changes = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, equals, value = part.partition("=")
        if not equals or value.lower() not in ("true", "false"):
            raise GateError(f'feature gate "{part}" is not of the form Name=true or Name=false')
        _known(name)
        changes[name] = value.lower() == "true"
    return changes


def _known(name: str) -> None:
    if name not in ALL_GATES:
        raise GateError(f'unknown feature gate "{name}"; {did_you_mean(name, ALL_GATES)}'.rstrip("; "))


def _check_needs(enabled: set[str], changes: Mapping[str, bool]) -> None:
    """Refuse a gate turned on by name whose dependencies are off; one that is on by default just goes off.

    In Kueue 0.14 the gates of hot swap have no effect without it, so turning one on is no mistake.
    """
    ineffective = {"TASFailedNodeReplacement"} if "HotSwapOfKueue014" in enabled else set()
    for gate in ALL_GATES.values():
        missing = [need for need in gate.needs if need not in enabled]
        if gate.name not in enabled or not missing:
            continue
        if changes.get(gate.name) and set(missing) - ineffective:
            raise GateError(f"feature gate {gate.name} needs {' and '.join(missing)}: turn that on too")
        enabled.discard(gate.name)
