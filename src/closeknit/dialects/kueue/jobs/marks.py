"""The keys that the control plane sets on jobs, their pods and Workloads; those that users set are in `keys`."""

from __future__ import annotations

from ...pods import INDEX_OFFSET, POD_SET, SLICE_NAME, TOPOLOGY_GATE
from ..keys import PREFIX

ADMISSION_GATE = PREFIX + "admission"
IN_USE = PREFIX + "resource-in-use"
"""The finalizer of Workloads."""
MANAGED = PREFIX + "managed"
"""The label of managed pods, and the finalizer that keeps ended pods until they are counted."""
PARENT = PREFIX + "pod-suspending-parent"
INDEX_FROM = PREFIX + "pod-group-pod-index-label"
SERVING = PREFIX + "pod-group-serving"
RETRIABLE = PREFIX + "retriable-in-group"
OWNER_KIND = PREFIX + "job-owner-gvk"
OWNER_NAME = PREFIX + "job-owner-name"
COMPONENT = PREFIX + "component-workload-index"
STOPPING = PREFIX + "stopping"
SAME_COMPLETIONS = PREFIX + "job-completions-equal-parallelism"
LOCAL_QUEUE = PREFIX + "local-queue-name"
CLUSTER_QUEUE = PREFIX + "cluster-queue-name"
PROVISIONING = "provreq.kueue.x-k8s.io/"
"""The prefix of annotations that are parameters for the provisioner of nodes."""

__all__ = [
    "ADMISSION_GATE",
    "CLUSTER_QUEUE",
    "COMPONENT",
    "INDEX_FROM",
    "INDEX_OFFSET",
    "IN_USE",
    "LOCAL_QUEUE",
    "MANAGED",
    "OWNER_KIND",
    "OWNER_NAME",
    "PARENT",
    "POD_SET",
    "PROVISIONING",
    "RETRIABLE",
    "SAME_COMPLETIONS",
    "SERVING",
    "SLICE_NAME",
    "STOPPING",
    "TOPOLOGY_GATE",
]
