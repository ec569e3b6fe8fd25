"""What `kubectl get` prints for custom kinds: the columns of their definitions, each with the path of its value.

Kinds without columns show their age. Closeknit adds the state of queues, flavors and topologies: one that is deleted
while in use stays, and Kueue's columns do not show that.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple

from ....dialects.kueue.jobs.job_kind import AGE, Column
from ....dialects.kueue.jobs.kinds import JOB_KINDS
from ....dialects.kueue.objects.state import STANDING, state_of
from ...kinds import (
    CLUSTER_QUEUE,
    LOCAL_QUEUE,
    MAINTENANCE,
    RESOURCE_FLAVOR,
    TOPOLOGY,
    WORKLOAD,
    WORKLOAD_PRIORITY_CLASS,
    Kind,
)
from ...port import Raw
from .ages import age

CONDITIONS = "status.conditions"


def cell(column: Column | ComputedColumn, raw: Raw, now: float) -> Any:
    if isinstance(column, ComputedColumn):
        return column.tell(raw)
    value: Any = raw
    for step in column.path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    if column.condition:
        value = _condition(value or (), column.condition)
    if value is None:
        return None
    if column.type == "date":
        return age(value, now)
    if column.type == "integer":
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)


def _condition(conditions: Any, wanted: str) -> str | None:
    if wanted == "*":
        return conditions[-1].get("type") if conditions else None
    return next((one.get("status") for one in conditions if one.get("type") == wanted), None)


def _status_of(condition: str) -> Column:
    return Column(condition, CONDITIONS, condition=condition)


class ComputedColumn(NamedTuple):
    """A column that Closeknit adds: computed from the object, not one of its values."""

    name: str
    tell: Callable[[Raw], str]
    type: Literal["string"] = "string"
    is_wide: bool = False


def _levels(topology: Raw) -> str:
    return ", ".join(level["nodeLabel"] for level in topology["spec"]["levels"])


_PENDING = Column("Pending Workloads", "status.pendingWorkloads", "integer")
_ADMITTED = Column("Admitted Workloads", "status.admittedWorkloads", "integer")
_QUEUE_STATE = ComputedColumn("State", state_of)
_PLAIN_STATE = ComputedColumn("State", partial(state_of, unjudged=STANDING))

COLUMNS: dict[Kind, tuple[Column | ComputedColumn, ...]] = {
    WORKLOAD: (
        Column("Queue", "spec.queueName"),
        Column("Reserved in", "status.admission.clusterQueue"),
        _status_of("Admitted"),
        _status_of("Finished"),
        AGE,
    ),
    CLUSTER_QUEUE: (
        Column("Cohort", "spec.cohortName"),
        Column("Strategy", "spec.queueingStrategy", is_wide=True),
        _PENDING,
        _ADMITTED._replace(is_wide=True),
        _QUEUE_STATE,
    ),
    LOCAL_QUEUE: (Column("ClusterQueue", "spec.clusterQueue"), _PENDING, _ADMITTED, _QUEUE_STATE),
    RESOURCE_FLAVOR: (AGE, Column("Topology", "spec.topologyName"), _PLAIN_STATE),
    TOPOLOGY: (AGE, ComputedColumn("Levels", _levels), _PLAIN_STATE),
    MAINTENANCE: (
        Column("From", "spec.from"),
        Column("Until", "spec.until"),
        Column("Drain", "spec.drain"),
        AGE,
    ),
    WORKLOAD_PRIORITY_CLASS: (Column("Value", "value", "integer"),),
    **{one.served: one.columns for one in JOB_KINDS},
}
PLAIN = (AGE,)
