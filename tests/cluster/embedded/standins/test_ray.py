from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster.embedded.standins.binder import Binder
from closeknit.cluster.embedded.standins.garbage import GarbageCollector
from closeknit.cluster.embedded.standins.job import BatchJobs
from closeknit.cluster.embedded.standins.kubelet import Kubelet
from closeknit.cluster.embedded.standins.operators.ray_cluster import RayClusters
from closeknit.cluster.embedded.standins.operators.ray_job import RayJobs
from closeknit.cluster.kinds import EVENT, JOB, POD, RAY_CLUSTER, RAY_JOB, SERVICE
from closeknit.cluster.port import Key, Raw
from cluster.embedded.standins.playground import Playground, condition, states

RUN, CODE = "closeknit.dev/run-time", "closeknit.dev/exit-code"


def standins() -> list[Any]:
    return [RayClusters(), RayJobs(), BatchJobs(), Binder(), Kubelet(), GarbageCollector()]


def playground() -> Playground:
    host = Playground(*standins())
    host.node("n1")
    return host


def pods(name: str, **requests: str) -> Raw:
    resources = {"requests": requests} if requests else {}
    return {"spec": {"containers": [{"name": name, "image": "ray:1", "resources": resources}]}}


def spec(workers: int = 2, hosts: int = 1, **more: Any) -> Raw:
    group = {
        "groupName": "small",
        "replicas": workers,
        "minReplicas": 0,
        "maxReplicas": 10,
        "numOfHosts": hosts,
        "rayStartParams": {},
        "template": pods("ray-worker", cpu="1", memory="1G"),
    }
    head = {"rayStartParams": {}, "template": pods("ray-head", cpu="500m", memory="2G")}
    return {"headGroupSpec": head, "workerGroupSpecs": [group], **more}


def cluster(host: Playground, **how: Any) -> Raw:
    return host.create(RAY_CLUSTER, {"metadata": {"name": "rc"}, "spec": spec(**how)})


def job(host: Playground, notes: dict[str, str] | None = None, **more: Any) -> Raw:
    body = {"entrypoint": "python a.py", "shutdownAfterJobFinishes": True, "rayClusterSpec": spec(1), **more}
    meta = {"name": "rj", "labels": {"mine": "1"}, "annotations": notes or {RUN: "30s"}}
    return host.create(RAY_JOB, {"metadata": meta, "spec": body})


def suspend(host: Playground, yes: bool) -> None:
    host.patch(RAY_JOB, "rj", {"spec": {"suspend": yes}})


def scale(host: Playground, replicas: int) -> None:
    change = [{"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": replicas}]
    host.store.patch(Key(RAY_CLUSTER, "default", "rc"), change, "json")


def status(host: Playground, kind: Any = RAY_CLUSTER, name: str = "rc") -> Raw:
    found: Raw = host.get(kind, name)["status"]
    return found


def labels(pod: Raw) -> dict[str, str]:
    return {k.removeprefix("ray.io/"): v for k, v in pod["metadata"]["labels"].items() if k.startswith("ray.io/")}


def of_type(host: Playground, node_type: str) -> list[Raw]:
    return [pod for pod in host.pods() if pod["metadata"]["labels"].get("ray.io/node-type") == node_type]


# Clusters


def test_a_cluster_is_a_head_with_groups_of_workers() -> None:
    host = playground()
    cluster(host)
    host.run(5)
    (head,), workers = of_type(host, "head"), of_type(host, "worker")
    assert head["metadata"]["name"].startswith("rc-head-")
    assert [pod["metadata"]["name"].rpartition("-")[0] for pod in workers] == ["rc-small-worker", "rc-small-worker"]
    assert labels(head) == {
        "cluster": "rc",
        "group": "headgroup",
        "identifier": "rc-head",
        "is-ray-node": "yes",
        "node-type": "head",
    }
    assert [labels(pod) for pod in workers] == [
        {
            "cluster": "rc",
            "group": "small",
            "identifier": "rc-worker",
            "is-ray-node": "yes",
            "node-type": "worker",
            "worker-group-replica-index": str(index),
        }
        for index in (0, 1)
    ]
    assert head["metadata"]["labels"]["app.kubernetes.io/created-by"] == "kuberay-operator"
    service = host.get(SERVICE, "rc-head-svc")["spec"]
    assert service["clusterIP"] == "None"
    assert [one["port"] for one in service["ports"]] == [10001, 8265, 6379, 8080]


