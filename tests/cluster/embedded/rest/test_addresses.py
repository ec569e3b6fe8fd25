"""Paths: what they mean, and which mean nothing."""

from __future__ import annotations

import pytest

from closeknit.cluster.embedded.rest.addresses import ResourcePath, address, steps
from closeknit.cluster.errors import BadRequest, NotFound
from closeknit.cluster.kinds import CLUSTER_QUEUE, JOB, NAMESPACE, NODE, POD, WORKLOAD


def find(path: str) -> ResourcePath:
    where = steps(path)
    return address("", where[1], where[2:]) if where[0] == "api" else address(where[1], where[2], where[3:])


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("/api/v1/pods", ResourcePath(POD)),
        ("/api/v1/pods/", ResourcePath(POD)),
        ("/api/v1/namespaces/a/pods", ResourcePath(POD, "a")),
        ("/api/v1/namespaces/a/pods/p", ResourcePath(POD, "a", "p")),
        ("/api/v1/namespaces/a/pods/p/status", ResourcePath(POD, "a", "p", "status")),
        ("/api/v1/nodes/n", ResourcePath(NODE, "", "n")),
        ("/api/v1/nodes/n/status", ResourcePath(NODE, "", "n", "status")),
        ("/api/v1/namespaces", ResourcePath(NAMESPACE)),
        ("/api/v1/namespaces/a", ResourcePath(NAMESPACE, "", "a")),
        ("/api/v1/namespaces/a/status", ResourcePath(NAMESPACE, "", "a", "status")),
        ("/api/v1/namespaces/a/finalize", ResourcePath(NAMESPACE, "", "a", "finalize")),
        ("/api/v1/namespaces/a/bindings", ResourcePath(POD, "a", "", "binding")),
        ("/apis/batch/v1/namespaces/a/jobs/j", ResourcePath(JOB, "a", "j")),
        ("/apis/kueue.x-k8s.io/v1beta2/workloads", ResourcePath(WORKLOAD)),
        ("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/q", ResourcePath(CLUSTER_QUEUE, "", "q")),
        ("/api/v1/nodes/a%2Fb", ResourcePath(NODE, "", "a/b")),
    ],
)
def test_a_path_means(path: str, meant: ResourcePath) -> None:
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
