"""Patches: JSON patch, merge patch and strategic merge patch, and what each does to lists."""

from __future__ import annotations

from typing import Any

import pytest

from contract.client import JSON, JSON_PATCH, Api
from contract.expect import accepted, invalid, make, refused
from contract.objects import config_map, config_maps, container, deployment, deployments, job, jobs, pod, pods, template


def test_a_json_patch_adds_replaces_removes_moves_and_copies(api: Api, space: str, name: str) -> None:
    make(api, config_maps(space), config_map(name, {"a": "1", "b": "2", "c": "3"}))
    steps = [
        {"op": "test", "path": "/data/a", "value": "1"},
        {"op": "replace", "path": "/data/a", "value": "9"},
        {"op": "remove", "path": "/data/b"},
        {"op": "add", "path": "/data/d", "value": "4"},
        {"op": "move", "from": "/data/c", "path": "/data/e"},
        {"op": "copy", "from": "/data/e", "path": "/data/f"},
    ]
    held = accepted(api.json_patch(config_maps(space, name), steps))
    assert held["data"] == {"a": "9", "d": "4", "e": "3", "f": "3"}


def test_a_json_patch_reaches_keys_with_slashes_and_places_in_lists(api: Api, space: str, name: str) -> None:
    make(api, config_maps(space), config_map(name, annotations={"example.com/a": "1"}, finalizers=["example.com/x"]))
    steps: list[dict[str, Any]] = [
        {"op": "replace", "path": "/metadata/annotations/example.com~1a", "value": "2"},
        {"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/z"},
        {"op": "add", "path": "/metadata/finalizers/1", "value": "example.com/y"},
        {"op": "remove", "path": "/metadata/finalizers/0"},
    ]
    held = accepted(api.json_patch(config_maps(space, name), steps))["metadata"]
    assert held["annotations"] == {"example.com/a": "2"}
    assert held["finalizers"] == ["example.com/y", "example.com/z"]
    accepted(api.json_patch(config_maps(space, name), [{"op": "remove", "path": "/metadata/finalizers"}]))


@pytest.mark.parametrize(
    "step",
    [
        {"op": "test", "path": "/data/a", "value": "other"},
        {"op": "remove", "path": "/data/missing"},
        {"op": "add", "path": "/missing/deep/key", "value": "1"},
    ],
)
def test_a_json_patch_with_a_step_that_fails_changes_nothing(
    api: Api, space: str, name: str, step: dict[str, Any]
) -> None:
    held = make(api, config_maps(space), config_map(name, {"a": "1"}))
    steps = [{"op": "replace", "path": "/data/a", "value": "2"}, step]
    refused(api.json_patch(config_maps(space, name), steps), 422, "Invalid")
    assert accepted(api.get(config_maps(space, name))) == held


def test_a_json_patch_has_to_be_a_list_of_steps(api: Api, space: str, name: str) -> None:
    make(api, config_maps(space), config_map(name))
    refused(api.json_patch(config_maps(space, name), {"data": {"a": "1"}}), 400, "BadRequest")


def test_a_merge_patch_sets_removes_and_leaves_alone(api: Api, space: str, name: str) -> None:
    make(api, config_maps(space), config_map(name, {"a": "1", "b": "2"}, labels={"x": "1"}))
    held = accepted(api.merge(config_maps(space, name), {"data": {"a": None, "c": "3"}}))
    assert held["data"] == {"b": "2", "c": "3"}
    assert held["metadata"]["labels"] == {"x": "1"}


def test_a_merge_patch_replaces_lists(api: Api, space: str, name: str) -> None:
    both = template(containers=[container("one"), container("two")])
    make(api, deployments(space), deployment(name, template=both))
    change = {"spec": {"template": {"spec": {"containers": [container("three")]}}}}
    held = accepted(api.merge(deployments(space, name), change))
    assert [each["name"] for each in held["spec"]["template"]["spec"]["containers"]] == ["three"]


def test_a_strategic_patch_merges_containers_by_name(api: Api, space: str, name: str) -> None:
    both = template(containers=[container("one"), container("two")])
    make(api, deployments(space), deployment(name, template=both))
    change = {"spec": {"template": {"spec": {"containers": [{"name": "two", "image": "other:2"}]}}}}
    held = accepted(api.strategic(deployments(space, name), change))["spec"]["template"]["spec"]["containers"]
    assert {each["name"]: each["image"] for each in held} == {"one": "example.com/image:1", "two": "other:2"}


