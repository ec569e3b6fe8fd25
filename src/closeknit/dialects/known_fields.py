"""Field names of the kinds we read, which distinguish a misspelt field from one that we do not use."""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


POD_SPEC = _names(
    """
    activeDeadlineSeconds affinity automountServiceAccountToken containers dnsConfig dnsPolicy enableServiceLinks
    ephemeralContainers hostAliases hostIPC hostNetwork hostPID hostUsers hostname hostnameOverride imagePullSecrets
    initContainers nodeName nodeSelector os overhead preemptionPolicy priority priorityClassName readinessGates
    resourceClaims resources restartPolicy runtimeClassName schedulerName schedulingGates securityContext
    serviceAccount serviceAccountName setHostnameAsFQDN shareProcessNamespace subdomain
    terminationGracePeriodSeconds tolerations topologySpreadConstraints volumes workloadRef
    """
)
CONTAINER = _names(
    """
    args command env envFrom image imagePullPolicy lifecycle livenessProbe name ports readinessProbe resizePolicy
    resources restartPolicy restartPolicyRules securityContext startupProbe stdin stdinOnce terminationMessagePath
    terminationMessagePolicy tty volumeDevices volumeMounts workingDir
    """
)
NEEDS = _names("claims limits requests")
TEMPLATE = _names("metadata spec")
METADATA = _names(
    """
    annotations clusterName creationTimestamp deletionGracePeriodSeconds deletionTimestamp finalizers generateName
    generation labels managedFields name namespace ownerReferences resourceVersion selfLink uid
    """
)
JOB = _names(
    """
    activeDeadlineSeconds backoffLimit backoffLimitPerIndex completionMode completions managedBy manualSelector
    maxFailedIndexes parallelism podFailurePolicy podReplacementPolicy selector successPolicy suspend template
    ttlSecondsAfterFinished
    """
)
CRON_JOB = _names(
    """
    concurrencyPolicy failedJobsHistoryLimit jobTemplate schedule startingDeadlineSeconds successfulJobsHistoryLimit
    suspend timeZone
    """
)
JOB_SET = _names(
    """
    coordinator failurePolicy managedBy network replicatedJobs startupPolicy successPolicy suspend
    ttlSecondsAfterFinished volumeClaimPolicies
    """
)
REPLICATED_JOB = _names("dependsOn groupName name replicas template")
LEADER_WORKER_SET = _names("leaderWorkerTemplate networkConfig replicas rolloutStrategy startupPolicy")
LEADER_AND_WORKERS = _names(
    """
    leaderTemplate persistentVolumeClaimRetentionPolicy restartPolicy size subGroupPolicy volumeClaimTemplates
    workerTemplate
    """
)
DEPLOYMENT = _names(
    """
    minReadySeconds paused progressDeadlineSeconds replicas revisionHistoryLimit selector strategy template
    """
)
STATEFUL_SET = _names(
    """
    minReadySeconds ordinals persistentVolumeClaimRetentionPolicy podManagementPolicy replicas revisionHistoryLimit
    selector serviceName template updateStrategy volumeClaimTemplates
    """
)
REPLICA = _names("replicas restartPolicy template")
RAY_WORKERS = _names(
    """
    groupName idleTimeoutSeconds labels maxReplicas minReplicas numOfHosts rayStartParams replicas resources
    scaleStrategy suspend template
    """
)
WORKLOAD = _names(
    """
    active maximumExecutionTimeSeconds podSets preemptionGates priority priorityClassName priorityClassRef
    priorityClassSource queueName
    """
)
POD_SET = _names("count minCount name template topologyRequest")
