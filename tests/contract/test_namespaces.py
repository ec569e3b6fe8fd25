"""Namespaces: what they hold goes with them, and nothing new may be put into one that is going."""

from __future__ import annotations

from contract.client import Api
from contract.expect import accepted, eventually, gone, invalid, make, refused
from contract.objects import config_map, config_maps, path, pod, pods


def test_a_namespace_is_active_and_labelled_with_its_name(api: Api, space: str) -> None:
    held = accepted(api.get(path("v1/namespaces", name=space)))
    assert held["status"] == {"phase": "Active"}
    assert held["spec"] == {"finalizers": ["kubernetes"]}
    assert held["metadata"]["labels"] == {"kubernetes.io/metadata.name": space}


def test_the_default_namespace_is_there(api: Api) -> None:
    assert accepted(api.get(path("v1/namespaces", name="default")))["status"]["phase"] == "Active"


def test_a_namespace_takes_its_contents_with_it(api: Api, name: str) -> None:
    make(api, path("v1/namespaces"), {"metadata": {"name": name}})
    make(api, config_maps(name), config_map("a"))
    make(api, pods(name), pod("b"))
    body = accepted(api.delete(path("v1/namespaces", name=name)))
    assert body["kind"] == "Namespace"
    assert body["status"]["phase"] == "Terminating"
    eventually(gone(api, path("v1/namespaces", name=name)))
    assert accepted(api.get(config_maps(name)))["items"] == []
    assert accepted(api.get(pods(name)))["items"] == []


def test_in_a_namespace_that_is_going_things_change_but_nothing_can_be_made(api: Api, name: str) -> None:
    make(api, path("v1/namespaces"), {"metadata": {"name": name}})
    make(api, config_maps(name), config_map("a", finalizers=["example.com/hold"]))
    accepted(api.delete(path("v1/namespaces", name=name)))
    details = refused(api.post(config_maps(name), config_map("b")), 403, "Forbidden")
    assert details["causes"][0]["reason"] == "NamespaceTerminating"
    assert accepted(api.merge(config_maps(name, "a"), {"data": {"x": "1"}}))["data"] == {"x": "1"}
    accepted(api.merge(config_maps(name, "a"), {"metadata": {"finalizers": None}}))


def test_the_name_of_a_namespace_is_a_label(api: Api) -> None:
    invalid(api.post(path("v1/namespaces"), {"metadata": {"name": "with.dot"}}), "metadata.name")
    invalid(api.post(path("v1/namespaces"), {"metadata": {"name": "n" * 64}}), "metadata.name")


def test_the_default_namespace_cannot_be_deleted(api: Api) -> None:
    refused(api.delete(path("v1/namespaces", name="default")), 403, "Forbidden")


def test_namespaces_cannot_be_deleted_all_at_once(api: Api) -> None:
    refused(api.delete(path("v1/namespaces")), 405, "MethodNotAllowed")
