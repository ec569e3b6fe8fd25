from __future__ import annotations

from typing import Any

from closeknit.dialects.kueue.jobs.kinds import SERVING
from closeknit.dialects.kueue.jobs.kinds.leader_worker_set import replica_name
from closeknit.dialects.kueue.jobs.workload_object import WorkloadPriority
from closeknit.model.gates import Gates

Raw = dict[str, Any]
KUEUE = Gates.profile("kueue")
DEPLOYMENT, STATEFUL = SERVING["apps", "Deployment"], SERVING["apps", "StatefulSet"]
LWS = SERVING["leaderworkerset.x-k8s.io", "LeaderWorkerSet"]
PREFIX = "kueue.x-k8s.io/"
LABELS = {PREFIX + "queue-name": "q", PREFIX + "priority-class": "high"}
TEMPLATE: Raw = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
NORMAL = WorkloadPriority(7, "WorkloadPriorityClass", "high")


def an_object(api_version: str, kind: str, name: str, spec: Raw) -> Raw:
    metadata = {"name": name, "namespace": "team", "uid": "uid", "labels": LABELS}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def a_set(replicas: int = 3) -> Raw:
    return an_object("apps/v1", "StatefulSet", "web", {"replicas": replicas, "template": TEMPLATE})


def a_leader_worker_set(leader: Raw | None = None, worker: Raw = TEMPLATE) -> Raw:
    group: Raw = {"size": 4, "workerTemplate": worker}
    if leader is not None:
        group["leaderTemplate"] = leader
    spec = {"replicas": 2, "leaderWorkerTemplate": group}
    return an_object("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "llm", spec)


def a_pod(labels: Raw, **annotations: str) -> Raw:
    return {"metadata": {"name": "p", "labels": labels, "annotations": annotations}, "spec": {}}


def test_a_deployment_hands_its_queue_to_its_pods_and_has_no_workload_of_its_own() -> None:
    raw = an_object("apps/v1", "Deployment", "web", {"replicas": 2, "template": TEMPLATE})
    made = DEPLOYMENT.prepared(raw, KUEUE)
    assert made["spec"]["template"]["metadata"] == {
        "labels": {"app": "web", PREFIX + "managed": "true", **LABELS},
        "annotations": {PREFIX + "pod-suspending-parent": "deployment"},
    }
    assert DEPLOYMENT.prepared(made, KUEUE) == made
    assert DEPLOYMENT.workloads(raw, KUEUE, NORMAL) == ()
    assert raw["spec"]["template"] is TEMPLATE


def test_the_pods_of_a_stateful_set_are_marked_by_their_parent_at_creation() -> None:
    made = STATEFUL.prepared(a_set(), KUEUE)
    assert made["spec"]["template"]["metadata"] == {
        "labels": {"app": "web"},
        "annotations": {PREFIX + "pod-suspending-parent": "statefulset"},
    }


def test_a_stateful_set_has_one_workload() -> None:
    (workload,) = STATEFUL.workloads(a_set(), KUEUE, NORMAL)
    assert workload["metadata"] == {
        "name": "statefulset-web-e0e5d",
        "namespace": "team",
        "labels": {PREFIX + "job-uid": "uid"},
        "annotations": {
            PREFIX + "is-group-workload": "true",
            PREFIX + "job-owner-gvk": "apps/v1, Kind=StatefulSet",
            PREFIX + "job-owner-name": "web",
        },
        "finalizers": [PREFIX + "resource-in-use"],
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "uid"}],
    }
    assert workload["spec"] == {
        "podSets": [
            {
                "name": "main",
                "count": 3,
                "template": TEMPLATE,
                "topologyRequest": {"podIndexLabel": "apps.kubernetes.io/pod-index"},
            }
        ],
        "queueName": "q",
        "priorityClassRef": {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"},
        "priority": 7,
        "active": True,
    }


def test_a_pod_of_a_stateful_set_becomes_one_of_a_group() -> None:
    pod = STATEFUL.marked(a_set(), a_pod({"apps.kubernetes.io/pod-index": "2"}))
    assert pod["metadata"]["labels"] == {
        "apps.kubernetes.io/pod-index": "2",
        PREFIX + "managed": "true",
        PREFIX + "prebuilt-workload-name": "statefulset-web-e0e5d",
        PREFIX + "pod-group-name": "statefulset-web-e0e5d",
        PREFIX + "queue-name": "q",
        PREFIX + "priority-class": "high",
        PREFIX + "pod-group-pod-index": "2",
    }
    assert pod["metadata"]["annotations"] == {
        PREFIX + "pod-group-total-count": "3",
        PREFIX + "pod-group-fast-admission": "true",
        PREFIX + "pod-group-serving": "true",
        PREFIX + "pod-group-pod-index-label": "apps.kubernetes.io/pod-index",
        PREFIX + "role-hash": "main",
    }
    assert STATEFUL.marked(a_set(), pod) is pod


def test_a_name_too_long_for_a_label_becomes_an_annotation() -> None:
    raw = a_set()
    raw["metadata"] = {**raw["metadata"], "name": "w" * 60}
    pod = STATEFUL.marked(raw, a_pod({}))
    name = pod["metadata"]["annotations"][PREFIX + "pod-group-name"]
    assert name.startswith("statefulset-" + "w" * 60 + "-")
    assert pod["metadata"]["annotations"][PREFIX + "prebuilt-workload-name"] == name
    assert PREFIX + "pod-group-name" not in pod["metadata"]["labels"]


def test_a_pod_of_a_set_scaled_to_zero_is_unchanged() -> None:
    pod = STATEFUL.marked(a_set(), a_pod({"apps.kubernetes.io/pod-index": "2"}))
    assert STATEFUL.marked(a_set(0), pod) is pod


def test_a_stateful_set_scaled_to_zero_is_on_hold() -> None:
    assert STATEFUL.on_hold(a_set(0)) != ""
    assert STATEFUL.on_hold(a_set()) == ""


def test_every_replica_of_a_leader_worker_set_has_a_workload() -> None:
    first, second = LWS.workloads(a_leader_worker_set(), KUEUE, NORMAL)
    assert second["metadata"]["name"] == "leaderworkerset-llm-1-1e853"
    assert second["metadata"]["annotations"] == {
        PREFIX + "is-group-workload": "true",
        PREFIX + "job-owner-gvk": "leaderworkerset.x-k8s.io/v1, Kind=LeaderWorkerSet",
        PREFIX + "job-owner-name": "llm",
        PREFIX + "component-workload-index": "1",
    }
    (main,) = first["spec"]["podSets"]
    assert (main["name"], main["count"]) == ("main", 4)
    assert main["topologyRequest"] == {"podIndexLabel": "leaderworkerset.sigs.k8s.io/worker-index"}


def test_a_leader_of_its_own_is_a_pod_set_of_its_own() -> None:
    (leader, worker) = LWS.workloads(a_leader_worker_set(TEMPLATE), KUEUE, NORMAL)[0]["spec"]["podSets"]
    assert [(leader["name"], leader["count"]), (worker["name"], worker["count"])] == [("leader", 1), ("worker", 3)]
    assert "topologyRequest" not in leader


def test_the_templates_of_a_leader_worker_set_are_marked_with_its_kind() -> None:
    parent = {
        PREFIX + "pod-suspending-parent": "leaderworkerset.x-k8s.io/leaderworkerset",
        PREFIX + "pod-group-serving": "true",
    }
    made = LWS.prepared(a_leader_worker_set(), KUEUE)["spec"]["leaderWorkerTemplate"]
    assert made["workerTemplate"]["metadata"] == {"labels": {"app": "web", **LABELS}, "annotations": parent}
    made = LWS.prepared(a_leader_worker_set(TEMPLATE), KUEUE)["spec"]["leaderWorkerTemplate"]
    assert made["leaderTemplate"]["metadata"]["annotations"] == parent
    offset = {PREFIX + "pod-index-offset": "1"}
    assert made["workerTemplate"]["metadata"]["annotations"] == {**parent, **offset}


def test_workers_in_a_group_with_their_leader_are_counted_with_it() -> None:
    grouped = {**TEMPLATE, "metadata": {"annotations": {PREFIX + "podset-group-name": "g"}}}
    made = LWS.prepared(a_leader_worker_set(TEMPLATE, grouped), KUEUE)["spec"]["leaderWorkerTemplate"]
    assert PREFIX + "pod-index-offset" not in made["workerTemplate"]["metadata"]["annotations"]


def test_a_pod_of_a_leader_worker_set_is_marked_with_its_replica_and_role() -> None:
    raw, index = a_leader_worker_set(TEMPLATE), {"leaderworkerset.sigs.k8s.io/group-index": "1"}
    worker = LWS.marked(raw, a_pod(index, **{"leaderworkerset.sigs.k8s.io/leader-name": "llm-1"}))
    assert worker["metadata"]["labels"] == {
        **index,
        PREFIX + "managed": "true",
        PREFIX + "prebuilt-workload-name": "leaderworkerset-llm-1-1e853",
        PREFIX + "pod-group-name": "leaderworkerset-llm-1-1e853",
        PREFIX + "queue-name": "q",
    }
    assert worker["metadata"]["annotations"][PREFIX + "pod-group-total-count"] == "4"
    assert worker["metadata"]["annotations"][PREFIX + "role-hash"] == "worker"
    assert LWS.marked(raw, a_pod(index))["metadata"]["annotations"][PREFIX + "role-hash"] == "leader"
    plain = LWS.marked(a_leader_worker_set(), a_pod(index))
    assert plain["metadata"]["annotations"][PREFIX + "role-hash"] == "main"
    assert replica_name(raw, 1) == "leaderworkerset-llm-1-1e853"


def test_a_pod_without_a_known_replica_is_unchanged() -> None:
    pod = a_pod({})
    assert LWS.marked(a_leader_worker_set(), pod) is pod
