"""ClusterQueue: quota, and the policies for admission and preemption."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from ....model.cluster_queue import BorrowWithinCohort, CheckRule, ClusterQueue, Fungibility, Preemption, Selector
from ....model.shape import Requirement
from ... import core
from .quotas import FlavorUsage, WireGroup, resource_groups
from .versions import cluster_queue_to_v1beta2
from .wire import FairShare, FairSharing, Raw, Wire, WireCondition, WireMeta, convert, reader, weight


class WireSelector(Wire, frozen=True):
    match_labels: dict[str, str] = msgspec.field(default_factory=dict)
    match_expressions: tuple[core.Expression, ...] = ()


class WireFungibility(Wire, frozen=True):
    when_can_borrow: str | None = None
    when_can_preempt: str | None = None
    preference: str | None = None


class WireBorrow(Wire, frozen=True):
    policy: str | None = None
    max_priority_threshold: int | None = None


class WirePreemption(Wire, frozen=True):
    within_cluster_queue: str | None = None
    reclaim_within_cohort: str | None = None
    borrow_within_cohort: WireBorrow | None = None


class WireCheckRule(Wire, frozen=True):
    name: str = ""
    on_flavors: tuple[str, ...] = ()


class ChecksStrategy(Wire, frozen=True):
    admission_checks: tuple[WireCheckRule, ...] = ()


class AdmissionScope(Wire, frozen=True):
    admission_mode: str = ""


class ClusterQueueSpec(Wire, frozen=True):
    """Without a namespace selector no namespace may use the queue; with an empty one all may."""

    resource_groups: tuple[WireGroup, ...] = ()
    cohort_name: str | None = None
    queueing_strategy: str | None = None
    namespace_selector: WireSelector | None = None
    flavor_fungibility: WireFungibility | None = None
    preemption: WirePreemption | None = None
    admission_checks_strategy: ChecksStrategy | None = None
    stop_policy: str | None = None
    fair_sharing: FairSharing | None = None
    admission_scope: AdmissionScope | None = None
    concurrent_admission_policy: dict[str, Any] | None = None


class ClusterQueueStatus(Wire, frozen=True):
    conditions: tuple[WireCondition, ...] = ()
    flavors_reservation: tuple[FlavorUsage, ...] = ()
    flavors_usage: tuple[FlavorUsage, ...] = ()
    pending_workloads: int = 0
    reserving_workloads: int = 0
    admitted_workloads: int = 0
    fair_sharing: FairShare | None = None


class WireClusterQueue(Wire, frozen=True):
    metadata: WireMeta = WireMeta()
    spec: ClusterQueueSpec = ClusterQueueSpec()
    status: ClusterQueueStatus = ClusterQueueStatus()


@reader
def cluster_queue(raw: Raw) -> ClusterQueue:
    """Read a ClusterQueue of either version; unknown enum values are kept, so that the rules can report them."""
    wire = convert(cluster_queue_to_v1beta2(raw), WireClusterQueue)
    spec = wire.spec
    checks = () if spec.admission_checks_strategy is None else spec.admission_checks_strategy.admission_checks
    return ClusterQueue(
        wire.metadata.name,
        resource_groups(spec.resource_groups),
        spec.cohort_name or "",
        cast(Any, spec.queueing_strategy or "BestEffortFIFO"),
        None if spec.namespace_selector is None else _selector(spec.namespace_selector),
        _fungibility(spec.flavor_fungibility or WireFungibility()),
        _preemption(spec.preemption or WirePreemption()),
        tuple(CheckRule(one.name, one.on_flavors) for one in checks),
        cast(Any, spec.stop_policy or "None"),
        weight(spec.fair_sharing),
        bool(wire.metadata.deletion_timestamp),
    )


def _selector(wire: WireSelector) -> Selector:
    return Selector(
        (
            *(Requirement(key, "In", (value,)) for key, value in wire.match_labels.items()),
            *(Requirement(e.key or "", e.operator or "", tuple(e.values or ())) for e in wire.match_expressions),
        )
    )


def _fungibility(wire: WireFungibility) -> Fungibility:
    return Fungibility(
        cast(Any, wire.when_can_borrow or "MayStopSearch"),
        cast(Any, wire.when_can_preempt or "TryNextFlavor"),
        cast(Any, wire.preference or None),
    )


def _preemption(wire: WirePreemption) -> Preemption:
    borrow = wire.borrow_within_cohort or WireBorrow()
    return Preemption(
        cast(Any, wire.within_cluster_queue or "Never"),
        cast(Any, wire.reclaim_within_cohort or "Never"),
        BorrowWithinCohort(cast(Any, borrow.policy or "Never"), borrow.max_priority_threshold),
    )
