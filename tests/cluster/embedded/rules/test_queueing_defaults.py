"""How jobs are made to wait when they are created."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster import kinds
from closeknit.cluster.kinds import DEPLOYMENT, JOB, JOB_SET, LEADER_WORKER_SET, POD, REPLICA_SET, STATEFUL_SET, Kind
from closeknit.cluster.port import Raw
from closeknit.dialects.kueue.jobs.kinds import FRAMEWORKS
from closeknit.model.gates import Gates
from cluster.embedded.rules.hosts import CONTAINER, KUEUE, QUEUE, Host, a_set, job, owner, pod, template

ADMISSION, TOPOLOGY = {"name": KUEUE + "admission"}, {"name": KUEUE + "topology"}
PARENT = KUEUE + "pod-suspending-parent"
IN_QUEUE = {QUEUE: "q"}

POD_SPEC = {"containers": [CONTAINER]}
REPLICATED = {"name": "w", "template": {"spec": {"template": {"spec": POD_SPEC}}}}
RAY = {"headGroupSpec": {"template": {"spec": POD_SPEC}}}
TRAINING = {"template": {"spec": {"containers": [{"name": "pytorch", "image": "i:1"}]}}}

APP_WRAPPER = kinds.BY_NAME["workload.codeflare.dev", "AppWrapper"]
SPARK_APPLICATION = kinds.BY_NAME["sparkoperator.k8s.io", "SparkApplication"]

BODIES: dict[Kind, Raw] = {
    JOB: job(),
    JOB_SET: {"spec": {"replicatedJobs": [REPLICATED]}},
    kinds.MPI_JOB: {"spec": {"mpiReplicaSpecs": {"Worker": TRAINING}}},
    kinds.PYTORCH_JOB: {"spec": {"pytorchReplicaSpecs": {"Master": TRAINING}}},
    kinds.TRAIN_JOB: {"spec": {"runtimeRef": {"name": "r"}}},
    kinds.RAY_JOB: {"spec": {"shutdownAfterJobFinishes": True, "rayClusterSpec": RAY}},
    kinds.RAY_CLUSTER: {"spec": RAY},
    APP_WRAPPER: {"spec": {"components": [{"template": {"apiVersion": "v1", "kind": "Pod", "spec": POD_SPEC}}]}},
    SPARK_APPLICATION: {"spec": {"mode": "cluster", "driver": {}, "executor": {"instances": 1}}},
}
SUSPEND = {kinds.MPI_JOB: ("runPolicy",), kinds.PYTORCH_JOB: ("runPolicy",)}


def labelled(body: Raw, **meta: Any) -> Raw:
    return {**body, "metadata": {"labels": IN_QUEUE, **meta}}


def host_with_runtime(**settings: Any) -> Host:
    host = Host(**settings)
    host.create(kinds.CLUSTER_TRAINING_RUNTIME, {"metadata": {"name": "r"}, "spec": {}})
    return host


def is_suspended(kind: Kind, made: Raw) -> bool:
    part = made["spec"]
    for key in SUSPEND.get(kind, ()):
        part = part.get(key, {})
    return part.get("suspend") is True


@pytest.mark.parametrize("kind", BODIES, ids=lambda one: one.kind)
def test_a_job_in_a_queue_is_suspended_and_another_is_not(kind: Kind) -> None:
    host = host_with_runtime()
    assert is_suspended(kind, host.create(kind, labelled(BODIES[kind])))
    assert not is_suspended(kind, host.create(kind, {**BODIES[kind], "metadata": {"name": "y"}}))


@pytest.mark.parametrize("kind", BODIES, ids=lambda one: one.kind)
def test_without_a_queue_the_default_one_is_taken_where_there_is_one(kind: Kind) -> None:
    host = host_with_runtime()
    host.default_queue()
    made = host.create(kind, BODIES[kind])
    assert made["metadata"]["labels"][QUEUE] == "default"
    assert is_suspended(kind, made)


@pytest.mark.parametrize("kind", BODIES, ids=lambda one: one.kind)
def test_a_kind_that_is_switched_off_is_left_alone(kind: Kind) -> None:
    host = host_with_runtime(frameworks=frozenset({"pod"}))
    assert not is_suspended(kind, host.create(kind, labelled(BODIES[kind])))


def test_writers_of_ours_make_jobs_that_wait_too() -> None:
    assert Host().create(JOB, labelled(job()), trusted=True)["spec"]["suspend"] is True


def test_nothing_waits_in_a_namespace_that_is_not_managed() -> None:
    made = Host().create(JOB, labelled(job(), namespace="kube-system"))
    assert made["spec"]["suspend"] is False


def test_all_jobs_wait_if_all_are_managed() -> None:
    assert Host(all_jobs=True).create(JOB, job())["spec"]["suspend"] is True


def test_the_default_priority_class_is_for_held_jobs() -> None:
    host = Host()
    host.create(kinds.WORKLOAD_PRIORITY_CLASS, {"metadata": {"name": "default"}, "value": 1})
    assert host.create(JOB, labelled(job()))["metadata"]["labels"] == {
        QUEUE: "q",
        KUEUE + "priority-class": "default",
    }
    other = host.create(JOB, {**job(labels={"a": "b"}), "metadata": {"name": "y", "labels": {"a": "b"}}})
    assert other["metadata"]["labels"] == {"a": "b"}


def test_a_job_of_a_job_that_waits_is_not_held_again() -> None:
    host = Host()
    parent = host.create(JOB_SET, labelled(BODIES[JOB_SET]))
    child = host.create(JOB, labelled(job(), ownerReferences=[owner(parent)]))
    assert child["spec"]["suspend"] is False


def test_an_owner_of_that_name_that_is_not_the_same_object_does_not_count() -> None:
    host = Host()
    parent = host.create(JOB_SET, labelled(BODIES[JOB_SET]))
    child = host.create(JOB, labelled(job(), ownerReferences=[owner(parent, uid="another")]))
    assert child["spec"]["suspend"] is True


def test_a_job_of_a_job_that_does_not_wait_gets_no_default_queue() -> None:
    host = Host()
    parent = host.create(JOB_SET, BODIES[JOB_SET])
    host.default_queue()
    child = host.create(JOB, {**job(), "metadata": {"ownerReferences": [owner(parent)]}})
    assert QUEUE not in child["metadata"]["labels"]
    assert child["spec"]["suspend"] is False


def test_ancestors_are_followed_through_kinds_that_never_wait() -> None:
    host = Host()
    parent = host.create(JOB_SET, labelled(BODIES[JOB_SET]))
    between = host.create(REPLICA_SET, {**a_set(), "metadata": {"ownerReferences": [owner(parent)]}})
    child = host.create(JOB, labelled(job(), ownerReferences=[owner(between)]))
    assert child["spec"]["suspend"] is False


def test_a_circle_of_owners_is_not_followed_for_ever() -> None:
    host = Host()
    one = host.create(REPLICA_SET, {**a_set(), "metadata": {"name": "one"}})
    host.create(REPLICA_SET, {**a_set(), "metadata": {"name": "two", "ownerReferences": [owner(one)]}})
    two = host.store.get(REPLICA_SET, "default", "two")
    host.patch(REPLICA_SET, {"metadata": {"ownerReferences": [owner(two)]}}, name="one")
    assert host.create(JOB, labelled(job(), ownerReferences=[owner(one)]))["spec"]["suspend"] is True


def test_a_pod_in_a_queue_is_gated_marked_and_kept_until_it_was_counted() -> None:
    made = Host().create(POD, labelled(pod()))
    assert made["spec"]["schedulingGates"] == [ADMISSION, TOPOLOGY]
    assert made["metadata"]["labels"] == {QUEUE: "q", KUEUE + "managed": "true"}
    assert made["metadata"]["finalizers"] == [KUEUE + "managed"]
    assert made["status"]["conditions"][0]["reason"] == "SchedulingGated"


def test_a_pod_without_a_queue_is_left_alone() -> None:
    made = Host().create(POD, pod())
    assert "schedulingGates" not in made["spec"]
    assert made["metadata"].keys() & {"labels", "finalizers"} == set()


def test_without_placement_by_topology_there_is_one_gate() -> None:
    off = Gates.profile("closeknit", {"TopologyAwareScheduling": False})
    assert Host(gates=off).create(POD, labelled(pod()))["spec"]["schedulingGates"] == [ADMISSION]


def test_gates_that_are_there_already_stay_once() -> None:
    made = Host().create(POD, labelled(pod(schedulingGates=[{"name": "a/b"}, ADMISSION])))
    assert made["spec"]["schedulingGates"] == [{"name": "a/b"}, ADMISSION, TOPOLOGY]


def test_a_pod_of_a_job_is_left_alone_whatever_its_labels() -> None:
    host = Host()
    parent = host.create(JOB, job())
    made = host.create(POD, labelled(pod(), ownerReferences=[owner(parent)]))
    assert "schedulingGates" not in made["spec"]


def test_pods_in_a_namespace_with_a_default_queue_wait_in_it() -> None:
    host = Host()
    host.default_queue()
    made = host.create(POD, pod())
    assert made["metadata"]["labels"][QUEUE] == "default"
    assert made["spec"]["schedulingGates"] == [ADMISSION, TOPOLOGY]


def test_a_pod_of_a_serving_set_is_gated_by_the_mark_of_its_parent_and_needs_no_finalizer() -> None:
    host = Host()
    parent = host.create(STATEFUL_SET, labelled(a_set()))
    meta = {"ownerReferences": [owner(parent)], "annotations": {PARENT: "statefulset"}}
    made = host.create(POD, {**pod(), "metadata": meta})
    assert made["spec"]["schedulingGates"] == [ADMISSION, TOPOLOGY]
    assert "finalizers" not in made["metadata"]
    others = Host(frameworks=FRAMEWORKS - {"statefulset"})
    assert "schedulingGates" not in others.create(POD, {**pod(), "metadata": meta})["spec"]


def test_the_index_of_a_pod_is_copied_from_the_label_that_is_named() -> None:
    meta = {
        "labels": {"apps.kubernetes.io/pod-index": "3", QUEUE: "q"},
        "annotations": {KUEUE + "pod-group-pod-index-label": "apps.kubernetes.io/pod-index"},
    }
    assert Host().create(POD, {**pod(), "metadata": meta})["metadata"]["labels"][KUEUE + "pod-group-pod-index"] == "3"


def test_the_template_of_a_deployment_says_where_its_pods_wait() -> None:
    labels = {QUEUE: "q", KUEUE + "priority-class": "high"}
    made = Host().create(DEPLOYMENT, {**a_set(), "metadata": {"labels": labels}})
    assert made["spec"]["template"]["metadata"] == {
        "labels": {"app": "x", KUEUE + "managed": "true", **labels},
        "annotations": {PARENT: "deployment"},
    }


def test_the_template_of_a_stateful_set_names_only_its_parent() -> None:
    made = Host().create(STATEFUL_SET, labelled(a_set()))
    assert made["spec"]["template"]["metadata"] == {
        "labels": {"app": "x"},
        "annotations": {PARENT: "statefulset"},
    }


def test_both_templates_of_a_leader_worker_set_are_marked_and_workers_count_from_one() -> None:
    body = {"spec": {"leaderWorkerTemplate": {"size": 2, "leaderTemplate": template(), "workerTemplate": template()}}}
    made = Host().create(LEADER_WORKER_SET, labelled(body))["spec"]["leaderWorkerTemplate"]
    notes = {PARENT: "leaderworkerset.x-k8s.io/leaderworkerset", KUEUE + "pod-group-serving": "true"}
    assert made["leaderTemplate"]["metadata"] == {"labels": {"app": "x", QUEUE: "q"}, "annotations": notes}
    assert made["workerTemplate"]["metadata"] == {
        "labels": {"app": "x", QUEUE: "q"},
        "annotations": {**notes, KUEUE + "pod-index-offset": "1"},
    }


def test_a_set_that_is_updated_keeps_its_labels() -> None:
    host = Host()
    host.create(DEPLOYMENT, labelled(a_set()))
    made = host.patch(DEPLOYMENT, {"spec": {"template": {"metadata": {"annotations": None}}}})
    assert made["spec"]["template"]["metadata"]["annotations"] == {PARENT: "deployment"}


def test_a_job_that_was_started_is_not_suspended_again() -> None:
    host = Host()
    host.create(JOB, labelled(job()))
    assert host.patch(JOB, {"spec": {"suspend": False}})["spec"]["suspend"] is False


def test_a_default_queue_that_comes_later_changes_no_set_that_is_there() -> None:
    host = Host()
    host.create(DEPLOYMENT, a_set())
    host.default_queue()
    changed = host.patch(DEPLOYMENT, {"metadata": {"annotations": {"a": "b"}}})
    assert QUEUE not in changed["metadata"].get("labels", {})
    assert PARENT not in changed["spec"]["template"]["metadata"].get("annotations", {})


@pytest.mark.parametrize(
    "settings", [{}, {"all_jobs": True}, {"gates": Gates.profile("kueue")}], ids=["ours", "all jobs", "kueue"]
)
@pytest.mark.parametrize("labels", [{"a": "b"}, {"a": "b", **IN_QUEUE}], ids=["default queue", "named queue"])
def test_a_pod_of_a_daemon_set_never_waits(settings: Raw, labels: Raw) -> None:
    host = Host(**settings)
    host.default_queue()
    daemon = host.create(kinds.DAEMON_SET, a_set())
    made = host.create(POD, {**pod(), "metadata": {"labels": labels, "ownerReferences": [owner(daemon)]}})
    assert made["metadata"]["labels"] == labels
    assert "finalizers" not in made["metadata"]
    assert "schedulingGates" not in made["spec"]


def test_annotations_of_a_daemon_set_do_not_make_its_pods_wait() -> None:
    host = Host()
    daemon = host.create(kinds.DAEMON_SET, a_set())
    notes = {PARENT: "deployment", KUEUE + "podset-required-topology": "no level!"}
    meta = {"annotations": notes, "ownerReferences": [owner(daemon)]}
    assert "schedulingGates" not in host.create(POD, {**pod(), "metadata": meta})["spec"]
