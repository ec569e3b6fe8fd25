"""Kinds that an installation needs and only a real server serves; the embedded host has none of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..cluster.kinds import BY_NAME, Kind
from ..cluster.kube.discovery import CRD as CRD
from ..cluster.kube.discovery import Served
from ..cluster.kube.reviews import ACCESS_REVIEW as ACCESS_REVIEW
from ..cluster.kube.reviews import TOKEN_REVIEW as TOKEN_REVIEW

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
MUTATING_POLICY_BETA = replace(MUTATING_POLICY, version="v1beta1")
MUTATING_BINDING_BETA = replace(MUTATING_BINDING, version="v1beta1")
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
SELF_ACCESS_REVIEW = Kind(*_REVIEW, "SelfSubjectAccessReview", "selfsubjectaccessreviews", False)
SELF_RULES_REVIEW = Kind(*_REVIEW, "SelfSubjectRulesReview", "selfsubjectrulesreviews", False)

POLICIES = (MUTATING_BINDING, VALIDATING_BINDING, MUTATING_POLICY, VALIDATING_POLICY)
"""Bindings first: that is the order of deletion."""
OLDER = {MUTATING_POLICY: MUTATING_POLICY_BETA, MUTATING_BINDING: MUTATING_BINDING_BETA}
"""Mutating policies before Kubernetes 1.36, with the same fields."""
_KNOWN = {(one.api_version, one.kind): one for one in [*globals().values(), *BY_NAME.values()] if isinstance(one, Kind)}


def kind_of(raw: dict[str, object]) -> Kind:
    return _KNOWN[str(raw["apiVersion"]), str(raw["kind"])]


def as_served(known: Served, kind: Kind) -> Kind:
    """The kind in the version that the server has: the older one if it serves only that."""
    older = OLDER.get(kind)
    return older if older is not None and not known.can(kind, "create") and known.can(older, "create") else kind


def in_served_version(known: Served, raw: dict[str, Any]) -> dict[str, Any]:
    kind = kind_of(raw)
    served = as_served(known, kind)
    return raw if served is kind else {**raw, "apiVersion": served.api_version}
