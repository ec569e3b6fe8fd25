"""Creating objects: names, places, bodies that are wrong, and how refusals look."""

from __future__ import annotations

import json
import re

import pytest

from contract.client import Api
from contract.expect import accepted, invalid, make, refused
from contract.objects import config_map, config_maps, deployments, job, jobs, path, pod, pods


def test_a_created_object_is_answered_whole_with_kind_and_version(api: Api, space: str, name: str) -> None:
    held = make(api, config_maps(space), config_map(name, {"a": "1"}))
    assert (held["kind"], held["apiVersion"], held["data"]) == ("ConfigMap", "v1", {"a": "1"})
    assert held["metadata"]["namespace"] == space
    assert accepted(api.get(config_maps(space, name))) == held


def test_kind_and_version_may_be_left_out_of_the_body(api: Api, space: str, name: str) -> None:
    held = make(api, jobs(space), {"metadata": {"name": name}, "spec": job(name)["spec"]})
    assert (held["kind"], held["apiVersion"]) == ("Job", "batch/v1")


def test_a_name_that_is_taken_already_exists(api: Api, space: str, name: str) -> None:
    make(api, config_maps(space), config_map(name))
    details = refused(api.post(config_maps(space), config_map(name)), 409, "AlreadyExists")
    assert details == {"name": name, "kind": "configmaps"}


def test_a_failure_is_a_status_with_empty_metadata(api: Api, space: str, name: str) -> None:
    answer = api.get(jobs(space, name))
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f'jobs.batch "{name}" not found',
        "reason": "NotFound",
        "details": {"name": name, "group": "batch", "kind": "jobs"},
        "code": 404,
    }


def test_a_generated_name_is_the_prefix_and_five_characters(api: Api, space: str, name: str) -> None:
    body = {"metadata": {"generateName": f"{name}-"}}
    first, second = (make(api, config_maps(space), body)["metadata"] for _ in range(2))
    assert re.fullmatch(rf"{name}-[a-z0-9]{{5}}", first["name"])
    assert first["generateName"] == f"{name}-"
    assert first["name"] != second["name"]


def test_a_name_wins_over_a_prefix(api: Api, space: str, name: str) -> None:
    held = make(api, config_maps(space), config_map(name, generateName="other-"))["metadata"]
    assert (held["name"], held["generateName"]) == (name, "other-")


def test_a_long_prefix_is_cut_so_that_the_name_stays_valid(api: Api, space: str) -> None:
    held = make(api, pods(space), {**pod("x"), "metadata": {"generateName": "p" * 80}})["metadata"]
    assert re.fullmatch(r"p{58}[a-z0-9]{5}", held["name"])


def test_an_object_needs_a_name_or_a_prefix(api: Api, space: str) -> None:
    details = invalid(api.post(config_maps(space), {"metadata": {}}), "metadata.name")
    assert details["kind"] == "ConfigMap"
    assert details["causes"][0]["reason"] == "FieldValueRequired"


@pytest.mark.parametrize("wrong", ["Upper", "under_score", "-dash", "dash-", "sp ace", "a" * 254])
def test_a_name_that_is_no_dns_name_is_invalid(api: Api, space: str, wrong: str) -> None:
    details = invalid(api.post(config_maps(space), config_map(wrong)), "metadata.name")
    assert details["name"] == wrong
    assert details["causes"][0]["reason"] == "FieldValueInvalid"


def test_an_invalid_object_names_group_kind_and_every_field_that_is_wrong(api: Api, space: str) -> None:
    details = invalid(
        api.post(deployments(space), {"metadata": {"name": "Bad"}}),
        "metadata.name",
        "spec.selector",
        "spec.template.metadata.labels",
        "spec.template.spec.containers",
    )
    assert (details["name"], details["group"], details["kind"]) == ("Bad", "apps", "Deployment")
    assert all(cause["message"] and cause["reason"] for cause in details["causes"])


def test_labels_and_annotations_have_to_be_well_formed(api: Api, space: str, name: str) -> None:
    body = config_map(name, labels={"bad key": "x", "good": "bad value!"}, annotations={"bad key": "y"})
    invalid(api.post(config_maps(space), body), "metadata.labels", "metadata.annotations")


