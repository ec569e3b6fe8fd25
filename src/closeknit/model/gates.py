"""Feature gates: which behaviours are on, as a value that is passed along and never as global state.

Gates of Kueue keep their names and defaults, so its documentation stays true here. Gates of ours mend what the
Kueue profile leaves open; the profile `kueue` switches them all off.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


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
        "Unconstrained pod sets fill the fullest hosts first; off: BestFit for all.",
        _TAS,
    ),
    Gate("TASFailedNodeReplacement", True, "Pods of a failed node are placed again on another.", _TAS),
    Gate("TASFailedNodeReplacementFailFast", True, "Evict after the first replacement that fails.", _SWAP),
    Gate("TASReplaceNodeOnPodTermination", True, "An unready or tainted node fails when its pods stop.", _SWAP),
    Gate("TASReplaceNodeDueToNotReadyOverFixedTime", False, "A node fails after 30 s without Ready.", _SWAP),
    Gate("TASReplaceNodeOnNodeTaints", True, "An untolerated hard taint counts as a failure.", _TAS),
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
    Gate("TASValidateWorkloadSliceSize", True, "Workloads with bad slice sizes are refused.", _TAS),
    Gate("TASCacheNodeMatchResults", True, "For speed only; no effect here.", _TAS),
    Gate("TASCachingRemainingResources", True, "For speed only; no effect here.", _TAS),
    Gate("TASCacheTopologyTree", True, "For speed only; no effect here.", _TAS),
    Gate("VectorizedResourceRequests", True, "For speed only; no effect here."),
    Gate("ElasticJobsViaWorkloadSlices", True, "Running jobs may grow and shrink."),
    Gate(
        "ElasticJobsViaWorkloadSlicesWithTAS",
        False,
        "A resized pod set keeps its places; only the difference is placed.",
        (*_TAS, "ElasticJobsViaWorkloadSlices"),
    ),
    Gate("SchedulerLibraryIntegration", False, "Upstream's filter library; its rules for nodes are ours anyway.", _TAS),
    Gate("RecomputeAssignmentUponPreemptionTargetsOverlap", True, "Overlapping victims are recomputed."),
    Gate("FlavorFungibilityPreserveScanProgress", True, "The next cycle goes on at the next flavor."),
    Gate("UnadmittedWorkloadsObservability", True, "Conditions say which stage a workload waits in."),
    Gate("SchedulingEquivalenceHashing", True, "Equal workloads are parked together."),
    Gate("ReclaimablePods", True, "Pods that are done give back their quota."),
    Gate("PartialAdmission", True, "A job may start with fewer pods."),
    Gate("PrioritySortingWithinCohort", True, "Entries that borrow alike are taken by priority."),
    Gate("PrioritizePreemptorWorkloads", False, "Whoever waits for its victims is taken first in a cycle."),
    Gate("PriorityBoost", False, "The annotation priority-boost is added to the priority."),
    Gate("FairSharingPreemptWithinNominal", True, "Nominal quota is reclaimed whatever the shares."),
    Gate("FairSharingPrioritizeNonBorrowing", True, "Under fair sharing, who does not borrow goes first."),
    Gate("MultiKueueOrchestratedPreemption", False, "Preemption gates hold a preemption back."),
    Gate("AdmissionGatedBy", True, "The annotation admission-gated-by keeps a workload out of line."),
    Gate("CleanupProvisioningRequestsOnEviction", True, "Who is evicted takes its requests for nodes back."),
)

OUR_GATES = (
    Gate(
        "FilterAtEveryLevel",
        True,
        "Taints, selectors and required affinity also count when the lowest level is not the host.",
        ours=True,
    ),
    Gate("RefuseUnevenSlices", True, "A count that the slice size does not divide is refused.", ours=True),
    Gate("RequiredAndPreferred", True, "Both together: required bounds, preferred inside it.", ours=True),
    Gate("AutoLevel", True, 'The level "auto" means the lowest level at which the job fits.', ours=True),
    Gate(
        "VerifyBeforeAdmit",
        True,
        "Nobody is admitted on room that victims of others still hold; pod sets on one node are summed.",
        ours=True,
    ),
    Gate("WakeByReason", True, "An event wakes only those whom it can help.", ours=True),
    Gate("WakeAtOnce", True, "Who was set aside is looked at when something happens, not a second later.", ours=True),
    Gate("ReplaceSeveralNodes", True, "Several failed nodes are replaced in one decision.", _SWAP, ours=True),
    Gate(
        "ReuseFinishedPlaces",
        True,
        "Pods of a lost node take places that finished pods of their pod set have left.",
        (*_SWAP, "ReclaimablePods"),
        ours=True,
    ),
    Gate("CountDaemonSets", True, "A DaemonSet's pod counts on its nodes before it is bound.", _TAS, ours=True),
    Gate(
        "CountDrainingPods",
        True,
        "Pods whose workload holds their place no more count until they are gone.",
        _TAS,
        ours=True,
    ),
    Gate(
        "OneLedgerForOverlappingFlavors",
        True,
        "What a cycle takes of a host, or frees there, shows in every flavor that has it.",
        (*_TAS, "TASHandleOverlappingFlavors"),
        ours=True,
    ),
    Gate("ReactivateAfterAnyCause", True, "Active again means back in line, whatever deactivated it.", ours=True),
    Gate("TellBypassed", True, "Who is passed over with its like is told so, though nobody looked at it.", ours=True),
    Gate("PlaceWithoutChecks", True, "Who has lost its last check, and has no places yet, gets them.", ours=True),
    Gate("EndFlavorWalks", True, "A walk through the flavors ends when it comes back to where it was.", ours=True),
    Gate("RemedyInConditions", True, "Conditions of queues say what to do about them.", ours=True),
    Gate("VictimsByDomain", False, "Victims are chosen so that one domain comes free at least cost.", ours=True),
    Gate("WaitForTighter", False, "A preferred placement waits a bounded time for a tighter one.", ours=True),
)

ALL_GATES = {gate.name: gate for gate in KUEUE_GATES + OUR_GATES}
PROFILES = ("closeknit", "kueue")


class GateError(ValueError):
    """A gate is unknown, malformed, or needs another that is off."""


@dataclass(frozen=True, slots=True)
class Gates:
    """The gates that are on."""

    enabled: frozenset[str]

    @classmethod
    def profile(cls, name: str = "closeknit", changes: Mapping[str, bool] | None = None) -> Gates:
        """The defaults of a profile with some gates set otherwise."""
        if name not in PROFILES:
            raise GateError(f'unknown profile "{name}"; use one of: {", ".join(PROFILES)}')
        gates = KUEUE_GATES if name == "kueue" else KUEUE_GATES + OUR_GATES
        return cls(frozenset(gate.name for gate in gates if gate.default)).changed(changes or {})

    def changed(self, changes: Mapping[str, bool]) -> Gates:
        """With some gates set otherwise."""
        enabled = set(self.enabled)
        for gate_name, on in changes.items():
            _known(gate_name)
            (enabled.add if on else enabled.discard)(gate_name)
        _check_needs(enabled, changes)
        return Gates(frozenset(enabled))

    def __contains__(self, name: str) -> bool:
        return name in self.enabled


def parse_changes(text: str) -> dict[str, bool]:
    """`A=true,B=false` as a mapping."""
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
        near = difflib.get_close_matches(name, ALL_GATES, n=1, cutoff=0.0)
        raise GateError(f'unknown feature gate "{name}"; did you mean {near[0]}?')


def _check_needs(enabled: set[str], changes: Mapping[str, bool]) -> None:
    """A gate switched on by name must have what it needs; a default one simply goes off with it."""
    for gate in ALL_GATES.values():
        missing = [need for need in gate.needs if need not in enabled]
        if gate.name not in enabled or not missing:
            continue
        if changes.get(gate.name):
            raise GateError(f"feature gate {gate.name} needs {' and '.join(missing)}: switch it on too")
        enabled.discard(gate.name)
