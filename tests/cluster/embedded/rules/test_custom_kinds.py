"""Defaults and rules of other projects' kinds, as their controllers' CRDs and webhooks have them."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster import kinds
from closeknit.cluster.embedded.rules.crd_defaults import filler
from closeknit.cluster.kinds import JOB_SET, LEADER_WORKER_SET, PROVISIONING_REQUEST, RAY_CLUSTER, TRAIN_JOB, Kind
from closeknit.cluster.port import Raw
from cluster.embedded.rules.hosts import CONTAINER, Host

TEMPLATE = {"spec": {"containers": [CONTAINER]}}
TORCH = {"template": {"spec": {"containers": [{**CONTAINER, "name": "pytorch"}]}}}
RAY = {"headGroupSpec": {"template": TEMPLATE}}


def test_defaults_go_where_their_owner_is_and_nowhere_else() -> None:
    fill = filler({"a.b": 1, "list[].c": 2, "made": {}, "made.d": 3})
    given: Raw = {"list": [{}, {"c": 5}, "text"]}
    assert fill(given) == {"list": [{"c": 2}, {"c": 5}, "text"], "made": {"d": 3}}
    assert given == {"list": [{}, {"c": 5}, "text"]}
    full = {"a": {"b": 0}, "list": [{"c": 1}], "made": {"d": 0}}
    assert fill(full) is full
    assert fill({"a": [], "list": {}, "made": 7}) == {"a": [], "list": {}, "made": 7}


def replicated(name: str = "w", *, pods: Raw | None = None, **job: Any) -> Raw:
    template = {"spec": {**TEMPLATE["spec"], **(pods or {})}}
    return {"name": name, "template": {"spec": {"template": template, **job}}}


def job_set(*jobs: Raw, **spec: Any) -> Raw:
    return {"spec": {"replicatedJobs": list(jobs) or [replicated()], **spec}}


def workers(**group: Any) -> Raw:
    return {"spec": {"leaderWorkerTemplate": {"workerTemplate": TEMPLATE, **group}}}


def spec_of(kind: Kind, body: Raw) -> Raw:
    host = Host()
    host.create(kinds.CLUSTER_TRAINING_RUNTIME, {"metadata": {"name": "r"}, "spec": {}}, trusted=True)
    made: Raw = host.create(kind, body)["spec"]
    return made


def test_a_job_set_is_filled_in() -> None:
    made = spec_of(JOB_SET, job_set(failurePolicy={"rules": [{"action": "FailJobSet"}]}))
    one = made.pop("replicatedJobs")[0]
    assert made == {
        "successPolicy": {"operator": "All"},
        "startupPolicy": {"startupPolicyOrder": "AnyOrder"},
        "network": {"enableDNSHostnames": True, "publishNotReadyAddresses": True},
        "failurePolicy": {
            "restartStrategy": "Recreate",
            "rules": [{"action": "FailJobSet", "name": "failurePolicyRule0"}],
        },
    }
    assert (one["replicas"], one["groupName"]) == (1, "default")
    assert one["template"]["spec"]["completionMode"] == "Indexed"
    assert one["template"]["spec"]["template"]["spec"]["restartPolicy"] == "OnFailure"


def test_defaults_of_a_job_set_can_be_removed_again() -> None:
    host = Host()
    host.create(JOB_SET, job_set())
    assert "successPolicy" not in host.patch(JOB_SET, {"spec": {"successPolicy": None}})["spec"]


def test_a_leader_worker_set_is_filled_in() -> None:
    made = spec_of(LEADER_WORKER_SET, workers())
    assert made == {
        "replicas": 1,
        "startupPolicy": "LeaderCreated",
        "networkConfig": {"subdomainPolicy": "Shared"},
        "rolloutStrategy": {
            "type": "RollingUpdate",
            "rollingUpdateConfiguration": {"partition": 0, "maxUnavailable": 1, "maxSurge": 0},
        },
        "leaderWorkerTemplate": {
            "size": 1,
            "restartPolicy": "RecreateGroupOnPodRestart",
            "workerTemplate": TEMPLATE,
        },
    }
    old_word = spec_of(LEADER_WORKER_SET, workers(restartPolicy="Default"))
    assert old_word["leaderWorkerTemplate"]["restartPolicy"] == "None"


@pytest.mark.parametrize(
    ("kind", "body", "added"),
    [
        (
            kinds.MPI_JOB,
            {"spec": {"mpiReplicaSpecs": {"Worker": {"template": TEMPLATE}}, "runPolicy": {}}},
            {
                "launcherCreationPolicy": "AtStartup",
                "mpiImplementation": "OpenMPI",
                "runLauncherAsWorker": False,
                "slotsPerWorker": 1,
                "sshAuthMountPath": "/root/.ssh",
                "runPolicy": {"suspend": False},
            },
        ),
        (kinds.PYTORCH_JOB, {"spec": {"pytorchReplicaSpecs": {"Master": TORCH}}}, {}),
        (
            TRAIN_JOB,
            {"spec": {"runtimeRef": {"name": "r"}}},
            {
                "managedBy": "trainer.kubeflow.org/trainjob-controller",
                "suspend": False,
                "runtimeRef": {"name": "r", "apiGroup": "trainer.kubeflow.org", "kind": "ClusterTrainingRuntime"},
            },
        ),
        (
            RAY_CLUSTER,
            {"spec": {**RAY, "workerGroupSpecs": [{"groupName": "g", "template": TEMPLATE}]}},
            {
                "workerGroupSpecs": [
                    {
                        "groupName": "g",
                        "template": TEMPLATE,
                        "replicas": 0,
                        "minReplicas": 0,
                        "maxReplicas": 2147483647,
                        "numOfHosts": 1,
                    }
                ]
            },
        ),
        (
            kinds.RAY_JOB,
            {"spec": {"rayClusterSpec": RAY}},
            {"backoffLimit": 0, "submissionMode": "K8sJobMode", "ttlSecondsAfterFinished": 0},
        ),
    ],
)
def test_other_kinds_are_filled_in(kind: Kind, body: Raw, added: Raw) -> None:
    assert spec_of(kind, body) == {**body["spec"], **added}


def request(**spec: Any) -> Raw:
    sets = [{"count": 1, "podTemplateRef": {"name": "t"}}]
    return {"spec": {"provisioningClassName": "c", "podSets": sets, **spec}}


@pytest.mark.parametrize(
    ("kind", "body", "wrong"),
    [
        (JOB_SET, job_set(replicated(), replicated()), ["spec.replicatedJobs[1]"]),
        (JOB_SET, job_set(replicated("Bad_Name")), ["spec.replicatedJobs[0].name"]),
        (JOB_SET, job_set(replicated("a" * 52, completions=1)), ["spec.replicatedJobs[0].name"]),
        (JOB_SET, job_set(replicated("a" * 51, completions=1)), []),
        (JOB_SET, job_set(replicated("a" * 55)), []),
        (
            JOB_SET,
            job_set(successPolicy={"operator": "All", "targetReplicatedJobs": ["z"]}),
            ["spec.successPolicy.targetReplicatedJobs[0]"],
        ),
        (JOB_SET, job_set(successPolicy={"operator": "X"}), ["spec.successPolicy.operator"]),
        (JOB_SET, job_set(network={"subdomain": "A_"}), ["spec.network.subdomain"]),
        (JOB_SET, job_set(managedBy="x"), ["spec.managedBy"]),
        (JOB_SET, job_set(coordinator={"replicatedJob": "z"}), ["spec.coordinator.replicatedJob"]),
        (JOB_SET, job_set(coordinator={"replicatedJob": "w"}), ["spec.coordinator.replicatedJob"]),
        (
            JOB_SET,
            job_set(replicated(completions=2), coordinator={"replicatedJob": "w", "podIndex": 2}),
            ["spec.coordinator.podIndex"],
        ),
        (
            JOB_SET,
            job_set(failurePolicy={"rules": [{"action": "FailJobSet", "name": "a b"}]}),
            ["spec.failurePolicy.rules[0].name"],
        ),
        (
            JOB_SET,
            job_set(failurePolicy={"rules": [{"action": "FailJobSet", "onJobFailureReasons": ["X"]}]}),
            ["spec.failurePolicy.rules[0].onJobFailureReasons[0]"],
        ),
        (
            JOB_SET,
            job_set({**replicated("a"), "dependsOn": [{"name": "b", "status": "Ready"}]}, replicated("b")),
            ["spec.replicatedJobs[0].dependsOn[0].name"],
        ),
        (
            JOB_SET,
            job_set(
                replicated("a"),
                {**replicated("b"), "dependsOn": [{"name": "a", "status": "Ready"}]},
                startupPolicy={"startupPolicyOrder": "InOrder"},
            ),
            ["spec"],
        ),
        (
            JOB_SET,
            job_set(replicated(pods={"containers": []})),
            ["spec.replicatedJobs[0].template.spec.template.spec.containers"],
        ),
        (LEADER_WORKER_SET, {"spec": {}}, ["spec.leaderWorkerTemplate"]),
        (LEADER_WORKER_SET, workers(size=0), ["spec.leaderWorkerTemplate.size"]),
        (
            LEADER_WORKER_SET,
            workers(size=6, subGroupPolicy={"subGroupSize": 4}),
            ["spec.leaderWorkerTemplate.subGroupPolicy.subGroupSize"],
        ),
        (LEADER_WORKER_SET, workers(size=5, subGroupPolicy={"subGroupSize": 2}), []),
        (LEADER_WORKER_SET, {"metadata": {"name": "1a"}, **workers()}, ["metadata.name"]),
        (
            kinds.MPI_JOB,
            {"spec": {"mpiReplicaSpecs": {"Boss": {"template": TEMPLATE}}}},
            ["spec.mpiReplicaSpecs[Boss]"],
        ),
        (
            kinds.PYTORCH_JOB,
            {"spec": {"pytorchReplicaSpecs": {"Master": {**TORCH, "replicas": 2}}}},
            ["spec.pytorchReplicaSpecs.Master.replicas"],
        ),
        (
            kinds.PYTORCH_JOB,
            {"spec": {"pytorchReplicaSpecs": {"Master": {"template": TEMPLATE}}}},
            ["spec.pytorchReplicaSpecs[Master].template.spec.containers"],
        ),
        (TRAIN_JOB, {"spec": {}}, ["spec.runtimeRef"]),
        (TRAIN_JOB, {"spec": {"runtimeRef": {"name": "absent"}}}, ["spec.runtimeRef"]),
        (RAY_CLUSTER, {"spec": {}}, ["spec.headGroupSpec"]),
        (RAY_CLUSTER, {"spec": {**RAY, "managedBy": "x"}}, ["spec.managedBy"]),
        (kinds.RAY_JOB, {"spec": {}}, ["spec.rayClusterSpec"]),
        (kinds.RAY_JOB, {"spec": {"clusterSelector": {"ray.io/cluster": "c"}}}, []),
        (PROVISIONING_REQUEST, request(), []),
        (PROVISIONING_REQUEST, request(podSets=[]), ["spec.podSets"]),
        (PROVISIONING_REQUEST, request(provisioningClassName="A_"), ["spec.provisioningClassName"]),
    ],
)
def test_an_object_that_breaks_a_rule_is_rejected_by_field(kind: Kind, body: Raw, wrong: list[str]) -> None:
    assert [field for field, _ in Host().refusal(kind, body)] == wrong


def moved(**pods: Any) -> Raw:
    """The one replicated job of a JobSet, as it is kept, with something else in its pods."""
    inner = {"containers": [CONTAINER], "restartPolicy": "OnFailure", **pods}
    template = {"spec": {"completionMode": "Indexed", "template": {"spec": inner}}}
    return {"replicatedJobs": [{"name": "w", "replicas": 1, "groupName": "default", "template": template}]}


JOBS = [("spec.replicatedJobs", "Invalid")]


@pytest.mark.parametrize(
    ("change", "while_it_waits", "while_it_runs"),
    [
        (moved(nodeSelector={"a": "b"}), [], JOBS),
        (moved(tolerations=[{"operator": "Exists"}]), [], JOBS),
        (moved(schedulingGates=[{"name": "a/b"}]), [], JOBS),
        ({"suspend": False, **moved(nodeSelector={"a": "b"})}, [], JOBS),
        ({"suspend": True, **moved(nodeSelector={"a": "b"})}, [], []),
        (moved(priorityClassName="z"), JOBS, JOBS),
        ({"ttlSecondsAfterFinished": 5}, [], []),
        ({"network": {"subdomain": "x"}}, [("spec.network", "Invalid")], [("spec.network", "Invalid")]),
        ({"managedBy": "a.b/c"}, [("spec.managedBy", "Invalid")], [("spec.managedBy", "Invalid")]),
        ({"successPolicy": None}, [], []),
    ],
)
def test_a_job_set_may_be_sent_elsewhere_while_it_is_suspended(
    change: Raw, while_it_waits: Any, while_it_runs: Any
) -> None:
    for suspend, wrong in ((True, while_it_waits), (False, while_it_runs)):
        host = Host()
        host.create(JOB_SET, job_set(suspend=suspend))
        assert host.change_refusal(JOB_SET, {"spec": change}) == wrong


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"suspend": False}, []),
        ({"trainer": {"numNodes": 3}}, [("spec.trainer", "Invalid")]),
        ({"runtimeRef": {"name": "z"}}, [("spec.runtimeRef", "Invalid")]),
        ({"runtimePatches": [{"manager": "kueue.x-k8s.io/manager"}]}, []),
    ],
)
def test_a_train_job_is_immutable_except_its_runtime_patches(change: Raw, wrong: Any) -> None:
    host = Host()
    host.create(kinds.CLUSTER_TRAINING_RUNTIME, {"metadata": {"name": "r"}, "spec": {}}, trusted=True)
    host.create(TRAIN_JOB, {"spec": {"runtimeRef": {"name": "r"}, "trainer": {"numNodes": 2}, "suspend": True}})
    assert host.change_refusal(TRAIN_JOB, {"spec": change}) == wrong


def test_patches_of_a_train_job_that_runs_stay() -> None:
    host = Host()
    host.create(kinds.CLUSTER_TRAINING_RUNTIME, {"metadata": {"name": "r"}, "spec": {}}, trusted=True)
    host.create(TRAIN_JOB, {"spec": {"runtimeRef": {"name": "r"}}})
    change = {"spec": {"runtimePatches": [{"manager": "a.b/c"}]}}
    assert host.change_refusal(TRAIN_JOB, change) == [("spec.runtimePatches", "Forbidden")]


def test_the_spec_of_a_provisioning_request_is_immutable() -> None:
    host = Host()
    host.create(PROVISIONING_REQUEST, request())
    change = {"spec": {"provisioningClassName": "d"}}
    assert host.change_refusal(PROVISIONING_REQUEST, change) == [("spec.provisioningClassName", "Invalid")]


def test_sub_groups_of_a_leader_worker_set_stay() -> None:
    host = Host()
    host.create(LEADER_WORKER_SET, workers(size=4, subGroupPolicy={"subGroupSize": 2}))
    change = {"spec": {"leaderWorkerTemplate": {"subGroupPolicy": {"subGroupSize": 1}}}}
    path = "spec.leaderWorkerTemplate.subGroupPolicy"
    assert host.change_refusal(LEADER_WORKER_SET, change) == [(path, "Invalid")]
    assert host.change_refusal(LEADER_WORKER_SET, {"spec": {"replicas": 3}}) == []
