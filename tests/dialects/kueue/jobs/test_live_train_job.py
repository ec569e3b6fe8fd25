from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.kueue.jobs import read, requests
from closeknit.dialects.kueue.jobs.injection import Info
from closeknit.dialects.kueue.jobs.kinds import LIVE, Finished, Source
from closeknit.dialects.kueue.jobs.starting import started, stopping
from closeknit.dialects.kueue.jobs.workload_object import workload_for
from closeknit.dialects.kueue.objects import Unreadable
from closeknit.model.gates import Gates
from closeknit.model.mistake import InputError
from closeknit.model.shape import Toleration

Raw = dict[str, Any]
TRAIN_JOB = LIVE["trainer.kubeflow.org", "TrainJob"]
KUEUE = Gates.profile("kueue")
STEP = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
LONG = [{"key": "a", "operator": "Exists"}]


def replicated(name: str, labels: Raw | None = None, container: str = "node", **spec: Any) -> Raw:
    pod = {"spec": {"containers": [{"name": container, "image": "old"}], **spec}}
    return {"name": name, "template": {"metadata": {"labels": labels or {}}, "spec": {"template": pod}}}


def a_runtime(*jobs: Raw, kind: str = "ClusterTrainingRuntime", **policy: Any) -> Raw:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": kind,
        "metadata": {"name": "torch"},
        "spec": {"mlPolicy": policy, "template": {"spec": {"replicatedJobs": list(jobs)}}},
    }


def a_job(status: Raw | None = None, patches: list[Raw] | None = None, kind: str = "", **trainer: Any) -> Raw:
    spec: Raw = {"runtimeRef": {"name": "torch"}, "suspend": True, "trainer": trainer}
    if kind:
        spec["runtimeRef"]["kind"] = kind
    if patches is not None:
        spec["runtimePatches"] = patches
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "train", "namespace": "team", "uid": "uid"},
        "spec": spec,
        "status": status or {},
    }


