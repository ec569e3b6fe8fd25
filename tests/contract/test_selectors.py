"""Selecting by labels and by fields: which objects a selector lets through, and which selectors are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from contract.client import Answer, Api
from contract.expect import accepted, make, namespace, refused
from contract.objects import NOBODY, config_map, config_maps, node, path, pod, pods

LABELLED = {
    "plain": {},
    "red-small": {"color": "red", "size": "small"},
    "red-large": {"color": "red", "size": "large"},
    "blue": {"color": "blue", "example.com/owner": "me"},
    "empty": {"color": ""},
}


@pytest.fixture(scope="module")
def labelled(api: Api) -> Iterator[str]:
    with namespace(api) as space:
        for name, labels in LABELLED.items():
            make(api, path("v1/secrets", space), {"metadata": {"name": name, "labels": labels}})
        yield space


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("", {"plain", "red-small", "red-large", "blue", "empty"}),
        ("color=red", {"red-small", "red-large"}),
        ("color==red", {"red-small", "red-large"}),
        ("color = red , size=large", {"red-large"}),
        ("color!=red", {"plain", "blue", "empty"}),
        ("color=", {"empty"}),
        ("color", {"red-small", "red-large", "blue", "empty"}),
        ("!color", {"plain"}),
        ("color in (blue, red)", {"red-small", "red-large", "blue"}),
        ("color in (blue,)", {"blue", "empty"}),
        ("color notin (red)", {"plain", "blue", "empty"}),
        ("color in (red),size notin (small)", {"red-large"}),
        ("color,!size", {"blue", "empty"}),
        ("example.com/owner=me", {"blue"}),
        ("color=green", set()),
        ("size,size!=small", {"red-large"}),
    ],
)
def test_a_label_selector_finds(api: Api, labelled: str, selector: str, found: set[str]) -> None:
    body = accepted(api.get(path("v1/secrets", labelled), labelSelector=selector))
    assert {item["metadata"]["name"] for item in body["items"]} == found


@pytest.mark.parametrize(
    "selector",
    ["color in (", "color in red", "=red", "color=red,,size", "color==red=x", "bad key=1", "a in ()b"],
)
def test_a_label_selector_that_cannot_be_read_is_a_bad_request(api: Api, labelled: str, selector: str) -> None:
    refused(api.get(path("v1/secrets", labelled), labelSelector=selector), 400, "BadRequest")


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("metadata.name=blue", {"blue"}),
        ("metadata.name==blue", {"blue"}),
        ("metadata.name!=blue", {"plain", "red-small", "red-large", "empty"}),
        ("metadata.name!=blue,metadata.name!=plain", {"red-small", "red-large", "empty"}),
        ("metadata.name=none", set()),
        ("type=Opaque,metadata.name=blue", {"blue"}),
        ("type!=Opaque", set()),
    ],
)
def test_a_field_selector_finds(api: Api, labelled: str, selector: str, found: set[str]) -> None:
    body = accepted(api.get(path("v1/secrets", labelled), fieldSelector=selector))
    assert {item["metadata"]["name"] for item in body["items"]} == found


def test_fields_and_labels_select_together(api: Api, labelled: str) -> None:
    body = accepted(
        api.get(path("v1/secrets", labelled), fieldSelector="metadata.name!=red-small", labelSelector="color=red")
    )
    assert [item["metadata"]["name"] for item in body["items"]] == ["red-large"]


@pytest.mark.parametrize("selector", ["spec.unknown=x", "status.phase=x", "metadata.labels=x", "spec.nodeName=x"])
def test_a_field_that_the_kind_does_not_offer_is_a_bad_request(api: Api, labelled: str, selector: str) -> None:
    refused(api.get(config_maps(labelled), fieldSelector=selector), 400, "BadRequest")


def test_a_field_selector_that_cannot_be_read_is_a_bad_request(api: Api, labelled: str) -> None:
    refused(api.get(config_maps(labelled), fieldSelector="metadata.name"), 400, "BadRequest")


def test_objects_are_found_by_namespace(api: Api, space: str, own_space: str, name: str) -> None:
    for each in (space, own_space):
        make(api, config_maps(each), config_map(name))
    selector = f"metadata.namespace={own_space},metadata.name={name}"
    body = accepted(api.get(path("v1/configmaps"), fieldSelector=selector))
    assert [item["metadata"]["namespace"] for item in body["items"]] == [own_space]


def test_pods_are_found_by_node_phase_scheduler_and_restart_policy(
    api: Api, own_space: str, shared: Callable[[str, Any], Answer], name: str
) -> None:
    shared(path("v1/nodes"), node(name))
    make(api, pods(own_space), pod("free"))
    make(api, pods(own_space), pod("bound", nodeName=name, restartPolicy="Never"))
    accepted(api.merge(pods(own_space, "bound", "status"), {"status": {"phase": "Succeeded"}}))

    def found(selector: str) -> list[str]:
        body = accepted(api.get(pods(own_space), fieldSelector=selector))
        return [item["metadata"]["name"] for item in body["items"]]

    assert found(f"spec.nodeName={name}") == ["bound"]
    assert found("spec.nodeName=") == ["free"]
    assert found(f"spec.nodeName!={name}") == ["free"]
    assert found("status.phase=Pending") == ["free"]
    assert found("status.phase!=Pending") == ["bound"]
    assert found("status.phase!=Succeeded,status.phase!=Failed") == ["free"]
    assert found(f"spec.schedulerName={NOBODY}") == ["bound", "free"]
    assert found("spec.restartPolicy=Never") == ["bound"]


def test_nodes_are_found_by_whether_they_take_pods(api: Api, shared: Callable[[str, Any], Answer], name: str) -> None:
    shared(path("v1/nodes"), node(f"{name}-open", {"labels": {"run": name}}))
    shared(path("v1/nodes"), node(f"{name}-shut", {"labels": {"run": name}}, unschedulable=True))

    def found(selector: str) -> list[str]:
        body = accepted(api.get(path("v1/nodes"), fieldSelector=selector, labelSelector=f"run={name}"))
        return [item["metadata"]["name"] for item in body["items"]]

    assert found("spec.unschedulable=true") == [f"{name}-shut"]
    assert found("spec.unschedulable=false") == [f"{name}-open"]
    assert found(f"metadata.name={name}-open") == [f"{name}-open"]


def test_namespaces_are_found_by_phase(api: Api, space: str) -> None:
    selector = f"metadata.name={space},status.phase=Active"
    body = accepted(api.get(path("v1/namespaces"), fieldSelector=selector))
    assert [item["metadata"]["name"] for item in body["items"]] == [space]


def test_events_are_found_by_what_they_are_about(api: Api, own_space: str) -> None:
    for number, kind in enumerate(["Pod", "Job"]):
        about = {"kind": kind, "namespace": own_space, "name": f"it-{number}", "uid": f"uid-{number}"}
        event = {"metadata": {"name": f"e{number}"}, "involvedObject": about, "reason": f"R{number}", "type": "Normal"}
        make(api, path("v1/events", own_space), event)

    def found(selector: str) -> list[str]:
        body = accepted(api.get(path("v1/events", own_space), fieldSelector=selector))
        return [item["metadata"]["name"] for item in body["items"]]

    assert found("involvedObject.kind=Pod") == ["e0"]
    assert found("involvedObject.name=it-1") == ["e1"]
    assert found(f"involvedObject.uid=uid-1,involvedObject.namespace={own_space}") == ["e1"]
    assert found("reason=R0") == ["e0"]
    assert found("type=Normal") == ["e0", "e1"]
    assert found("involvedObject.kind!=Pod,type!=Warning") == ["e1"]
