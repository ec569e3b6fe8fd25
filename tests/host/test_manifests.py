"""The manifests that Kueue publishes run unchanged on the embedded host."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from closeknit.cluster import kinds
from host.lab import Lab, condition

FOLDER = Path(os.environ.get("CLOSEKNIT_MANIFESTS", Path(__file__).parents[3] / "shared" / "manifests")) / "kueue"

pytestmark = pytest.mark.skipif(
    not FOLDER.exists(), reason=f"SKIPPED, LOUDLY: no published manifests at {FOLDER}; set CLOSEKNIT_MANIFESTS=PATH"
)

SINGLE, SHARED = "admin/single-clusterqueue-setup.yaml", "admin/shared-quota-setup.yaml"
TAS, GPU = "tas/sample-queues.yaml", "tas/sample-gpu-queues.yaml"

ENDING = [
    ("getting-started/quick-start-setup.yaml", "getting-started/quick-start-job.yaml"),
    (SHARED, "admin/shared-quota-sample-job.yaml"),
    *(
        (SINGLE, f"jobs/{name}.yaml")
        for name in (
            "ray-job-sample",
            "sample-job",
            "sample-job-partial-admission",
            "sample-jobset",
            "sample-mpijob",
            "sample-pytorchjob",
        )
    ),
    (SINGLE, "pods-kueue/kueue-pod.yaml"),
    *((TAS, f"tas/sample-job-{name}.yaml") for name in ("preferred", "required", "unconstrained")),
]
SERVING = [
    *((SINGLE, f"serving-workloads/sample-{name}.yaml") for name in ("deployment", "leaderworkerset", "statefulset")),
    (SINGLE, "jobs/ray-cluster-sample.yaml"),
]
ADMIN = [
    "admin/minimal-cq.yaml",
    "admin/resource-flavor-empty.yaml",
    "admin/resource-flavor-taints.yaml",
    "admin/resource-flavor-tolerations.yaml",
    GPU,
]


def cluster(setup: str) -> Lab:
    """Nodes with all labels that the manifests ask for, and the namespaces that they name."""
    lab = Lab()
    for number in range(16):
        labels = {
            "cloud.provider.com/topology-block": f"b{number // 8}",
            "cloud.provider.com/topology-rack": f"r{number // 4}",
            "kubernetes.io/hostname": f"n{number:02d}",
            "cloud.provider.com/node-group": "tas-group",
            "node-type": "spot" if number % 2 else "on-demand",
        }
        room = {"cpu": "64", "memory": "256Gi", "pods": "110", "nvidia.com/gpu": "8"}
        ready = {"type": "Ready", "status": "True"}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{number:02d}", "labels": labels}}
        lab.create({**node, "status": {"allocatable": room, "conditions": [ready]}})
    for name in ("team-a", "team-b"):
        lab.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    lab.apply((FOLDER / setup).read_text())
    lab.settle()
    return lab


@pytest.mark.parametrize("manifest", ADMIN)
def test_what_administrators_write_is_taken(manifest: str) -> None:
    lab = cluster(manifest)
    made = [one for kind in (kinds.CLUSTER_QUEUE, kinds.RESOURCE_FLAVOR) for one in lab.all(kind)]
    assert made


@pytest.mark.parametrize(("setup", "manifest"), ENDING, ids=[name for _, name in ENDING])
def test_a_job_runs_to_its_end(setup: str, manifest: str) -> None:
    lab = cluster(setup)
    lab.apply((FOLDER / manifest).read_text())
    lab.advance(600)
    workloads = lab.cluster.store.all(kinds.WORKLOAD)
    assert [condition(one, "Finished") for one in workloads] == [True]


@pytest.mark.parametrize(("setup", "manifest"), SERVING, ids=[name for _, name in SERVING])
def test_a_service_becomes_ready_and_goes_when_it_is_deleted(setup: str, manifest: str) -> None:
    lab = cluster(setup)
    [raw] = lab.apply((FOLDER / manifest).read_text())
    lab.advance(120)
    assert lab.pods()
    assert all(condition(pod, "Ready") for pod in lab.pods())
    assert all(condition(one, "PodsReady") for one in lab.workloads())
    lab.delete(kinds.BY_NAME[raw["apiVersion"].rpartition("/")[0], raw["kind"]], "default", raw["metadata"]["name"])
    lab.advance(120)
    assert lab.pods() == []
    assert lab.workloads() == []


def test_a_job_that_may_start_with_fewer_pods_does() -> None:
    lab = cluster(SINGLE)
    [job] = lab.apply((FOLDER / "jobs/sample-job-partial-admission.yaml").read_text())
    assert job["spec"]["parallelism"] == 20
    lab.advance(5)
    [workload] = lab.workloads()
    assert workload["status"]["admission"]["podSetAssignments"][0]["count"] == 9
    assert lab.get(kinds.JOB, job["metadata"]["name"])["spec"]["parallelism"] == 9


def test_a_cron_job_makes_jobs_that_are_queued() -> None:
    lab = cluster(SINGLE)
    lab.apply((FOLDER / "jobs/sample-cronjob.yaml").read_text())
    lab.advance(600)
    assert [one["spec"]["queueName"] for one in lab.workloads()] == ["user-queue"] * len(lab.workloads())
    assert sum(condition(one, "Finished") for one in lab.workloads()) >= 3


def test_machines_that_have_to_be_brought_first_are_asked_for() -> None:
    lab = cluster("provisioning/provisioning-setup.yaml")
    lab.apply((FOLDER / "provisioning/sample-job.yaml").read_text())
    lab.advance(2)
    [request] = lab.all(kinds.PROVISIONING_REQUEST)
    assert request["spec"]["provisioningClassName"] == "check-capacity.autoscaling.x-k8s.io"
    [workload] = lab.workloads()
    assert condition(workload, "QuotaReserved")
    assert not condition(workload, "Admitted")
    lab.advance(600)
    assert condition(lab.workloads()[0], "Finished")
    assert lab.all(kinds.PROVISIONING_REQUEST) == []
