"""What `kubectl get` prints for custom kinds: the columns of their definitions, each with the path of its value.

Kinds without columns show their age. Closeknit adds the state of queues, flavors and topologies: one that is deleted
while in use stays, and Kueue's columns do not show that.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple

from ....dialects.kueue.objects.state import STANDING, state_of
from ...kinds import (
    CLUSTER_QUEUE,
    JOB_SET,
    LEADER_WORKER_SET,
    LOCAL_QUEUE,
    PYTORCH_JOB,
    RAY_CLUSTER,
    RAY_JOB,
    RESOURCE_FLAVOR,
    TOPOLOGY,
    TRAIN_JOB,
    WORKLOAD,
    WORKLOAD_PRIORITY_CLASS,
    Kind,
)
from ...port import Raw
from .ages import age

CONDITIONS = "status.conditions"


class Custom(NamedTuple):
    """`path` leads to the value. `condition`: it is the status of the condition of this type, or, if that is `*`, the
    type of the last one.
    """

    name: str
    path: str
    type: Literal["string", "integer", "date"] = "string"
    is_wide: bool = False
    condition: str = ""

    def cell(self, raw: Raw, now: float) -> Any:
        value: Any = raw
        for step in self.path.split("."):
            value = value.get(step) if isinstance(value, dict) else None
        if self.condition:
            value = _condition(value or (), self.condition)
        if value is None:
            return None
        if self.type == "date":
            return age(value, now)
        if self.type == "integer":
            return value
        return str(value).lower() if isinstance(value, bool) else str(value)


def _condition(conditions: Any, wanted: str) -> str | None:
    if wanted == "*":
        return conditions[-1]["type"] if conditions else None
    return next((one["status"] for one in conditions if one["type"] == wanted), None)


def _status_of(condition: str) -> Custom:
    return Custom(condition, CONDITIONS, condition=condition)


class Told(NamedTuple):
    """A column that Closeknit adds: computed from the object, not one of its values."""

    name: str
    tell: Callable[[Raw], str]
    type: Literal["string"] = "string"
    is_wide: bool = False

    def cell(self, raw: Raw, now: float) -> str:
        return self.tell(raw)


def _levels(topology: Raw) -> str:
    return ", ".join(level["nodeLabel"] for level in topology["spec"]["levels"])


AGE = Custom("Age", "metadata.creationTimestamp", "date")
_STATE = Custom("State", CONDITIONS, condition="*")
_PENDING = Custom("Pending Workloads", "status.pendingWorkloads", "integer")
_ADMITTED = Custom("Admitted Workloads", "status.admittedWorkloads", "integer")
_QUEUE_STATE = Told("State", state_of)
_PLAIN_STATE = Told("State", partial(state_of, unjudged=STANDING))

COLUMNS: dict[Kind, tuple[Custom | Told, ...]] = {
    WORKLOAD: (
        Custom("Queue", "spec.queueName"),
        Custom("Reserved in", "status.admission.clusterQueue"),
        _status_of("Admitted"),
        _status_of("Finished"),
        AGE,
    ),
    CLUSTER_QUEUE: (
        Custom("Cohort", "spec.cohortName"),
        Custom("Strategy", "spec.queueingStrategy", is_wide=True),
        _PENDING,
        _ADMITTED._replace(is_wide=True),
        _QUEUE_STATE,
    ),
    LOCAL_QUEUE: (Custom("ClusterQueue", "spec.clusterQueue"), _PENDING, _ADMITTED, _QUEUE_STATE),
    RESOURCE_FLAVOR: (AGE, Custom("Topology", "spec.topologyName"), _PLAIN_STATE),
    TOPOLOGY: (AGE, Told("Levels", _levels), _PLAIN_STATE),
    WORKLOAD_PRIORITY_CLASS: (Custom("Value", "value", "integer"),),
    JOB_SET: (
        Custom("TerminalState", "status.terminalState"),
        Custom("Restarts", "status.restarts"),
        _status_of("Completed"),
        Custom("Suspended", "spec.suspend"),
        AGE,
    ),
    LEADER_WORKER_SET: (
        Custom("Ready", "status.readyReplicas", "integer"),
        Custom("Desired", "spec.replicas", "integer"),
        Custom("Up-to-date", "status.updatedReplicas", "integer"),
        AGE,
    ),
    PYTORCH_JOB: (_STATE, AGE),
    TRAIN_JOB: (_STATE, AGE),
    RAY_CLUSTER: (
        Custom("desired workers", "status.desiredWorkerReplicas", "integer"),
        Custom("available workers", "status.availableWorkerReplicas", "integer"),
        Custom("cpus", "status.desiredCPU"),
        Custom("memory", "status.desiredMemory"),
        Custom("gpus", "status.desiredGPU"),
        Custom("tpus", "status.desiredTPU", is_wide=True),
        Custom("status", "status.state"),
        AGE._replace(name="age"),
        Custom("head pod IP", "status.head.podIP", is_wide=True),
        Custom("head service IP", "status.head.serviceIP", is_wide=True),
    ),
    RAY_JOB: (
        Custom("job status", "status.jobStatus"),
        Custom("deployment status", "status.jobDeploymentStatus"),
        Custom("ray cluster name", "status.rayClusterName"),
        Custom("start time", "status.startTime"),
        Custom("end time", "status.endTime"),
        AGE._replace(name="age"),
    ),
}
PLAIN = (AGE,)
