"""The objects of `kueue.x-k8s.io`, one file per kind: decoded into model values, and encoded where we write them.

A function named after a kind reads it. `to_v1beta2` and `with_defaults` turn one raw object into another, `written`
and `with_status` merge changes into one, and `rules` validates it.
"""

from .admission_checks import admission_check
from .cluster_queues import cluster_queue
from .cohorts import cohort
from .defaults import with_defaults
from .flavors import flavor
from .local_queues import local_queue
from .priority_classes import priority_class
from .provisioning import provisioning_config
from .status_form import workload_status
from .topologies import topology
from .tree import written
from .versions import to_v1beta2
from .wire import Unreadable
from .workloads import with_status, workload, workload_with

__all__ = [
    "Unreadable",
    "admission_check",
    "cluster_queue",
    "cohort",
    "flavor",
    "local_queue",
    "priority_class",
    "provisioning_config",
    "to_v1beta2",
    "topology",
    "with_defaults",
    "with_status",
    "workload",
    "workload_status",
    "workload_with",
    "written",
]