def test_a_strategic_patch_merges_environment_ports_and_volumes_by_their_keys(api: Api, space: str, name: str) -> None:
    main = container(env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], ports=[{"containerPort": 80}])
    make(api, deployments(space), deployment(name, template=template(containers=[main])))
    change = {
        "name": "main",
        "env": [{"name": "B", "value": "3"}, {"name": "C", "value": "4"}],
        "ports": [{"containerPort": 81}],
    }
    volumes = [{"name": "v", "emptyDir": {}}]
    patch = {"spec": {"template": {"spec": {"containers": [change], "volumes": volumes}}}}
    held = accepted(api.strategic(deployments(space, name), patch))["spec"]["template"]["spec"]
    (kept,) = held["containers"]
    assert {each["name"]: each["value"] for each in kept["env"]} == {"A": "1", "B": "3", "C": "4"}
    assert {each["containerPort"] for each in kept["ports"]} == {80, 81}
    assert held["volumes"] == volumes


def test_a_strategic_patch_replaces_lists_that_have_no_key(api: Api, space: str, name: str) -> None:
    inside = template(
        containers=[container(command=["a", "b"])],
        tolerations=[{"key": "one", "operator": "Exists"}, {"key": "two", "operator": "Exists"}],
    )
    make(api, deployments(space), deployment(name, template=inside))
    patch = {"containers": [{"name": "main", "command": ["c"]}], "tolerations": [{"key": "x", "operator": "Exists"}]}
    held = accepted(api.strategic(deployments(space, name), {"spec": {"template": {"spec": patch}}}))
    inside = held["spec"]["template"]["spec"]
    assert inside["containers"][0]["command"] == ["c"]
    assert inside["tolerations"] == [{"key": "x", "operator": "Exists"}]


def test_a_strategic_patch_merges_finalizers_as_a_set(api: Api, space: str, name: str) -> None:
    make(api, config_maps(space), config_map(name, finalizers=["example.com/a"]))
    held = accepted(api.strategic(config_maps(space, name), {"metadata": {"finalizers": ["example.com/b"]}}))
    assert set(held["metadata"]["finalizers"]) == {"example.com/a", "example.com/b"}
    gone = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}}
    held = accepted(api.strategic(config_maps(space, name), gone))
    assert held["metadata"]["finalizers"] == ["example.com/b"]
    accepted(api.merge(config_maps(space, name), {"metadata": {"finalizers": None}}))


