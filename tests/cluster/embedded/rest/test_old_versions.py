"""Kueue's older versions are listed, but not served; the error names the command to run."""

from __future__ import annotations

from contract.client import Api

QUEUES = "/apis/kueue.x-k8s.io/{}/clusterqueues"
REMEDY = "`closeknit convert` rewrites manifests"


def test_the_error_for_the_old_version_names_the_command_to_run(api: Api) -> None:
    for answer in (
        api.get(QUEUES.format("v1beta1")),
        api.post(QUEUES.format("v1beta1"), {"metadata": {"name": "main"}}),
        api.get("/apis/kueue.x-k8s.io/v1beta1/namespaces/default/localqueues/main"),
    ):
        assert (answer.status, answer.body["reason"]) == (404, "NotFound")
        assert REMEDY in answer.body["message"]


def test_an_object_of_the_old_version_is_not_taken_for_one_of_the_new(api: Api) -> None:
    old = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue", "metadata": {"name": "old"}, "spec": {}}
    for answer in (
        api.post(QUEUES.format("v1beta2"), old),
        api.apply(QUEUES.format("v1beta2") + "/old", old, manager="me"),
    ):
        assert (answer.status, answer.body["reason"]) == (400, "BadRequest")
        assert REMEDY in answer.body["message"]
    assert api.get(QUEUES.format("v1beta2") + "/old").status == 404


def test_older_versions_are_listed_after_the_served_one_so_that_kubectl_asks(api: Api) -> None:
    group = api.get("/apis/kueue.x-k8s.io").body
    assert [one["version"] for one in group["versions"]] == ["v1beta2", "v1beta1", "v1alpha1"]
    assert group["preferredVersion"]["version"] == "v1beta2"
    alpha = api.get("/apis/kueue.x-k8s.io/v1alpha1").body["resources"]
    assert {one["name"].partition("/")[0] for one in alpha} == {"topologies", "cohorts"}
    assert REMEDY in api.post("/apis/kueue.x-k8s.io/v1alpha1/topologies", {"metadata": {"name": "t"}}).body["message"]
