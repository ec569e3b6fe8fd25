"""Versions, generations and identities: what the server alone sets, and when it changes."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from contract.client import Answer, Api
from contract.expect import accepted, invalid, make, refused
from contract.objects import config_map, config_maps, deployment, deployments, jobs, node, path, pod, pods
from contract.objects import job as a_job


def version(held: dict[str, Any]) -> int:
    return int(held["metadata"]["resourceVersion"])


def test_the_server_sets_uid_resource_version_and_creation_timestamp(api: Api, space: str, name: str) -> None:
    before = datetime.now(UTC) - timedelta(seconds=2)
    held = make(api, config_maps(space), config_map(name))["metadata"]
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", held["uid"])
    assert held["resourceVersion"].isdigit()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", held["creationTimestamp"])
    assert before <= datetime.fromisoformat(held["creationTimestamp"]) <= datetime.now(UTC) + timedelta(seconds=2)


def test_uid_and_creation_timestamp_given_by_the_client_are_replaced(api: Api, space: str, name: str) -> None:
    given = config_map(name, uid="11111111-1111-1111-1111-111111111111", creationTimestamp="2001-01-01T00:00:00Z")
    held = make(api, config_maps(space), given)["metadata"]
    assert held["uid"] != "11111111-1111-1111-1111-111111111111"
    assert not held["creationTimestamp"].startswith("2001")


def test_generation_and_deletion_timestamp_given_by_the_client_are_ignored(api: Api, space: str, name: str) -> None:
    given = deployment(name)
    given["metadata"] |= {"generation": 7, "deletionTimestamp": "2001-01-01T00:00:00Z"}
    held = make(api, deployments(space), given)["metadata"]
    assert held["generation"] == 1
    assert "deletionTimestamp" not in held


def test_a_resource_version_may_not_be_given_on_create(api: Api, space: str, name: str) -> None:
    assert api.post(config_maps(space), config_map(name, resourceVersion="1")).status >= 400
    assert api.get(config_maps(space, name)).status == 404


def test_every_write_raises_the_resource_version(api: Api, space: str, name: str) -> None:
    first = make(api, config_maps(space), config_map(name, {"a": "1"}))
    second = accepted(api.merge(config_maps(space, name), {"data": {"a": "2"}}))
    third = make(api, config_maps(space), config_map(f"{name}-2"))
    assert version(first) < version(second) < version(third)


def test_an_update_that_changes_nothing_keeps_the_resource_version(api: Api, space: str, name: str) -> None:
    held = make(api, config_maps(space), config_map(name, {"a": "1"}))
    assert version(accepted(api.put(config_maps(space, name), held))) == version(held)


def test_a_patch_that_changes_nothing_keeps_the_resource_version(api: Api, space: str, name: str) -> None:
    held = make(api, jobs(space), a_job(name, backoffLimit=7))
    assert accepted(api.merge(jobs(space, name), {"spec": {"backoffLimit": 7}})) == held
    assert accepted(api.json_patch(jobs(space, name), [])) == held


def test_generation_rises_when_the_spec_changes(api: Api, space: str, name: str) -> None:
    assert make(api, deployments(space), deployment(name))["metadata"]["generation"] == 1
    held = accepted(api.merge(deployments(space, name), {"spec": {"minReadySeconds": 3}}))
    assert held["metadata"]["generation"] == 2


def test_generation_stays_when_only_labels_change(api: Api, space: str, name: str) -> None:
    make(api, jobs(space), a_job(name))
    held = accepted(api.merge(jobs(space, name), {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}}))
    assert held["metadata"]["generation"] == 1


def test_generation_stays_when_only_the_status_changes(api: Api, space: str, name: str) -> None:
    make(api, jobs(space), a_job(name))
    held = accepted(api.merge(jobs(space, name, "status"), {"status": {"ready": 0}}))
    assert held["metadata"]["generation"] == 1


def test_generation_of_a_deployment_rises_with_its_annotations_but_not_with_its_labels(
    api: Api, space: str, name: str
) -> None:
    make(api, deployments(space), deployment(name))
    change = {"metadata": {"annotations": {"a": "1"}}}
    assert accepted(api.merge(deployments(space, name), change))["metadata"]["generation"] == 2
    assert accepted(api.merge(deployments(space, name), change))["metadata"]["generation"] == 2
    change = {"metadata": {"labels": {"a": "1"}}}
    assert accepted(api.merge(deployments(space, name), change))["metadata"]["generation"] == 2


def test_generation_of_a_job_stays_when_only_annotations_change(api: Api, space: str, name: str) -> None:
    make(api, jobs(space), a_job(name))
    held = accepted(api.merge(jobs(space, name), {"metadata": {"annotations": {"a": "1"}}}))
    assert held["metadata"]["generation"] == 1


def test_a_priority_class_stays_in_its_first_generation(
    shared: Callable[[str, Any], Answer], api: Api, name: str
) -> None:
    made = shared(path("scheduling.k8s.io/v1/priorityclasses"), {"metadata": {"name": name}, "value": 5}).body
    change = {"description": "for tests"}
    held = accepted(api.merge(path("scheduling.k8s.io/v1/priorityclasses", name=name), change))
    assert held["description"] == "for tests"
    assert (made["metadata"]["generation"], held["metadata"]["generation"]) == (1, 1)


def test_kinds_without_a_controller_have_no_generation(api: Api, space: str, name: str) -> None:
    assert "generation" not in make(api, config_maps(space), config_map(name))["metadata"]


def test_a_node_has_no_generation(shared: Callable[[str, Any], Answer], name: str) -> None:
    assert "generation" not in shared(path("v1/nodes"), node(name)).body["metadata"]


def test_a_pod_has_a_generation_that_follows_its_spec(api: Api, space: str, name: str) -> None:
    assert make(api, pods(space), pod(name))["metadata"]["generation"] == 1
    held = accepted(api.merge(pods(space, name), {"spec": {"activeDeadlineSeconds": 100}}))
    assert held["metadata"]["generation"] == 2


def test_putting_an_old_version_is_a_conflict(api: Api, space: str, name: str) -> None:
    old = make(api, config_maps(space), config_map(name, {"a": "1"}))
    accepted(api.merge(config_maps(space, name), {"data": {"a": "2"}}))
    details = refused(api.put(config_maps(space, name), {**old, "data": {"a": "3"}}), 409, "Conflict")
    assert details == {"name": name, "kind": "configmaps"}


def test_a_conflict_names_the_group_of_the_resource(api: Api, space: str, name: str) -> None:
    old = make(api, jobs(space), a_job(name))
    accepted(api.merge(jobs(space, name), {"metadata": {"labels": {"a": "1"}}}))
    details = refused(api.put(jobs(space, name), old), 409, "Conflict")
    assert details == {"name": name, "group": "batch", "kind": "jobs"}


def test_a_patch_with_an_old_resource_version_is_a_conflict(api: Api, space: str, name: str) -> None:
    old = make(api, config_maps(space), config_map(name, {"a": "1"}))["metadata"]["resourceVersion"]
    accepted(api.merge(config_maps(space, name), {"data": {"a": "2"}}))
    late = {"metadata": {"resourceVersion": old}, "data": {"a": "3"}}
    refused(api.merge(config_maps(space, name), late), 409, "Conflict")
    assert accepted(api.get(config_maps(space, name)))["data"] == {"a": "2"}


def test_a_put_with_another_uid_is_a_conflict(api: Api, space: str, name: str) -> None:
    held = make(api, config_maps(space), config_map(name))
    other = {**held, "metadata": {**held["metadata"], "uid": "11111111-1111-1111-1111-111111111111"}}
    refused(api.put(config_maps(space, name), other), 409, "Conflict")


def test_config_maps_may_be_put_without_a_resource_version(api: Api, space: str, name: str) -> None:
    make(api, config_maps(space), config_map(name, {"a": "1"}))
    assert accepted(api.put(config_maps(space, name), config_map(name, {"a": "2"})))["data"] == {"a": "2"}


def test_leases_may_not_be_put_without_a_resource_version(api: Api, space: str, name: str) -> None:
    leases = path("coordination.k8s.io/v1/leases", space)
    lease = make(api, leases, {"metadata": {"name": name}, "spec": {"holderIdentity": "a"}})
    del lease["metadata"]["resourceVersion"]
    invalid(api.put(f"{leases}/{name}", lease), "metadata.resourceVersion")


def test_budgets_may_not_be_put_without_a_resource_version(api: Api, space: str, name: str) -> None:
    budgets = path("policy/v1/poddisruptionbudgets", space)
    make(api, budgets, {"metadata": {"name": name}})
    invalid(api.put(f"{budgets}/{name}", {"metadata": {"name": name}}), "metadata.resourceVersion")


def test_a_put_keeps_uid_and_creation_timestamp_that_it_leaves_out(api: Api, space: str, name: str) -> None:
    first = make(api, config_maps(space), config_map(name))["metadata"]
    second = accepted(api.put(config_maps(space, name), config_map(name, {"a": "1"})))["metadata"]
    assert (second["uid"], second["creationTimestamp"]) == (first["uid"], first["creationTimestamp"])


def test_a_put_of_a_missing_object_is_not_found(api: Api, space: str, name: str) -> None:
    details = refused(api.put(pods(space, name), pod(name)), 404, "NotFound")
    assert details == {"name": name, "kind": "pods"}


def test_an_object_made_again_has_another_uid(api: Api, space: str, name: str) -> None:
    first = make(api, config_maps(space), config_map(name))
    accepted(api.delete(config_maps(space, name)))
    assert make(api, config_maps(space), config_map(name))["metadata"]["uid"] != first["metadata"]["uid"]
