"""Authentication, authorization and the audit log."""

from __future__ import annotations

from contract.client import Api
from contract.expect import accepted, refused
from contract.objects import config_maps
from servers.cluster import RealCluster

ACCOUNT = """
apiVersion: v1
kind: ServiceAccount
metadata: {name: watched, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: watched, namespace: default}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: watched, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: watched}
subjects: [{kind: ServiceAccount, name: watched, namespace: default}]
"""


def test_a_service_account_may_do_what_its_role_allows_and_all_of_it_is_audited(cluster: RealCluster) -> None:
    cluster.apply(ACCOUNT)
    account = Api.from_kubeconfig(cluster.kubeconfig_of("default", "watched"))
    accepted(account.get(config_maps("default")))
    refused(account.get(config_maps("kube-system")), 403, "Forbidden")
    account.close()
    asked = [(one["verb"], one["objectRef"]["namespace"], one["responseStatus"]["code"]) for one in cluster.requests()]
    assert asked == [("list", "default", 200), ("list", "kube-system", 403)]
    assert {one["user"]["username"] for one in cluster.requests()} == {"system:serviceaccount:default:watched"}