def test_pods_ask_for_what_their_templates_do() -> None:
    host = playground()
    cluster(host)
    host.run(5)
    (head,) = of_type(host, "head")
    (container,) = head["spec"]["containers"]
    assert container["resources"]["requests"] == {"cpu": "500m", "memory": "2G"}
    assert "initContainers" not in of_type(host, "worker")[0]["spec"]
    (head_name, ip) = (head["metadata"]["name"], head["status"]["podIP"])
    told = status(host)
    assert (told["desiredCPU"], told["desiredMemory"], told["desiredGPU"]) == ("2500m", "4G", "0")
    assert told["head"] == {"podName": head_name, "podIP": ip, "serviceIP": ip, "serviceName": "rc-head-svc"}


def test_a_cluster_is_ready_when_all_its_pods_are() -> None:
    host = playground()
    cluster(host)
    host.run(0.5)
    assert "state" not in status(host)
    assert states(host.get(RAY_CLUSTER, "rc")) == {
        "RayClusterSuspended": "False",
        "RayClusterSuspending": "False",
        "HeadPodReady": "False",
        "RayClusterProvisioned": "False",
    }
    host.run(5)
    told = status(host)
    assert told["state"] == "ready"
    assert told["stateTransitionTimes"] == {"ready": "2023-11-14T22:13:21Z"}
    assert (told["desiredWorkerReplicas"], told["availableWorkerReplicas"], told["readyWorkerReplicas"]) == (2, 2, 2)
    assert (told.get("minWorkerReplicas"), told["maxWorkerReplicas"]) == (None, 10)
    found = condition(host.get(RAY_CLUSTER, "rc"), "RayClusterProvisioned")
    assert found is not None
    assert found["reason"] == "AllPodRunningAndReadyFirstTime"
    assert found["message"] == "All Ray Pods are ready for the first time"


def test_a_ready_cluster_stays_ready_and_replaces_lost_pods() -> None:
    host = playground()
    cluster(host)
    host.run(5)
    (head,) = of_type(host, "head")
    host.delete(POD, head["metadata"]["name"])
    host.run(1.5)
    assert states(host.get(RAY_CLUSTER, "rc"))["HeadPodReady"] == "False"
    assert status(host)["state"] == "ready"
    host.run(5)
    (new,) = of_type(host, "head")
    assert new["metadata"]["uid"] != head["metadata"]["uid"]
    assert states(host.get(RAY_CLUSTER, "rc"))["HeadPodReady"] == "True"


def test_groups_grow_and_shrink() -> None:
    host = playground()
    cluster(host)
    host.run(5)
    scale(host, 4)
    host.run(5)
    assert len(of_type(host, "worker")) == 4
    scale(host, 1)
    host.run(5)
    assert [labels(pod)["worker-group-replica-index"] for pod in of_type(host, "worker")] == ["0"]
    assert status(host)["desiredWorkerReplicas"] == 1


def test_workers_to_delete_are_deleted_first() -> None:
    host = playground()
    cluster(host)
    host.run(5)
    first = of_type(host, "worker")[0]["metadata"]["name"]
    changes = [
        {"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": 1},
        {"op": "add", "path": "/spec/workerGroupSpecs/0/scaleStrategy", "value": {"workersToDelete": [first]}},
    ]
    host.store.patch(Key(RAY_CLUSTER, "default", "rc"), changes, "json")
    host.run(5)
    assert [labels(pod)["worker-group-replica-index"] for pod in of_type(host, "worker")] == ["1"]


