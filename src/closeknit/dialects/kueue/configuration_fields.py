"""Every field of Kueue's Configuration, and which of them have an effect here.

Kueue decodes its configuration strictly, so a field that is in none of these trees is a mistake. v1beta1 has a tree of
its own, with its additional fields.
"""

from __future__ import annotations

from ..strictness import READ, UNUSED, Tree

DECISIVE = "answers may differ from Kueue's"
"""The warning for fields that change admission in Kueue."""

_SELECTOR: Tree = {
    "matchLabels": READ,
    "matchExpressions": [{"key": READ, "operator": READ, "values": READ}],
}

FIELDS: dict[str, Tree] = {
    "apiVersion": READ,
    "kind": READ,
    "namespace": READ,
    "manageJobsWithoutQueueName": READ,
    "managedJobsNamespaceSelector": _SELECTOR,
    "waitForPodsReady": {
        "timeout": READ,
        "recoveryTimeout": READ,
        "blockAdmission": READ,
        "requeuingStrategy": {
            "timestamp": READ,
            "backoffLimitCount": READ,
            "backoffBaseSeconds": READ,
            "backoffMaxSeconds": READ,
        },
    },
    "integrations": {"frameworks": READ, "labelKeysToCopy": READ, "externalFrameworks": UNUSED},
    "fairSharing": {"preemptionStrategies": READ},
    "admissionFairSharing": DECISIVE,
    "resources": {
        "quotaCheckStrategy": READ,
        "excludeResourcePrefixes": READ,
        "transformations": [{"input": READ, "strategy": READ, "multiplyBy": READ, "outputs": READ}],
        "deviceClassMappings": DECISIVE,
    },
    "objectRetentionPolicies": {"workloads": {"afterFinished": READ, "afterDeactivatedByKueue": UNUSED}},
    "featureGates": READ,
    "clientConnection": {"qps": READ, "burst": READ},
    "leaderElection": {
        "leaderElect": READ,
        "resourceName": READ,
        "resourceNamespace": READ,
        "leaseDuration": READ,
        "renewDeadline": READ,
        "retryPeriod": READ,
        "resourceLock": UNUSED,
    },
    "health": {"healthProbeBindAddress": READ, "readinessEndpointName": UNUSED, "livenessEndpointName": UNUSED},
    "metrics": {
        "bindAddress": READ,
        "enableClusterQueueResources": UNUSED,
        "customLabels": UNUSED,
        "localQueueMetrics": UNUSED,
    },
    "multiKueue": UNUSED,
    "controller": UNUSED,
    "webhook": UNUSED,
    "internalCertManagement": UNUSED,
    "visibilityServer": UNUSED,
    "pprofBindAddress": UNUSED,
    "tls": UNUSED,
}

OLD_FIELDS: dict[str, Tree] = {
    **FIELDS,
    "queueVisibility": UNUSED,
    "waitForPodsReady": {**FIELDS["waitForPodsReady"], "enable": READ},  # type: ignore[dict-item]
    "integrations": {**FIELDS["integrations"], "podOptions": UNUSED},  # type: ignore[dict-item]
    "fairSharing": {**FIELDS["fairSharing"], "enable": READ},  # type: ignore[dict-item]
}
"""The fields of v1beta1."""