def test_the_namespace_in_the_body_may_not_be_another_one(api: Api, space: str, name: str) -> None:
    refused(api.post(config_maps(space), config_map(name, namespace="default")), 400, "BadRequest")


def test_a_namespace_that_does_not_exist_is_not_found(api: Api, name: str) -> None:
    details = refused(api.post(config_maps(name), config_map("x")), 404, "NotFound")
    assert details == {"name": name, "kind": "namespaces"}


def test_a_body_of_another_kind_is_a_bad_request(api: Api, space: str, name: str) -> None:
    refused(api.post(pods(space), config_map(name)), 400, "BadRequest")


def test_a_body_of_another_version_is_a_bad_request(api: Api, space: str, name: str) -> None:
    refused(api.post(pods(space), {**pod(name), "apiVersion": "v9"}), 400, "BadRequest")


def test_a_body_of_another_group_is_a_bad_request(api: Api, space: str, name: str) -> None:
    refused(api.post(jobs(space), {**job(name), "apiVersion": "apps/v1"}), 400, "BadRequest")


@pytest.mark.parametrize("broken", [b"", b"{", b"[]", b'"text"', b"{'a': 1}", b"\xff\xfe"])
def test_a_body_that_is_no_json_object_is_a_bad_request(api: Api, space: str, broken: bytes) -> None:
    refused(api.request("POST", config_maps(space), broken), 400, "BadRequest")


def test_a_field_of_the_wrong_type_is_a_bad_request(api: Api, space: str, name: str) -> None:
    refused(api.post(pods(space), pod(name, containers="main")), 400, "BadRequest")
    refused(api.post(jobs(space), job(name, parallelism="two")), 400, "BadRequest")
    refused(api.post(config_maps(space), {**config_map(name), "data": {"a": 1}}), 400, "BadRequest")


def test_a_body_of_more_than_three_megabytes_is_too_large(api: Api, space: str, name: str) -> None:
    body = json.dumps(config_map(name, {"a": "x" * 4_000_000})).encode()
    refused(api.request("POST", config_maps(space), body), 413, "RequestEntityTooLarge")


def test_a_body_may_be_yaml(api: Api, space: str, name: str) -> None:
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  a: '1'\n"
    answer = api.request("POST", config_maps(space), text.encode(), "application/yaml")
    assert accepted(answer, 201)["data"] == {"a": "1"}


def test_a_body_of_an_unknown_media_type_is_refused(api: Api, space: str) -> None:
    answer = api.request("POST", config_maps(space), b"x", "application/x-unknown")
    refused(answer, 415, "UnsupportedMediaType")


def test_an_object_is_created_in_its_collection_not_at_its_name(api: Api, space: str, name: str) -> None:
    refused(api.post(config_maps(space, name), config_map(name)), 405, "MethodNotAllowed")


def test_null_fields_are_as_if_left_out(api: Api, space: str, name: str) -> None:
    held = make(api, config_maps(space), {**config_map(name, labels=None), "data": None})
    assert "labels" not in held["metadata"]
    assert "data" not in held


def test_an_owner_reference_has_to_be_complete(api: Api, space: str, name: str) -> None:
    body = config_map(name, ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": ""}])
    invalid(api.post(config_maps(space), body), "metadata.ownerReferences.uid")


def test_an_object_has_at_most_one_controller(api: Api, space: str, name: str) -> None:
    def reference(uid: str) -> dict[str, object]:
        return {"apiVersion": "v1", "kind": "Pod", "name": uid, "uid": uid, "controller": True}

    body = config_map(name, ownerReferences=[reference("a"), reference("b")])
    invalid(api.post(config_maps(space), body), "metadata.ownerReferences")


def test_a_finalizer_has_to_be_a_qualified_name(api: Api, space: str, name: str) -> None:
    invalid(api.post(config_maps(space), config_map(name, finalizers=["bad name"])), "metadata.finalizers")


def test_a_cluster_wide_kind_cannot_be_made_in_a_namespace(api: Api, space: str) -> None:
    assert api.post(path("v1/nodes", space), {"metadata": {"name": "x"}}).status == 404
