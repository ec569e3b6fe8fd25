"""The status subresource: an object's address leaves its status alone, and its status address leaves the spec alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from contract.client import Answer, Api
from contract.expect import accepted, make, refused
from contract.objects import Object, deployment, deployments, job, jobs, node, path, pod, pods


def labelled(body: Object) -> Object:
    return {**body, "metadata": {**body["metadata"], "labels": {"a": "1"}}}


def test_a_status_given_on_create_is_dropped(api: Api, space: str, name: str) -> None:
    held = make(api, jobs(space), {**job(name), "status": {"succeeded": 3}})
    assert held["status"] == {}


def test_a_pod_starts_pending_whatever_status_it_is_given(api: Api, space: str, name: str) -> None:
    held = make(api, pods(space), {**pod(name), "status": {"phase": "Running", "podIP": "10.0.0.1"}})
    assert held["status"]["phase"] == "Pending"
    assert "podIP" not in held["status"]


def test_a_put_of_the_object_ignores_its_status(api: Api, space: str, name: str) -> None:
    held = make(api, jobs(space), job(name))
    held["spec"]["backoffLimit"] = 1
    held["status"] = {"succeeded": 3}
    held = accepted(api.put(jobs(space, name), held))
    assert (held["spec"]["backoffLimit"], held["status"]) == (1, {})


def test_a_patch_of_the_object_ignores_its_status(api: Api, space: str, name: str) -> None:
    held = make(api, jobs(space), job(name))
    same = accepted(api.merge(jobs(space, name), {"status": {"succeeded": 3}}))
    assert same["status"] == {}
    assert same["metadata"]["resourceVersion"] == held["metadata"]["resourceVersion"]


def test_a_put_of_the_status_ignores_the_spec(api: Api, space: str, name: str) -> None:
    held = make(api, jobs(space), job(name))
    held["spec"]["backoffLimit"] = 1
    held["status"] = {"ready": 0, "terminating": 2}
    held = accepted(api.put(jobs(space, name, "status"), held))
    assert held["spec"]["backoffLimit"] == 6
    assert held["status"]["terminating"] == 2
    assert accepted(api.get(jobs(space, name))) == held


def test_a_patch_of_the_status_ignores_the_spec(api: Api, space: str, name: str) -> None:
    make(api, jobs(space), job(name))
    held = accepted(api.merge(jobs(space, name, "status"), {"spec": {"backoffLimit": 1}, "status": {"terminating": 2}}))
    assert (held["spec"]["backoffLimit"], held["status"]) == (6, {"terminating": 2})


def test_the_status_address_reads_the_whole_object(api: Api, space: str, name: str) -> None:
    held = make(api, jobs(space), job(name))
    assert accepted(api.get(jobs(space, name, "status"))) == held


def test_labels_may_change_through_the_status_of_a_pod(api: Api, space: str, name: str) -> None:
    make(api, pods(space), pod(name, {"labels": {"a": "1"}}))
    change = {"metadata": {"labels": {"a": "2"}, "annotations": {"b": "3"}}, "status": {"message": "hello"}}
    held = accepted(api.merge(pods(space, name, "status"), change))
    assert held["status"]["message"] == "hello"
    assert (held["metadata"]["labels"], held["metadata"]["annotations"]) == ({"a": "2"}, {"b": "3"})


def test_the_status_of_a_pod_takes_conditions_by_type(api: Api, space: str, name: str) -> None:
    make(api, pods(space), pod(name))
    for kind in ("example.com/one", "example.com/two"):
        change = {"status": {"conditions": [{"type": kind, "status": "True"}]}}
        accepted(api.strategic(pods(space, name, "status"), change))
    held = accepted(api.get(pods(space, name)))["status"]["conditions"]
    assert {each["type"]: each["status"] for each in held} == {"example.com/one": "True", "example.com/two": "True"}


def test_a_node_may_be_made_with_a_status(shared: Callable[[str, Any], Answer], name: str) -> None:
    body = {**node(name), "status": {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "4"}}}
    assert shared(path("v1/nodes"), body).body["status"]["capacity"] == {"cpu": "4"}


def test_a_node_reports_capacity_through_its_status(api: Api, shared: Callable[[str, Any], Answer], name: str) -> None:
    shared(path("v1/nodes"), node(name))
    ready = {"type": "example.com/Ready", "status": "True"}
    change = {"status": {"capacity": {"cpu": "8", "example.com/gpu": "2"}, "conditions": [ready]}}
    held = accepted(api.strategic(path("v1/nodes", None, name, "status"), change))
    assert held["status"]["capacity"] == {"cpu": "8", "example.com/gpu": "2"}
    assert ("example.com/Ready", "True") in {(each["type"], each["status"]) for each in held["status"]["conditions"]}
    held = accepted(api.merge(path("v1/nodes", name=name), {"status": {"capacity": {"cpu": "9"}}}))
    assert held["status"]["capacity"]["cpu"] == "8"


def test_a_spec_does_not_change_through_the_status_of_a_node(
    api: Api, shared: Callable[[str, Any], Answer], name: str
) -> None:
    shared(path("v1/nodes"), node(name))
    held = accepted(api.merge(path("v1/nodes", None, name, "status"), {"spec": {"unschedulable": True}}))
    assert "unschedulable" not in held["spec"]


def test_the_status_of_a_deployment_is_its_own(api: Api, space: str, name: str) -> None:
    make(api, deployments(space), deployment(name))
    change = {"spec": {"replicas": 5}, "status": {"collisionCount": 7}}
    held = accepted(api.merge(deployments(space, name, "status"), change))
    assert (held["spec"]["replicas"], held["status"]["collisionCount"]) == (0, 7)


def test_labels_stay_and_annotations_change_through_the_status_of_a_deployment(api: Api, space: str, name: str) -> None:
    before = make(api, deployments(space), labelled(deployment(name)))
    change = {"metadata": {"labels": {"a": "2", "b": "3"}, "annotations": {"c": "4"}}, "status": {"collisionCount": 7}}
    held = accepted(api.merge(deployments(space, name, "status"), change))["metadata"]
    assert (held["labels"], held["annotations"]["c"]) == ({"a": "1"}, "4")
    assert held["generation"] == before["metadata"]["generation"]


def test_labels_change_through_the_status_of_a_job(api: Api, space: str, name: str) -> None:
    make(api, jobs(space), labelled(job(name)))
    held = accepted(api.merge(jobs(space, name, "status"), {"metadata": {"labels": {"a": "2"}}}))
    assert held["metadata"]["labels"]["a"] == "2"


def test_a_kind_without_a_status_has_no_status_address(api: Api, space: str) -> None:
    refused(api.get(f"{path('v1/configmaps', space, 'x')}/status"), 404, "NotFound")


def test_the_status_of_a_missing_object_is_not_found(api: Api, space: str, name: str) -> None:
    refused(api.merge(pods(space, name, "status"), {"status": {}}), 404, "NotFound")


def test_an_old_version_is_a_conflict_on_the_status_too(api: Api, space: str, name: str) -> None:
    old = make(api, jobs(space), job(name))
    accepted(api.merge(jobs(space, name), {"metadata": {"labels": {"a": "1"}}}))
    refused(api.put(jobs(space, name, "status"), {**old, "status": {"terminating": 1}}), 409, "Conflict")
