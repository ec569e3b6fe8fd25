"""Deleting: what is answered, what finalizers and preconditions hold up, and collections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from contract.client import Answer, Api
from contract.expect import accepted, gone, invalid, make, refused
from contract.objects import config_map, config_maps, deployment, deployments, job, jobs, node, path, pod, pods

HOLD = "example.com/hold"


def test_a_deletion_is_answered_with_a_status_that_names_the_object(api: Api, space: str, name: str) -> None:
    held = make(api, config_maps(space), config_map(name))
    body = accepted(api.delete(config_maps(space, name)))
    assert (body["kind"], body["apiVersion"], body["status"]) == ("Status", "v1", "Success")
    assert body["details"] == {"name": name, "kind": "configmaps", "uid": held["metadata"]["uid"]}
    refused(api.get(config_maps(space, name)), 404, "NotFound")


def test_the_status_of_a_deletion_names_the_group(api: Api, space: str, name: str) -> None:
    held = make(api, deployments(space), deployment(name))
    body = accepted(api.delete(deployments(space, name), propagationPolicy="Background"))
    assert body["details"] == {
        "name": name,
        "group": "apps",
        "kind": "deployments",
        "uid": held["metadata"]["uid"],
    }


def test_a_missing_object_cannot_be_deleted(api: Api, space: str, name: str) -> None:
    assert refused(api.delete(jobs(space, name)), 404, "NotFound")["name"] == name


def test_a_finalizer_keeps_the_object_and_marks_it(api: Api, space: str, name: str) -> None:
    make(api, config_maps(space), config_map(name, finalizers=[HOLD]))
    body = accepted(api.delete(config_maps(space, name)))
    assert body["kind"] == "ConfigMap"
    held = accepted(api.get(config_maps(space, name)))["metadata"]
    assert held["deletionTimestamp"].endswith("Z")
    assert held["deletionGracePeriodSeconds"] == 0
    assert held["finalizers"] == [HOLD]
    accepted(api.merge(config_maps(space, name), {"metadata": {"finalizers": None}}))
    assert gone(api, config_maps(space, name))()


def test_deleting_again_changes_nothing_while_a_finalizer_holds(api: Api, space: str, name: str) -> None:
    make(api, config_maps(space), config_map(name, finalizers=[HOLD]))
    accepted(api.delete(config_maps(space, name)))
    held = accepted(api.get(config_maps(space, name)))
    accepted(api.delete(config_maps(space, name)))
    assert accepted(api.get(config_maps(space, name))) == held
    accepted(api.merge(config_maps(space, name), {"metadata": {"finalizers": None}}))


def test_the_object_goes_with_its_last_finalizer(api: Api, space: str, name: str) -> None:
    make(api, config_maps(space), config_map(name, finalizers=[HOLD, "example.com/other"]))
    accepted(api.delete(config_maps(space, name)))
    held = accepted(api.merge(config_maps(space, name), {"metadata": {"finalizers": [HOLD]}}))
    assert held["metadata"]["finalizers"] == [HOLD]
    accepted(api.json_patch(config_maps(space, name), [{"op": "remove", "path": "/metadata/finalizers/0"}]))
    assert gone(api, config_maps(space, name))()


def test_an_object_that_is_being_deleted_cannot_be_created_again(api: Api, space: str, name: str) -> None:
    make(api, config_maps(space), config_map(name, finalizers=[HOLD]))
    accepted(api.delete(config_maps(space, name)))
    answer = api.post(config_maps(space), config_map(name))
    refused(answer, 409, "AlreadyExists")
    assert answer.body["message"] == f'object is being deleted: configmaps "{name}" already exists'
    accepted(api.merge(config_maps(space, name), {"metadata": {"finalizers": None}}))


def test_no_finalizer_can_be_added_once_deletion_began(api: Api, space: str, name: str) -> None:
    make(api, config_maps(space), config_map(name, finalizers=[HOLD]))
    accepted(api.delete(config_maps(space, name)))
    more = {"metadata": {"finalizers": [HOLD, "example.com/late"]}}
    refused(api.merge(config_maps(space, name), more), 422, "Invalid", "metadata.finalizers")
    accepted(api.merge(config_maps(space, name), {"metadata": {"finalizers": None}}))


def test_an_object_that_is_being_deleted_can_still_be_changed(api: Api, space: str, name: str) -> None:
    make(api, config_maps(space), config_map(name, finalizers=[HOLD]))
    accepted(api.delete(config_maps(space, name)))
    assert accepted(api.merge(config_maps(space, name), {"data": {"a": "1"}}))["data"] == {"a": "1"}
    accepted(api.merge(config_maps(space, name), {"metadata": {"finalizers": None}}))


def test_the_name_of_an_object_that_is_being_deleted_is_taken(api: Api, space: str, name: str) -> None:
    make(api, config_maps(space), config_map(name, finalizers=[HOLD]))
    accepted(api.delete(config_maps(space, name)))
    refused(api.post(config_maps(space), config_map(name)), 409, "AlreadyExists")
    accepted(api.merge(config_maps(space, name), {"metadata": {"finalizers": None}}))


def test_the_deletion_timestamp_cannot_be_taken_back(api: Api, space: str, name: str) -> None:
    make(api, config_maps(space), config_map(name, finalizers=[HOLD]))
    accepted(api.delete(config_maps(space, name)))
    body = config_map(name, finalizers=[HOLD])
    assert accepted(api.put(config_maps(space, name), body))["metadata"]["deletionTimestamp"]
    accepted(api.merge(config_maps(space, name), {"metadata": {"finalizers": None}}))


def test_marking_an_object_for_deletion_raises_its_generation(api: Api, space: str, name: str) -> None:
    body = job(name)
    body["metadata"]["finalizers"] = [HOLD]
    make(api, jobs(space), body)
    accepted(api.delete(jobs(space, name), propagationPolicy="Background"))
    assert accepted(api.get(jobs(space, name)))["metadata"]["generation"] == 2
    accepted(api.merge(jobs(space, name), {"metadata": {"finalizers": None}}))


def test_a_deletion_may_be_bound_to_a_uid(api: Api, space: str, name: str) -> None:
    held = make(api, config_maps(space), config_map(name))
    wrong = {"preconditions": {"uid": "11111111-1111-1111-1111-111111111111"}}
    assert refused(api.delete(config_maps(space, name), wrong), 409, "Conflict")["name"] == name
    accepted(api.delete(config_maps(space, name), {"preconditions": {"uid": held["metadata"]["uid"]}}))


def test_a_deletion_may_be_bound_to_a_version(api: Api, space: str, name: str) -> None:
    old = make(api, config_maps(space), config_map(name))["metadata"]["resourceVersion"]
    new = accepted(api.merge(config_maps(space, name), {"data": {"a": "1"}}))["metadata"]["resourceVersion"]
    refused(api.delete(config_maps(space, name), {"preconditions": {"resourceVersion": old}}), 409, "Conflict")
    accepted(api.delete(config_maps(space, name), {"preconditions": {"resourceVersion": new}}))


def test_delete_options_may_name_their_kind(api: Api, space: str, name: str) -> None:
    make(api, config_maps(space), config_map(name))
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
    accepted(api.delete(config_maps(space, name), options))


def test_a_propagation_policy_that_does_not_exist_is_invalid(api: Api, space: str, name: str) -> None:
    make(api, config_maps(space), config_map(name))
    invalid(api.delete(config_maps(space, name), {"propagationPolicy": "Sideways"}), "propagationPolicy")


def test_orphan_dependents_and_a_propagation_policy_exclude_each_other(api: Api, space: str, name: str) -> None:
    make(api, config_maps(space), config_map(name))
    options = {"propagationPolicy": "Orphan", "orphanDependents": True}
    invalid(api.delete(config_maps(space, name), options), "propagationPolicy")


def test_a_collection_is_deleted_and_its_objects_are_answered(api: Api, own_space: str) -> None:
    for name in ("a", "b"):
        make(api, path("v1/secrets", own_space), {"metadata": {"name": name}})
    body = accepted(api.delete(path("v1/secrets", own_space)))
    assert body["kind"] == "SecretList"
    assert [item["metadata"]["name"] for item in body["items"]] == ["a", "b"]
    assert accepted(api.get(path("v1/secrets", own_space)))["items"] == []


def test_of_a_collection_only_what_is_selected_is_deleted(api: Api, own_space: str) -> None:
    for name, color in {"a": "red", "b": "blue", "c": "red"}.items():
        make(api, path("v1/secrets", own_space), {"metadata": {"name": name, "labels": {"color": color}}})
    accepted(api.delete(path("v1/secrets", own_space), labelSelector="color=red", fieldSelector="metadata.name!=c"))
    body = accepted(api.get(path("v1/secrets", own_space)))
    assert [item["metadata"]["name"] for item in body["items"]] == ["b", "c"]


def test_a_pod_that_was_never_bound_goes_at_once(api: Api, space: str, name: str) -> None:
    make(api, pods(space), pod(name))
    body = accepted(api.delete(pods(space, name)))
    assert body["kind"] == "Pod"
    assert gone(api, pods(space, name))()


def test_a_bound_pod_is_given_its_grace_period(
    api: Api, space: str, shared: Callable[[str, Any], Answer], name: str
) -> None:
    shared(path("v1/nodes"), node(name))
    make(api, pods(space), pod(name, nodeName=name, terminationGracePeriodSeconds=600))
    body = accepted(api.delete(pods(space, name)))
    assert (body["kind"], body["metadata"]["deletionGracePeriodSeconds"]) == ("Pod", 600)
    held = accepted(api.get(pods(space, name)))["metadata"]
    assert (held["deletionTimestamp"] > held["creationTimestamp"], held["deletionGracePeriodSeconds"]) == (True, 600)
    accepted(api.delete(pods(space, name), gracePeriodSeconds=0))
    assert gone(api, pods(space, name))()


def test_a_grace_period_can_be_shortened_but_not_lengthened(
    api: Api, space: str, shared: Callable[[str, Any], Answer], name: str
) -> None:
    shared(path("v1/nodes"), node(name))
    make(api, pods(space), pod(name, nodeName=name))
    accepted(api.delete(pods(space, name), {"gracePeriodSeconds": 300}))
    accepted(api.delete(pods(space, name), {"gracePeriodSeconds": 200}))
    assert accepted(api.get(pods(space, name)))["metadata"]["deletionGracePeriodSeconds"] == 200
    accepted(api.delete(pods(space, name), {"gracePeriodSeconds": 400}))
    assert accepted(api.get(pods(space, name)))["metadata"]["deletionGracePeriodSeconds"] == 200
    accepted(api.delete(pods(space, name), gracePeriodSeconds=0))


def test_a_bound_pod_that_has_ended_goes_at_once(
    api: Api, space: str, shared: Callable[[str, Any], Answer], name: str
) -> None:
    shared(path("v1/nodes"), node(name))
    make(api, pods(space), pod(name, nodeName=name))
    accepted(api.merge(pods(space, name, "status"), {"status": {"phase": "Succeeded"}}))
    accepted(api.delete(pods(space, name)))
    assert gone(api, pods(space, name))()


def test_a_grace_period_of_zero_removes_a_bound_pod_at_once(
    api: Api, space: str, shared: Callable[[str, Any], Answer], name: str
) -> None:
    shared(path("v1/nodes"), node(name))
    make(api, pods(space), pod(name, nodeName=name))
    accepted(api.delete(pods(space, name), {"gracePeriodSeconds": 0}))
    assert gone(api, pods(space, name))()


def test_a_finalizer_holds_a_pod_past_its_grace_period(
    api: Api, space: str, shared: Callable[[str, Any], Answer], name: str
) -> None:
    shared(path("v1/nodes"), node(name))
    make(api, pods(space), pod(name, {"finalizers": [HOLD]}, nodeName=name))
    accepted(api.delete(pods(space, name), {"gracePeriodSeconds": 0}))
    held = accepted(api.get(pods(space, name)))["metadata"]
    assert (held["finalizers"], held["deletionGracePeriodSeconds"]) == ([HOLD], 0)
    accepted(api.merge(pods(space, name), {"metadata": {"finalizers": None}}))
    assert gone(api, pods(space, name))()
