from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster.embedded.standins.binder import Binder
from closeknit.cluster.embedded.standins.garbage import GarbageCollector
from closeknit.cluster.embedded.standins.job import BatchJobs
from closeknit.cluster.embedded.standins.kubelet import Kubelet
from closeknit.cluster.embedded.standins.operators.job_set import JobSets
from closeknit.cluster.embedded.standins.operators.train_job import TrainJobs
from closeknit.cluster.embedded.store import NoRules
from closeknit.cluster.kinds import (
    CLUSTER_TRAINING_RUNTIME,
    JOB,
    JOB_SET,
    POD,
    TRAIN_JOB,
    TRAINING_RUNTIME,
    Kind,
)
from closeknit.cluster.port import Key, Raw
from cluster.embedded.standins.playground import Playground, condition, states

RUN, CODE = "closeknit.dev/run-time", "closeknit.dev/exit-code"
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"


def standins() -> list[Any]:
    return [TrainJobs(), JobSets(), BatchJobs(), Binder(), Kubelet(), GarbageCollector()]


def playground() -> Playground:
    host = Playground(*standins())
    host.node("n1")
    return host


def replicated(name: str, trains: bool = True, notes: dict[str, str] | None = None) -> Raw:
    container = {"name": "node", "image": "pt:1", "env": [{"name": "A", "value": "runtime"}]}
    pods = {
        "metadata": {"annotations": notes or {RUN: "30s"}},
        "spec": {"restartPolicy": "Never", "containers": [container, {"name": "side", "image": "side:1"}]},
    }
    marks = {"labels": {STEP: "trainer"}} if trains else {}
    return {"name": name, "template": {"metadata": marks, "spec": {"backoffLimit": 0, "template": pods}}}


def runtime(host: Playground, *jobs: Raw, kind: Kind = CLUSTER_TRAINING_RUNTIME, **policy: Any) -> Raw:
    policy = policy or {"numNodes": 1, "torch": {}}
    spec = {"mlPolicy": policy, "template": {"spec": {"replicatedJobs": list(jobs) or [replicated("node")]}}}
    return host.create(kind, {"metadata": {"name": "torch"}, "spec": spec})


def create(host: Playground, **spec: Any) -> Raw:
    spec = {"runtimeRef": {"name": "torch"}, **spec}
    return host.create(TRAIN_JOB, {"metadata": {"name": "tj", "labels": {"mine": "1"}}, "spec": spec})