def patch(name: str, pod: Raw, manager: str = "example.com/me") -> Raw:
    jobs = [{"name": name, "template": {"spec": {"template": pod}}}]
    return {"manager": manager, "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}}}


RUNTIME = a_runtime(replicated("data", container="init"), replicated("node", STEP, tolerations=LONG), numNodes=2)


def test_a_train_job_refers_to_a_cluster_training_runtime_by_default() -> None:
    assert TRAIN_JOB.source(a_job()) == Source("trainer.kubeflow.org", "ClusterTrainingRuntime", "", "torch")
    own = a_job(kind="TrainingRuntime")
    assert TRAIN_JOB.source(own) == Source("trainer.kubeflow.org", "TrainingRuntime", "team", "torch")


def test_a_train_job_without_its_runtime_cannot_be_read() -> None:
    with pytest.raises(Unreadable, match='ClusterTrainingRuntime "torch" not found'):
        TRAIN_JOB.pod_sets(a_job(), None)


@pytest.mark.parametrize(("nodes", "count"), [(None, 2), (4, 4)])
def test_the_trainer_has_as_many_pods_as_there_are_nodes(nodes: int | None, count: int) -> None:
    raw = a_job() if nodes is None else a_job(numNodes=nodes)
    data, node = TRAIN_JOB.pod_sets(raw, RUNTIME)
    assert [(data.name, data.count), (node.name, node.count)] == [("data", 1), ("node", count)]
    assert (node.ranks.index_label, node.ranks.group_count) == ("batch.kubernetes.io/job-completion-index", 1)


def test_trainer_fields_apply_only_to_the_training_container() -> None:
    resources = {"requests": {"cpu": "2"}}
    runtime = a_runtime(replicated("data", container="node"), replicated("node", STEP))
    container = runtime["spec"]["template"]["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["spec"]
    container["containers"] = [
        {"name": "node", "image": "old", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
        {"name": "side", "image": "old"},
    ]
    raw = a_job(image="new", command=["run"], args=["x"], env=[{"name": "A", "value": "9"}], resourcesPerNode=resources)
    data, node = TRAIN_JOB.pod_sets(raw, runtime)
    assert data.template["spec"]["containers"] == [{"name": "node", "image": "old"}]
    assert node.template["spec"]["containers"] == [
        {
            "name": "node",
            "image": "new",
            "command": ["run"],
            "args": ["x"],
            "env": [{"name": "A", "value": "9"}, {"name": "B", "value": "2"}],
            "resources": resources,
        },
        {"name": "side", "image": "old"},
    ]


@pytest.mark.parametrize(("shared", "workers"), [(False, 4), (True, 3)])
def test_with_mpi_the_launcher_is_one_pod_and_the_nodes_are_the_rest(shared: bool, workers: int) -> None:
    runtime = a_runtime(replicated("launcher", STEP), replicated("node"), mpi={"runLauncherAsNode": shared}, numNodes=1)
    raw = a_job(numNodes=4, resourcesPerNode={"requests": {"cpu": "2"}})
    launcher, node = TRAIN_JOB.pod_sets(raw, runtime)
    assert [(launcher.name, launcher.count), (node.name, node.count)] == [("launcher", 1), ("node", workers)]
    assert ("resources" in node.template["spec"]["containers"][0]) is shared


def test_what_others_patch_of_the_runtime_counts_and_our_own_patch_does_not() -> None:
    theirs = patch(
        "node",
        {
            "metadata": {"annotations": {"kueue.x-k8s.io/podset-required-topology": "rack"}},
            "spec": {"nodeSelector": {"a": "b"}, "tolerations": [{"key": "z"}], "containers": [{"name": "node"}]},
        },
    )
    ours = patch("node", {"spec": {"nodeSelector": {"pool": "big"}}}, "kueue.x-k8s.io/manager")
    _, node = TRAIN_JOB.pod_sets(a_job(patches=[theirs, ours]), RUNTIME)
    assert node.notes == {"kueue.x-k8s.io/podset-required-topology": "rack"}
    assert node.template["spec"] == {
        "containers": [{"name": "node", "image": "old"}],
        "tolerations": [{"key": "z"}],
        "nodeSelector": {"a": "b"},
    }


INFOS = [
    Info("data", 1, {"l": "0"}, {}, {"pool": "big"}),
    Info("node", 2, {"l": "1"}, {"w": "x"}, {}, (Toleration("t", "Exists"),), ("kueue.x-k8s.io/topology",)),
]


def test_a_started_train_job_carries_a_patch_of_ours() -> None:
    theirs = patch("node", {"spec": {"nodeSelector": {"a": "b"}}})
    raw = started(TRAIN_JOB, a_job(patches=[theirs]), INFOS, RUNTIME)
    assert isinstance(raw, dict)
    assert raw["spec"]["suspend"] is False
    assert raw["spec"]["runtimePatches"] == [
        theirs,
        {
            "manager": "kueue.x-k8s.io/manager",
            "trainingRuntimeSpec": {
                "template": {
                    "spec": {
                        "replicatedJobs": [
                            {
                                "name": "data",
                                "template": {
                                    "spec": {
                                        "template": {
                                            "metadata": {"labels": {"l": "0"}},
                                            "spec": {"nodeSelector": {"pool": "big"}},
                                        }
                                    }
                                },
                            },
                            {
                                "name": "node",
                                "template": {
                                    "spec": {
                                        "template": {
                                            "metadata": {"labels": {"l": "1"}, "annotations": {"w": "x"}},
                                            "spec": {
                                                "tolerations": [
                                                    {"key": "a", "operator": "Exists"},
                                                    {"key": "t", "operator": "Exists"},
                                                ],
                                                "schedulingGates": [{"name": "kueue.x-k8s.io/topology"}],
                                            },
                                        }
                                    }
                                },
                            },
                        ]
                    }
                }
            },
        },
    ]


def test_a_train_job_is_patched_back_once_none_of_its_jobs_is_active() -> None:
    submitted = a_job({"jobsStatus": [{"name": "node", "active": 1}]})
    running = started(TRAIN_JOB, submitted, INFOS, RUNTIME)
    assert isinstance(running, dict)
    workload = workload_for(submitted, TRAIN_JOB, KUEUE, source=RUNTIME)
    first = stopping(TRAIN_JOB, running, workload, RUNTIME)
    assert first is not None
    assert first.body == {**running, "spec": {**running["spec"], "suspend": True}}
    assert stopping(TRAIN_JOB, first.body, workload, RUNTIME) is None
    quiet = {**first.body, "status": {"jobsStatus": [{"name": "node", "active": 0}]}}
    second = stopping(TRAIN_JOB, quiet, workload, RUNTIME)
    assert second is not None
    assert second.body["spec"] == submitted["spec"]


def test_the_state_of_a_train_job_follows_from_its_jobs() -> None:
    both = {"jobsStatus": [{"name": "data", "succeeded": 1}, {"name": "node", "ready": 1, "active": 1}]}
    raw = a_job(both, numNodes=4)
    assert TRAIN_JOB.is_active(raw)
    assert TRAIN_JOB.pods_ready(raw, RUNTIME)
    assert TRAIN_JOB.reclaimable(raw, RUNTIME) == {"data": 1}
    assert not TRAIN_JOB.pods_ready(a_job(), RUNTIME)
    ended = {"conditions": [{"type": "Complete", "status": "True", "message": "done"}]}
    assert TRAIN_JOB.finished(a_job(ended)) == Finished(True, "done")
    assert TRAIN_JOB.finished(a_job({"conditions": [{"type": "Suspended", "status": "True"}]})) is None


def test_a_train_job_in_a_file_is_read_with_the_runtime_beside_it() -> None:
    parsed = requests([("a.yaml", a_job(numNodes=3)), ("b.yaml", RUNTIME)], KUEUE)
    (job,) = parsed.jobs
    assert (job.kind, job.name, job.workload) == ("TrainJob", "train", "trainjob-train-1558e")
    assert [(one.name, one.count) for one in job.request.pod_sets] == [("data", 1), ("node", 3)]
    assert parsed.skipped == ("ClusterTrainingRuntime torch is read with the jobs that name it",)


def test_a_train_job_without_its_runtime_reports_the_missing_runtime() -> None:
    elsewhere = a_runtime(replicated("node", STEP), kind="TrainingRuntime")
    elsewhere["metadata"]["namespace"] = "other"
    with pytest.raises(InputError) as error:
        requests([("a.yaml", a_job(kind="TrainingRuntime")), ("b.yaml", elsewhere)], KUEUE)
    assert str(error.value) == (
        'a.yaml: TrainJob team/train: spec.runtimeRef: refers to TrainingRuntime "torch", '
        "which is not among the objects; add it: it describes the pods of the job"
    )


@pytest.mark.parametrize("broken", [None, 3, "x", [], {}, [{"name": ["x"]}], [{"name": "node", "template": 3}]])
def test_reading_any_runtime_does_not_crash(broken: Any) -> None:
    runtime = a_runtime()
    runtime["spec"]["template"]["spec"]["replicatedJobs"] = broken
    job = a_job(patches=[patch("node", {"spec": {"containers": [{"name": {}}]}})], numNodes="three", env=[{"name": []}])
    (reading, _) = read([("a.yaml", job), ("b.yaml", runtime)], KUEUE)
    assert reading.mistakes