def test_a_replica_may_span_several_hosts() -> None:
    host = playground()
    cluster(host, workers=2, hosts=2)
    host.run(5)
    found = [labels(pod) for pod in of_type(host, "worker")]
    assert [(one["worker-group-replica-index"], one["replica-host-index"]) for one in found] == [
        ("0", "0"),
        ("0", "1"),
        ("1", "0"),
        ("1", "1"),
    ]
    assert len({one["worker-group-replica-name"] for one in found}) == 2
    assert status(host)["desiredWorkerReplicas"] == 4


def test_a_suspended_cluster_has_no_pods() -> None:
    host = playground()
    cluster(host, suspend=True)
    host.run(5)
    assert host.pods() == []
    assert status(host)["state"] == "suspended"
    assert states(host.get(RAY_CLUSTER, "rc"))["RayClusterSuspended"] == "True"


def test_a_cluster_may_be_suspended_and_resumed() -> None:
    host = playground()
    cluster(host)
    host.run(5)
    host.patch(RAY_CLUSTER, "rc", {"spec": {"suspend": True}})
    host.run(0.5)
    assert states(host.get(RAY_CLUSTER, "rc"))["RayClusterSuspending"] == "True"
    assert status(host)["state"] == "ready"
    host.run(5)
    assert host.pods() == []
    assert status(host)["state"] == "suspended"
    told = states(host.get(RAY_CLUSTER, "rc"))
    assert (told["RayClusterSuspending"], told["RayClusterSuspended"]) == ("False", "True")
    host.patch(RAY_CLUSTER, "rc", {"spec": {"suspend": False}})
    host.run(0.5)
    assert status(host)["state"] == "suspended"
    host.run(5)
    assert status(host)["state"] == "ready"
    assert status(host)["stateTransitionTimes"] == {
        "suspended": "2023-11-14T22:13:26Z",
        "ready": "2023-11-14T22:13:31Z",
    }


def test_a_suspension_that_has_begun_is_carried_through() -> None:
    host = playground()
    cluster(host)
    host.run(5)
    before = {pod["metadata"]["uid"] for pod in host.pods()}
    host.patch(RAY_CLUSTER, "rc", {"spec": {"suspend": True}})
    host.settle()
    host.patch(RAY_CLUSTER, "rc", {"spec": {"suspend": False}})
    host.run(10)
    assert status(host)["state"] == "ready"
    assert not before & {pod["metadata"]["uid"] for pod in host.pods()}


def test_a_cluster_that_scales_itself_has_one_more_container() -> None:
    host = playground()
    cluster(host, enableInTreeAutoscaling=True)
    host.run(1)
    (head,) = of_type(host, "head")
    assert [one["name"] for one in head["spec"]["containers"]] == ["ray-head", "autoscaler"]


# Jobs


def test_a_job_gets_a_cluster_and_then_a_submitter() -> None:
    host = playground()
    job(host)
    host.run(0.5)
    told = status(host, RAY_JOB, "rj")
    assert told["jobDeploymentStatus"] == "Initializing"
    (made,) = host.all(RAY_CLUSTER)
    assert made["metadata"]["name"] == told["rayClusterName"]
    assert made["metadata"]["name"].startswith("rj-")
    assert made["metadata"]["labels"] == {
        "mine": "1",
        "ray.io/originated-from-cr-name": "rj",
        "ray.io/originated-from-crd": "RayJob",
        "ray.io/job-submission-mode": "K8sJobMode",
    }
    assert host.names(JOB) == []
    host.run(5)
    told = status(host, RAY_JOB, "rj")
    name = made["metadata"]["name"]
    assert (told["jobDeploymentStatus"], told["jobStatus"]) == ("Running", "RUNNING")
    assert told["dashboardURL"] == f"{name}-head-svc.default.svc.cluster.local:8265"
    assert told["rayClusterStatus"]["state"] == "ready"
    submitter = host.get(JOB, "rj")
    assert submitter["metadata"]["ownerReferences"][0]["kind"] == "RayJob"
    assert submitter["spec"]["backoffLimit"] == 2
    (container,) = submitter["spec"]["template"]["spec"]["containers"]
    assert (container["name"], container["image"]) == ("ray-job-submitter", "ray:1")
    assert container["resources"]["requests"] == {"cpu": "500m", "memory": "200Mi"}
    assert sorted(host.names(SERVICE)) == sorted([f"{name}-head-svc", "rj-head-svc"])


