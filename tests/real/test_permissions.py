"""The controller's requests of a whole run against its permissions: none is refused, and no permission is unused.

    CLOSEKNIT_AUDIT=FILE python -m pytest tests/real/test_permissions.py

The file is the audit log of the other scenarios.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from closeknit.deploy.marks import NAME
from closeknit.deploy.objects import InstallOptions, access
from servers.audit import entries

AUDIT = "CLOSEKNIT_AUDIT"
pytestmark = pytest.mark.skipif(AUDIT not in os.environ, reason=f"{AUDIT} names no audit log of a whole run")
SUBJECT = "authorization.k8s.io/decision"

RACED = "a write that met a conflict, or whose answer was lost, is followed by a look at the object: chance decides"
OWNED = "asked for by the plug-in OwnerReferencesPermissionEnforcement, which leaves no request"
UNPLAYED = "no scenario of a run has its operator"
UNUSED = {
    **{
        f"{verb} {plural}{part}.{group}": UNPLAYED
        for plural, group in (("appwrappers", "workload.codeflare.dev"), ("sparkapplications", "sparkoperator.k8s.io"))
        for verb, part in (("get", ""), ("list", ""), ("watch", ""), ("update", ""), ("update", "/finalizers"))
    },
    **dict.fromkeys(
        ("create subjectaccessreviews.authorization.k8s.io", "create tokenreviews.authentication.k8s.io"),
        "only for clients of --metrics-address; tests/cli/real/test_controller.py has one, on another server",
    ),
    "get admissionchecks.kueue.x-k8s.io": RACED,
    "get clusterqueues.kueue.x-k8s.io": RACED,
    "get cohorts.kueue.x-k8s.io": RACED,
    "get jobs.batch": RACED,
    "get jobsets.jobset.x-k8s.io": RACED,
    "get leases.coordination.k8s.io": "the first leader finds none, which is no success; later ones read it",
    "get localqueues.kueue.x-k8s.io": RACED,
    "get mpijobs.kubeflow.org": RACED,
    "get noderesourcetopologies.topology.node.k8s.io": "one report by name; the informer lists and watches all",
    "get pods": RACED,
    "get podtemplates": RACED,
    "get provisioningrequests.autoscaling.x-k8s.io": RACED,
    "get pytorchjobs.kubeflow.org": RACED,
    "get rayclusters.ray.io": RACED,
    "get rayjobs.ray.io": RACED,
    "get resourceflavors.kueue.x-k8s.io": RACED,
    "get topologies.kueue.x-k8s.io": RACED,
    "get trainjobs.trainer.kubeflow.org": RACED,
    "get workloads.kueue.x-k8s.io": RACED,
    "update jobs/finalizers.batch": OWNED,
    "update jobsets/finalizers.jobset.x-k8s.io": OWNED,
    "update leaderworkersets/finalizers.leaderworkerset.x-k8s.io": OWNED,
    "update mpijobs/finalizers.kubeflow.org": OWNED,
    "update pods/finalizers": OWNED,
    "update provisioningrequests/finalizers.autoscaling.x-k8s.io": OWNED,
    "update pytorchjobs/finalizers.kubeflow.org": OWNED,
    "update rayclusters/finalizers.ray.io": OWNED,
    "update rayjobs/finalizers.ray.io": OWNED,
    "update statefulsets/finalizers.apps": OWNED,
    "update trainjobs/finalizers.trainer.kubeflow.org": OWNED,
    "update workloads/finalizers.kueue.x-k8s.io": OWNED,
    "list deployments.apps": "on a server without policies only",
    "watch deployments.apps": "on a server without policies only",
    "delete podtemplates": "a request can be withdrawn before its templates have become its own",
}
"""Permissions that a run need not use, and why they exist."""


class Permission(NamedTuple):
    verb: str
    group: str
    resource: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}{f'.{self.group}' if self.group else ''}"


@pytest.fixture(scope="module")
def log() -> list[dict[str, Any]]:
    found = entries(Path(os.environ[AUDIT]))
    assert len(found) > 1000, "this is no log of a whole run"
    return found


def had() -> set[Permission]:
    objects = [one for one in access(InstallOptions()) if one["metadata"]["name"] == NAME]
    roles = [one for one in objects if one["kind"] in ("ClusterRole", "Role")]
    return {
        Permission(verb, group, resource)
        for role in roles
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def asked(entry: dict[str, Any]) -> Permission | None:
    """The permission that a request needs; None for discovery and versions."""
    where = entry.get("objectRef") or {}
    if "resource" not in where:
        return None
    part = f"/{where['subresource']}" if where.get("subresource") else ""
    return Permission(entry["verb"], where.get("apiGroup", ""), f"{where['resource']}{part}")


def test_nothing_that_it_asks_for_is_forbidden(log: list[dict[str, Any]]) -> None:
    refused = {asked(one) for one in log if one.get("annotations", {}).get(SUBJECT) == "forbid"}
    assert {str(one) for one in refused if one} == set()


def test_every_permission_is_used(log: list[dict[str, Any]]) -> None:
    used = {asked(one) for one in log if one["responseStatus"]["code"] < 400}
    assert {str(one) for one in had() - used} - set(UNUSED) == set()


def test_what_is_excused_is_something_that_it_may() -> None:
    assert set(UNUSED) - {str(one) for one in had()} == set()


def test_none_is_a_wildcard_or_reaches_policies_definitions_and_roles() -> None:
    assert not any("*" in part for one in had() for part in one)
    writes = {str(one) for one in had() if one.verb not in ("get", "list", "watch")}
    closed = ("admissionregistration.k8s.io", "apiextensions.k8s.io", "rbac.authorization.k8s.io")
    assert [one for one in writes if one.endswith(closed)] == []
