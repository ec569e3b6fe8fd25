from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from closeknit.dialects.kueue.jobs.kinds import LIVE, SERVING
from closeknit.dialects.kueue.jobs.workload_object import NO_PRIORITY, WorkloadPriority, standing_of, workload_for
from closeknit.dialects.kueue.objects import Unreadable, workload
from closeknit.model.gates import Gates

Raw = dict[str, Any]
JOB = LIVE["batch", "Job"]
KUEUE = Gates.profile("kueue")
NO_TAS = Gates.profile("kueue", {"TopologyAwareScheduling": False})
MANIFESTS = Path(__file__).parents[4].parent / "shared" / "manifests" / "kueue"


def a_job(template: Raw | None = None, labels: Raw | None = None, annotations: Raw | None = None, **spec: Any) -> Raw:
    metadata: Raw = {"name": "train", "namespace": "team", "uid": "uid", "generation": 3}
    if labels:
        metadata["labels"] = labels
    if annotations:
        metadata["annotations"] = annotations
    template = template or {"spec": {"containers": [{"name": "c"}]}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template, **spec}}


def test_the_workload_of_a_job_with_all_optional_fields() -> None:
    template = {
        "metadata": {
            "annotations": {
                "kueue.x-k8s.io/podset-preferred-topology": "block",
                "kueue.x-k8s.io/podset-slice-required-topology": "rack",
                "kueue.x-k8s.io/podset-slice-size": "2",
            }
        },
        "spec": {"containers": [{"name": "c"}], "priorityClassName": "pods"},
    }
    labels = {
        "kueue.x-k8s.io/queue-name": "q",
        "kueue.x-k8s.io/priority-class": "high",
        "kueue.x-k8s.io/max-exec-time-seconds": "600",
        "team": "a",
    }
    annotations = {
        "kueue.x-k8s.io/job-min-parallelism": "4",
        "kueue.x-k8s.io/admission-gated-by": "example.com/budget",
        "provreq.kueue.x-k8s.io/maxRunDurationSeconds": "600",
        "other": "x",
    }
    raw = a_job(template, labels, annotations, parallelism=8)
    priority = WorkloadPriority(1000, "WorkloadPriorityClass", "high")
    assert workload_for(raw, JOB, KUEUE, priority, copied_labels=("team", "none")) == {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": "job-train-68e82",
            "namespace": "team",
            "labels": {"team": "a", "kueue.x-k8s.io/job-uid": "uid"},
            "annotations": {
                "kueue.x-k8s.io/admission-gated-by": "example.com/budget",
                "provreq.kueue.x-k8s.io/maxRunDurationSeconds": "600",
            },
            "finalizers": ["kueue.x-k8s.io/resource-in-use"],
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "name": "train",
                    "uid": "uid",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "podSets": [
                {
                    "name": "main",
                    "count": 8,
                    "minCount": 4,
                    "template": template,
                    "topologyRequest": {
                        "preferred": "block",
                        "podIndexLabel": "batch.kubernetes.io/job-completion-index",
                        "podSetSliceRequiredTopology": "rack",
                        "podSetSliceSize": 2,
                    },
                }
            ],
            "queueName": "q",
            "priorityClassRef": {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"},
            "priority": 1000,
            "active": True,
            "maximumExecutionTimeSeconds": 600,
        },
    }


def test_queueing_options_are_read_without_the_cluster() -> None:
    raw = a_job(labels={"kueue.x-k8s.io/queue-name": "q", "kueue.x-k8s.io/prebuilt-workload-name": "made"})
    standing = standing_of(raw, JOB.pod_sets(raw))
    assert (standing.queue, standing.prebuilt, standing.workload_class, standing.max_seconds) == ("q", "made", "", None)


def test_a_job_without_a_queue_gets_the_default_queue() -> None:
    assert workload_for(a_job(), JOB, KUEUE, queue="default")["spec"]["queueName"] == "default"
    assert "queueName" not in workload_for(a_job(), JOB, KUEUE)["spec"]


def test_the_workloads_of_an_elastic_job_follow_one_another() -> None:
    raw = a_job(annotations={"kueue.x-k8s.io/elastic-job": "true"})
    made = workload_for(raw, JOB, KUEUE)
    assert made["metadata"]["name"] == "job-train-6db8c"
    assert made["metadata"]["annotations"] == {"kueue.x-k8s.io/elastic-job": "true"}


def test_with_gates_disabled_there_is_no_topology_request_and_no_min_count() -> None:
    raw = a_job(annotations={"kueue.x-k8s.io/job-min-parallelism": "1"}, parallelism=2)
    (main,) = workload_for(raw, JOB, NO_TAS)["spec"]["podSets"]
    assert "topologyRequest" not in main
    assert main["minCount"] == 1
    whole = Gates.profile("kueue", {"PartialAdmission": False})
    assert "minCount" not in workload_for(raw, JOB, whole)["spec"]["podSets"][0]