def test_a_job_succeeds_with_its_submitter_and_its_cluster_is_deleted() -> None:
    host = playground()
    job(host, ttlSecondsAfterFinished=10)
    host.run(40)
    told = status(host, RAY_JOB, "rj")
    assert (told["jobDeploymentStatus"], told["jobStatus"]) == ("Complete", "SUCCEEDED")
    assert (told["succeeded"], told["failed"]) == (1, 0)
    assert told["endTime"] == "2023-11-14T22:13:52Z"
    assert len(host.all(RAY_CLUSTER)) == 1
    host.run(10)
    assert host.all(RAY_CLUSTER) == []
    assert host.names(JOB) == ["rj"]
    assert [pod["metadata"]["name"][:3] for pod in host.pods()] == ["rj-"]
    told_of = [one["reason"] for one in host.all(EVENT) if one["involvedObject"]["kind"] == "RayJob"]
    assert told_of == ["CreatedRayCluster", "CreatedRayJobSubmitter", "DeletedRayCluster"]


def test_a_cluster_is_kept_by_default() -> None:
    host = playground()
    job(host, shutdownAfterJobFinishes=False)
    host.run(60)
    assert len(host.all(RAY_CLUSTER)) == 1


def test_a_failed_submitter_fails_the_job() -> None:
    host = playground()
    job(host, {RUN: "3s", CODE: "1"}, submitterConfig={"backoffLimit": 0})
    host.run(20)
    told = status(host, RAY_JOB, "rj")
    assert (told["jobDeploymentStatus"], told["jobStatus"], told["reason"]) == ("Failed", "FAILED", "AppFailed")
    assert told["failed"] == 1
    assert "BackoffLimitExceeded" in told["message"]


def test_a_failed_job_is_tried_again_with_another_cluster() -> None:
    host = playground()
    job(host, {RUN: "3s", CODE: "1"}, submitterConfig={"backoffLimit": 0}, backoffLimit=1)
    host.run(3)
    first = status(host, RAY_JOB, "rj")["rayClusterName"]
    host.run(5)
    second = status(host, RAY_JOB, "rj")
    assert second["rayClusterName"] != first
    assert (second["jobDeploymentStatus"], second["failed"]) == ("Running", 1)
    assert host.names(RAY_CLUSTER) == [second["rayClusterName"]]
    host.run(10)
    assert (status(host, RAY_JOB, "rj")["jobDeploymentStatus"], status(host, RAY_JOB, "rj")["failed"]) == ("Failed", 2)


def test_the_submitter_may_have_a_template_of_its_own() -> None:
    host = playground()
    template = {
        "metadata": {"annotations": {RUN: "5s"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "mine", "image": "sub:1"}]},
    }
    job(host, submitterPodTemplate=template)
    host.run(10)
    (container,) = host.get(JOB, "rj")["spec"]["template"]["spec"]["containers"]
    assert (container["name"], container["image"]) == ("mine", "sub:1")
    assert status(host, RAY_JOB, "rj")["jobDeploymentStatus"] == "Complete"


@pytest.mark.parametrize("mode", ["HTTPMode", "SidecarMode"])
def test_without_a_submitter_a_job_runs_for_its_annotated_time(mode: str) -> None:
    host = playground()
    job(host, submissionMode=mode)
    host.run(20)
    assert host.names(JOB) == []
    assert status(host, RAY_JOB, "rj")["jobStatus"] == "RUNNING"
    (head,) = of_type(host, "head")
    assert ("ray-job-submitter" in [one["name"] for one in head["spec"]["containers"]]) == (mode == "SidecarMode")
    host.run(20)
    assert status(host, RAY_JOB, "rj")["jobStatus"] == "SUCCEEDED"


