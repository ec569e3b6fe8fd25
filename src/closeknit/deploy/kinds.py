"""Kinds that an installation needs and only a real server has; the embedded host serves none of them."""

from __future__ import annotations

from ..cluster.kinds import BY_NAME, Kind
from ..cluster.kube.discovery import CRD as CRD

_ACCESS = ("rbac.authorization.k8s.io", "v1")
CLUSTER_ROLE = Kind(*_ACCESS, "ClusterRole", "clusterroles", False, status=False)
CLUSTER_ROLE_BINDING = Kind(*_ACCESS, "ClusterRoleBinding", "clusterrolebindings", False, status=False)
ROLE = Kind(*_ACCESS, "Role", "roles", status=False)
ROLE_BINDING = Kind(*_ACCESS, "RoleBinding", "rolebindings", status=False)

_ADMISSION = ("admissionregistration.k8s.io", "v1")
MUTATING_POLICY = Kind(*_ADMISSION, "MutatingAdmissionPolicy", "mutatingadmissionpolicies", False, status=False)
MUTATING_BINDING = Kind(
    *_ADMISSION, "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", False, status=False
)
VALIDATING_POLICY = Kind(*_ADMISSION, "ValidatingAdmissionPolicy", "validatingadmissionpolicies", False)
VALIDATING_BINDING = Kind(
    *_ADMISSION, "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", False, status=False
)
MUTATING_WEBHOOK = Kind(
    *_ADMISSION, "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", False, status=False
)
VALIDATING_WEBHOOK = Kind(
    *_ADMISSION, "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", False, status=False
)
ENDPOINT_SLICE = Kind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", status=False)
NETWORK_POLICY = Kind("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", status=False)
SERVICE_MONITOR = Kind("monitoring.coreos.com", "v1", "ServiceMonitor", "servicemonitors", status=False)

_REVIEW = ("authorization.k8s.io", "v1")
ACCESS_REVIEW = Kind(*_REVIEW, "SubjectAccessReview", "subjectaccessreviews", False)
SELF_ACCESS_REVIEW = Kind(*_REVIEW, "SelfSubjectAccessReview", "selfsubjectaccessreviews", False)
SELF_RULES_REVIEW = Kind(*_REVIEW, "SelfSubjectRulesReview", "selfsubjectrulesreviews", False)

POLICIES = (MUTATING_BINDING, VALIDATING_BINDING, MUTATING_POLICY, VALIDATING_POLICY)
"""Bindings first: that is the order in which they go."""
_KNOWN = {(one.api_version, one.kind): one for one in [*globals().values(), *BY_NAME.values()] if isinstance(one, Kind)}


def kind_of(raw: dict[str, object]) -> Kind:
    return _KNOWN[str(raw["apiVersion"]), str(raw["kind"])]
