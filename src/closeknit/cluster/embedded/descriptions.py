"""What `kubectl explain` says: a sentence for every kind, and for the fields of Kueue's kinds that people write.

A field is named by its kind and the way to it: ClusterQueue.spec.cohortName. A part that several kinds share goes by
the name that it has where it stands first.
"""

from __future__ import annotations

KINDS = {
    "Namespace": "A part of the cluster in which names are unique.",
    "Node": "A machine that runs pods.",
    "Pod": "Containers that run together on one node.",
    "Event": "Something that happened to an object.",
    "ConfigMap": "Settings for pods to read.",
    "Secret": "Settings for pods to read that are not for everybody's eyes.",
    "Service": "One address for a set of pods.",
    "ServiceAccount": "Who a pod is when it talks to the API.",
    "PodTemplate": "What pods are to be made like.",
    "LimitRange": "What pods in a namespace may ask for, and what they get if they do not ask.",
    "Deployment": "Keeps a number of equal pods running, and replaces them when their template changes.",
    "ReplicaSet": "Keeps a number of equal pods running.",
    "StatefulSet": "Keeps numbered pods running, each with a name of its own.",
    "DaemonSet": "Keeps one pod running on every node.",
    "ControllerRevision": "A state that a controller can come back to.",
    "Job": "Runs pods until enough of them have succeeded.",
    "CronJob": "Makes Jobs at given times.",
    "PodDisruptionBudget": "How many of a set of pods may be evicted at a time.",
    "PriorityClass": "A name for how important a pod is.",
    "RuntimeClass": "What runs the containers of a pod.",
    "Lease": "Who holds something for now.",
    "Workload": "What a job asks of quota and topology, and what it was given.",
    "ClusterQueue": "A pool of quota that workloads wait for.",
    "LocalQueue": "The way from a namespace into a ClusterQueue.",
    "Cohort": "ClusterQueues that lend each other quota.",
    "ResourceFlavor": "A sort of nodes, by labels and taints.",
    "Topology": "The levels by which nodes are close to each other.",
    "AdmissionCheck": "What has to be true besides quota before a workload runs.",
    "WorkloadPriorityClass": "A name for how important a workload is.",
    "ProvisioningRequestConfig": "How nodes are asked for before a workload runs.",
    "JobSet": "Several Jobs that run as one.",
    "LeaderWorkerSet": "Groups of pods, each with a leader and its workers.",
    "MPIJob": "A launcher and the workers that it starts processes on.",
    "PyTorchJob": "A distributed PyTorch run.",
    "TrainJob": "A training run that names a runtime.",
    "TrainingRuntime": "How training runs of a namespace are made.",
    "ClusterTrainingRuntime": "How training runs are made.",
    "RayJob": "A program that runs on a Ray cluster made for it.",
    "RayCluster": "A head and groups of workers that run Ray.",
    "ProvisioningRequest": "A request for nodes.",
}

EVERYWHERE = {
    "apiVersion": "The API group and version that the object is written in.",
    "kind": "What sort of object it is.",
    "metadata": "Its name, its namespace, its labels, and what the cluster notes about it.",
    "spec": "What is wanted.",
    "status": "What is so, as seen by the cluster.",
}
"""Fields at the top of an object."""

