"""The annotation, label and gate names of Kueue's topology-aware scheduling."""

PREFIX = "kueue.x-k8s.io/"

REQUIRED = PREFIX + "podset-required-topology"
PREFERRED = PREFIX + "podset-preferred-topology"
UNCONSTRAINED = PREFIX + "podset-unconstrained-topology"
SLICE_LEVEL = PREFIX + "podset-slice-required-topology"
SLICE_SIZE = PREFIX + "podset-slice-size"
LAYERS = PREFIX + "podset-slice-required-topology-constraints"
GROUP = PREFIX + "podset-group-name"

POD_GROUP = PREFIX + "pod-group-name"
POD_GROUP_COUNT = PREFIX + "pod-group-total-count"
POD_GROUP_INDEX = PREFIX + "pod-group-pod-index"
IS_GROUP = PREFIX + "is-group-workload"
ELASTIC = PREFIX + "elastic-job"

MAIN = "main"
"""The name of the only pod set of a job."""

FORMER = {PREFIX + "require-topology": REQUIRED, PREFIX + "prefer-topology": PREFERRED}
"""The keys in KEP-2724, Kueue's first proposal for topologies, and the keys that became of them."""

TOPOLOGY_ANNOTATIONS = (REQUIRED, PREFERRED, SLICE_LEVEL, LAYERS, UNCONSTRAINED)
"""A pod with any of these was placed by topology."""

QUEUE = PREFIX + "queue-name"
PRIORITY_CLASS = PREFIX + "priority-class"
MAX_SECONDS = PREFIX + "max-exec-time-seconds"
PREBUILT = PREFIX + "prebuilt-workload-name"
GATED_BY = PREFIX + "admission-gated-by"
WORKLOAD = PREFIX + "workload"
JOB_UID = PREFIX + "job-uid"
ROLE_HASH = PREFIX + "role-hash"
FAST_ADMISSION = PREFIX + "pod-group-fast-admission"
MIN_PARALLELISM = PREFIX + "job-min-parallelism"