def test_of_repeated_variables_the_last_value_counts_at_the_first_place() -> None:
    env = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}, {"name": "A", "value": "3"}]
    plain = {"name": "d", "env": [{"name": "A", "value": "1"}]}
    raw = a_job(
        {"spec": {"containers": [{"name": "c", "env": env}, plain], "initContainers": [{"name": "i", "env": env}]}}
    )
    spec = workload_for(raw, JOB, KUEUE)["spec"]["podSets"][0]["template"]["spec"]
    assert spec["containers"][0]["env"] == [{"name": "A", "value": "3"}, {"name": "B", "value": "2"}]
    assert spec["containers"][1] == plain
    assert spec["initContainers"][0]["env"] == spec["containers"][0]["env"]
    assert raw["spec"]["template"]["spec"]["containers"][0]["env"] is env


def test_no_workload_is_created_for_an_invalid_job() -> None:
    slices = {
        "kueue.x-k8s.io/podset-slice-required-topology": "rack",
        "kueue.x-k8s.io/podset-slice-size": "two",
    }
    with pytest.raises(Unreadable, match=r"pod set main: kueue\.x-k8s\.io/podset-slice-size"):
        workload_for(a_job({"metadata": {"annotations": slices}, "spec": {}}), JOB, KUEUE)
    with pytest.raises(Unreadable, match="max-exec-time-seconds"):
        workload_for(a_job(labels={"kueue.x-k8s.io/max-exec-time-seconds": "soon"}), JOB, KUEUE)


PUBLISHED = {
    "jobs/sample-job.yaml": [("job-sample-job-0b4af", "user-queue", [("main", 3)])],
    "jobs/sample-job-partial-admission.yaml": [
        ("job-sample-job-partial-admission-03831", "user-queue", [("main", 20)]),
    ],
    "jobs/sample-jobset.yaml": [("jobset-sleep-job-deecd", "user-queue", [("workers", 1), ("driver", 1)])],
    "jobs/sample-mpijob.yaml": [("mpijob-pi-1b869", "user-queue", [("launcher", 1), ("worker", 2)])],
    "jobs/sample-pytorchjob.yaml": [
        ("pytorchjob-pytorch-simple-224ae", "user-queue", [("master", 1), ("worker", 1)]),
    ],
    "jobs/ray-cluster-sample.yaml": [
        ("raycluster-raycluster-complete-8f3e5", "user-queue", [("head", 1), ("small-group", 1)]),
    ],
    "jobs/ray-job-sample.yaml": [
        ("rayjob-rayjob-sample-dc5c3", "user-queue", [("head", 1), ("small-group", 1), ("submitter", 1)]),
    ],
    "pods-kueue/kueue-pod.yaml": [("pod-kueue-sleep-52c5e", "user-queue", [("main", 1)])],
    "serving-workloads/sample-statefulset.yaml": [
        ("statefulset-nginx-statefulset-06ce2", "user-queue", [("main", 3)]),
    ],
    "serving-workloads/sample-leaderworkerset.yaml": [
        ("leaderworkerset-nginx-leaderworkerset-0-468d0", "user-queue", [("leader", 1), ("worker", 2)]),
        ("leaderworkerset-nginx-leaderworkerset-1-ca516", "user-queue", [("leader", 1), ("worker", 2)]),
    ],
    "serving-workloads/sample-deployment.yaml": [],
    "tas/sample-job-preferred.yaml": [("job-tas-sample-preferred-5f55f", "tas-user-queue", [("main", 40)])],
    "tas/sample-job-required.yaml": [("job-tas-sample-required-732e7", "tas-user-queue", [("main", 10)])],
    "tas/sample-job-unconstrained.yaml": [("job-tas-sample-unconstrained-738b8", "tas-user-queue", [("main", 6)])],
    "provisioning/sample-job.yaml": [("job-sample-job-0b4af", "user-queue", [("main", 3)])],
    "admin/shared-quota-sample-job.yaml": [("job-sample-job-0b4af", "team-queue", [("main", 1)])],
    "getting-started/quick-start-job.yaml": [("job-sample-job-0b4af", "user-queue", [("main", 3)])],
}


@pytest.mark.skipif(not MANIFESTS.is_dir(), reason="the published manifests are not here")
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_manifests_make_the_workloads_that_one_expects(name: str) -> None:
    made: list[Raw] = []
    for raw in filter(None, yaml.safe_load_all((MANIFESTS / name).read_text())):
        meta = raw["metadata"]
        meta |= {"name": meta.get("name") or meta["generateName"].rstrip("-"), "uid": "uid"}
        key = (raw["apiVersion"].rpartition("/")[0], raw["kind"])
        if key in LIVE:
            assert LIVE[key].refusal(raw) == ""
            made.append(workload_for(raw, LIVE[key], KUEUE))
        elif key in SERVING:
            made += SERVING[key].workloads(raw, KUEUE, NO_PRIORITY)
    got = [
        (one["metadata"]["name"], one["spec"]["queueName"], [(s["name"], s["count"]) for s in one["spec"]["podSets"]])
        for one in made
    ]
    assert got == PUBLISHED[name]
    for one in made:
        assert [part.name for part in workload(one).parts] == [s["name"] for s in one["spec"]["podSets"]]
