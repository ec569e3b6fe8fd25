"""The real controllers of JobSet and LeaderWorkerSet, and kinds of other projects."""

from __future__ import annotations

from contract.client import Api
from contract.expect import eventually, refused
from contract.objects import path
from servers.cluster import RealCluster
from servers.manifests import is_true, resource_of

from .objects import template

JOB_SETS, LEADER_WORKER_SETS = "jobset.x-k8s.io/v1alpha2/jobsets", "leaderworkerset.x-k8s.io/v1/leaderworkersets"


def test_a_job_set_runs_to_completion(cluster: RealCluster, api: Api, space: str) -> None:
    part = {"spec": {"completions": 2, "parallelism": 2, "template": template(run_time="1s")}}
    body = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "train", "namespace": space},
        "spec": {"replicatedJobs": [{"name": "workers", "replicas": 2, "template": part}]},
    }
    cluster.apply([body])
    eventually(lambda: is_true(api.get(path(JOB_SETS, space, "train")).body, "Completed"))
    found = api.get(path("batch/v1/jobs", space)).body["items"]
    assert sorted(one["metadata"]["name"] for one in found) == ["train-workers-0", "train-workers-1"]


def test_the_webhook_of_job_set_refuses_what_is_wrong(api: Api, space: str, cluster: RealCluster) -> None:
    part = {"spec": {"template": template()}}
    body = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "train", "namespace": space},
        "spec": {
            "replicatedJobs": [{"name": "workers", "template": part}],
            "successPolicy": {"operator": "All", "targetReplicatedJobs": ["nobody"]},
        },
    }
    answer = api.post(path(JOB_SETS, space), body)
    refused(answer, 422, "Invalid")
    assert 'admission webhook "vjobset.kb.io" denied the request' in answer.body["message"]


def test_a_leader_worker_set_gets_ready(cluster: RealCluster, api: Api, space: str) -> None:
    body = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "serve", "namespace": space},
        "spec": {"replicas": 2, "leaderWorkerTemplate": {"size": 2, "workerTemplate": template("Always")}},
    }
    cluster.apply([body])
    eventually(lambda: is_true(api.get(path(LEADER_WORKER_SETS, space, "serve")).body, "Available"))
    names = {one["metadata"]["name"] for one in api.get(path("v1/pods", space)).body["items"]}
    assert names == {"serve-0", "serve-0-1", "serve-1", "serve-1-1"}


def test_kinds_of_other_projects_are_served_without_their_controllers(cluster: RealCluster, api: Api) -> None:
    cluster.define("kueue", "mpi-operator", "training-operator", "trainer", "kuberay", "autoscaler")
    plurals = {
        ("kueue.x-k8s.io/v1beta2", "Workload"): "workloads",
        ("kubeflow.org/v2beta1", "MPIJob"): "mpijobs",
        ("kubeflow.org/v1", "PyTorchJob"): "pytorchjobs",
        ("trainer.kubeflow.org/v1alpha1", "TrainJob"): "trainjobs",
        ("ray.io/v1", "RayJob"): "rayjobs",
        ("ray.io/v1", "RayCluster"): "rayclusters",
        ("autoscaling.x-k8s.io/v1", "ProvisioningRequest"): "provisioningrequests",
    }
    assert {key: resource_of(api, *key)["name"] for key in plurals} == plurals
