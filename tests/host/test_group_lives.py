"""The life of pod groups, and of the sets that create such pods, on the embedded host."""

from __future__ import annotations

from collections import Counter

import pytest

from closeknit.cluster import kinds
from closeknit.cluster.kinds import Kind
from closeknit.cluster.port import Update
from host.centre import centre
from host.jobs_of_each_kind import LEADER_WORKER_SET, STATEFUL_SET
from host.lab import Lab, Raw, condition
from host.late import Late

GROUP = "kueue.x-k8s.io/pod-group-name"


def a_pod(name: str, cpu: str = "3", total: int = 3, seconds: str = "1h", labels: str = "", notes: str = "") -> str:
    return f"""
apiVersion: v1
kind: Pod
metadata:
  name: {name}
  namespace: default
  labels: {{kueue.x-k8s.io/queue-name: lq, {GROUP}: one{labels}}}
  annotations:
    kueue.x-k8s.io/pod-group-total-count: "{total}"
    closeknit.dev/run-time: {seconds}
    kueue.x-k8s.io/podset-required-topology: cloud.provider.com/topology-rack
    {notes}
spec:
  restartPolicy: Never
  containers: [{{name: node, image: example, resources: {{requests: {{cpu: "{cpu}"}}}}}}]
"""


def running(manifest: str = "---".join(map(a_pod, ("p0", "p1", "p2")))) -> Lab:
    lab = centre()
    lab.apply(manifest)
    lab.advance(10)
    assert all(pod["status"]["phase"] == "Running" for pod in lab.pods())
    return lab


def fail(lab: Lab, name: str) -> None:
    pod = lab.get(kinds.POD, name)
    status = {**pod["status"], "phase": "Failed", "conditions": []}
    lab.store.update(kinds.POD, {**pod, "status": status}, "status")


def drain(lab: Lab, yes: bool = True) -> None:
    lab.patch(kinds.CLUSTER_QUEUE, "", "cq", {"spec": {"stopPolicy": "HoldAndDrain" if yes else "None"}})


def cut_off(lab: Lab, *nodes: str) -> None:
    for node in nodes:
        lab.patch(kinds.NODE, "", node, {"metadata": {"annotations": {"closeknit.dev/cut-off": "true"}}})


def scale(lab: Lab, kind: Kind, replicas: int) -> None:
    lab.patch(kind, "default", "one", {"spec": {"replicas": replicas}})


def said(raw: Raw, kind: str) -> tuple[str, str]:
    [found] = [one for one in raw["status"]["conditions"] if one["type"] == kind]
    return found["status"], found["reason"]


def phases(lab: Lab) -> dict[str, str]:
    return {pod["metadata"]["name"]: pod["status"]["phase"] for pod in lab.pods()}


def holders(lab: Lab) -> list[str]:
    return list(lab.cluster.control_plane.cache.world.ledger.holdings)


def event_reasons(lab: Lab, name: str) -> list[str]:
    events = (one for one in lab.all(kinds.EVENT) if one["involvedObject"]["name"] == name)
    return [one["reason"] for one in events]


# Pods that fail, are too many, or have ended


def test_a_group_whose_failed_pod_was_replaced_keeps_running() -> None:
    lab = running()
    fail(lab, "p0")
    lab.advance(5)
    assert said(lab.workloads()[0], "PodsReady") == ("False", "WaitForRecovery")
    lab.apply(a_pod("p3"))
    lab.advance(10)
    assert said(lab.workloads()[0], "PodsReady") == ("True", "Recovered")
    lab.advance(2000)
    assert phases(lab) == {"p0": "Failed", "p1": "Running", "p2": "Running", "p3": "Running"}


def test_a_pod_that_succeeded_early_does_not_make_its_group_late() -> None:
    lab = running("---".join((a_pod("p0", seconds="20s"), a_pod("p1"), a_pod("p2"))))
    lab.advance(2000)
    assert phases(lab) == {"p0": "Succeeded", "p1": "Running", "p2": "Running"}
    assert condition(lab.workloads()[0], "PodsReady")


def test_a_replacement_of_another_shape_is_deleted_and_the_group_waits_for_a_better_one() -> None:
    lab = running()
    fail(lab, "p0")
    lab.advance(5)
    lab.apply(a_pod("odd", cpu="1"))
    lab.advance(10)
    assert phases(lab) == {"p0": "Failed", "p1": "Running", "p2": "Running"}
    assert event_reasons(lab, "odd") == ["ExcessPodDeleted"]
    assert said(lab.workloads()[0], "WaitingForReplacementPods") == ("True", "PodsFailed")
    assert not condition(lab.workloads()[0], "Finished")


