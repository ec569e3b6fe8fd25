"""The protocol around the objects: authentication, media types, and paths that do not exist."""

from __future__ import annotations

import pytest

from contract.client import Api
from contract.expect import accepted, make, refused
from contract.objects import config_map, config_maps, pods


def test_a_token_that_is_wrong_is_unauthorized(api: Api, space: str) -> None:
    other = api.as_user("wrong")
    refused(other.get(pods(space)), 401, "Unauthorized")
    refused(other.post(config_maps(space), config_map("x")), 401, "Unauthorized")
    other.close()


def test_without_a_token_objects_are_not_readable(api: Api, space: str) -> None:
    nobody = api.as_user(None)
    assert nobody.get(pods(space)).status in (401, 403)
    assert nobody.delete(pods(space)).status in (401, 403)
    nobody.close()


def test_a_watch_with_a_wrong_token_is_unauthorized(api: Api, space: str) -> None:
    with api.as_user("wrong").watch(pods(space)) as watch:
        assert watch.status == 401


@pytest.mark.parametrize(
    ("method", "last"),
    [("PUT", ""), ("PATCH", ""), ("POST", "/x"), ("BREW", ""), ("BREW", "/x")],
)
def test_a_method_that_makes_no_sense_here_is_not_allowed(api: Api, space: str, method: str, last: str) -> None:
    content = "application/merge-patch+json" if method == "PATCH" else "application/json"
    answer = api.request(method, f"{config_maps(space)}{last}", {}, content)
    refused(answer, 405, "MethodNotAllowed")


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS"])
def test_other_methods_do_no_harm(api: Api, space: str, name: str, method: str) -> None:
    held = make(api, config_maps(space), config_map(name))
    assert api.request(method, config_maps(space, name)).status < 500
    assert accepted(api.get(config_maps(space, name))) == held


@pytest.mark.parametrize(
    "path", ["/api/v1/gadgets", "/apis/apps/v1/gadgets", "/apis/apps/v9", "/api/v9/pods", "/apis/apps/v9/deployments"]
)
def test_an_unknown_resource_is_not_found(api: Api, path: str) -> None:
    refused(api.get(path), 404, "NotFound")


@pytest.mark.parametrize("path", ["/gadgets", "/apis/gadgets.example.com", "/apis/gadgets.example.com/v1/gadgets"])
def test_an_unknown_path_is_not_found(api: Api, path: str) -> None:
    assert api.get(path).status == 404


def test_an_unknown_subresource_is_not_found(api: Api, space: str) -> None:
    refused(api.get(pods(space, "x", "gadget")), 404, "NotFound")


@pytest.mark.parametrize(
    "accept",
    ["application/json", "*/*", "application/json;q=0.5, text/plain", "application/json, */*"],
)
def test_json_is_sent_where_it_is_accepted(api: Api, space: str, accept: str) -> None:
    answer = api.get(pods(space), accept=accept)
    assert accepted(answer)["kind"] == "PodList"
    assert answer.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("accept", ["text/html", "application/json;as=Gadget;v=v1;g=meta.k8s.io"])
def test_an_unknown_media_type_is_not_acceptable(api: Api, space: str, accept: str) -> None:
    refused(api.get(pods(space), accept=accept), 406, "NotAcceptable")


def test_malformed_protobuf_is_rejected(api: Api, space: str) -> None:
    answer = api.request("POST", config_maps(space), b"x", "application/vnd.kubernetes.protobuf")
    assert answer.status in (400, 415)
    assert answer.body["kind"] == "Status"


def test_unknown_parameters_are_ignored(api: Api, space: str) -> None:
    accepted(api.get(pods(space), gadget="yes", pretty=True))


def test_many_requests_go_over_one_connection(api: Api, space: str) -> None:
    alone = api.as_user(api.token)
    accepted(alone.get(pods(space)))
    assert alone.connection is not None
    first = alone.connection.sock
    for _ in range(5):
        refused(alone.get(pods(space, "nothing")), 404, "NotFound")
    assert first is not None
    assert alone.connection.sock is first
    alone.close()


def test_names_with_a_percent_sign_or_a_slash_are_refused(api: Api, space: str) -> None:
    assert api.get(f"{config_maps(space)}/a%2Fb").status in (400, 404)
    assert api.get(f"{config_maps(space)}/%25").status in (400, 404)
