"""The validation rules of Kueue's API and of our own kind; messages name the field and the remedy.

An update check validates the new object as well as the change. `jobs.identity` checks the names of objects, `jobs` the
pod sets of a Workload.
"""

from __future__ import annotations

from collections.abc import Callable

from ....field import Field
from .classes import (
    check_admission_check,
    check_admission_check_update,
    check_priority_class,
    check_provisioning_config,
)
from .cluster_queues import check_cluster_queue, check_cluster_queue_update
from .flavors import check_flavor, check_flavor_update
from .maintenances import check_maintenance
from .queues import check_cohort, check_local_queue, check_local_queue_update
from .topologies import check_topology, check_topology_update
from .workload_updates import check_workload_update
from .workloads import check_workload

__all__ = [
    "CREATE_CHECKS",
    "check_admission_check",
    "check_cluster_queue",
    "check_cohort",
    "check_flavor",
    "check_local_queue",
    "check_maintenance",
    "check_priority_class",
    "check_provisioning_config",
    "check_topology",
    "check_update",
    "check_workload",
]

CREATE_CHECKS: dict[str, Callable[[Field], None]] = {
    "AdmissionCheck": check_admission_check,
    "ClusterQueue": check_cluster_queue,
    "Cohort": check_cohort,
    "LocalQueue": check_local_queue,
    "Maintenance": check_maintenance,
    "ProvisioningRequestConfig": check_provisioning_config,
    "ResourceFlavor": check_flavor,
    "Topology": check_topology,
    "Workload": check_workload,
    "WorkloadPriorityClass": check_priority_class,
}

_UPDATE_CHECKS: dict[str, Callable[[Field, Field], None]] = {
    "AdmissionCheck": check_admission_check_update,
    "ClusterQueue": check_cluster_queue_update,
    "LocalQueue": check_local_queue_update,
    "ResourceFlavor": check_flavor_update,
    "Topology": check_topology_update,
    "Workload": check_workload_update,
}


def check_update(old: Field, new: Field) -> None:
    """Check an update; mistakes go to the new object's report. Kinds without update rules are checked as if new."""
    kind = new.at("kind").text()
    if kind in _UPDATE_CHECKS:
        _UPDATE_CHECKS[kind](old, new)
    elif kind in CREATE_CHECKS:
        CREATE_CHECKS[kind](new)