def test_a_pod_that_is_too_many_is_deleted_and_never_started() -> None:
    lab = running()
    lab.apply(a_pod("extra"))
    lab.advance(5)
    assert phases(lab) == {"p0": "Running", "p1": "Running", "p2": "Running"}
    assert event_reasons(lab, "extra") == ["ExcessPodDeleted"]


def test_a_group_that_has_finished_gets_no_other_workload() -> None:
    lab = centre()
    lab.apply("---".join(a_pod(name, seconds="5s") for name in ("p0", "p1", "p2")))
    lab.advance(30)
    assert condition(lab.workloads()[0], "Finished")
    lab.delete(kinds.WORKLOAD, "default", "one")
    lab.advance(30)
    assert lab.workloads() == []


def test_a_group_named_like_another_workload_gets_an_event() -> None:
    lab = centre()
    lab.apply("""
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: one, namespace: default}
spec: {queueName: none, podSets: [{name: main, count: 1, template: {spec: {containers: [{name: c, image: x}]}}}]}
""")
    lab.apply("---".join(map(a_pod, ("p0", "p1", "p2"))))
    lab.advance(5)
    assert event_reasons(lab, "p0") == ["WorkloadNameConflict"]


# Groups that are evicted or deleted


def test_an_evicted_group_waits_for_other_pods_and_runs_again_with_them() -> None:
    lab = running()
    drain(lab)
    lab.advance(60)
    assert phases(lab) == {"p0": "Failed", "p1": "Failed", "p2": "Failed"}
    assert said(lab.workloads()[0], "WaitingForReplacementPods") == ("True", "ClusterQueueStopped")
    assert holders(lab) == []
    drain(lab, False)
    lab.apply("---".join(map(a_pod, ("q0", "q1", "q2"))))
    lab.advance(20)
    assert phases(lab) == {"q0": "Running", "q1": "Running", "q2": "Running"}


def test_pods_of_an_evicted_group_that_cannot_be_reached_hold_quota_for_their_grace_only() -> None:
    lab = running()
    cut_off(lab, "h00", "h01", "h02")
    lab.advance(1)
    drain(lab)
    lab.advance(20)
    assert holders(lab) == ["default/one"]
    lab.advance(20)
    assert holders(lab) == []
    assert said(lab.workloads()[0], "WaitingForReplacementPods") == ("True", "ClusterQueueStopped")


def test_a_group_that_its_user_deletes_goes_with_everything() -> None:
    lab = running()
    for name in ("p0", "p1", "p2"):
        lab.delete(kinds.POD, "default", name)
    lab.advance(60)
    assert lab.pods() == []
    assert lab.workloads() == []


def test_a_group_that_its_user_deletes_holds_nothing_though_its_nodes_cannot_be_reached() -> None:
    lab = running()
    cut_off(lab, "h00", "h01", "h02")
    lab.advance(1)
    for name in ("p0", "p1", "p2"):
        lab.delete(kinds.POD, "default", name)
    lab.advance(40)
    assert holders(lab) == []
    assert lab.workloads() == []


def test_a_workload_that_is_deleted_takes_the_running_pods_with_it_and_others_get_a_new_one() -> None:
    lab = running()
    lab.delete(kinds.WORKLOAD, "default", "one")
    lab.settle()
    assert all("deletionTimestamp" in pod["metadata"] for pod in lab.pods())
    assert holders(lab) == ["default/one"]
    lab.advance(60)
    assert (lab.pods(), lab.workloads()) == ([], [])
    lab.apply("---".join(map(a_pod, ("q0", "q1", "q2"))))
    lab.advance(20)
    assert phases(lab) == {"q0": "Running", "q1": "Running", "q2": "Running"}


def test_a_workload_that_is_deleted_while_its_pods_wait_is_made_again() -> None:
    lab = centre()
    drain(lab)
    lab.apply("---".join(map(a_pod, ("p0", "p1", "p2"))))
    lab.advance(5)
    before = lab.workloads()[0]["metadata"]["uid"]
    lab.delete(kinds.WORKLOAD, "default", "one")
    lab.advance(5)
    [after] = lab.workloads()
    assert after["metadata"]["uid"] != before
    drain(lab, False)
    lab.advance(20)
    assert phases(lab) == {"p0": "Running", "p1": "Running", "p2": "Running"}


