"""The rules for ClusterQueues of either version."""

from __future__ import annotations

from collections.abc import Iterator

from ....field import Field, shown
from ....selector_checks import check_selector
from ..cluster_queues import ClusterQueueSpec
from ..versions import V1BETA2
from .limits import check_limits
from .quotas import Bounds, check_groups
from .values import (
    INT32_MIN,
    check_given,
    check_optional_reference,
    check_reference,
    check_spelling,
    check_weight,
    check_word,
)

STOP_POLICIES = ("None", "Hold", "HoldAndDrain")
STRATEGIES = ("BestEffortFIFO", "StrictFIFO")
NEXT, STOP = "TryNextFlavor", "MayStopSearch"
PREFERENCES = ("BorrowingOverPreemption", "PreemptionOverBorrowing")
WITHIN_QUEUE = ("Never", "LowerPriority", "LowerOrNewerEqualPriority")
RECLAIM = ("Never", "LowerPriority", "Any")
BORROW = ("Never", "LowerPriority")
ADMISSION_MODES = ("UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing")
OLD_NAMES = {"cohort": "cohortName", "admissionChecks": "admissionChecksStrategy"}


def check_cluster_queue(queue: Field) -> None:
    _check(queue, frozenset())


def check_cluster_queue_update(old: Field, new: Field) -> None:
    """Tolerate a check on a flavor that the queue does not have if the old object has it too."""
    _check(new, frozenset((check, flavor.text()) for check, flavor in _strangers(old, _own_flavors(old))))
    policy = "concurrentAdmissionPolicy"
    if old.at("spec", policy).value != new.at("spec", policy).value:
        new.at("spec", policy).wrong("cannot be changed", "create a new ClusterQueue")


def _check(queue: Field, tolerated: frozenset[tuple[str, str]]) -> None:
    spec = queue.at("spec")
    is_old = queue.at("apiVersion").text() != V1BETA2
    check_limits(queue, "ClusterQueue")
    check_spelling(spec, ClusterQueueSpec, *OLD_NAMES)
    _check_old_names(spec, is_old)
    cohort = spec.at("cohort") if is_old and not spec.at("cohortName").given else spec.at("cohortName")
    check_optional_reference(spec.at("cohort"))
    check_groups(spec.at("resourceGroups"), Bounds(bool(cohort.text()), "a cohort", lends_own=True))
    check_selector(spec.at("namespaceSelector"))
    check_word(spec.at("queueingStrategy"), STRATEGIES, "")
    check_word(spec.at("stopPolicy"), STOP_POLICIES, "")
    check_weight(spec.at("fairSharing"))
    if spec.at("admissionScope").given:
        check_word(spec.at("admissionScope", "admissionMode"), ADMISSION_MODES, "")
    _check_fungibility(spec.at("flavorFungibility"), is_old)
    _check_preemption(spec.at("preemption"))
    _check_checks(queue, tolerated)


def _check_old_names(spec: Field, is_old: bool) -> None:
    for old, new in OLD_NAMES.items():
        if not is_old and spec.at(old).given:
            spec.at(old).warn("is a field of v1beta1, which v1beta2 drops", f"use {new}")


def _check_fungibility(fungibility: Field, is_old: bool) -> None:
    borrow, preempt = fungibility.at("whenCanBorrow"), fungibility.at("whenCanPreempt")
    words = (
        check_word(borrow, (STOP, NEXT, "Borrow") if is_old else (STOP, NEXT), STOP),
        check_word(preempt, (NEXT, STOP, "Preempt") if is_old else (NEXT, STOP), NEXT),
    )
    preference = fungibility.at("preference")
    if check_word(preference, PREFERENCES, "") in PREFERENCES and words != (NEXT, NEXT):
        remedy = "remove it, or set both"
        preference.wrong(f"requires whenCanBorrow and whenCanPreempt to be {NEXT}", remedy)


def _check_preemption(preemption: Field) -> None:
    check_word(preemption.at("withinClusterQueue"), WITHIN_QUEUE, "")
    reclaim = check_word(preemption.at("reclaimWithinCohort"), RECLAIM, "Never")
    borrow = preemption.at("borrowWithinCohort")
    policy = check_word(borrow.at("policy"), BORROW, "Never")
    borrow.at("maxPriorityThreshold").count(least=INT32_MIN)
    if policy != "Never" and reclaim == "Never":
        text = f"is {policy}, which requires a reclaimWithinCohort other than Never"
        borrow.at("policy").wrong(text, "set that to LowerPriority or Any, or remove this")


def _check_checks(queue: Field, tolerated: frozenset[tuple[str, str]]) -> None:
    strategy = queue.at("spec", "admissionChecksStrategy")
    if strategy.given:
        check_given(strategy.at("admissionChecks"))
    for check in strategy.at("admissionChecks").items():
        check_reference(check.at("name"), "an AdmissionCheck")
    own = _own_flavors(queue)
    for name_of, flavor in _strangers(queue, own):
        if (name_of, flavor.text()) not in tolerated:
            # Warn only if the queue has no flavors: it admits nothing then, and published examples leave them out.
            note = flavor.wrong if own else flavor.warn
            note(f"is {shown(flavor.text())}, which is not a flavor of this queue", f"use {_listed(own)}")


def _own_flavors(queue: Field) -> list[str]:
    groups = queue.at("spec", "resourceGroups").items()
    return [flavor.at("name").text() for group in groups for flavor in group.at("flavors").items()]


def _strangers(queue: Field, own: list[str]) -> Iterator[tuple[str, Field]]:
    """Flavors that checks refer to and the queue does not have, each with the name of its check."""
    for check in queue.at("spec", "admissionChecksStrategy", "admissionChecks").items():
        for flavor in check.at("onFlavors").items():
            if flavor.text() not in own:
                yield check.at("name").text(), flavor


def _listed(own: list[str]) -> str:
    return f"one of: {', '.join(own)}" if own else "a flavor of its resourceGroups"
