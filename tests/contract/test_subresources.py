"""Binding, eviction and scale."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from contract.client import Answer, Api
from contract.expect import accepted, eventually, gone, invalid, make, refused
from contract.objects import Object, deployments, node, path, pod, pods, scaled

BUDGETS = "policy/v1/poddisruptionbudgets"
SCALED = [
    ("Deployment", "apps/v1/deployments"),
    ("ReplicaSet", "apps/v1/replicasets"),
    ("StatefulSet", "apps/v1/statefulsets"),
]


def binding(name: str, target: str, **metadata: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, **metadata},
        "target": {"apiVersion": "v1", "kind": "Node", "name": target},
    }


def eviction(name: str, **more: Any) -> Object:
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, **more}


def condition(held: Object, kind: str) -> Object:
    (found,) = [each for each in held["status"]["conditions"] if each["type"] == kind]
    assert isinstance(found, dict)
    return found


def test_a_binding_sets_the_node_and_says_scheduled(
    api: Api, space: str, shared: Callable[[str, Any], Answer], name: str
) -> None:
    shared(path("v1/nodes"), node(name))
    make(api, pods(space), pod(name))
    body = accepted(api.post(pods(space, name, "binding"), binding(name, name)), 201)
    assert (body["kind"], body["status"]) == ("Status", "Success")
    held = accepted(api.get(pods(space, name)))
    assert held["spec"]["nodeName"] == name
    assert condition(held, "PodScheduled")["status"] == "True"
    accepted(api.delete(pods(space, name), gracePeriodSeconds=0))


def test_a_pod_can_be_bound_through_the_collection_of_bindings(api: Api, space: str, name: str) -> None:
    make(api, pods(space), pod(name))
    accepted(api.post(path("v1/bindings", space), binding(name, "somewhere")), 201)
    assert accepted(api.get(pods(space, name)))["spec"]["nodeName"] == "somewhere"


def test_labels_and_annotations_of_the_binding_go_to_the_pod(api: Api, space: str, name: str) -> None:
    make(api, pods(space), pod(name, {"labels": {"a": "1"}}))
    given = binding(name, "somewhere", labels={"b": "2"}, annotations={"c": "3"})
    accepted(api.post(pods(space, name, "binding"), given), 201)
    held = accepted(api.get(pods(space, name)))["metadata"]
    assert (held["labels"], held["annotations"]) == ({"a": "1", "b": "2"}, {"c": "3"})


@pytest.mark.parametrize("target", ["first", "second"])
def test_a_bound_pod_cannot_be_bound_again(api: Api, space: str, name: str, target: str) -> None:
    make(api, pods(space), pod(name))
    accepted(api.post(pods(space, name, "binding"), binding(name, "first")), 201)
    details = refused(api.post(pods(space, name, "binding"), binding(name, target)), 409, "Conflict")
    assert details == {"name": name, "kind": "pods/binding"}
    assert accepted(api.get(pods(space, name)))["spec"]["nodeName"] == "first"


def test_a_gated_pod_cannot_be_bound(api: Api, space: str, name: str) -> None:
    make(api, pods(space), pod(name, schedulingGates=[{"name": "example.com/wait"}]))
    refused(api.post(pods(space, name, "binding"), binding(name, "somewhere")), 409, "Conflict")
    accepted(api.merge(pods(space, name), {"spec": {"schedulingGates": None}}))
    accepted(api.post(pods(space, name, "binding"), binding(name, "somewhere")), 201)


def test_a_pod_that_is_being_deleted_cannot_be_bound(api: Api, space: str, name: str) -> None:
    make(api, pods(space), pod(name, {"finalizers": ["example.com/hold"]}))
    accepted(api.delete(pods(space, name)))
    refused(api.post(pods(space, name, "binding"), binding(name, "somewhere")), 409, "Conflict")
    accepted(api.merge(pods(space, name), {"metadata": {"finalizers": None}}))


def test_a_missing_pod_cannot_be_bound(api: Api, space: str, name: str) -> None:
    refused(api.post(pods(space, name, "binding"), binding(name, "somewhere")), 404, "NotFound")


def test_a_binding_of_another_name_is_a_bad_request(api: Api, space: str, name: str) -> None:
    make(api, pods(space), pod(name))
    refused(api.post(pods(space, name, "binding"), binding("other", "somewhere")), 400, "BadRequest")


def test_a_binding_for_another_uid_is_a_conflict(api: Api, space: str, name: str) -> None:
    make(api, pods(space), pod(name))
    given = binding(name, "somewhere", uid="11111111-1111-1111-1111-111111111111")
    refused(api.post(pods(space, name, "binding"), given), 409, "Conflict")


def test_a_binding_needs_a_target(api: Api, space: str, name: str) -> None:
    make(api, pods(space), pod(name))
    given = {**binding(name, "somewhere"), "target": {"kind": "Node"}}
    assert api.post(pods(space, name, "binding"), given).status >= 400
    assert "nodeName" not in accepted(api.get(pods(space, name)))["spec"]


def test_a_pod_without_a_budget_is_evicted(api: Api, space: str, name: str) -> None:
    make(api, pods(space), pod(name))
    body = accepted(api.post(pods(space, name, "eviction"), eviction(name)), 201)
    assert (body["kind"], body["status"]) == ("Status", "Success")
    assert gone(api, pods(space, name))()


def test_an_evicted_pod_has_its_grace_period_and_says_why(
    api: Api, space: str, shared: Callable[[str, Any], Answer], name: str
) -> None:
    shared(path("v1/nodes"), node(name))
    make(api, pods(space), pod(name, nodeName=name))
    accepted(api.post(pods(space, name, "eviction"), eviction(name, deleteOptions={"gracePeriodSeconds": 77})), 201)
    held = accepted(api.get(pods(space, name)))
    assert held["metadata"]["deletionGracePeriodSeconds"] == 77
    why = condition(held, "DisruptionTarget")
    assert (why["status"], why["reason"]) == ("True", "EvictionByEvictionAPI")
    accepted(api.delete(pods(space, name), gracePeriodSeconds=0))


def running(api: Api, space: str, name: str) -> None:
    """A pod of the label `run` on a node of its name that is ready."""
    make(api, pods(space), pod(name, {"labels": {"run": name}}, nodeName=name))
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    accepted(api.strategic(pods(space, name, "status"), {"status": status}))


def budget(api: Api, space: str, name: str, minimum: int, allowed: int) -> None:
    """A budget over that pod, with the status that a controller computes, written by hand until it is there."""
    spec = {"minAvailable": minimum, "selector": {"matchLabels": {"run": name}}}
    make(api, path(BUDGETS, space), {"metadata": {"name": name}, "spec": spec})
    counts = {"currentHealthy": 1, "desiredHealthy": minimum, "expectedPods": 1, "disruptionsAllowed": allowed}

    def counted() -> bool:
        change = {"status": {"observedGeneration": 1, **counts}}
        held = accepted(api.merge(path(BUDGETS, space, name, "status"), change))["status"]
        return bool(held == {**held, "observedGeneration": 1, **counts})

    eventually(counted)


def test_a_budget_that_allows_none_stops_the_eviction(
    api: Api, space: str, shared: Callable[[str, Any], Answer], name: str
) -> None:
    shared(path("v1/nodes"), node(name))
    running(api, space, name)
    budget(api, space, name, minimum=1, allowed=0)
    details = refused(api.post(pods(space, name, "eviction"), eviction(name)), 429, "TooManyRequests")
    assert details["causes"][0]["reason"] == "DisruptionBudget"
    assert "deletionTimestamp" not in accepted(api.get(pods(space, name)))["metadata"]
    accepted(api.delete(pods(space, name), gracePeriodSeconds=0))


def test_a_budget_that_allows_one_lets_the_eviction_pass(
    api: Api, space: str, shared: Callable[[str, Any], Answer], name: str
) -> None:
    shared(path("v1/nodes"), node(name))
    running(api, space, name)
    budget(api, space, name, minimum=0, allowed=1)
    accepted(api.post(pods(space, name, "eviction"), eviction(name)), 201)
    assert "deletionTimestamp" in accepted(api.get(pods(space, name)))["metadata"]
    accepted(api.delete(pods(space, name), gracePeriodSeconds=0))


def test_a_pending_pod_is_evicted_whatever_the_budget(api: Api, space: str, name: str) -> None:
    make(api, pods(space), pod(name, {"labels": {"run": name}}))
    budget_spec = {"minAvailable": 1, "selector": {"matchLabels": {"run": name}}}
    make(api, path(BUDGETS, space), {"metadata": {"name": name}, "spec": budget_spec})
    accepted(api.post(pods(space, name, "eviction"), eviction(name)), 201)
    assert gone(api, pods(space, name))()


def test_a_missing_pod_cannot_be_evicted(api: Api, space: str, name: str) -> None:
    refused(api.post(pods(space, name, "eviction"), eviction(name)), 404, "NotFound")


@pytest.mark.parametrize(("kind", "resource"), SCALED)
def test_a_scale_shows_replicas_and_selector_under_the_name_of_its_object(
    api: Api, space: str, name: str, kind: str, resource: str
) -> None:
    held = make(api, path(resource, space), scaled(kind, name, replicas=0))
    scale = accepted(api.get(path(resource, space, name, "scale")))
    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert (scale["spec"], scale["status"]) == ({}, {"replicas": 0, "selector": "app=contract"})
    assert (scale["metadata"]["name"], scale["metadata"]["uid"]) == (name, held["metadata"]["uid"])


@pytest.mark.parametrize(("kind", "resource"), SCALED)
def test_a_patch_of_the_scale_changes_replicas_and_generation(
    api: Api, own_space: str, name: str, kind: str, resource: str
) -> None:
    make(api, path(resource, own_space), scaled(kind, name))
    scale = accepted(api.merge(path(resource, own_space, name, "scale"), {"spec": {"replicas": 2}}))
    assert scale["spec"] == {"replicas": 2}
    held = accepted(api.get(path(resource, own_space, name)))
    assert (held["spec"]["replicas"], held["metadata"]["generation"]) == (2, 2)


def test_a_scale_can_be_put(api: Api, own_space: str, name: str) -> None:
    make(api, deployments(own_space), scaled("Deployment", name))
    scale = {"metadata": {"name": name, "namespace": own_space}, "spec": {"replicas": 3}}
    assert accepted(api.put(deployments(own_space, name, "scale"), scale))["spec"] == {"replicas": 3}
    scale = {"metadata": {"name": name, "namespace": own_space, "resourceVersion": "1"}, "spec": {"replicas": 4}}
    refused(api.put(deployments(own_space, name, "scale"), scale), 409, "Conflict")
    assert accepted(api.get(deployments(own_space, name)))["spec"]["replicas"] == 3


def test_replicas_cannot_be_negative(api: Api, space: str, name: str) -> None:
    make(api, deployments(space), scaled("Deployment", name))
    details = invalid(api.merge(deployments(space, name, "scale"), {"spec": {"replicas": -1}}), "spec.replicas")
    assert (details["group"], details["kind"]) == ("autoscaling", "Scale")


def test_a_missing_object_has_no_scale(api: Api, space: str, name: str) -> None:
    refused(api.get(deployments(space, name, "scale")), 404, "NotFound")
