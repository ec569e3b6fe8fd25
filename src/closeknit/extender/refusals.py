"""Why kubelets refuse a pod, in their words, with the container and the resources.

Amounts are left out: schedulers count nodes by these sentences. States that refuse a pod for the same reasons are asked
about once: with the policy single-numa-node it does not matter by how much a zone exceeds all that the pod asks for.
"""

from __future__ import annotations

from ..numa.admission import Verdict
from ..numa.admissions import Admissions, RefusedPod
from ..numa.refusal import AFFINITY, LOCALITY
from .applicant import Applicant
from .zones import IntArray


def words(admissions: Admissions, numbers: IntArray, wanted: IntArray, applicant: Applicant) -> list[str]:
    """For each of these states, which admit fewer pods like this one than are wanted."""
    return [
        _words(admissions, number, pods, applicant)
        for number, pods in zip(numbers.tolist(), wanted.tolist(), strict=True)
    ]


def _words(admissions: Admissions, number: int, pods: int, applicant: Applicant) -> str:
    found = admissions.admit(number, applicant.demand, pods)
    return _sentence(found.verdict, applicant) if isinstance(found, RefusedPod) else LOCALITY


def _sentence(verdict: Verdict, applicant: Applicant) -> str:
    where = "pod" if verdict.container is None else f"container {applicant.container_name(verdict.container)}"
    said = LOCALITY if verdict.reason == AFFINITY else verdict.reason
    short = _short(verdict)
    return f"{said}: {where}: {', '.join(short)}" if short else f"{said}: {where}"


def _short(verdict: Verdict) -> tuple[str, ...]:
    """The resources of which no single zone had enough; all that were asked for if they only fail together."""
    short = tuple(one.resource for one in verdict.asked if max((left for _, left in one.free), default=0) < one.asked)
    return short or tuple(one.resource for one in verdict.asked)
