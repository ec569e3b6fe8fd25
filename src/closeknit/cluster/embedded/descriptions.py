"""The descriptions of `kubectl explain`: a sentence for every kind, and for the fields of Kueue's kinds.

A field is named by its kind and path: ClusterQueue.spec.cohortName. A type that several kinds share goes by the path at
which it occurs first.
"""

from __future__ import annotations

from ...dialects.kueue.jobs.kinds import JOB_KINDS

KINDS = {
    "Namespace": "A part of the cluster in which names are unique.",
    "Node": "A machine that runs pods.",
    "Event": "Something that happened to an object.",
    "ConfigMap": "Settings for pods to read.",
    "Secret": "Confidential settings for pods to read.",
    "Service": "One address for a set of pods.",
    "ServiceAccount": "The identity of a pod towards the API.",
    "PodTemplate": "A template for pods.",
    "PersistentVolumeClaim": "A request for storage, which pods name as a volume.",
    "PersistentVolume": "A piece of storage, and the nodes that reach it.",
    "StorageClass": "A kind of storage: how and when volumes for claims are created.",
    "LimitRange": "Limits and defaults for what pods in a namespace request.",
    "ReplicaSet": "Keeps a number of equal pods running.",
    "DaemonSet": "Keeps one pod running on every node.",
    "ControllerRevision": "A state to which a controller can roll back.",
    "PodDisruptionBudget": "How many of a set of pods may be evicted at a time.",
    "PriorityClass": "A name for how important a pod is.",
    "RuntimeClass": "The runtime for the containers of a pod.",
    "Lease": "A lock that expires unless its holder renews it.",
    "Workload": "What a job requests in quota and topology, and what it was assigned.",
    "ClusterQueue": "A pool of quota that workloads wait for.",
    "LocalQueue": "The queue of a namespace, which leads to a ClusterQueue.",
    "Cohort": "ClusterQueues that lend each other quota.",
    "ResourceFlavor": "A kind of nodes, by labels and taints.",
    "Topology": "The levels that define how close nodes are to each other.",
    "AdmissionCheck": "A condition besides quota that must hold before a workload is admitted.",
    "WorkloadPriorityClass": "A name for how important a workload is.",
    "ProvisioningRequestConfig": "How nodes are requested before a workload is admitted.",
    "Maintenance": "Nodes that are reserved for work on them between two times.",
    "NodeResourceTopology": "The NUMA zones of a node: what each has, what is free in it, how far it is from others.",
    "TrainingRuntime": "A template for training runs of a namespace.",
    "ClusterTrainingRuntime": "A template for training runs of any namespace.",
    "ProvisioningRequest": "A request for nodes.",
    **{one.kind: one.description for one in JOB_KINDS if one.hosted},
}

EVERYWHERE = {
    "apiVersion": "The API group and version that the object is written in.",
    "kind": "The kind of the object.",
    "metadata": "Its name, namespace and labels, and what the cluster records about it.",
    "spec": "The desired state.",
    "status": "The observed state.",
}
"""Top-level fields of an object."""