# Prebuilt Workloads

MINE = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: mine, namespace: default, annotations: {kueue.x-k8s.io/is-group-workload: "true"}}
spec:
  queueName: lq
  podSets:
  - name: main
    count: 3
    template: {spec: {containers: [{name: node, image: example, resources: {requests: {cpu: "3"}}}]}}
"""
NAMED = ", kueue.x-k8s.io/prebuilt-workload-name: mine"


def test_a_group_runs_with_the_workload_that_it_names() -> None:
    lab = centre()
    role = "kueue.x-k8s.io/role-hash: main"
    lab.apply("---".join(a_pod(name, labels=NAMED, notes=role) for name in ("p0", "p1", "p2")))
    lab.advance(3)
    assert lab.workloads() == []
    lab.apply(MINE)
    lab.advance(10)
    assert [one["metadata"]["name"] for one in lab.workloads()] == ["mine"]
    assert phases(lab) == {"p0": "Running", "p1": "Running", "p2": "Running"}
    owners = [one["name"] for one in lab.workloads()[0]["metadata"]["ownerReferences"]]
    assert owners == ["p0", "p1", "p2"]


def test_a_workload_that_does_not_count_on_the_pods_that_name_it_is_out_of_sync() -> None:
    lab = centre()
    lab.apply(MINE)
    lab.apply("---".join(a_pod(name, labels=NAMED) for name in ("p0", "p1", "p2")))
    lab.advance(10)
    assert said(lab.workloads()[0], "Finished") == ("True", "OutOfSync")
    assert phases(lab) == {"p0": "Pending", "p1": "Pending", "p2": "Pending"}


# Sets


def test_a_stateful_set_that_is_scaled_to_nothing_is_on_hold_once_none_of_its_pods_runs() -> None:
    lab = running(STATEFUL_SET.manifest)
    scale(lab, kinds.STATEFUL_SET, 0)
    lab.settle()
    assert said(lab.workloads()[0], "QuotaReserved") == ("True", "QuotaReserved")
    lab.advance(120)
    [workload] = lab.workloads()
    assert lab.pods() == []
    assert said(workload, "QuotaReserved") == ("False", "OnHold")
    assert said(workload, "PodsReady") == ("False", "WaitForStart")


def test_a_stateful_set_is_on_hold_until_its_workload_counts_on_as_many_pods_as_it_comes_back_with() -> None:
    lab = running(STATEFUL_SET.manifest)
    scale(lab, kinds.STATEFUL_SET, 0)
    lab.advance(120)
    scale(lab, kinds.STATEFUL_SET, 5)
    seen = lab.store.version
    lab.advance(60)
    states = [change.object for change in lab.store.changes(seen) if change.kind is kinds.WORKLOAD]
    lifted = [one for one in states if said(one, "QuotaReserved")[1] != "OnHold"]
    assert {one["spec"]["podSets"][0]["count"] for one in lifted} == {5}
    assert condition(lifted[-1], "Admitted")
    assert list(phases(lab).values()) == ["Running"] * 5


def test_a_stateful_set_scaled_up_before_its_old_pods_are_gone_is_admitted_again() -> None:
    lab = running(STATEFUL_SET.manifest)
    scale(lab, kinds.STATEFUL_SET, 0)
    lab.advance(1)
    scale(lab, kinds.STATEFUL_SET, 5)
    lab.advance(300)
    [workload] = lab.workloads()
    assert workload["spec"]["podSets"][0]["count"] == 5
    assert list(phases(lab).values()) == ["Running"] * 5
    assert condition(workload, "PodsReady")


def test_the_workload_of_a_replica_goes_when_its_pods_are_gone() -> None:
    lab = running(LEADER_WORKER_SET.manifest)
    scale(lab, kinds.LEADER_WORKER_SET, 1)
    lab.settle()
    assert len(holders(lab)) == 2
    lab.advance(60)
    assert len(holders(lab)) == 1
    assert len(lab.workloads()) == 1
    assert list(phases(lab).values()) == ["Running"] * 3


def test_the_workload_of_a_set_that_is_deleted_is_made_again() -> None:
    lab = running(STATEFUL_SET.manifest)
    before = lab.workloads()[0]["metadata"]
    lab.delete(kinds.WORKLOAD, "default", before["name"])
    lab.advance(120)
    [after] = lab.workloads()
    assert after["metadata"]["uid"] != before["uid"]
    assert list(phases(lab).values()) == ["Running"] * 3


def test_pods_that_are_seen_before_their_set_become_a_group_all_the_same() -> None:
    for manifest, kind, pods in (
        (STATEFUL_SET.manifest, kinds.STATEFUL_SET, 3),
        (LEADER_WORKER_SET.manifest, kinds.LEADER_WORKER_SET, 6),
    ):
        lab = centre()
        Late(lab.cluster, {kind: 5.0})
        lab.apply(manifest)
        lab.advance(60)
        assert list(phases(lab).values()) == ["Running"] * pods


def test_a_pod_that_was_marked_by_what_its_set_was_before_is_marked_again() -> None:
    lab = running(STATEFUL_SET.manifest)
    scale(lab, kinds.STATEFUL_SET, 0)
    lab.advance(120)
    Late(lab.cluster, {kinds.POD: 2.0, kinds.STATEFUL_SET: 3.0})
    scale(lab, kinds.STATEFUL_SET, 5)
    lab.advance(60)
    totals = {pod["metadata"]["annotations"]["kueue.x-k8s.io/pod-group-total-count"] for pod in lab.pods()}
    assert totals == {"5"}
    assert list(phases(lab).values()) == ["Running"] * 5


# Over a slow line


def test_no_pod_of_a_large_group_is_written_twice_though_changes_are_shown_late() -> None:
    lab = centre()
    late = Late(lab.cluster, {kinds.POD: 0.3})
    for number in range(30):
        lab.apply(a_pod(f"p{number:02d}", cpu="250m", total=30, seconds="20s"))
        lab.advance(0.02)
    lab.advance(60)
    assert condition(lab.workloads()[0], "Finished")
    updates = [one.body for one in late.writes if isinstance(one, Update) and one.kind is kinds.POD]
    written = Counter(one["metadata"]["name"] for one in updates)
    assert len(written) == 30
    assert set(written.values()) == {2}, "started, and released"


def test_the_creation_of_a_groups_workload_is_an_event_of_its_first_pod() -> None:
    lab = running()
    made = [one for one in lab.all(kinds.EVENT) if one["reason"] == "CreatedWorkload"]
    assert [one["message"] for one in made] == ["Created Workload: default/one"]
    assert [one["involvedObject"]["name"] for one in made] == ["p0"]


CLASSES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: low}
value: 1
"""
CLASS = "kueue.x-k8s.io/priority-class"
A_GROUP = "---".join(a_pod(name, labels=f", {CLASS}: low") for name in ("p0", "p1", "p2"))
QUEUE = "kueue.x-k8s.io/queue-name: lq"


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize(
    ("kind", "names", "manifest"),
    [
        (kinds.STATEFUL_SET, ["one"], STATEFUL_SET.manifest.replace(QUEUE, f"{CLASS}: low, {QUEUE}")),
        (kinds.LEADER_WORKER_SET, ["one"], LEADER_WORKER_SET.manifest.replace(QUEUE, f"{CLASS}: low, {QUEUE}")),
        (kinds.POD, ["p0", "p1", "p2"], A_GROUP),
    ],
    ids=["StatefulSet", "LeaderWorkerSet", "group"],
)
def test_a_set_or_group_of_another_class_has_workloads_of_that_class(
    kind: Kind, names: list[str], manifest: str, waits: bool
) -> None:
    lab = centre()
    lab.apply(CLASSES)
    drain(lab, waits)
    lab.apply(manifest)
    lab.advance(10)
    for name in names:
        lab.patch(kind, "default", name, {"metadata": {"labels": {CLASS: "high"}}})
    lab.advance(10)
    found = {(one["spec"]["priority"], one["spec"]["priorityClassRef"]["name"]) for one in lab.workloads()}
    assert found == {(100, "high")}
    assert {condition(one, "Admitted") for one in lab.workloads()} == {not waits}


def test_a_group_that_lacks_pods_is_requeued_when_its_queue_runs_again() -> None:
    lab = running()
    drain(lab)
    lab.advance(60)
    assert said(lab.workloads()[0], "QuotaReserved") == ("False", "Suspended")
    drain(lab, False)
    lab.advance(5)
    assert said(lab.workloads()[0], "Requeued") == ("True", "ClusterQueueRestarted")
    assert said(lab.workloads()[0], "QuotaReserved") == ("False", "PendingEvaluation")
