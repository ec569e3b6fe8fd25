"""Paths: what they mean, and which mean nothing."""

from __future__ import annotations

import pytest

from closeknit.cluster.embedded.rest.addresses import Address, address, steps
from closeknit.cluster.errors import BadRequest, NotFound
from closeknit.cluster.kinds import CLUSTER_QUEUE, JOB, NAMESPACE, NODE, POD, WORKLOAD


def find(path: str) -> Address:
    where = steps(path)
    return address("", where[1], where[2:]) if where[0] == "api" else address(where[1], where[2], where[3:])


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("/api/v1/pods", Address(POD)),
        ("/api/v1/pods/", Address(POD)),
        ("/api/v1/namespaces/a/pods", Address(POD, "a")),
        ("/api/v1/namespaces/a/pods/p", Address(POD, "a", "p")),
        ("/api/v1/namespaces/a/pods/p/status", Address(POD, "a", "p", "status")),
        ("/api/v1/nodes/n", Address(NODE, "", "n")),
        ("/api/v1/nodes/n/status", Address(NODE, "", "n", "status")),
        ("/api/v1/namespaces", Address(NAMESPACE)),
        ("/api/v1/namespaces/a", Address(NAMESPACE, "", "a")),
        ("/api/v1/namespaces/a/status", Address(NAMESPACE, "", "a", "status")),
        ("/api/v1/namespaces/a/finalize", Address(NAMESPACE, "", "a", "finalize")),
        ("/api/v1/namespaces/a/bindings", Address(POD, "a", "", "binding")),
        ("/apis/batch/v1/namespaces/a/jobs/j", Address(JOB, "a", "j")),
        ("/apis/kueue.x-k8s.io/v1beta2/workloads", Address(WORKLOAD)),
        ("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/q", Address(CLUSTER_QUEUE, "", "q")),
        ("/api/v1/nodes/a%2Fb", Address(NODE, "", "a/b")),
    ],
)
def test_a_path_means(path: str, meant: Address) -> None:
    assert find(path) == meant


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/gadgets",
        "/api/v2/pods",
        "/apis/batch/v2/jobs",
        "/apis/none/v1/jobs",
        "/api/v1/pods/p",
        "/api/v1/namespaces/a/nodes",
        "/api/v1/namespaces/a/nodes/n",
        "/api/v1/namespaces/a/pods/p/status/more",
        "/api/v1/nodes/n/status/more",
        "/api/v1/namespaces//pods",
        "/api/v1//pods",
        "/apis/batch/v1/namespaces/a",
        "/apis/kueue.x-k8s.io/v1beta2/namespaces/a/clusterqueues",
    ],
)
def test_a_path_that_is_not_served_is_not_found(path: str) -> None:
    with pytest.raises(NotFound):
        find(path)


@pytest.mark.parametrize("path", ["/api/v1/nodes/%ff", "/api/v1/nodes/\udcff", "/%80"])
def test_a_path_that_is_no_text_is_refused(path: str) -> None:
    with pytest.raises(BadRequest):
        steps(path)
