from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.kueue.jobs.injection import Info
from closeknit.dialects.kueue.jobs.kinds import LIVE, Finished
from closeknit.dialects.kueue.jobs.starting import started, stopping
from closeknit.dialects.kueue.jobs.workload_object import workload_for
from closeknit.dialects.kueue.objects import Unreadable
from closeknit.model.gates import Gates

Raw = dict[str, Any]
CLUSTER, JOB = LIVE["ray.io", "RayCluster"], LIVE["ray.io", "RayJob"]
KUEUE = Gates.profile("kueue")
ELASTIC = {"kueue.x-k8s.io/elastic-job": "true"}
HEAD: Raw = {"spec": {"containers": [{"name": "head", "image": "ray:2"}]}}
WORKER: Raw = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "worker", "image": "ray:2"}]}}
SUBMITTER: Raw = {
    "spec": {
        "containers": [
            {
                "name": "ray-job-submitter",
                "resources": {
                    "requests": {"cpu": "500m", "memory": "200Mi"},
                    "limits": {"cpu": "1", "memory": "1Gi"},
                },
                "image": "ray:2",
            }
        ],
        "restartPolicy": "Never",
    }
}


def a_spec(**more: Any) -> Raw:
    return {
        "headGroupSpec": {"rayStartParams": {}, "template": HEAD},
        "workerGroupSpecs": [{"groupName": "Small", "replicas": 2, "numOfHosts": 3, "template": WORKER}],
        **more,
    }


def a_cluster(status: Raw | None = None, annotations: Raw | None = None, **spec: Any) -> Raw:
    metadata = {"name": "c", "uid": "uid", "annotations": annotations or {}}
    spec = {**a_spec(), "suspend": True, **spec}
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": metadata, "spec": spec, "status": status or {}}


def a_job(status: Raw | None = None, annotations: Raw | None = None, **spec: Any) -> Raw:
    metadata = {"name": "j", "uid": "uid", "annotations": annotations or {}}
    spec = {"rayClusterSpec": a_spec(), "suspend": True, "shutdownAfterJobFinishes": True, **spec}
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": metadata, "spec": spec, "status": status or {}}


def test_a_cluster_is_a_head_and_groups_of_workers() -> None:
    head, small = CLUSTER.pod_sets(a_cluster())
    assert [(head.name, head.count), (small.name, small.count)] == [("head", 1), ("small", 6)]
    assert head.template == HEAD
    assert small.ranks.index_label is None


def test_a_cluster_that_scales_itself_counts_its_autoscaler() -> None:
    raw = a_cluster(annotations=ELASTIC, enableInTreeAutoscaling=True)
    head, _ = CLUSTER.pod_sets(raw)
    assert head.template["spec"]["containers"][1] == {
        "name": "autoscaler",
        "resources": {"requests": {"cpu": "500m", "memory": "512Mi"}, "limits": {"cpu": "500m", "memory": "512Mi"}},
    }
    own = {"requests": {"cpu": "1"}}
    head, _ = CLUSTER.pod_sets({**raw, "spec": {**raw["spec"], "autoscalerOptions": {"resources": own}}})
    assert head.template["spec"]["containers"][1] == {"name": "autoscaler", "resources": own}


def test_only_an_elastic_cluster_may_scale_itself() -> None:
    raw = a_cluster(enableInTreeAutoscaling=True)
    assert "enableInTreeAutoscaling" in CLUSTER.refusal(raw)
    with pytest.raises(Unreadable, match="enableInTreeAutoscaling"):
        CLUSTER.pod_sets(raw)
    assert CLUSTER.refusal(a_cluster(annotations=ELASTIC, enableInTreeAutoscaling=True)) == ""
    assert CLUSTER.refusal(a_cluster()) == ""


def test_a_job_has_a_pod_that_submits_it_with_the_image_of_the_head() -> None:
    head, small, submitter = JOB.pod_sets(a_job())
    assert [one.name for one in (head, small, submitter)] == ["head", "small", "submitter"]
    assert submitter.template == SUBMITTER
    own = {"spec": {"containers": [{"name": "s", "image": "mine"}]}}
    assert JOB.pod_sets(a_job(submitterPodTemplate=own))[2].template == own