_FIELDS = {
    "ClusterQueue.spec": {
        "admissionChecksStrategy": "Checks that a workload has to pass besides quota.",
        "admissionChecksStrategy.admissionChecks": "The checks.",
        "admissionScope": "Whether workloads are admitted in queue order or by past usage.",
        "cohortName": "The Cohort in which it shares unused quota.",
        "fairSharing": "Its weight when unused quota is shared.",
        "fairSharing.weight": "Its share compared with others; 1 by default, 0 comes last.",
        "flavorFungibility": "When to try the next flavor.",
        "flavorFungibility.preference": "Whether to prefer borrowing or preempting.",
        "flavorFungibility.whenCanBorrow": "Whether to stay with a flavor that requires borrowing.",
        "flavorFungibility.whenCanPreempt": "Whether to stay with a flavor that requires preemption.",
        "namespaceSelector": "The namespaces from which it accepts workloads; empty: all, absent: none.",
        "preemption": "Which workloads its own may preempt.",
        "preemption.borrowWithinCohort": "Whether it may preempt others in order to borrow.",
        "preemption.borrowWithinCohort.maxPriorityThreshold": "Workloads above this priority are not preempted.",
        "preemption.borrowWithinCohort.policy": "Never, or workloads of lower priority.",
        "preemption.reclaimWithinCohort": "Which workloads are preempted to reclaim quota that others borrowed.",
        "preemption.withinClusterQueue": "Which of its own workloads are preempted for one that needs the quota.",
        "queueingStrategy": "Whether a workload that does not fit blocks those behind it.",
        "resourceGroups": "Its quota: groups of resources, each with its flavors.",
        "resourceGroups.coveredResources": "The resources of the group, such as cpu or nvidia.com/gpu.",
        "resourceGroups.flavors": "The flavors in the order in which they are tried.",
        "stopPolicy": "None; Hold: admit nothing new; HoldAndDrain: also evict what runs.",
    },
    "ClusterQueue.spec.admissionChecksStrategy.admissionChecks": {
        "name": "The name of an AdmissionCheck.",
        "onFlavors": "The flavors to which the check applies; empty: all.",
    },
    "ClusterQueue.spec.resourceGroups.flavors": {
        "name": "The name of a ResourceFlavor.",
        "resources": "The quota of each resource of the group.",
        "resources.name": "The name of the resource.",
        "resources.nominalQuota": "Its own quota.",
        "resources.borrowingLimit": "How much it may borrow from others; absent: no limit.",
        "resources.lendingLimit": "How much of its own quota others may borrow; absent: all of it.",
    },
    "ClusterQueue.status": {
        "admittedWorkloads": "How many workloads are admitted.",
        "conditions": "Whether it is active, and if not, why.",
        "flavorsReservation": "How much of each flavor is reserved.",
        "flavorsUsage": "How much of each flavor admitted workloads use.",
        "pendingWorkloads": "How many workloads are pending.",
        "reservingWorkloads": "How many workloads have quota reserved.",
    },
    "Cohort.spec": {
        "fairSharing": "Its weight among its siblings when unused quota is shared.",
        "fairSharing.weight": "Its share compared with others; 1 by default, 0 comes last.",
        "parentName": "The Cohort above it.",
        "resourceGroups": "Quota of the cohort itself, shared by all queues in it.",
    },
    "Cohort.status": {
        "conditions": "Why its queues cannot use it, if they cannot.",
    },
    "LocalQueue.spec": {
        "clusterQueue": "The ClusterQueue that provides quota for its workloads.",
        "fairSharing": "Its weight among the queues of its ClusterQueue.",
        "fairSharing.weight": "Its share compared with others; 1 by default.",
        "stopPolicy": "None; Hold: admit nothing new; HoldAndDrain: also evict what runs.",
    },
    "LocalQueue.status": {
        "conditions": "Whether it is active, and if not, why.",
        "pendingWorkloads": "How many workloads are pending.",
        "reservingWorkloads": "How many workloads have quota reserved.",
        "admittedWorkloads": "How many workloads are admitted.",
    },
    "ResourceFlavor.spec": {
        "nodeLabels": "The labels of the flavor's nodes; pods that are assigned the flavor run there.",
        "nodeTaints": "The taints of these nodes, which a workload has to tolerate to be assigned the flavor.",
        "tolerations": "Tolerations added to pods that are assigned the flavor.",
        "topologyName": "The Topology by which pods of this flavor are placed close together.",
    },
    "Topology.spec": {
        "levels": "Node labels, coarse to fine: block, rack, host.",
        "levels.nodeLabel": "Nodes with the same value of this label, and of those above, are one domain.",
    },
    "Maintenance.spec": {
        "domains": "The nodes: those with all labels of at least one entry, also if they join later.",
        "domains.nodeLabels": "Labels with these values, all of which a node has.",
        "drain": "Whether workloads that still run there when it begins are evicted and requeued.",
        "from": "When it begins; only workloads that are sure to end before are placed there.",
        "until": "When it ends.",
    },
    "NodeResourceTopology": {
        "attributes": "Settings of the kubelet, such as topologyManagerPolicy, and which pods the report accounts for.",
        "attributes.name": "The name of the attribute.",
        "attributes.value": "Its value.",
        "topologyPolicies": "The policy and scope of the Topology Manager in one word; attributes have replaced it.",
        "zones": "The zones; those of type Node are NUMA cells.",
        "zones.attributes": "Further facts about the zone.",
        "zones.attributes.name": "The name of the attribute.",
        "zones.attributes.value": "Its value.",
        "zones.costs": "The distances from this zone to each zone, itself included.",
        "zones.costs.name": "The other zone.",
        "zones.costs.value": "The distance; 10 within a zone.",
        "zones.name": "The name of the zone, such as node-0.",
        "zones.parent": "The zone that contains this one.",
        "zones.resources": "The resources of the zone.",
        "zones.resources.allocatable": "How much of it pods may use.",
        "zones.resources.available": "How much of it no container has for itself yet.",
        "zones.resources.capacity": "How much of it there is.",
        "zones.resources.name": "The name of the resource, such as cpu.",
        "zones.type": "The type of the zone; Node for a NUMA cell.",
    },
    "AdmissionCheck.spec": {
        "controllerName": "The controller that performs the check.",
        "parameters": "The object that holds the settings of the check.",
        "parameters.apiGroup": "Its API group.",
        "parameters.kind": "Its kind.",
        "parameters.name": "Its name.",
    },
    "ProvisioningRequestConfig.spec": {
        "managedResources": "Only pod sets that request one of these need provisioning; empty: all do.",
        "parameters": "Passed on to the autoscaler.",
        "podSetMergePolicy": "Which pod sets are requested as one.",
        "podSetUpdates": "What pods get from the response: labels of the nodes on which they have to run.",
        "provisioningClassName": "The way in which nodes are provisioned.",
        "retryStrategy": "How often it is retried, and with which backoff.",
        "retryStrategy.backoffBaseSeconds": "The backoff before the first retry; doubled each time.",
        "retryStrategy.backoffLimitCount": "The number of retries.",
        "retryStrategy.backoffMaxSeconds": "The longest backoff.",
    },
    "Workload.spec": {
        "active": "If false it is evicted and not requeued.",
        "maximumExecutionTimeSeconds": "After this time it is deactivated.",
        "podSets": "Its pods, in sets of equal ones.",
        "podSets.count": "The number of pods.",
        "podSets.minCount": "The number of pods that is enough to start.",
        "podSets.name": "The name of the set.",
        "podSets.template": "The template of the set's pods.",
        "podSets.topologyRequest": "How close together the pods have to be.",
        "preemptionGates": "While one is closed, it preempts no other workload.",
        "priority": "A higher one goes first, and may preempt a lower one.",
        "priorityClassRef": "The class that defines its priority.",
        "queueName": "The LocalQueue in which it waits.",
    },
    "Workload.spec.podSets.topologyRequest": {
        "required": "All pods in one domain of this level.",
        "preferred": "All pods in one domain of this level if possible, else one level up, and so on.",
        "unconstrained": "Anywhere, as long as there is room.",
        "podSetGroupName": "Sets of the same group are placed together.",
        "podSetSliceRequiredTopology": "Each slice in one domain of this level.",
        "podSetSliceSize": "How many pods a slice has.",
    },
    "Workload.status": {
        "admission": "The quota that it was assigned, and the nodes of its pods.",
        "admissionChecks": "The states of its checks.",
        "conditions": "Its state: QuotaReserved, Admitted, PodsReady, Evicted, Finished.",
        "requeueState": "How often it was requeued, and when it may be again.",
    },
    "WorkloadPriorityClass": {
        "description": "What it is for.",
        "value": "The priority of workloads of this class.",
    },
}
FIELDS = {f"{start}.{name}": text for start, below in _FIELDS.items() for name, text in below.items()}


def about(path: str) -> str:
    """The description of a kind or field, as in about("ClusterQueue.spec.cohortName"); empty where there is none."""
    kind, _, name = path.partition(".")
    if kind not in KINDS:
        return ""
    return FIELDS.get(path) or EVERYWHERE.get(name, "") if name else KINDS[kind]
