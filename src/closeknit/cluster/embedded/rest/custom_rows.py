"""What `kubectl get` says of custom kinds: the columns that their definitions ask for, each with where its value lies.

    Queue=spec.queueName      a field
    Admitted=?Admitted        the status of the condition of this type
    State=?                   the type of the last condition

`+` behind a name: only with `-o wide`. Kinds that ask for nothing show their age.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...kinds import (
    CLUSTER_QUEUE,
    JOB_SET,
    LEADER_WORKER_SET,
    LOCAL_QUEUE,
    PYTORCH_JOB,
    RAY_CLUSTER,
    RAY_JOB,
    TRAIN_JOB,
    WORKLOAD,
    WORKLOAD_PRIORITY_CLASS,
    Kind,
)
from ...port import Raw
from .ages import age

_CREATED = "metadata.creationTimestamp"
_COLUMNS: dict[Kind, str] = {
    WORKLOAD: f"Queue=spec.queueName|Reserved in=status.admission.clusterQueue|Admitted=?Admitted|Finished=?Finished|Age={_CREATED}",
    CLUSTER_QUEUE: "Cohort=spec.cohortName|Strategy+=spec.queueingStrategy|Pending Workloads=#status.pendingWorkloads"
    "|Admitted Workloads+=#status.admittedWorkloads",
    LOCAL_QUEUE: "ClusterQueue=spec.clusterQueue|Pending Workloads=#status.pendingWorkloads"
    "|Admitted Workloads=#status.admittedWorkloads",
    WORKLOAD_PRIORITY_CLASS: "Value=#value",
}
