"""Why a kubelet refuses a pod: the reason and the message that it writes into the pod's status."""

from __future__ import annotations

from typing import NamedTuple

AFFINITY = "TopologyAffinityError"
SMT = "SMTAlignmentError"
UNEXPECTED = "UnexpectedAdmissionError"

REASONS = frozenset({AFFINITY, SMT, UNEXPECTED})
OWN_POLICY = "NUMAPolicy"
"""Not the kubelet's: it would admit the pod, but not as the pod's own policy asks."""

LOCALITY = "Resources cannot be allocated with Topology locality"


class AdmissionRefusal(NamedTuple):
    reason: str
    message: str


def unexpected(cause: str) -> AdmissionRefusal:
    """A manager cannot give what the topology manager admitted."""
    return AdmissionRefusal(UNEXPECTED, f"Allocate failed due to {cause}, which is unexpected")


def against_own_policy(asked: str, has: str) -> AdmissionRefusal:
    """The kubelet would not keep to the policy that the pod asks for."""
    if has == "none":
        why = "aligns nothing, so that no zone can be promised"
    else:
        why = "would spread the pod's resources over more zones"
    return AdmissionRefusal(OWN_POLICY, f"The pod asks for {asked}; the node's kubelet with the policy {has} {why}")
