"""Discovery in the aggregated form and in the old one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiohttp import web

from closeknit.cluster.kinds import JOB, KINDS, LEASE, NAMESPACE, POD, TOPOLOGY, WORKLOAD
from closeknit.cluster.kube.client import Client
from closeknit.cluster.kube.config import read_config
from closeknit.cluster.kube.discovery import Served, served
from closeknit.cluster.port import Raw
from cluster.embedded.rest.running import Running
from cluster.kube.scripted import scripted, status


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with Running(tmp_path_factory.mktemp("host")) as server:
        yield server


def test_the_embedded_host_serves_all_kinds(running: Running, tmp_path: Path) -> None:
    async def run() -> Served:
        async with Client(read_config([running.kubeconfig])) as client:
            return await served(client)

    found = asyncio.run(run())
    assert set(found.kinds) == set(KINDS)
    assert "closeknit" in found.version
    assert all(found.can(kind) for kind in KINDS)
    assert found.can(POD, "create", "eviction")
    assert not found.can(POD, "get", "eviction")
    assert not found.can(NAMESPACE, "deletecollection")


VERSION = {"gitVersion": "v1.24.0"}
OLD: dict[str, Raw] = {
    "/version": VERSION,
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {
        "kind": "APIGroupList",
        "groups": [
            {"name": "batch", "versions": [{"version": "v1"}, {"version": "v1beta1"}]},
            {"name": "kueue.x-k8s.io", "versions": [{"version": "v1beta1"}]},
            {"name": "unknown.example.org", "versions": [{"version": "v1"}]},
        ],
    },
    "/api/v1": {"resources": [{"name": "pods", "verbs": ["get"]}, {"name": "pods/status", "verbs": ["patch"]}]},
    "/apis/batch/v1": {"resources": [{"name": "jobs", "verbs": ["get", "watch"]}]},
    "/apis/kueue.x-k8s.io/v1beta1": {"resources": [{"name": "workloads", "verbs": ["watch"]}]},
}


def of(documents: dict[str, Raw]) -> tuple[Served, list[str]]:
    asked: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        asked.append(request.path)
        if request.path not in documents:
            return web.json_response(status(404, "NotFound"), status=404)
        return web.json_response(documents[request.path])

    async def run() -> Served:
        async with scripted(answer) as client:
            return await served(client)

    return asyncio.run(run()), asked


def test_an_old_server_is_asked_group_by_group_for_those_that_concern_us() -> None:
    found, asked = of(OLD)
    assert found.version == "v1.24.0"
    assert set(found.kinds) == {POD, JOB, WORKLOAD}
    assert found.can(JOB)
    assert found.can(POD, "patch", "status")
    assert not found.can(POD)
    assert sorted(asked) == sorted([*OLD, "/apis/batch/v1beta1"])


def test_a_kind_that_is_served_in_other_versions_only_says_in_which() -> None:
    found, _ = of(OLD)
    assert found.kinds[WORKLOAD].versions == ("v1beta1",)
    assert not found.can(WORKLOAD)
    assert not found.can(TOPOLOGY)


def test_a_new_server_is_asked_three_times_in_all() -> None:
    resource = {"resource": "leases", "verbs": ["get"], "subresources": []}
    groups = [
        {"metadata": {"name": "coordination.k8s.io"}, "versions": [{"version": "v1", "resources": [resource]}]},
        {"metadata": {"name": "kueue.x-k8s.io"}, "versions": [{"version": "v1beta2", "freshness": "Stale"}]},
    ]
    found, asked = of(
        {
            "/version": VERSION,
            "/api": {"kind": "APIGroupDiscoveryList", "items": []},
            "/apis": {"kind": "APIGroupDiscoveryList", "items": groups},
        }
    )
    assert set(found.kinds) == {LEASE}
    assert found.can(LEASE, "get")
    assert sorted(asked) == ["/api", "/apis", "/version"]
