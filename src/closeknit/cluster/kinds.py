"""The kinds of objects that Closeknit knows: their API paths, short names and subresources.

One entry per kind; those of jobs come from their descriptors and are named here where other code refers to them. The
embedded host serves exactly these; the client builds an object's path from them.
"""

from __future__ import annotations

from dataclasses import replace

from ..dialects import maintenance
from ..dialects.kueue.jobs.kinds import (
    JOB_KINDS,
    deployment,
    job,
    job_set,
    leader_worker_set,
    pod,
    ray_cluster,
    ray_job,
    stateful_set,
    train_job,
    training,
)
from ..dialects.nrt import keys as nrt
from ..dialects.served import Kind as Kind


def _custom(
    group: str,
    version: str,
    kind: str,
    plural: str,
    *short: str,
    namespaced: bool = True,
    status: bool = True,
) -> Kind:
    return Kind(group, version, kind, plural, namespaced, short, status)


NAMESPACE = Kind("", "v1", "Namespace", "namespaces", False, ("ns",), counted=False)
NODE = Kind("", "v1", "Node", "nodes", False, ("no",), counted=False)
POD = pod.POD.served
EVENT = Kind("", "v1", "Event", "events", True, ("ev",), status=False, counted=False)
CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps", True, ("cm",), status=False, counted=False)
SECRET = Kind("", "v1", "Secret", "secrets", True, (), status=False, counted=False)
SERVICE = Kind("", "v1", "Service", "services", True, ("svc",), counted=False, categories=("all",))
SERVICE_ACCOUNT = Kind("", "v1", "ServiceAccount", "serviceaccounts", True, ("sa",), status=False, counted=False)
POD_TEMPLATE = Kind("", "v1", "PodTemplate", "podtemplates", status=False)
VOLUME_CLAIM = Kind("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", True, ("pvc",), counted=False)
VOLUME = Kind("", "v1", "PersistentVolume", "persistentvolumes", False, ("pv",), counted=False)
LIMIT_RANGE = Kind("", "v1", "LimitRange", "limitranges", True, ("limits",), status=False, counted=False)
DEPLOYMENT = deployment.DEPLOYMENT.served
REPLICA_SET = Kind("apps", "v1", "ReplicaSet", "replicasets", True, ("rs",), scale=True, categories=("all",))
STATEFUL_SET = stateful_set.STATEFUL_SET.served
DAEMON_SET = Kind("apps", "v1", "DaemonSet", "daemonsets", True, ("ds",), categories=("all",))
CONTROLLER_REVISION = Kind("apps", "v1", "ControllerRevision", "controllerrevisions", status=False, counted=False)
JOB = job.JOB.served
CRON_JOB = job.CRON_JOB.served
BUDGET = Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", True, ("pdb",))
PRIORITY_CLASS = Kind("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", False, ("pc",), status=False)
RUNTIME_CLASS = Kind("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", False, (), status=False, counted=False)
STORAGE_CLASS = Kind(
    "storage.k8s.io", "v1", "StorageClass", "storageclasses", False, ("sc",), status=False, counted=False
)
LEASE = Kind("coordination.k8s.io", "v1", "Lease", "leases", status=False, counted=False)

_KUEUE = ("kueue.x-k8s.io", "v1beta2")
WORKLOAD = _custom(*_KUEUE, "Workload", "workloads", "kwl", "kueueworkload", "kueueworkloads", "wl")
CLUSTER_QUEUE = _custom(*_KUEUE, "ClusterQueue", "clusterqueues", "cq", namespaced=False)
LOCAL_QUEUE = _custom(*_KUEUE, "LocalQueue", "localqueues", "queue", "queues", "lq")
COHORT = _custom(*_KUEUE, "Cohort", "cohorts", "co", namespaced=False)
RESOURCE_FLAVOR = _custom(
    *_KUEUE, "ResourceFlavor", "resourceflavors", "flavor", "flavors", "rf", namespaced=False, status=False
)
TOPOLOGY = _custom(*_KUEUE, "Topology", "topologies", "topo", namespaced=False, status=False)
ADMISSION_CHECK = _custom(*_KUEUE, "AdmissionCheck", "admissionchecks", "ac", namespaced=False)
WORKLOAD_PRIORITY_CLASS = _custom(
    *_KUEUE, "WorkloadPriorityClass", "workloadpriorityclasses", "wpc", namespaced=False, status=False
)
PROVISIONING_CONFIG = _custom(
    *_KUEUE, "ProvisioningRequestConfig", "provisioningrequestconfigs", "prc", namespaced=False, status=False
)
JOB_SET = job_set.JOB_SET.served
LEADER_WORKER_SET = leader_worker_set.LEADER_WORKER_SET.served
MPI_JOB = training.MPI_JOB.served
PYTORCH_JOB = training.PYTORCH_JOB.served
TRAIN_JOB = train_job.TRAIN_JOB.served
TRAINING_RUNTIME = _custom("trainer.kubeflow.org", "v1alpha1", "TrainingRuntime", "trainingruntimes", status=False)
CLUSTER_TRAINING_RUNTIME = _custom(
    "trainer.kubeflow.org",
    "v1alpha1",
    "ClusterTrainingRuntime",
    "clustertrainingruntimes",
    namespaced=False,
    status=False,
)
RAY_JOB = ray_job.RAY_JOB.served
RAY_CLUSTER = ray_cluster.RAY_CLUSTER.served
MAINTENANCE = _custom(
    maintenance.GROUP, maintenance.VERSION, maintenance.KIND, "maintenances", "maint", namespaced=False, status=False
)
PROVISIONING_REQUEST = _custom(
    "autoscaling.x-k8s.io", "v1", "ProvisioningRequest", "provisioningrequests", "provreq", "provreqs"
)

NODE_TOPOLOGY = _custom(
    nrt.GROUP,
    nrt.V1ALPHA2.rpartition("/")[2],
    nrt.KIND,
    "noderesourcetopologies",
    "node-res-topo",
    namespaced=False,
    status=False,
)

_NAMED = [one for one in list(globals().values()) if isinstance(one, Kind)]
KINDS: tuple[Kind, ...] = tuple(dict.fromkeys([*_NAMED, *(one.served for one in JOB_KINDS if one.hosted)]))
"""All kinds above, and those of job descriptors."""

OLD_KINDS: tuple[Kind, ...] = tuple(
    replace(one, version=version)
    for version, some in (("v1beta1", KINDS), ("v1alpha1", (TOPOLOGY, COHORT)))
    for one in some
    if (one.group, one.version) == _KUEUE
)
"""Kinds in versions of Kueue that are no longer served, only refused with the way to convert them."""

BY_NAME: dict[tuple[str, str], Kind] = {(one.group, one.kind): one for one in KINDS}
"""By API group and kind."""


def kind_of(api_version: str, kind: str) -> Kind | None:
    """The kind with this apiVersion and name; None if that version is not served."""
    group, _, version = api_version.rpartition("/")
    found = BY_NAME.get((group, kind))
    return found if found is not None and found.version == version else None
