"""Controllers of Kubernetes, JobSet and LeaderWorkerSet under our policies: whatever they create is held once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from closeknit.cluster.kinds import CRON_JOB, DEPLOYMENT, JOB, JOB_SET, LEADER_WORKER_SET, POD, STATEFUL_SET
from contract.client import Api
from contract.expect import accepted, eventually, gone, make, namespace
from servers.cluster import RealCluster
from servers.versions import JOB_DEFINITIONS

from .policed import QUEUE, Raw, body_of, create, gates, labels, pods_of, policed, queued

TEAM = {QUEUE: "team"}
BOTH = ["kueue.x-k8s.io/admission", "kueue.x-k8s.io/topology"]
PARENT = "kueue.x-k8s.io/pod-suspending-parent"
OPERATORS = ("jobset", "lws")


@pytest.fixture(scope="module")
def cluster() -> Iterator[RealCluster]:
    others = [one for one in JOB_DEFINITIONS if one not in OPERATORS]
    with policed(["kube-controller-manager", *OPERATORS], others) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def api(cluster: RealCluster) -> Api:
    return cluster.api


@pytest.fixture
def space(api: Api) -> Iterator[str]:
    with namespace(api) as name:
        yield name


def come(api: Api, space: str, number: int) -> list[Raw]:
    """Wait for that many pods, and return them."""
    eventually(lambda: len(pods_of(api, space)) == number)
    return pods_of(api, space)


def job(name: str, labels: Raw | None = None, **spec: Any) -> Raw:
    """A Job for the Job controller."""
    body = body_of(JOB, name, labels, **spec)
    del body["spec"]["managedBy"]
    return body


def test_a_job_makes_no_pods_until_it_is_started_and_then_makes_them_ungated(api: Api) -> None:
    """Although there is a default queue: the pods belong to a job, which has waited already."""
    with queued(api, JOB) as space:
        made = make(api, JOB.path(space), job("x"))
        assert made["spec"]["suspend"] is True
        assert labels(made)[QUEUE] == "default"
        eventually(lambda: "status" in api.get(JOB.path(space, "x")).body)
        assert pods_of(api, space) == []
        accepted(api.merge(JOB.path(space, "x"), {"spec": {"suspend": False}}))
        pods = come(api, space, 4)
        assert [gates(one) for one in pods] == [[]] * 4
        assert not any("kueue.x-k8s.io/managed" in one["metadata"].get("finalizers", ()) for one in pods)
        accepted(api.delete(JOB.path(space, "x"), {"propagationPolicy": "Foreground"}))
        eventually(gone(api, JOB.path(space, "x")))
        assert pods_of(api, space) == []


def test_a_cron_job_makes_jobs_that_wait(api: Api, space: str) -> None:
    template = {"metadata": {"labels": TEAM}, "spec": job("x")["spec"]}
    spec = {"schedule": "* * * * *", "suspend": True, "jobTemplate": template}
    cron = make(api, CRON_JOB.path(space), {"metadata": {"name": "x"}, "spec": spec})
    owner = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "controller": True,
        "name": "x",
        "uid": cron["metadata"]["uid"],
    }
    body = job("x-1", TEAM)
    body["metadata"]["ownerReferences"] = [owner]
    assert make(api, JOB.path(space), body)["spec"]["suspend"] is True


def test_pods_of_a_deployment_wait_each_and_go_with_it(api: Api, space: str) -> None:
    create(api, DEPLOYMENT, space, "x", TEAM, replicas=2)
    for one in come(api, space, 2):
        assert gates(one) == BOTH
        assert one["metadata"]["annotations"][PARENT] == "deployment"
        assert labels(one)[QUEUE] == "team"
        assert "finalizers" not in one["metadata"]
    accepted(api.merge(DEPLOYMENT.path(space, "x"), {"spec": {"replicas": 3}}))
    come(api, space, 3)
    accepted(api.merge(f"{DEPLOYMENT.path(space, 'x')}/scale", {"spec": {"replicas": 1}}))
    come(api, space, 1)
    accepted(api.delete(DEPLOYMENT.path(space, "x"), {"propagationPolicy": "Foreground"}))
    eventually(gone(api, DEPLOYMENT.path(space, "x")))
    assert pods_of(api, space) == []


def test_a_deployment_older_than_the_default_queue_is_left_alone(api: Api, space: str) -> None:
    create(api, DEPLOYMENT, space, "x", replicas=1)
    (pod,) = come(api, space, 1)
    assert gates(pod) == []
    with queued(api, JOB):
        changed = accepted(api.merge(DEPLOYMENT.path(space, "x"), {"metadata": {"annotations": {"a": "b"}}}))
    assert QUEUE not in labels(changed)
    assert [one["metadata"]["name"] for one in pods_of(api, space)] == [pod["metadata"]["name"]]


def test_pods_of_a_stateful_set_wait(api: Api, space: str) -> None:
    create(api, STATEFUL_SET, space, "x", TEAM, podManagementPolicy="Parallel")
    for one in come(api, space, 3):
        assert gates(one) == BOTH
        assert one["metadata"]["annotations"][PARENT] == "statefulset"
    marked = {
        "labels": {"kueue.x-k8s.io/pod-group-name": "g", **TEAM},
        "annotations": {"kueue.x-k8s.io/pod-group-total-count": "3"},
    }
    accepted(api.merge(POD.path(space, "x-0"), {"metadata": marked}))
    accepted(api.merge(POD.path(space, "x-0"), {"spec": {"schedulingGates": None, "nodeSelector": {"a": "b"}}}))
    accepted(api.delete(STATEFUL_SET.path(space, "x"), {"propagationPolicy": "Foreground"}))
    eventually(gone(api, STATEFUL_SET.path(space, "x")))


def test_a_job_set_waits_and_its_jobs_do_not(api: Api) -> None:
    with queued(api, JOB) as space:
        made = create(api, JOB_SET, space, "x")
        assert made["spec"]["suspend"] is True
        accepted(api.merge(JOB_SET.path(space, "x"), {"spec": {"suspend": False}}))
        pods = come(api, space, 8)
        assert [gates(one) for one in pods] == [[]] * 8
        children = api.get(JOB.path(space)).body["items"]
        assert [one["spec"]["suspend"] for one in children] == [False] * 4
        assert not any(QUEUE in labels(one) for one in children)
        accepted(api.delete(JOB_SET.path(space, "x"), {"propagationPolicy": "Foreground"}))
        eventually(gone(api, JOB_SET.path(space, "x")))


def test_a_job_of_a_job_set_may_be_smaller_than_a_slice(api: Api, space: str) -> None:
    """Eight pods in two jobs of four, placed in slices of eight."""
    body = body_of(JOB_SET, "x", TEAM)
    for one in body["spec"]["replicatedJobs"]:
        notes = {"kueue.x-k8s.io/podset-slice-required-topology": "a", "kueue.x-k8s.io/podset-slice-size": "4"}
        one["template"]["spec"]["template"]["metadata"] = {"annotations": notes}
    make(api, JOB_SET.path(space), body)
    accepted(api.merge(JOB_SET.path(space, "x"), {"spec": {"suspend": False}}))
    come(api, space, 8)


def test_pods_of_a_leader_worker_set_wait(api: Api) -> None:
    """The leader, and then the workers, whose StatefulSet belongs to the leader's pod and is left alone."""
    with queued(api, JOB) as space:
        create(api, LEADER_WORKER_SET, space, "x")
        eventually(lambda: len(pods_of(api, space)) >= 1)
        for one in pods_of(api, space):
            assert gates(one) == BOTH
            assert one["metadata"]["annotations"][PARENT] == "leaderworkerset.x-k8s.io/leaderworkerset"
            assert labels(one)[QUEUE] == "default"
        sets = api.get(STATEFUL_SET.path(space)).body["items"]
        assert not any(QUEUE in labels(one) for one in sets)
        accepted(api.delete(LEADER_WORKER_SET.path(space, "x"), {"propagationPolicy": "Foreground"}))
        eventually(gone(api, LEADER_WORKER_SET.path(space, "x")))


