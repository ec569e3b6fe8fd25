"""Decoding of a Workload's status, of either version; `status_form` encodes it."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from ....model.assignment import Assignment
from ....model.encoding import decode
from ....model.resources import amounts
from ....model.workload import Admission, Check, Condition, PodSetAssignment, PodSetUpdate, Status
from ... import core
from ..keys import MAIN
from . import wire
from .wire import Raw, Wire, moment

OPEN = "Open"


class WireAssignment(Wire, frozen=True):
    name: str = ""
    flavors: dict[str, str] = msgspec.field(default_factory=dict)
    resource_usage: core.Quantities = msgspec.field(default_factory=dict)
    count: int | None = None
    topology_assignment: dict[str, Any] | None = None
    delayed_topology_request: str | None = None


class WireAdmission(Wire, frozen=True):
    cluster_queue: str = ""
    pod_set_assignments: tuple[WireAssignment, ...] = ()


class RequeueState(Wire, frozen=True):
    count: int | None = None
    requeue_at: str | None = None


class ReclaimablePod(Wire, frozen=True):
    name: str = ""
    count: int = 0


class WireUpdate(Wire, frozen=True):
    name: str = ""
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    node_selector: dict[str, str] = msgspec.field(default_factory=dict)
    tolerations: tuple[core.WireToleration, ...] = ()


class CheckState(Wire, frozen=True):
    name: str = ""
    state: str = ""
    message: str = ""
    last_transition_time: str | None = None
    pod_set_updates: tuple[WireUpdate, ...] = ()
    requeue_after_seconds: int | None = None
    retry_count: int | None = None


class PodSetRequest(Wire, frozen=True):
    name: str = ""
    resources: core.Quantities = msgspec.field(default_factory=dict)


class Eviction(Wire, frozen=True):
    reason: str = ""
    underlying_cause: str = ""
    count: int = 0


class SchedulingStats(Wire, frozen=True):
    evictions: tuple[Eviction, ...] = ()


class UnhealthyNode(Wire, frozen=True):
    name: str = ""


class GateState(Wire, frozen=True):
    name: str = ""
    position: str = ""
    last_transition_time: str | None = None


class WorkloadStatus(Wire, frozen=True):
    conditions: tuple[wire.WireCondition, ...] = ()
    admission: WireAdmission | None = None
    requeue_state: RequeueState | None = None
    reclaimable_pods: tuple[ReclaimablePod, ...] = ()
    admission_checks: tuple[CheckState, ...] = ()
    resource_requests: tuple[PodSetRequest, ...] = ()
    accumulated_past_execution_time_seconds: int | None = None
    scheduling_stats: SchedulingStats | None = None
    nominated_cluster_names: tuple[str, ...] = ()
    cluster_name: str | None = None
    unhealthy_nodes: tuple[UnhealthyNode, ...] = ()
    preemption_gates: tuple[GateState, ...] = ()


def status(given: WorkloadStatus) -> Status:
    requeue = given.requeue_state or RequeueState()
    stats = given.scheduling_stats or SchedulingStats()
    return Status(
        {one.type: _condition(one) for one in given.conditions},
        None if given.admission is None else _admission(given.admission),
        moment(requeue.requeue_at) if requeue.requeue_at else None,
        requeue.count or 0,
        {one.name: one.count for one in given.reclaimable_pods},
        tuple(_check(one) for one in given.admission_checks),
        tuple(one.name for one in given.unhealthy_nodes),
        {(one.reason, one.underlying_cause): one.count for one in stats.evictions},
        frozenset(one.name for one in given.preemption_gates if one.position == OPEN),
        tuple((one.name, amounts(one.resources)) for one in given.resource_requests),
        given.accumulated_past_execution_time_seconds or 0,
    )


def _condition(given: wire.WireCondition) -> Condition:
    since = moment(given.last_transition_time)
    return Condition(given.status == "True", given.reason, given.message, since, given.observed_generation or 0)


def _admission(given: WireAdmission) -> Admission:
    return Admission(given.cluster_queue, tuple(_assignment(one) for one in given.pod_set_assignments))


def _assignment(given: WireAssignment) -> PodSetAssignment:
    return PodSetAssignment(
        given.name or MAIN,
        given.flavors,
        amounts(given.resource_usage),
        given.count or 0,
        placement(given.topology_assignment) if given.topology_assignment else None,
        cast(Any, given.delayed_topology_request or None),
    )


def placement(given: Raw) -> Assignment:
    """Decode a `topologyAssignment` of either version."""
    try:
        return decode(given)
    except (KeyError, TypeError, AttributeError) as error:
        raise wire.Unreadable(f"topologyAssignment is incomplete: {error}") from error
    except ValueError as error:
        raise wire.Unreadable(f"topologyAssignment contradicts itself: {error}") from error


def _check(given: CheckState) -> Check:
    return Check(
        given.name,
        cast(Any, given.state or "Pending"),
        given.message,
        moment(given.last_transition_time),
        tuple(_update(one) for one in given.pod_set_updates),
        given.requeue_after_seconds,
        given.retry_count or 0,
    )


def _update(given: WireUpdate) -> PodSetUpdate:
    tolerations = core.tolerations(given.tolerations)
    return PodSetUpdate(given.name, given.labels, given.annotations, given.node_selector, tolerations)
