"""The kinds of objects that Closeknit knows: their API paths, short names and subresources.

One entry per kind. The embedded host serves exactly these; the client builds an object's path from them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """A kind of objects in one version of its API group.

    `status`, `scale`: whether it has that subresource. `counted`: `metadata.generation` is incremented when anything
    but the status changes. `categories` are the groupings of kubectl, such as `all`.
    """

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    short: tuple[str, ...] = ()
    status: bool = True
    scale: bool = False
    counted: bool = True
    categories: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def singular(self) -> str:
        return self.kind.lower()

    @property
    def resource(self) -> str:
        """Its name in Status errors: jobs.batch."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def is_built_in(self) -> bool:
        """Whether it is part of Kubernetes, not defined by a CustomResourceDefinition."""
        return "." not in self.group or self.group in _OWN_GROUPS

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Its API path: /apis/batch/v1/namespaces/default/jobs/train/status."""
        parts = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if namespace and self.namespaced:
            parts += ["namespaces", namespace]
        parts += [self.plural, *([name] if name else []), *([subresource] if subresource else [])]
        return "/" + "/".join(parts)

    def __repr__(self) -> str:
        return f"Kind({self.api_version} {self.kind})"


_OWN_GROUPS = frozenset({"scheduling.k8s.io", "node.k8s.io", "coordination.k8s.io"})


def _custom(
    group: str,
    version: str,
    kind: str,
    plural: str,
    *short: str,
    namespaced: bool = True,
    status: bool = True,
    scale: bool = False,
    categories: tuple[str, ...] = (),
) -> Kind:
    return Kind(group, version, kind, plural, namespaced, short, status, scale, categories=categories)


NAMESPACE = Kind("", "v1", "Namespace", "namespaces", False, ("ns",), counted=False)
NODE = Kind("", "v1", "Node", "nodes", False, ("no",), counted=False)
POD = Kind("", "v1", "Pod", "pods", True, ("po",), categories=("all",))
EVENT = Kind("", "v1", "Event", "events", True, ("ev",), status=False, counted=False)
CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps", True, ("cm",), status=False, counted=False)
SECRET = Kind("", "v1", "Secret", "secrets", True, (), status=False, counted=False)
SERVICE = Kind("", "v1", "Service", "services", True, ("svc",), counted=False, categories=("all",))
SERVICE_ACCOUNT = Kind("", "v1", "ServiceAccount", "serviceaccounts", True, ("sa",), status=False, counted=False)
POD_TEMPLATE = Kind("", "v1", "PodTemplate", "podtemplates", status=False)
LIMIT_RANGE = Kind("", "v1", "LimitRange", "limitranges", True, ("limits",), status=False, counted=False)
DEPLOYMENT = Kind("apps", "v1", "Deployment", "deployments", True, ("deploy",), scale=True, categories=("all",))
REPLICA_SET = Kind("apps", "v1", "ReplicaSet", "replicasets", True, ("rs",), scale=True, categories=("all",))
STATEFUL_SET = Kind("apps", "v1", "StatefulSet", "statefulsets", True, ("sts",), scale=True, categories=("all",))
DAEMON_SET = Kind("apps", "v1", "DaemonSet", "daemonsets", True, ("ds",), categories=("all",))
CONTROLLER_REVISION = Kind("apps", "v1", "ControllerRevision", "controllerrevisions", status=False, counted=False)
JOB = Kind("batch", "v1", "Job", "jobs", categories=("all",))
CRON_JOB = Kind("batch", "v1", "CronJob", "cronjobs", True, ("cj",), categories=("all",))
BUDGET = Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", True, ("pdb",))
PRIORITY_CLASS = Kind("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", False, ("pc",), status=False)
RUNTIME_CLASS = Kind("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", False, (), status=False, counted=False)
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
JOB_SET = _custom("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets")
LEADER_WORKER_SET = _custom("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet", "leaderworkersets", "lws", scale=True)
MPI_JOB = _custom("kubeflow.org", "v2beta1", "MPIJob", "mpijobs")
PYTORCH_JOB = _custom("kubeflow.org", "v1", "PyTorchJob", "pytorchjobs", scale=True)
TRAIN_JOB = _custom("trainer.kubeflow.org", "v1alpha1", "TrainJob", "trainjobs")
TRAINING_RUNTIME = _custom("trainer.kubeflow.org", "v1alpha1", "TrainingRuntime", "trainingruntimes", status=False)
CLUSTER_TRAINING_RUNTIME = _custom(
    "trainer.kubeflow.org",
    "v1alpha1",
    "ClusterTrainingRuntime",
    "clustertrainingruntimes",
    namespaced=False,
    status=False,
)
RAY_JOB = _custom("ray.io", "v1", "RayJob", "rayjobs", categories=("all",))
RAY_CLUSTER = _custom("ray.io", "v1", "RayCluster", "rayclusters", categories=("all",))
PROVISIONING_REQUEST = _custom(
    "autoscaling.x-k8s.io", "v1", "ProvisioningRequest", "provisioningrequests", "provreq", "provreqs"
)

KINDS: tuple[Kind, ...] = tuple(one for one in list(globals().values()) if isinstance(one, Kind))
"""All kinds above."""

BY_NAME: dict[tuple[str, str], Kind] = {(one.group, one.kind): one for one in KINDS}
"""By API group and kind."""


def kind_of(api_version: str, kind: str) -> Kind | None:
    """The kind with this apiVersion and name; None if that version is not served."""
    group, _, version = api_version.rpartition("/")
    found = BY_NAME.get((group, kind))
    return found if found is not None and found.version == version else None
