"""What the controller asked for in a whole run, against what it may: nothing is refused, nothing is there for nothing.

    CLOSEKNIT_AUDIT=FILE python -m pytest tests/real/test_permissions.py

The file is the audit log that the other scenarios left behind.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from closeknit.deploy.objects import Wishes, access
from servers.audit import entries

AUDIT = "CLOSEKNIT_AUDIT"
pytestmark = pytest.mark.skipif(AUDIT not in os.environ, reason=f"{AUDIT} names no audit log of a whole run")
SUBJECT = "authorization.k8s.io/decision"

WRITES = ("create", "update", "patch", "delete")
UNUSED = {
    "finalizers": "asked for by the plug-in OwnerReferencesPermissionEnforcement, which leaves no request",
    "list deployments.apps": "on a server without policies only",
    "watch deployments.apps": "on a server without policies only",
    "delete podtemplates": "a request can be withdrawn before its templates have become its own",
}
"""Permissions that no request of a run shows, and why they are there all the same."""


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
    roles = [one for one in access(Wishes()) if one["kind"] in ("ClusterRole", "Role")]
    return {
        Permission(verb, group, resource)
        for role in roles
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def asked(entry: dict[str, Any]) -> Permission | None:
    """None for what is no object: discovery, versions."""
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
    unused = {one for one in had() if one not in used}
    assert {str(one) for one in unused if not is_excused(one)} == set()


def is_excused(one: Permission) -> bool:
    """When the answer to a write is lost, what was written is looked at by its name: `get` goes with every write."""
    if one.verb == "get":
        base = {(other.group, other.resource.partition("/")[0]) for other in had() if other.verb in WRITES}
        return (one.group, one.resource) in base
    return one.resource.partition("/")[2] in UNUSED or str(one) in UNUSED


def test_none_is_a_wildcard_or_reaches_policies_definitions_and_roles() -> None:
    assert not any("*" in part for one in had() for part in one)
    writes = {str(one) for one in had() if one.verb not in ("get", "list", "watch")}
    closed = ("admissionregistration.k8s.io", "apiextensions.k8s.io", "rbac.authorization.k8s.io")
    assert [one for one in writes if one.endswith(closed)] == []