def test_a_pod_that_is_orphaned_can_be_changed(api: Api) -> None:
    """The garbage collector removes the owner of pods whose labels the policies would refuse now."""
    with namespace(api) as space:
        create(api, DEPLOYMENT, space, "x", TEAM, replicas=1)
        come(api, space, 1)
        accepted(api.delete(DEPLOYMENT.path(space, "x"), {"propagationPolicy": "Orphan"}))
        eventually(gone(api, DEPLOYMENT.path(space, "x")))
        (left,) = api.get(f"/apis/apps/v1/namespaces/{space}/replicasets").body["items"]
        accepted(
            api.delete(
                f"/apis/apps/v1/namespaces/{space}/replicasets/{left['metadata']['name']}",
                {"propagationPolicy": "Orphan"},
            )
        )
        eventually(lambda: not any("ownerReferences" in one["metadata"] for one in pods_of(api, space)))


def test_a_namespace_with_held_jobs_goes(api: Api) -> None:
    with namespace(api) as space:
        for kind in (JOB, DEPLOYMENT, JOB_SET, LEADER_WORKER_SET):
            create(api, kind, space, "x", TEAM)
    eventually(gone(api, f"/api/v1/namespaces/{space}"))


def test_a_server_finds_nothing_odd_about_the_expressions(api: Api) -> None:
    """The server type-checks policies against their kinds, and would warn."""
    where = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"

    def warned() -> list[Raw]:
        return [one for one in api.get(where).body["items"] if one["metadata"]["name"].startswith("closeknit-")]

    eventually(lambda: all("typeChecking" in one.get("status", {}) for one in warned()))
    said = [warning for one in warned() for warning in one["status"]["typeChecking"].get("expressionWarnings", ())]
    assert said == []