def test_a_strategic_patch_merges_owner_references_by_uid(api: Api, space: str, name: str) -> None:
    top = make(api, config_maps(space), config_map(f"{name}-top"))["metadata"]["uid"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": f"{name}-top", "uid": top}
    make(api, config_maps(space), config_map(name, ownerReferences=[reference]))
    change = {"metadata": {"ownerReferences": [{"uid": top, "controller": True}]}}
    held = accepted(api.strategic(config_maps(space, name), change))["metadata"]["ownerReferences"]
    assert held == [{**reference, "controller": True}]


def test_a_directive_deletes_an_item_of_a_keyed_list(api: Api, space: str, name: str) -> None:
    both = template(containers=[container("one"), container("two")])
    make(api, deployments(space), deployment(name, template=both))
    change = {"spec": {"template": {"spec": {"containers": [{"name": "one", "$patch": "delete"}]}}}}
    held = accepted(api.strategic(deployments(space, name), change))["spec"]["template"]["spec"]["containers"]
    assert [each["name"] for each in held] == ["two"]


def test_a_directive_replaces_a_keyed_list(api: Api, space: str, name: str) -> None:
    both = template(containers=[container("one"), container("two")])
    make(api, deployments(space), deployment(name, template=both))
    change = {"spec": {"template": {"spec": {"containers": [{"$patch": "replace"}, container("three")]}}}}
    held = accepted(api.strategic(deployments(space, name), change))["spec"]["template"]["spec"]["containers"]
    assert [each["name"] for each in held] == ["three"]


def test_a_directive_replaces_a_map(api: Api, space: str, name: str) -> None:
    make(api, config_maps(space), config_map(name, labels={"a": "1", "b": "2"}))
    change = {"metadata": {"labels": {"$patch": "replace", "c": "3"}}}
    assert accepted(api.strategic(config_maps(space, name), change))["metadata"]["labels"] == {"c": "3"}


def test_a_directive_orders_a_keyed_list(api: Api, space: str, name: str) -> None:
    both = template(containers=[container("one"), container("two")])
    make(api, deployments(space), deployment(name, template=both))
    change = {
        "$setElementOrder/containers": [{"name": "three"}, {"name": "two"}, {"name": "one"}],
        "containers": [container("three")],
    }
    patch = {"spec": {"template": {"spec": change}}}
    held = accepted(api.strategic(deployments(space, name), patch))["spec"]["template"]["spec"]["containers"]
    assert [each["name"] for each in held] == ["three", "two", "one"]


def test_a_directive_keeps_only_the_named_keys_of_a_strategy(api: Api, space: str, name: str) -> None:
    make(api, deployments(space), deployment(name))
    change = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    assert accepted(api.strategic(deployments(space, name), change))["spec"]["strategy"] == {"type": "Recreate"}


def test_without_that_directive_what_was_there_stays_and_is_refused(api: Api, space: str, name: str) -> None:
    make(api, deployments(space), deployment(name))
    change = {"spec": {"strategy": {"type": "Recreate"}}}
    invalid(api.strategic(deployments(space, name), change), "spec.strategy.rollingUpdate")


def test_an_item_of_a_keyed_list_needs_its_key(api: Api, space: str, name: str) -> None:
    make(api, deployments(space), deployment(name))
    change = {"spec": {"template": {"spec": {"containers": [{"image": "x:1"}]}}}}
    assert api.strategic(deployments(space, name), change).status >= 400
    held = accepted(api.get(deployments(space, name)))
    assert len(held["spec"]["template"]["spec"]["containers"]) == 1


def test_null_in_a_strategic_patch_removes_the_field(api: Api, space: str, name: str) -> None:
    make(api, jobs(space), job(name, activeDeadlineSeconds=100))
    held = accepted(api.strategic(jobs(space, name), {"spec": {"activeDeadlineSeconds": None}}))
    assert "activeDeadlineSeconds" not in held["spec"]


def test_defaults_come_back_where_a_patch_removes_them(api: Api, space: str, name: str) -> None:
    make(api, jobs(space), job(name, backoffLimit=2))
    assert accepted(api.merge(jobs(space, name), {"spec": {"backoffLimit": None}}))["spec"]["backoffLimit"] == 6


def test_a_patch_of_a_missing_object_is_not_found(api: Api, space: str, name: str) -> None:
    assert refused(api.merge(pods(space, name), {}), 404, "NotFound") == {"name": name, "kind": "pods"}


def test_a_patch_of_an_unknown_media_type_is_refused(api: Api, space: str, name: str) -> None:
    make(api, config_maps(space), config_map(name))
    refused(api.request("PATCH", config_maps(space, name), {}, JSON), 415, "UnsupportedMediaType")
    refused(api.request("PATCH", config_maps(space, name), {}, "text/plain"), 415, "UnsupportedMediaType")


@pytest.mark.parametrize("kind", ["merge-patch", "strategic-merge-patch", "json-patch"])
def test_a_patch_that_is_no_json_is_a_bad_request(api: Api, space: str, name: str, kind: str) -> None:
    make(api, config_maps(space), config_map(name))
    answer = api.request("PATCH", config_maps(space, name), b"{", f"application/{kind}+json")
    refused(answer, 400, "BadRequest")


def test_a_patch_cannot_change_the_name(api: Api, space: str, name: str) -> None:
    make(api, config_maps(space), config_map(name))
    refused(api.merge(config_maps(space, name), {"metadata": {"name": "other"}}), 400, "BadRequest")


def test_a_patch_cannot_change_the_namespace(api: Api, space: str, name: str) -> None:
    make(api, config_maps(space), config_map(name))
    refused(api.merge(config_maps(space, name), {"metadata": {"namespace": "other"}}), 400, "BadRequest")


def test_a_patch_cannot_change_the_uid(api: Api, space: str, name: str) -> None:
    make(api, config_maps(space), config_map(name))
    change = {"metadata": {"uid": "11111111-1111-1111-1111-111111111111"}}
    invalid(api.merge(config_maps(space, name), change), "metadata.uid")


def test_a_patch_cannot_change_the_creation_timestamp(api: Api, space: str, name: str) -> None:
    held = make(api, config_maps(space), config_map(name))
    change = {"metadata": {"creationTimestamp": "2001-01-01T00:00:00Z"}}
    assert accepted(api.merge(config_maps(space, name), change)) == held


def test_a_patch_that_makes_the_object_invalid_is_refused(api: Api, space: str, name: str) -> None:
    make(api, deployments(space), deployment(name))
    invalid(api.merge(deployments(space, name), {"spec": {"replicas": -1}}), "spec.replicas")


def test_a_patch_of_the_wrong_type_is_refused(api: Api, space: str, name: str) -> None:
    make(api, deployments(space), deployment(name))
    refused(api.merge(deployments(space, name), {"spec": {"replicas": "many"}}), 422, "Invalid")


def test_a_json_patch_works_on_a_pod_with_defaults(api: Api, space: str, name: str) -> None:
    make(api, pods(space), pod(name))
    step = {"op": "replace", "path": "/spec/containers/0/image", "value": "other:3"}
    answer = api.request("PATCH", pods(space, name), [step], JSON_PATCH)
    assert accepted(answer)["spec"]["containers"][0]["image"] == "other:3"
