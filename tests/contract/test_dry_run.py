"""Dry runs: the answer is that of the real thing, and nothing happens."""

from __future__ import annotations

from contract.client import Api
from contract.expect import accepted, invalid, make, refused
from contract.objects import config_map, config_maps, deployment, deployments, job, jobs, path, pod, pods

DRY = "All"


def test_a_dry_create_answers_with_defaults_and_leaves_nothing(api: Api, space: str, name: str) -> None:
    held = accepted(api.post(jobs(space), job(name), dryRun=DRY), 201)
    assert held["spec"]["backoffLimit"] == 6
    assert held["metadata"]["uid"]
    assert "resourceVersion" not in held["metadata"]
    refused(api.get(jobs(space, name)), 404, "NotFound")


def test_a_dry_create_is_validated(api: Api, space: str, name: str) -> None:
    make(api, config_maps(space), config_map(name))
    refused(api.post(config_maps(space), config_map(name), dryRun=DRY), 409, "AlreadyExists")
    invalid(api.post(config_maps(space), config_map("Bad"), dryRun=DRY), "metadata.name")


def test_a_dry_put_answers_with_the_change_and_does_not_keep_it(api: Api, space: str, name: str) -> None:
    held = make(api, config_maps(space), config_map(name, {"a": "1"}))
    changed = accepted(api.put(config_maps(space, name), {**held, "data": {"a": "2"}}, dryRun=DRY))
    assert changed["data"] == {"a": "2"}
    assert accepted(api.get(config_maps(space, name))) == held


def test_a_dry_patch_answers_with_the_change_and_does_not_keep_it(api: Api, space: str, name: str) -> None:
    held = make(api, jobs(space), job(name))
    for send in (api.merge, api.strategic):
        assert accepted(send(jobs(space, name), {"spec": {"backoffLimit": 1}}, dryRun=DRY))["spec"]["backoffLimit"] == 1
    assert accepted(api.get(jobs(space, name))) == held


def test_a_dry_apply_finds_conflicts_and_keeps_nothing(api: Api, space: str, name: str) -> None:
    accepted(api.apply(config_maps(space, name), config_map(name, {"a": "1"}), "one", dryRun=DRY), 201)
    refused(api.get(config_maps(space, name)), 404, "NotFound")
    held = accepted(api.apply(config_maps(space, name), config_map(name, {"a": "1"}), "one"), 201)
    refused(api.apply(config_maps(space, name), config_map(name, {"a": "2"}), "two", dryRun=DRY), 409, "Conflict")
    forced = accepted(api.apply(config_maps(space, name), config_map(name, {"a": "2"}), "two", force=True, dryRun=DRY))
    assert forced["data"] == {"a": "2"}
    assert accepted(api.get(config_maps(space, name))) == held


def test_a_dry_delete_deletes_nothing(api: Api, space: str, name: str) -> None:
    held = make(api, config_maps(space), config_map(name))
    accepted(api.delete(config_maps(space, name), dryRun=DRY))
    accepted(api.delete(config_maps(space, name), {"dryRun": [DRY]}))
    assert accepted(api.get(config_maps(space, name))) == held


def test_a_dry_deletion_of_a_collection_deletes_nothing(api: Api, own_space: str) -> None:
    make(api, path("v1/secrets", own_space), {"metadata": {"name": "a"}})
    accepted(api.delete(path("v1/secrets", own_space), dryRun=DRY))
    assert len(accepted(api.get(path("v1/secrets", own_space)))["items"]) == 1


def test_a_dry_status_write_changes_nothing(api: Api, space: str, name: str) -> None:
    held = make(api, pods(space), pod(name))
    changed = accepted(api.merge(pods(space, name, "status"), {"status": {"message": "x"}}, dryRun=DRY))
    assert changed["status"]["message"] == "x"
    assert accepted(api.get(pods(space, name))) == held


def test_a_dry_scale_and_a_dry_binding_change_nothing(api: Api, space: str, name: str) -> None:
    make(api, deployments(space), deployment(name))
    accepted(api.merge(deployments(space, name, "scale"), {"spec": {"replicas": 3}}, dryRun=DRY))
    assert accepted(api.get(deployments(space, name)))["spec"]["replicas"] == 0
    held = make(api, pods(space), pod(name))
    target = {"metadata": {"name": name}, "target": {"kind": "Node", "name": "somewhere"}}
    accepted(api.post(pods(space, name, "binding"), target, dryRun=DRY), 201)
    assert accepted(api.get(pods(space, name))) == held


def test_a_dry_run_is_all_or_nothing(api: Api, space: str, name: str) -> None:
    invalid(api.post(config_maps(space), config_map(name), dryRun="Some"), "dryRun")
    refused(api.get(config_maps(space, name)), 404, "NotFound")