def test_a_job_without_a_submitter_may_fail() -> None:
    host = playground()
    job(host, {RUN: "5s", CODE: "7"}, submissionMode="HTTPMode")
    host.run(20)
    told = status(host, RAY_JOB, "rj")
    assert (told["jobDeploymentStatus"], told["jobStatus"]) == ("Failed", "FAILED")
    assert told["message"] == "Job entrypoint command failed with exit code 7"


def test_an_interactive_job_waits() -> None:
    host = playground()
    job(host, submissionMode="InteractiveMode")
    host.run(100)
    assert status(host, RAY_JOB, "rj")["jobDeploymentStatus"] == "Waiting"
    assert host.names(JOB) == []


def test_a_job_that_takes_too_long_fails() -> None:
    host = playground()
    job(host, {RUN: "forever"}, activeDeadlineSeconds=20)
    host.run(30)
    told = status(host, RAY_JOB, "rj")
    assert (told["jobDeploymentStatus"], told["reason"]) == ("Failed", "DeadlineExceeded")
    assert told["message"] == (
        "The RayJob has passed the activeDeadlineSeconds. "
        "StartTime: 2023-11-14 22:13:20 +0000 UTC. ActiveDeadlineSeconds: 20"
    )


def test_a_suspended_job_has_no_cluster() -> None:
    host = playground()
    job(host, suspend=True)
    host.run(5)
    assert host.all(RAY_CLUSTER) == []
    assert status(host, RAY_JOB, "rj") == {
        "jobDeploymentStatus": "Suspended",
        "startTime": "2023-11-14T22:13:20Z",
        "succeeded": 0,
        "failed": 0,
    }


def test_a_job_may_be_suspended_and_resumed_on_its_way() -> None:
    host = playground()
    job(host)
    host.run(10)
    first = status(host, RAY_JOB, "rj")["rayClusterName"]
    suspend(host, True)
    host.run(5)
    told = status(host, RAY_JOB, "rj")
    assert told["jobDeploymentStatus"] == "Suspended"
    assert not {"rayClusterName", "jobId", "jobStatus", "rayClusterStatus", "dashboardURL"} & told.keys()
    assert host.names(RAY_CLUSTER) == host.names(JOB) == host.names(POD) == []
    suspend(host, False)
    host.run(5)
    told = status(host, RAY_JOB, "rj")
    assert told["jobDeploymentStatus"] == "Running"
    assert told["rayClusterName"] != first
    assert told["startTime"] == "2023-11-14T22:13:35Z"
    host.run(40)
    assert status(host, RAY_JOB, "rj")["jobDeploymentStatus"] == "Complete"


def test_a_job_may_run_in_a_cluster_that_is_there() -> None:
    host = playground()
    cluster(host)
    host.run(5)
    job(host, clusterSelector={"ray.io/cluster": "rc"})
    host.run(40)
    assert status(host, RAY_JOB, "rj")["jobDeploymentStatus"] == "Complete"
    assert host.names(RAY_CLUSTER) == ["rc"]


def test_a_deleted_job_takes_all_with_it() -> None:
    host = playground()
    job(host)
    host.run(10)
    assert host.get(RAY_JOB, "rj")["metadata"]["finalizers"] == ["ray.io/rayjob-finalizer"]
    host.delete(RAY_JOB, "rj")
    host.run(5)
    for kind in (RAY_JOB, RAY_CLUSTER, JOB, POD, SERVICE):
        assert host.names(kind) == []


def test_jobs_of_another_manager_are_ignored() -> None:
    host = playground()
    job(host, managedBy="kueue.x-k8s.io/multikueue")
    cluster(host, managedBy="kueue.x-k8s.io/multikueue")
    host.run(5)
    assert host.pods() == []


def test_after_a_restart_of_the_host_everything_continues() -> None:
    host = playground()
    cluster(host)
    job(host)
    host.run(10)
    host.start(standins())
    host.run(40)
    assert status(host, RAY_JOB, "rj")["jobDeploymentStatus"] == "Complete"
    before = host.store.version
    host.start(standins())
    host.run(1000)
    assert host.store.version == before
