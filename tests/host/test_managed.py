"""Which jobs are managed: by the labels of their namespaces, and by the enabled kinds."""

from __future__ import annotations

import pytest

from closeknit.cluster import kinds
from closeknit.dialects.kueue.jobs.kinds import FRAMEWORKS
from closeknit.host.embedded import EmbeddedOptions
from closeknit.model.cluster_queue import Selector
from closeknit.model.shape import Requirement
from closeknit.observe.live_jobs import Managed
from host.centre import centre
from host.jobs_of_each_kind import CASES, DEPLOYMENT, GROUP, JOB, LEADER_WORKER_SET, POD, STATEFUL_SET, Case
from host.lab import Lab

TEAMS = Managed(namespaces=Selector((Requirement("team", "Exists", ()),)))


def lab_with(managed: Managed) -> Lab:
    return centre(Lab(EmbeddedOptions(managed=managed, seed=1)))


def label(lab: Lab, team: str | None) -> None:
    lab.patch(kinds.NAMESPACE, "", "default", {"metadata": {"labels": {"team": team}}})
    lab.settle()


@pytest.mark.parametrize("case", [JOB, POD, STATEFUL_SET], ids=lambda case: case.name)
def test_a_namespace_that_does_not_match_is_left_alone(case: Case) -> None:
    lab = lab_with(TEAMS)
    lab.apply(case.manifest)
    lab.advance(5)
    assert lab.workloads() == []
    assert not any(pod["spec"].get("schedulingGates") for pod in lab.pods())


@pytest.mark.parametrize("case", [JOB, POD, STATEFUL_SET], ids=lambda case: case.name)
def test_one_that_matches_is_managed(case: Case) -> None:
    lab = lab_with(TEAMS)
    label(lab, "a")
    lab.apply(case.manifest)
    lab.advance(5)
    assert len(lab.workloads()) == 1


def test_jobs_that_are_there_are_managed_once_their_namespace_matches() -> None:
    lab = lab_with(TEAMS)
    lab.apply(JOB.manifest)
    lab.advance(5)
    assert lab.workloads() == []
    label(lab, "a")
    lab.advance(5)
    assert len(lab.workloads()) == 1


def test_a_set_that_waits_to_be_managed_gets_its_workload_when_its_namespace_matches() -> None:
    lab = lab_with(TEAMS)
    lab.apply(STATEFUL_SET.manifest)
    lab.advance(1)
    label(lab, "a")
    lab.advance(1)
    assert len(lab.workloads()) == 1


@pytest.mark.parametrize("name", ["kube-system", "kueue-system", "closeknit-system"])
def test_namespaces_of_the_system_are_left_alone_unless_they_are_named(name: str) -> None:
    managed = Managed()
    assert not managed.namespaces.matches({"kubernetes.io/metadata.name": name})
    assert managed.namespaces.matches({"kubernetes.io/metadata.name": "default"})


FRAMEWORK = {
    "Job": "batch/job",
    "JobSet": "jobset.x-k8s.io/jobset",
    "Pod": "pod",
    "pod group": "pod",
    "Deployment": "deployment",
    "StatefulSet": "statefulset",
    "LeaderWorkerSet": "leaderworkerset.x-k8s.io/leaderworkerset",
    "MPIJob": "kubeflow.org/mpijob",
    "PyTorchJob": "kubeflow.org/pytorchjob",
    "TrainJob": "trainer.kubeflow.org/trainjob",
    "RayCluster": "ray.io/raycluster",
    "RayJob": "ray.io/rayjob",
    "AppWrapper": "workload.codeflare.dev/appwrapper",
    "SparkApplication": "sparkoperator.k8s.io/sparkapplication",
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_kind_that_is_switched_off_is_left_alone(case: Case) -> None:
    children = {"ray.io/raycluster"} if case.name == "RayJob" else set()
    lab = lab_with(Managed(frameworks=FRAMEWORKS - {FRAMEWORK[case.name]} - children))
    lab.apply(case.manifest)
    lab.advance(5)
    assert lab.workloads() == []
    assert not any(pod["spec"].get("schedulingGates") for pod in lab.pods())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_kind_needs_no_other_to_be_switched_on(case: Case) -> None:
    lab = lab_with(Managed(frameworks=frozenset({FRAMEWORK[case.name]})))
    lab.apply(case.manifest)
    lab.advance(10)
    assert len(lab.workloads()) >= 1
    running = [pod for pod in lab.pods() if pod["status"].get("phase") == "Running"]
    assert len(running) == case.pods


@pytest.mark.parametrize("case", [DEPLOYMENT, STATEFUL_SET, LEADER_WORKER_SET], ids=lambda case: case.name)
def test_pods_of_sets_wait_though_pods_by_themselves_do_not(case: Case) -> None:
    lab = lab_with(Managed(frameworks=FRAMEWORKS - {"pod"}))
    alone = lab.apply(GROUP.manifest)
    assert not any(pod["spec"].get("schedulingGates") for pod in alone)
    lab.apply(case.manifest)
    lab.advance(10)
    assert len(lab.workloads()) >= 1