def patches(manager: str, pods: Raw, **more: Any) -> Raw:
    job = {"name": "node", "template": {"spec": {"template": pods}}}
    return {"manager": manager, "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [job]}, **more}}}


def pods_of(host: Playground) -> Raw:
    """The template of the training pods."""
    found: Raw = host.get(JOB_SET, "tj")["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    return found


def suspend(host: Playground, yes: bool, *patched: Raw) -> None:
    host.patch(TRAIN_JOB, "tj", {"spec": {"suspend": yes, "runtimePatches": list(patched)}})


def test_a_job_becomes_a_job_set_made_from_its_runtime() -> None:
    host = playground()
    runtime(host)
    trainer = {
        "numNodes": 2,
        "image": "my:1",
        "command": ["python"],
        "args": ["a.py"],
        "env": [{"name": "E", "value": "v"}],
        "resourcesPerNode": {"requests": {"cpu": "1"}},
        "numProcPerNode": 3,
    }
    create(host, trainer=trainer)
    host.run(5)
    made = host.get(JOB_SET, "tj")
    assert made["metadata"]["ownerReferences"][0]["kind"] == "TrainJob"
    assert "labels" not in made["metadata"]
    (job,) = made["spec"]["replicatedJobs"]
    assert (job["template"]["spec"]["parallelism"], job["template"]["spec"]["completions"]) == (2, 2)
    node, side = pods_of(host)["spec"]["containers"]
    assert (node["image"], node["command"], node["args"]) == ("my:1", ["python"], ["a.py"])
    assert node["resources"] == {"requests": {"cpu": "1"}}
    told = {one["name"]: one.get("value") for one in node["env"]}
    assert told == {
        "A": "runtime",
        "E": "v",
        "PET_NNODES": "2",
        "PET_NPROC_PER_NODE": "3",
        "PET_NODE_RANK": None,
        "PET_MASTER_ADDR": "tj-node-0-0.tj",
        "PET_MASTER_PORT": "29500",
    }
    assert node["ports"] == [{"containerPort": 29500, "protocol": "TCP"}]
    assert side["image"] == "side:1"
    assert sorted(name[:11] for name in host.names(POD)) == ["tj-node-0-0", "tj-node-0-1"]


def test_it_has_the_conditions_of_its_job_set() -> None:
    host = playground()
    runtime(host)
    create(host)
    host.run(5)
    assert host.get(TRAIN_JOB, "tj")["status"] == {
        "jobsStatus": [{"name": "node", "ready": 1, "succeeded": 0, "failed": 0, "active": 1, "suspended": 0}]
    }
    host.run(40)
    end = condition(host.get(TRAIN_JOB, "tj"), "Complete")
    assert end is not None
    assert (end["reason"], end["message"]) == ("AllJobsCompleted", "jobset completed successfully")
    assert host.get(TRAIN_JOB, "tj")["status"]["jobsStatus"][0]["succeeded"] == 1


def test_it_fails_with_its_job_set() -> None:
    host = playground()
    runtime(host, replicated("node", notes={RUN: "3s", CODE: "3"}))
    create(host)
    host.run(20)
    end = condition(host.get(TRAIN_JOB, "tj"), "Failed")
    assert end is not None
    assert end["reason"] == "FailedJobs"
    assert host.get(TRAIN_JOB, "tj")["status"]["jobsStatus"][0]["failed"] == 1


def test_a_runtime_may_belong_to_the_namespace() -> None:
    host = playground()
    runtime(host, kind=TRAINING_RUNTIME)
    create(host, runtimeRef={"name": "torch", "kind": "TrainingRuntime"})
    host.run(5)
    assert host.names(JOB_SET) == ["tj"]


def test_a_job_waits_for_a_runtime_that_is_not_there() -> None:
    host = Playground(*standins(), rules=NoRules())
    host.node("n1")
    create(host)
    host.run(5)
    assert host.names(JOB_SET) == []
    runtime(host)
    host.run(1)
    assert host.names(JOB_SET) == ["tj"]


def test_patches_of_all_managers_are_applied() -> None:
    host = playground()
    runtime(host)
    mine = patches("me.org/x", {"metadata": {"labels": {"p": "1"}}}, metadata={"labels": {"set": "1"}})
    theirs = patches(
        "kueue.x-k8s.io/manager",
        {"spec": {"nodeSelector": {"pool": "a"}, "schedulingGates": [{"name": "gate/one"}]}},
    )
    create(host, runtimePatches=[mine, theirs])
    host.run(1)
    assert host.get(JOB_SET, "tj")["metadata"]["labels"] == {"set": "1"}
    pods = pods_of(host)
    assert pods["metadata"]["labels"] == {"p": "1"}
    assert pods["metadata"]["annotations"] == {RUN: "30s"}
    assert pods["spec"]["nodeSelector"] == {"pool": "a"}
    assert pods["spec"]["schedulingGates"] == [{"name": "gate/one"}]
    assert [one["name"] for one in pods["spec"]["containers"]] == ["node", "side"]


def test_patches_can_change_while_the_job_is_suspended() -> None:
    host = playground()
    runtime(host)
    create(host, suspend=True)
    host.run(5)
    assert host.pods() == []
    assert states(host.get(TRAIN_JOB, "tj")) == {"Suspended": "True"}
    assert host.get(TRAIN_JOB, "tj")["status"]["jobsStatus"][0]["suspended"] == 1
    manager, pods = "kueue.x-k8s.io/manager", {"spec": {"nodeSelector": {"kubernetes.io/hostname": "n1"}}}
    suspend(host, False, patches(manager, pods))
    host.run(5)
    assert [pod["spec"]["nodeSelector"] for pod in host.pods()] == [{"kubernetes.io/hostname": "n1"}]
    assert states(host.get(TRAIN_JOB, "tj")) == {"Suspended": "False"}
    suspend(host, True, patches(manager, pods))
    host.run(5)
    assert host.pods() == []
    suspend(host, True)
    host.run(1)
    assert "nodeSelector" not in pods_of(host)["spec"]
    suspend(host, False)
    host.run(40)
    assert states(host.get(TRAIN_JOB, "tj")) == {"Suspended": "False", "Complete": "True"}


def test_a_running_job_set_is_not_touched() -> None:
    host = playground()
    runtime(host)
    create(host)
    host.run(5)
    before = host.get(JOB_SET, "tj")["metadata"]["generation"]
    host.store.patch(
        Key(CLUSTER_TRAINING_RUNTIME, "", "torch"),
        [{"op": "add", "path": "/metadata/labels", "value": {"new": "1"}}],
        "json",
    )
    host.run(5)
    assert host.get(JOB_SET, "tj")["metadata"]["generation"] == before


@pytest.mark.parametrize(("shared", "nodes"), [(True, 2), (False, 3)])
def test_a_launcher_of_mpi_has_its_nodes(shared: bool, nodes: int) -> None:
    host = playground()
    mpi = {"numProcPerNode": 2, "runLauncherAsNode": shared}
    runtime(host, replicated("launcher"), replicated("node", trains=False), numNodes=1, mpi=mpi)
    create(host, trainer={"numNodes": 3})
    host.run(5)
    assert sum(name.startswith("tj-node-0-") for name in host.names(POD)) == nodes
    assert sum(name.startswith("tj-launcher-0-") for name in host.names(POD)) == 1


def test_a_job_past_its_deadline_fails_and_its_job_set_is_deleted() -> None:
    host = playground()
    runtime(host, replicated("node", notes={RUN: "forever"}))
    create(host, activeDeadlineSeconds=20)
    host.run(30)
    end = condition(host.get(TRAIN_JOB, "tj"), "Failed")
    assert end is not None
    assert (end["reason"], end["message"]) == ("DeadlineExceeded", "TrainJob exceeded its active deadline")
    assert end["lastTransitionTime"] == "2023-11-14T22:13:40Z"
    assert host.names(JOB_SET) == host.names(JOB) == host.names(POD) == []


def test_the_time_of_a_job_begins_when_it_is_resumed() -> None:
    host = playground()
    runtime(host, replicated("node", notes={RUN: "forever"}))
    create(host, activeDeadlineSeconds=20, suspend=True)
    host.run(100)
    suspend(host, False)
    host.run(15)
    assert states(host.get(TRAIN_JOB, "tj")) == {"Suspended": "False"}
    host.run(10)
    assert states(host.get(TRAIN_JOB, "tj"))["Failed"] == "True"


def test_jobs_of_another_manager_are_ignored() -> None:
    host = playground()
    runtime(host)
    create(host, managedBy="kueue.x-k8s.io/multikueue")
    host.run(5)
    assert host.names(JOB_SET) == []


def test_after_a_restart_of_the_host_nothing_is_written() -> None:
    host = playground()
    runtime(host)
    create(host, suspend=True)
    host.run(5)
    before = host.store.version
    host.start(standins())
    host.run(1000)
    assert host.store.version == before
