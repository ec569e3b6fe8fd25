"""What the stand-ins write is what the control plane reads: every kind of job through its whole life."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
import yaml

from closeknit.cluster.embedded.standins import standins
from closeknit.cluster.kinds import (
    BY_NAME,
    CLUSTER_TRAINING_RUNTIME,
    JOB_SET,
    LEADER_WORKER_SET,
    MPI_JOB,
    PYTORCH_JOB,
    RAY_CLUSTER,
    RAY_JOB,
    TRAIN_JOB,
    Kind,
    kind_of,
)
from closeknit.cluster.port import Raw
from closeknit.dialects.kueue.jobs.injection import Info
from closeknit.dialects.kueue.jobs.kinds import LIVE, SERVING, Integration
from closeknit.dialects.kueue.jobs.starting import started, stopping
from closeknit.model.gates import Gates
from cluster.embedded.standins.playground import Playground, template

RUN, CODE = "closeknit.dev/run-time", "closeknit.dev/exit-code"
GATE = "kueue.x-k8s.io/topology"


def pods(notes: dict[str, str]) -> Raw:
    return template(notes, restartPolicy="Never")


def job_set(notes: dict[str, str]) -> Raw:
    spec = {"parallelism": 2, "completions": 2, "backoffLimit": 0, "template": pods(notes)}
    return {"spec": {"replicatedJobs": [{"name": "w", "replicas": 2, "template": {"spec": spec}}]}}


def mpi_job(notes: dict[str, str]) -> Raw:
    launcher = {"restartPolicy": "Never", "template": pods(notes)}
    specs = {"Launcher": launcher, "Worker": {"replicas": 3, "template": pods({})}}
    return {"spec": {"runPolicy": {"backoffLimit": 0, "cleanPodPolicy": "All"}, "mpiReplicaSpecs": specs}}


def pytorch_job(notes: dict[str, str]) -> Raw:
    master = {"replicas": 1, "restartPolicy": "Never", "template": pods(notes)}
    worker = {"replicas": 3, "restartPolicy": "Never", "template": pods({RUN: "5s"})}
    return {
        "spec": {"runPolicy": {"cleanPodPolicy": "All"}, "pytorchReplicaSpecs": {"Master": master, "Worker": worker}}
    }


def train_job(notes: dict[str, str]) -> Raw:
    name = "fails" if CODE in notes else "works"
    return {"spec": {"runtimeRef": {"name": name}, "trainer": {"numNodes": 4}}}


def ray_spec() -> Raw:
    group = {"groupName": "g", "replicas": 3, "minReplicas": 0, "maxReplicas": 5, "rayStartParams": {}}
    head = {"rayStartParams": {}, "template": template(restartPolicy="Always")}
    return {"headGroupSpec": head, "workerGroupSpecs": [{**group, "template": template(restartPolicy="Always")}]}


def ray_job(notes: dict[str, str]) -> Raw:
    submitter = {"submitterPodTemplate": pods(notes), "submitterConfig": {"backoffLimit": 0}}
    return {"spec": {"rayClusterSpec": ray_spec(), "shutdownAfterJobFinishes": True, "entrypoint": "x", **submitter}}


class Case(NamedTuple):
    kind: Kind
    body: Callable[[dict[str, str]], Raw]
    pods: int


CASES = [
    Case(JOB_SET, job_set, 4),
    Case(MPI_JOB, mpi_job, 4),
    Case(PYTORCH_JOB, pytorch_job, 4),
    Case(TRAIN_JOB, train_job, 4),
    Case(RAY_JOB, ray_job, 5),
]
every_kind = pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind.kind)


class Job:
    """A job on a host, with a control plane that is this test."""

    def __init__(self, case: Case, notes: dict[str, str], labels: dict[str, str] | None = None) -> None:
        self.kind = case.kind
        self.host = Playground(*standins(random=Random(1)))
        for name in ("n1", "n2"):
            self.host.node(name)
        self.live: Integration = LIVE[(case.kind.group, case.kind.kind)]
        for name, code in (("works", {}), ("fails", {CODE: "1"})):
            self._runtime(name, {RUN: "30s", **code})
        body = {"metadata": {"name": "j", "labels": labels or {}}, **case.body(notes)}
        self.host.create(case.kind, body if labels else self.live.suspended(body, True))
        self.host.run(3)

    def _runtime(self, name: str, notes: dict[str, str]) -> None:
        node = {**pods(notes)["spec"], "containers": [{"name": "node", "image": "pt:1"}]}
        inner = {"metadata": {"annotations": notes}, "spec": node}
        labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
        job = {
            "name": "node",
            "template": {"metadata": {"labels": labels}, "spec": {"backoffLimit": 0, "template": inner}},
        }
        spec = {"mlPolicy": {"numNodes": 1, "torch": {}}, "template": {"spec": {"replicatedJobs": [job]}}}
        self.host.create(CLUSTER_TRAINING_RUNTIME, {"metadata": {"name": name}, "spec": spec})

    @property
    def raw(self) -> Raw:
        return self.host.get(self.kind, "j")

    @property
    def source(self) -> Raw | None:
        wanted = self.live.source(self.raw)
        return wanted and self.host.find(BY_NAME[wanted.group, wanted.kind], wanted.name, wanted.namespace)

    def start(self, **info: Any) -> None:
        sets = self.live.pod_sets(self.raw, self.source)
        body = started(self.live, self.raw, [Info(one.name, one.count, **info) for one in sets], self.source)
        assert isinstance(body, dict)
        self.host.store.update(self.kind, body)

    def workload(self) -> Raw:
        """What a Workload keeps of the job as it was submitted."""
        sets = self.live.pod_sets(self.raw, self.source)
        return {"spec": {"podSets": [{"name": one.name, "count": one.count, "template": one.template} for one in sets]}}

    def stop(self, workload: Raw) -> None:
        for _ in range(10):
            step = stopping(self.live, self.raw, workload, self.source)
            if step is None:
                return
            self.host.store.update(self.kind, step.body, step.subresource)
            self.host.run(5)

    def pods(self) -> list[Raw]:
        """The pods of the current run."""
        return [pod for pod in self.host.pods() if pod["status"]["phase"] not in ("Succeeded", "Failed")]


@every_kind
def test_a_suspended_job_is_neither_active_nor_ready_nor_over(case: Case) -> None:
    job = Job(case, {RUN: "30s"})
    assert job.live.is_suspended(job.raw)
    assert not job.live.is_active(job.raw)
    assert not job.live.pods_ready(job.raw, job.source)
    assert job.live.finished(job.raw) is None
    assert job.host.pods() == []


@every_kind
def test_a_started_job_is_active_then_ready_then_succeeds(case: Case) -> None:
    job = Job(case, {RUN: "30s"})
    job.start()
    job.host.run(5)
    assert len(job.pods()) == case.pods
    assert job.live.is_active(job.raw)
    assert job.live.pods_ready(job.raw, job.source)
    assert job.live.finished(job.raw) is None
    job.host.run(60)
    end = job.live.finished(job.raw)
    assert end is not None
    assert end.success
    assert end.message


@every_kind
def test_a_failed_job_is_read_as_failed(case: Case) -> None:
    job = Job(case, {RUN: "5s", CODE: "1"})
    job.start()
    job.host.run(60)
    end = job.live.finished(job.raw)
    assert end is not None
    assert not end.success
    assert end.message


@every_kind
def test_pods_of_a_started_job_have_what_admission_gives_them(case: Case) -> None:
    job = Job(case, {RUN: "30s"})
    job.start(
        selector={"kubernetes.io/hostname": "n2"}, labels={"given": "l"}, annotations={"given": "a"}, gates=(GATE,)
    )
    job.host.run(3)
    waiting = job.host.pods()
    assert waiting
    for pod in waiting:
        assert pod["spec"]["schedulingGates"] == [{"name": GATE}]
        assert pod["metadata"]["labels"]["given"] == "l"
        assert pod["metadata"]["annotations"]["given"] == "a"
        assert pod["spec"]["nodeSelector"] == {"kubernetes.io/hostname": "n2"}


@every_kind
def test_a_stopped_job_gives_up_its_pods_and_may_start_elsewhere(case: Case) -> None:
    job = Job(case, {RUN: "30s"})
    before, workload = job.raw["spec"], job.workload()
    job.start(selector={"kubernetes.io/hostname": "n1"})
    job.host.run(5)
    assert {pod["spec"]["nodeName"] for pod in job.pods()} == {"n1"}
    job.stop(workload)
    job.host.run(5)
    assert job.pods() == []
    assert not job.live.is_active(job.raw)
    assert job.live.is_suspended(job.raw)
    assert _but_empty(job.raw["spec"]) == _but_empty(before)
    job.start(selector={"kubernetes.io/hostname": "n2"})
    job.host.run(5)
    assert {pod["spec"]["nodeName"] for pod in job.pods()} == {"n2"}
    job.host.run(60)
    end = job.live.finished(job.raw)
    assert end is not None
    assert end.success


@every_kind
def test_what_belongs_to_a_job_that_waits_in_a_queue_does_not_wait_itself(case: Case) -> None:
    job = Job(case, {RUN: "30s"}, {"kueue.x-k8s.io/queue-name": "q"})
    assert job.live.is_suspended(job.raw)
    job.start()
    job.host.run(5)
    assert len(job.pods()) == case.pods
    assert all(pod["status"]["phase"] == "Running" for pod in job.pods())


def _but_empty(tree: Any) -> Any:
    """Without absent and empty values."""
    if isinstance(tree, dict):
        parts = {key: _but_empty(value) for key, value in tree.items()}
        return {key: value for key, value in parts.items() if value not in (None, {}, [])}
    return [_but_empty(one) for one in tree] if isinstance(tree, list) else tree


MANIFESTS = Path(__file__).parents[4].parent / "shared" / "manifests" / "kueue"
PUBLISHED = (
    "jobs/sample-jobset.yaml",
    "jobs/sample-mpijob.yaml",
    "jobs/sample-pytorchjob.yaml",
    "jobs/ray-job-sample.yaml",
)


@pytest.mark.skipif(not MANIFESTS.is_dir(), reason="the published manifests are not here")
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_manifests_run_to_their_end(name: str) -> None:
    host = Playground(*standins(random=Random(1)))
    host.node("n1")
    raw = yaml.safe_load((MANIFESTS / name).read_text())
    kind = kind_of(raw["apiVersion"], raw["kind"])
    assert kind is not None
    made = host.create(kind, raw)
    live = LIVE[(kind.group, kind.kind)]
    assert live.is_suspended(made)
    host.run(5)
    assert host.pods() == []
    host.store.update(kind, live.suspended(host.get(kind, made["metadata"]["name"]), False))
    host.run(5)
    assert live.is_active(host.get(kind, made["metadata"]["name"]))
    assert live.pods_ready(host.get(kind, made["metadata"]["name"]))
    host.run(120)
    end = live.finished(host.get(kind, made["metadata"]["name"]))
    assert end is not None
    assert end.success


def test_a_ray_cluster_is_active_and_ready_when_its_pods_are() -> None:
    live = LIVE[("ray.io", "RayCluster")]
    host = Playground(*standins(random=Random(1)))
    host.node("n1")
    host.create(RAY_CLUSTER, {"metadata": {"name": "rc"}, "spec": {**ray_spec(), "suspend": True}})
    host.run(5)
    assert not live.is_active(host.get(RAY_CLUSTER, "rc"))
    host.store.update(RAY_CLUSTER, live.suspended(host.get(RAY_CLUSTER, "rc"), False))
    host.run(5)
    assert live.is_active(host.get(RAY_CLUSTER, "rc"))
    assert live.pods_ready(host.get(RAY_CLUSTER, "rc"))
    host.store.update(RAY_CLUSTER, live.suspended(host.get(RAY_CLUSTER, "rc"), True))
    host.run(5)
    assert host.pods() == []
    assert not live.is_active(host.get(RAY_CLUSTER, "rc"))


def test_pods_of_a_leader_worker_set_are_distinguished_by_their_group() -> None:
    serving = SERVING[("leaderworkerset.x-k8s.io", "LeaderWorkerSet")]
    host = Playground(*standins(random=Random(1)))
    host.node("n1")
    one = template(restartPolicy="Always")
    inside = {"size": 3, "leaderTemplate": one, "workerTemplate": one}
    body = {"metadata": {"name": "lw"}, "spec": {"replicas": 2, "leaderWorkerTemplate": inside}}
    host.create(LEADER_WORKER_SET, serving.prepared(body, Gates.profile("kueue")))
    host.run(5)
    raw = host.get(LEADER_WORKER_SET, "lw")
    marked = {pod["metadata"]["name"]: serving.marked(raw, pod)["metadata"] for pod in host.pods()}
    groups: dict[str, list[str]] = {}
    for name, meta in sorted(marked.items()):
        groups.setdefault(meta["labels"]["kueue.x-k8s.io/pod-group-name"], []).append(name)
    assert list(groups.values()) == [["lw-0", "lw-0-1", "lw-0-2"], ["lw-1", "lw-1-1", "lw-1-2"]]
    roles = {name: meta["annotations"]["kueue.x-k8s.io/role-hash"] for name, meta in marked.items()}
    assert (roles["lw-0"], roles["lw-0-1"], roles["lw-1-2"]) == ("leader", "worker", "worker")