_FIELDS = {
    "ClusterQueue.spec": {
        "admissionChecksStrategy": "Checks that a workload has to pass besides quota.",
        "admissionChecksStrategy.admissionChecks": "The checks.",
        "admissionScope": "Whether the order of the line, or use in the past, says who is admitted.",
        "cohortName": "The Cohort with whose queues it shares what is left over.",
        "fairSharing": "How much it counts when what is left over is shared.",
        "fairSharing.weight": "Its share compared with others; 1 unless given, 0 comes last.",
        "flavorFungibility": "When to go on to the next flavor.",
        "flavorFungibility.preference": "Whether borrowing or preempting is the lesser evil.",
        "flavorFungibility.whenCanBorrow": "Whether to stay with a flavor in which it would have to borrow.",
        "flavorFungibility.whenCanPreempt": "Whether to stay with a flavor in which it would have to preempt.",
        "namespaceSelector": "The namespaces whose workloads it takes; empty: all, absent: none.",
        "preemption": "Whom its workloads may push out.",
        "preemption.borrowWithinCohort": "Whether it may push others out to borrow.",
        "preemption.borrowWithinCohort.maxPriorityThreshold": "Those above this priority stay.",
        "preemption.borrowWithinCohort.policy": "Never, or workloads of lower priority.",
        "preemption.reclaimWithinCohort": "Who has to go when it wants back what others borrowed from it.",
        "preemption.withinClusterQueue": "Which of its own workloads go for one that needs the quota.",
        "queueingStrategy": "Whether one that does not fit holds up those behind it.",
        "resourceGroups": "Its quota: groups of resources, each with the flavors that they come in.",
        "resourceGroups.coveredResources": "The resources of the group, such as cpu or nvidia.com/gpu.",
        "resourceGroups.flavors": "The flavors in the order in which they are tried.",
        "stopPolicy": "None; Hold: nothing new is admitted; HoldAndDrain: and what runs is evicted.",
    },
    "ClusterQueue.spec.admissionChecksStrategy.admissionChecks": {
        "name": "The name of an AdmissionCheck.",
        "onFlavors": "The flavors that the check is for; none: all.",
    },
    "ClusterQueue.spec.resourceGroups.flavors": {
        "name": "The name of a ResourceFlavor.",
        "resources": "How much there is of each resource of the group.",
        "resources.name": "The name of the resource.",
        "resources.nominalQuota": "How much is its own.",
        "resources.borrowingLimit": "How much more it may use of others; absent: all that there is.",
        "resources.lendingLimit": "How much of its own others may use; absent: all of it.",
    },
    "ClusterQueue.status": {
        "admittedWorkloads": "How many workloads run.",
        "conditions": "Whether it is active, and if not, why.",
        "flavorsReservation": "How much of each flavor is promised.",
        "flavorsUsage": "How much of each flavor is used by workloads that run.",
        "pendingWorkloads": "How many workloads wait.",
        "reservingWorkloads": "How many workloads have quota.",
    },
    "Cohort.spec": {
        "fairSharing": "How much it counts among its siblings when what is left over is shared.",
        "fairSharing.weight": "Its share compared with others; 1 unless given, 0 comes last.",
        "parentName": "The Cohort above it.",
        "resourceGroups": "Quota of the cohort itself, for all queues in it.",
    },
    "LocalQueue.spec": {
        "clusterQueue": "The ClusterQueue whose quota its workloads get.",
        "fairSharing": "How much it counts among the queues of its ClusterQueue.",
        "fairSharing.weight": "Its share compared with others; 1 unless given.",
        "stopPolicy": "None; Hold: nothing new is admitted; HoldAndDrain: and what runs is evicted.",
    },
    "LocalQueue.status": {
        "conditions": "Whether it is active, and if not, why.",
        "pendingWorkloads": "How many workloads wait.",
        "reservingWorkloads": "How many workloads have quota.",
        "admittedWorkloads": "How many workloads run.",
    },
    "ResourceFlavor.spec": {
        "nodeLabels": "Nodes with these labels are of the flavor; pods that get it go there.",
        "nodeTaints": "Taints of these nodes, which a workload has to tolerate to get the flavor.",
        "tolerations": "Tolerations that pods get together with the flavor.",
        "topologyName": "The Topology by which pods of this flavor are placed close together.",
    },
    "Topology.spec": {
        "levels": "Node labels, coarse to fine: block, rack, host.",
        "levels.nodeLabel": "Nodes with the same value of this label, and of those above, are one domain.",
    },
    "AdmissionCheck.spec": {
        "controllerName": "Who carries out the check.",
        "parameters": "The object that holds the settings of the check.",
        "parameters.apiGroup": "Its API group.",
        "parameters.kind": "Its kind.",
        "parameters.name": "Its name.",
    },
    "ProvisioningRequestConfig.spec": {
        "managedResources": "Only pod sets that ask for one of these need machines; none: all do.",
        "parameters": "Handed on to whoever brings the machines.",
        "podSetMergePolicy": "Which pod sets are asked for as one.",
        "podSetUpdates": "What pods get from the answer: labels of the nodes that they have to go to.",
        "provisioningClassName": "The way in which machines are brought.",
        "retryStrategy": "How often it is tried again, and after how long.",
        "retryStrategy.backoffBaseSeconds": "How long to wait before the second try; doubled each time.",
        "retryStrategy.backoffLimitCount": "How many tries there are after the first.",
        "retryStrategy.backoffMaxSeconds": "The longest wait.",
    },
    "Workload.spec": {
        "active": "If false it is evicted, and does not come back.",
        "maximumExecutionTimeSeconds": "After this long it is stopped for good.",
        "podSets": "Its pods, by what they are like.",
        "podSets.count": "How many pods there are.",
        "podSets.minCount": "How few are enough to start.",
        "podSets.name": "What the set is called.",
        "podSets.template": "What a pod of the set is like.",
        "podSets.topologyRequest": "How close together they have to be.",
        "preemptionGates": "While one is closed, it pushes nobody out.",
        "priority": "Higher goes first, and may push out lower.",
        "priorityClassRef": "The class that its priority is from.",
        "queueName": "The LocalQueue that it waits in.",
    },
    "Workload.spec.podSets.topologyRequest": {
        "required": "All pods in one domain of this level.",
        "preferred": "The same if it can be, else one level up, and so on.",
        "unconstrained": "Anywhere, as long as there is room.",
        "podSetGroupName": "Sets of the same group are placed together.",
        "podSetSliceRequiredTopology": "Each slice in one domain of this level.",
        "podSetSliceSize": "How many pods a slice has.",
    },
    "Workload.status": {
        "admission": "The quota that it was given, and where its pods go.",
        "admissionChecks": "How its checks stand.",
        "conditions": "What became of it: QuotaReserved, Admitted, PodsReady, Evicted, Finished.",
        "requeueState": "How often it came back, and when it may again.",
    },
    "WorkloadPriorityClass": {
        "description": "What it is for.",
        "value": "The priority of workloads of this class.",
    },
}
FIELDS = {f"{start}.{name}": text for start, below in _FIELDS.items() for name, text in below.items()}


def about(path: str) -> str:
    """about("ClusterQueue.spec.cohortName"); empty where nothing is written down."""
    kind, _, name = path.partition(".")
    if kind not in KINDS:
        return ""
    return FIELDS.get(path) or EVERYWHERE.get(name, "") if name else KINDS[kind]
