"""The controller may do what it has to, and nothing more."""

from __future__ import annotations

import pytest

from closeknit.cluster.kinds import Kind
from closeknit.controller.control_plane import ControlPlane
from closeknit.deploy.rbac import CLUSTER_WIDE, Grant, own_namespace, table
from closeknit.model.gates import Gates
from closeknit.model.settings import PodsReady, Settings

GRANTS = [grant for _, grant in table()]
WRITES = {"create", "update", "patch", "delete", "deletecollection", "bind", "escalate", "impersonate", "approve"}


def verbs(kind: Kind, part: str = "") -> set[str]:
    return {verb for one in CLUSTER_WIDE if kind in one.kinds and one.part == part for verb in one.verbs}


def test_everything_that_the_control_plane_follows_may_be_listed_and_watched() -> None:
    control_plane = ControlPlane(Gates.profile(), Settings(pods_ready=PodsReady()), lambda: 0.0, lambda: 0.0)
    assert [kind for kind in control_plane.watches if not {"list", "watch"} <= verbs(kind)] == []


@pytest.mark.parametrize("grant", GRANTS, ids=lambda one: f"{one.group}-{'-'.join(one.resources)}-{one.verbs[0]}")
def test_a_permission_names_what_it_is_for(grant: Grant) -> None:
    rule = grant.rule()
    assert "*" not in [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]
    assert len({kind.group for kind in grant.kinds}) == 1
    assert grant.reason


def test_no_role_grants_writes_to_policies_definitions_roles_or_secrets() -> None:
    guarded = ("admissionregistration.k8s.io", "apiextensions.k8s.io", "rbac.authorization.k8s.io")
    assert [one for one in GRANTS if one.group in guarded and WRITES & set(one.verbs)] == []
    assert [one for one in GRANTS if "secrets" in one.resources] == []
    assert [one for one in GRANTS if {"bind", "escalate", "impersonate"} & set(one.verbs)] == []


def test_leases_are_written_by_name_in_its_own_namespace_alone() -> None:
    everywhere = [one for one in CLUSTER_WIDE if "leases" in one.resources]
    assert [(one.verbs, one.names) for one in everywhere] == [(("list",), ("c1f6bfd2.kueue.x-k8s.io",))]
    at_home = [one for one in own_namespace("mine") if "leases" in one.resources]
    assert [(one.verbs, one.names) for one in at_home] == [(("create",), ()), (("get", "update"), ("mine",))]


def test_jobs_are_made_in_its_own_namespace_alone() -> None:
    assert [one for one in CLUSTER_WIDE if "jobs" in one.resources and "create" in one.verbs] == []
    assert [one.verbs for one in own_namespace() if "jobs" in one.resources] == [("create",)]


def test_pods_are_read_changed_and_deleted_and_events_only_written() -> None:
    by_resource = {
        name: {verb for one in GRANTS if name in one.resources for verb in one.verbs} for name in ("pods", "events")
    }
    assert by_resource == {
        "pods": {"get", "list", "watch", "update", "patch", "delete"},
        "events": {"create", "patch"},
    }
