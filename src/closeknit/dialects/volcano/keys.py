"""The API groups, annotations and labels of Volcano."""

TOPOLOGY_GROUP = "topology.volcano.sh"
SCHEDULING_GROUP = "scheduling.volcano.sh"
BATCH_GROUP = "batch.volcano.sh"

GROUP_NAME = "scheduling.k8s.io/group-name"
OWN_GROUP_NAME = "scheduling.volcano.sh/group-name"
ALLOCATED = "volcano.sh/job-allocated-hypernode"

JOB_NAME = "volcano.sh/job-name"
TASK = "volcano.sh/task-spec"
TASK_INDEX = "volcano.sh/task-index"
PARTITION = "volcano.sh/partition-id"

SCHEDULER = "volcano"
