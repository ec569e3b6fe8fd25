"""What can be read without a token, or with one that does not permit it."""

from __future__ import annotations

import pytest

from attacks.line import Target
from attacks.port import ControllerPort
from contract.client import Api
from contract.objects import config_map, config_maps, path
from host.process import HostProcess

GUARDED = ("/metrics", "/closeknit/decisions", "/closeknit/config", "/closeknit/numa")
MAPS = config_maps("default")


@pytest.mark.parametrize("path", GUARDED)
@pytest.mark.parametrize("token", [None, "", "wrong", "x" * 10_000])
def test_nothing_is_read_without_a_token(host: HostProcess, port: ControllerPort, path: str, token: str | None) -> None:
    assert Target.of(host.api).get(path, token=token) == 401
    assert port.target.get(path, token=token) == 401


def test_the_probes_of_the_controller_stand_alone(port: ControllerPort) -> None:
    assert port.probes.get("/healthz") == 200
    assert {port.probes.get(one, token=port.target.token) for one in GUARDED} == {404}
    assert [port.target.get(one, token=port.target.token) for one in ("/healthz", "/readyz")] == [404, 404]


def test_many_wrong_tokens_are_few_questions_to_the_api_server(port: ControllerPort) -> None:
    before = len(port.reviews.asked)
    for _ in range(50):
        assert port.target.get("/metrics", token="guess") == 401
    assert len(port.reviews.asked) - before <= 2


@pytest.fixture
def viewer(host: HostProcess) -> Api:
    return Api.from_kubeconfig(host.folder / "kubeconfig-view")


def test_the_read_only_token_reads(host: HostProcess, viewer: Api) -> None:
    assert viewer.token != host.api.token
    for where in (MAPS, "/api/v1/nodes", "/apis", "/version", "/metrics", "/closeknit/decisions", "/openapi/v3"):
        assert viewer.get(where).status == 200, where
    with viewer.watch(MAPS) as watch:
        assert watch.status == 200


def test_the_read_only_token_writes_nothing(host: HostProcess, viewer: Api) -> None:
    host.api.post(MAPS, config_map("kept", {"a": "b"}))
    at = config_maps("default", "kept")
    answers = [
        viewer.post(MAPS, config_map("new")),
        viewer.post(MAPS, config_map("new"), dryRun="All"),
        viewer.put(at, config_map("kept")),
        viewer.merge(at, {"data": {"a": "c"}}),
        viewer.apply(at, config_map("kept"), "me"),
        viewer.delete(at),
        viewer.delete(MAPS),
    ]
    assert {(one.status, one.body["reason"]) for one in answers} == {(403, "Forbidden")}
    assert host.api.get(at).body["data"] == {"a": "b"}


def test_the_read_only_token_reads_no_secrets(viewer: Api) -> None:
    for where in ("/api/v1/secrets", path("v1/secrets", "default"), path("v1/secrets", "default", "a")):
        assert viewer.get(where).status == 403, where
        assert viewer.request("GET", where, query={"watch": True}).status == 403, where
    assert viewer.get("/api/v1/namespaces/secrets").status == 404


@pytest.mark.parametrize(
    ("verb", "resource", "is_allowed"),
    [("get", "pods", True), ("watch", "jobs", True), ("delete", "pods", False), ("get", "secrets", False)],
)
def test_a_review_with_the_read_only_token_says_what_it_permits(
    viewer: Api, verb: str, resource: str, is_allowed: bool
) -> None:
    asked = {"spec": {"resourceAttributes": {"verb": verb, "resource": resource}}}
    answer = viewer.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", asked)
    assert (answer.status, answer.body["status"]) == (201, {"allowed": is_allowed})
