from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.kueue.jobs.injection import Info
from closeknit.dialects.kueue.jobs.kinds import LIVE, Finished
from closeknit.dialects.kueue.jobs.starting import started, stopping
from closeknit.dialects.kueue.jobs.workload_object import standing_of

Raw = dict[str, Any]
KINDS = {
    "MPIJob": ("mpiReplicaSpecs", ["launcher", "worker"]),
    "PyTorchJob": ("pytorchReplicaSpecs", ["master", "worker"]),
    "TFJob": ("tfReplicaSpecs", ["chief", "ps", "worker"]),
    "XGBoostJob": ("xgbReplicaSpecs", ["master", "worker"]),
    "PaddleJob": ("paddleReplicaSpecs", ["master", "worker"]),
    "JAXJob": ("jaxReplicaSpecs", ["worker"]),
}
SPELT = {"launcher": "Launcher", "master": "Master", "chief": "Chief", "ps": "PS", "worker": "Worker"}


def template(priority: str = "", **annotations: str) -> Raw:
    spec: Raw = {"containers": [{"name": "c", "image": "i"}]}
    if priority:
        spec["priorityClassName"] = priority
    return {"metadata": {"annotations": annotations}, "spec": spec} if annotations else {"spec": spec}


def a_job(kind: str, types: Raw, status: Raw | None = None, **spec: Any) -> Raw:
    key, _ = KINDS[kind]
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": kind,
        "metadata": {"name": "train", "uid": "uid"},
        "spec": {key: types, "runPolicy": {"suspend": True, "cleanPodPolicy": "None"}, **spec},
        "status": status or {},
    }


@pytest.mark.parametrize("kind", KINDS)
def test_replica_types_are_pod_sets_in_their_order(kind: str) -> None:
    _, names = KINDS[kind]
    types = {SPELT[name]: {"replicas": 2, "template": template()} for name in reversed(names)}
    sets = LIVE["kubeflow.org", kind].pod_sets(a_job(kind, types))
    assert [(one.name, one.count) for one in sets] == [(name, 2) for name in names]
    assert {one.ranks.index_label for one in sets} == {"training.kubeflow.org/replica-index"}


def test_starting_and_stopping_touches_only_templates_and_the_suspend_flag() -> None:
    job = LIVE["kubeflow.org", "PyTorchJob"]
    raw = a_job("PyTorchJob", {"Master": {"template": template()}, "Worker": {"replicas": 3, "template": template()}})
    running = started(job, raw, [Info("master", 1, {"l": "0"}), Info("worker", 3, {"l": "1"})])
    assert isinstance(running, dict)
    assert running["spec"]["runPolicy"] == {"suspend": False, "cleanPodPolicy": "None"}
    workers = running["spec"]["pytorchReplicaSpecs"]["Worker"]
    assert workers == {"replicas": 3, "template": {"metadata": {"labels": {"l": "1"}}, "spec": template()["spec"]}}
    workload = {"spec": {"podSets": [{"count": 1, "template": template()}, {"count": 3, "template": template()}]}}
    step = stopping(job, running, workload)
    assert step is not None
    assert step.body == raw


def test_the_state_of_a_training_job_follows_from_conditions_and_counts() -> None:
    job = LIVE["kubeflow.org", "MPIJob"]
    types = {"Worker": {"template": template()}}
    running = {
        "conditions": [{"type": "Created", "status": "True"}, {"type": "Running", "status": "True"}],
        "replicaStatuses": {"Launcher": {}, "Worker": {"active": 1}},
    }
    raw = a_job("MPIJob", types, running)
    assert (job.is_active(raw), job.pods_ready(raw), job.finished(raw)) == (True, True, None)
    ended = {
        "conditions": [
            {"type": "Running", "status": "False"},
            {"type": "Succeeded", "status": "True", "message": "MPIJob default/train successfully completed."},
        ],
        "replicaStatuses": {"Worker": {"active": 0, "succeeded": 1}},
    }
    raw = a_job("MPIJob", types, ended)
    assert (job.is_active(raw), job.pods_ready(raw)) == (False, False)
    assert job.finished(raw) == Finished(True, "MPIJob default/train successfully completed.")
    failed = {"conditions": [{"type": "Failed", "status": "True", "message": "no"}]}
    assert job.finished(a_job("MPIJob", types, failed)) == Finished(False, "no")
    assert job.reclaimable(raw) == {}


@pytest.mark.parametrize(
    ("spec", "launcher", "notes"),
    [
        ({}, template(), {}),
        ({"runLauncherAsWorker": True}, template(), {"worker": {"kueue.x-k8s.io/pod-index-offset": "1"}}),
        ({"runLauncherAsWorker": True}, template(**{"kueue.x-k8s.io/podset-group-name": "g"}), {}),
        ({"runLauncherAsWorker": True}, None, {}),
    ],
)
def test_workers_count_from_one_where_the_launcher_is_rank_zero(spec: Raw, launcher: Raw | None, notes: Raw) -> None:
    types = {"Worker": {"replicas": 2, "template": template()}}
    if launcher is not None:
        types["Launcher"] = {"template": launcher}
    job = LIVE["kubeflow.org", "MPIJob"]
    raw = a_job("MPIJob", types, **spec)
    assert job.notes(raw) == notes
    running = started(job, raw, [Info(one.name, one.count) for one in job.pod_sets(raw)])
    assert isinstance(running, dict)
    worker = running["spec"]["mpiReplicaSpecs"]["Worker"]["template"]
    assert worker["metadata"].get("annotations") == notes.get("worker")


@pytest.mark.parametrize(
    ("policy", "master", "worker", "found"),
    [
        ({"schedulingPolicy": {"priorityClass": "high"}}, "a", "b", "high"),
        ({}, "a", "b", "a"),
        ({}, "", "b", "b"),
        ({}, "", "", ""),
    ],
)
def test_a_training_job_names_one_priority_for_all_or_takes_the_first_of_its_templates(
    policy: Raw, master: str, worker: str, found: str
) -> None:
    job = LIVE["kubeflow.org", "PyTorchJob"]
    types = {"Master": {"template": template(master)}, "Worker": {"template": template(worker)}}
    raw = a_job("PyTorchJob", types, runPolicy=policy)
    assert standing_of(raw, job.pod_sets(raw)).pod_class == found
