"""Why a kubelet refuses a pod: the reason and the message that it writes into the pod's status."""

from __future__ import annotations

from typing import NamedTuple

AFFINITY = "TopologyAffinityError"
SMT = "SMTAlignmentError"
UNEXPECTED = "UnexpectedAdmissionError"

LOCALITY = "Resources cannot be allocated with Topology locality"


class AdmissionRefusal(NamedTuple):
    reason: str
    message: str


def unexpected(cause: str) -> AdmissionRefusal:
    """A manager cannot give what the topology manager admitted."""
    return AdmissionRefusal(UNEXPECTED, f"Allocate failed due to {cause}, which is unexpected")