def test_a_job_that_is_submitted_beside_its_head_counts_one_more_container_there() -> None:
    raw = a_job(submissionMode="SidecarMode")
    head, _ = JOB.pod_sets(raw)
    assert [one["name"] for one in head.template["spec"]["containers"]] == ["head", "ray-job-submitter"]
    running = started(JOB, raw, [Info("head", 1, {"l": "1"}), Info("small", 6)])
    assert isinstance(running, dict)
    assert running["spec"]["rayClusterSpec"]["headGroupSpec"]["template"] == {
        "metadata": {"labels": {"l": "1"}},
        "spec": HEAD["spec"],
    }


@pytest.mark.parametrize("mode", ["K8sJobMode", "SidecarMode", "HTTPMode"])
def test_a_stopped_job_is_as_it_was_submitted(mode: str) -> None:
    raw = a_job(submissionMode=mode)
    workload = workload_for(raw, JOB, KUEUE)
    infos = [Info(one.name, one.count, {"l": one.name}, {}, {"pool": "big"}) for one in JOB.pod_sets(raw)]
    running = started(JOB, raw, infos)
    assert isinstance(running, dict)
    worker = running["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["template"]
    assert worker["metadata"] == {"labels": {"a": "b", "l": "small"}}
    assert ("submitterPodTemplate" in running["spec"]) is (mode == "K8sJobMode")
    step = stopping(JOB, running, workload)
    assert step is not None
    assert step.body == raw


def test_a_stopped_cluster_is_as_it_was_submitted() -> None:
    raw = a_cluster()
    running = started(CLUSTER, raw, [Info("head", 1, {"l": "1"}), Info("small", 6, {}, {"x": "y"})])
    assert isinstance(running, dict)
    assert running["spec"]["suspend"] is False
    step = stopping(CLUSTER, running, workload_for(raw, CLUSTER, KUEUE))
    assert step is not None
    assert step.body == raw


def test_a_job_in_an_existing_cluster_is_not_managed() -> None:
    assert JOB.ignored(a_job(clusterSelector={"ray.io/cluster": "c"})) != ""
    assert JOB.ignored(a_job()) == ""


def test_a_job_has_to_delete_its_cluster() -> None:
    assert "shutdownAfterJobFinishes" in JOB.refusal(a_job(shutdownAfterJobFinishes=False))
    assert JOB.refusal(a_job()) == ""
    scaling = a_job(rayClusterSpec=a_spec(enableInTreeAutoscaling=True))
    assert "spec.rayClusterSpec.enableInTreeAutoscaling" in JOB.refusal(scaling)


def test_no_group_of_workers_is_called_head() -> None:
    spec = a_spec()
    spec["workerGroupSpecs"][0]["groupName"] = "head"
    with pytest.raises(Unreadable, match="the name of another pod set"):
        JOB.pod_sets(a_job(rayClusterSpec=spec))


@pytest.mark.parametrize(
    ("deployment", "job", "active", "end"),
    [
        ("", "", False, None),
        ("Suspended", "", False, None),
        ("Initializing", "", True, None),
        ("Running", "RUNNING", True, None),
        ("Retrying", "FAILED", True, None),
        ("Suspending", "STOPPED", True, None),
        ("Complete", "SUCCEEDED", True, Finished(True, "m")),
        ("Complete", "STOPPED", True, Finished(False, "m")),
        ("Failed", "FAILED", True, Finished(False, "m")),
    ],
)
def test_a_job_is_active_from_its_first_pod_to_its_end(
    deployment: str, job: str, active: bool, end: Finished | None
) -> None:
    raw = a_job({"jobDeploymentStatus": deployment, "jobStatus": job, "message": "m"})
    assert (JOB.is_active(raw), JOB.finished(raw)) == (active, end)


def test_ready_is_the_state_of_the_cluster() -> None:
    assert JOB.pods_ready(a_job({"rayClusterStatus": {"state": "ready"}}))
    assert not JOB.pods_ready(a_job({"rayClusterStatus": {"state": "suspended"}}))
    assert CLUSTER.pods_ready(a_cluster({"state": "ready"}))
    assert not CLUSTER.is_active(a_cluster())
    assert CLUSTER.finished(a_cluster({"state": "failed"})) is None


def test_a_job_that_ray_refuses_is_on_hold() -> None:
    assert JOB.on_hold(a_job({"jobDeploymentStatus": "ValidationFailed", "message": "bad spec"})) == "bad spec"
    assert JOB.on_hold(a_job({"jobDeploymentStatus": "Running"})) == ""
