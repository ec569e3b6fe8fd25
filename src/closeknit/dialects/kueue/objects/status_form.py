"""Encoding of a Workload's status: v1beta2, without empty fields.

It contains only the fields that the model has. Other fields survive because the result is merged into the existing
object and does not replace it: see `workloads.with_status`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....model.encoding import encode
from ....model.resources import Resources, show
from ....model.shape import Toleration
from ....model.workload import LONG_AGO, Admission, Check, Condition, PodSetAssignment, PodSetUpdate, Status
from ... import timestamps
from .status import OPEN
from .wire import Raw


def workload_status(status: Status) -> Raw:
    """The status with times in UTC and quantities as strings; an unknown time is left out."""
    return _filled(
        {
            "conditions": [_condition(kind, one) for kind, one in status.conditions.items()],
            "admission": None if status.admission is None else _admission(status.admission),
            "requeueState": _filled({"count": status.requeues, "requeueAt": _time(status.requeue_at)}),
            "reclaimablePods": [{"name": name, "count": count} for name, count in status.reclaimable.items()],
            "admissionChecks": [_check(one) for one in status.checks],
            "resourceRequests": [_filled({"name": name, "resources": quantities(r)}) for name, r in status.requests],
            "accumulatedPastExecutionTimeSeconds": status.executed,
            "schedulingStats": _filled({"evictions": _evictions(status.evictions)}),
            "unhealthyNodes": [{"name": name} for name in status.unhealthy],
            "preemptionGates": [{"name": name, "position": OPEN} for name in sorted(status.open_gates)],
        }
    )


def quantities(resources: Resources) -> dict[str, str]:
    return {name: show(name, value) for name, value in resources.items()}


def _filled(fields: Mapping[str, Any]) -> Raw:
    """Without empty fields; counters are empty at 0."""
    return {key: value for key, value in fields.items() if value}


def _time(seconds: float | None) -> str:
    return "" if seconds is None or seconds == LONG_AGO else timestamps.show(seconds)


def _condition(kind: str, one: Condition) -> Raw:
    return {
        "type": kind,
        "status": "True" if one.holds else "False",
        "reason": one.reason,
        "message": one.message,
        **_filled({"lastTransitionTime": _time(one.since), "observedGeneration": one.generation}),
    }


def _admission(admission: Admission) -> Raw:
    return {
        "clusterQueue": admission.queue,
        "podSetAssignments": [_assignment(one) for one in admission.pod_sets],
    }


def _assignment(one: PodSetAssignment) -> Raw:
    return {
        "name": one.name,
        "count": one.count,
        **_filled(
            {
                "flavors": dict(one.flavors),
                "resourceUsage": quantities(one.usage),
                "topologyAssignment": None if one.topology is None else encode(one.topology),
                "delayedTopologyRequest": one.delayed,
            }
        ),
    }


def _check(one: Check) -> Raw:
    form = {
        "name": one.name,
        "state": one.state,
        "message": one.message,
        **_filled(
            {
                "lastTransitionTime": _time(one.since),
                "podSetUpdates": [_update(update) for update in one.updates],
                "retryCount": one.retries,
            }
        ),
    }
    return form if one.requeue_after is None else {**form, "requeueAfterSeconds": one.requeue_after}


def _update(one: PodSetUpdate) -> Raw:
    return {
        "name": one.name,
        **_filled(
            {
                "labels": dict(one.labels),
                "annotations": dict(one.annotations),
                "nodeSelector": dict(one.selector),
                "tolerations": [_toleration(toleration) for toleration in one.tolerations],
            }
        ),
    }


def _toleration(one: Toleration) -> Raw:
    return _filled({"key": one.key, "operator": one.operator, "value": one.value, "effect": one.effect})


def _evictions(evictions: Mapping[tuple[str, str], int]) -> list[Raw]:
    return [
        {"reason": reason, "underlyingCause": cause, "count": count} for (reason, cause), count in evictions.items()
    ]
