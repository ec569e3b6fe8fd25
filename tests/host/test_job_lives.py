"""What happens to a job when a user deletes, edits or orphans its objects."""

from __future__ import annotations

import json

import pytest
import yaml

from closeknit.cluster import kinds
from closeknit.cluster.embedded.loop import Loop
from closeknit.cluster.port import Delete, Key
from closeknit.host.embedded import EmbeddedOptions
from closeknit.model.gates import Gates
from closeknit.observe.live_jobs import Managed
from host.centre import centre
from host.jobs_of_each_kind import JOB, JOB_SET, POD, RAY_JOB, TRAIN_JOB
from host.lab import Lab, Raw, condition

QUEUE = "queue-name: lq"
LONG = JOB.manifest.replace("20s", "1h")
PREBUILT = LONG.replace(QUEUE, f"{QUEUE}, kueue.x-k8s.io/prebuilt-workload-name: mine")
CLASSES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: low}
value: 1
"""


def running(manifest: str = LONG, options: EmbeddedOptions | None = None) -> Lab:
    lab = centre(Lab(options))
    lab.apply(manifest)
    lab.advance(10)
    return lab


def waiting(manifest: str = LONG, options: EmbeddedOptions | None = None) -> Lab:
    """A job in a queue that admits nothing for now."""
    lab = centre(Lab(options))
    stop(lab, "Hold")
    lab.apply(manifest)
    lab.advance(3)
    return lab


def stop(lab: Lab, policy: str) -> None:
    lab.patch(kinds.CLUSTER_QUEUE, "", "cq", {"spec": {"stopPolicy": policy}})


def label(lab: Lab, key: str, value: str | None) -> None:
    lab.patch(kinds.JOB, "default", "one", {"metadata": {"labels": {f"kueue.x-k8s.io/{key}": value}}})


def said(raw: Raw, kind: str) -> tuple[str, str, str]:
    [found] = [one for one in raw["status"]["conditions"] if one["type"] == kind]
    return found["status"], found["reason"], found["message"]


def only(lab: Lab) -> Raw:
    [workload] = lab.workloads()
    return workload


def event_messages(lab: Lab, reason: str) -> list[str]:
    return [one["message"] for one in lab.all(kinds.EVENT) if one["reason"] == reason]


def holdings(lab: Lab) -> list[str]:
    return list(lab.cluster.control_plane.cache.world.ledger.holdings)


# Workloads that are deleted, or left behind


def test_a_job_whose_workload_is_deleted_stops_and_starts_again_with_another() -> None:
    lab = running()
    first = only(lab)["metadata"]
    lab.delete(kinds.WORKLOAD, "default", first["name"])
    lab.settle()
    assert event_messages(lab, "Stopped") == ["Workload is deleted"]
    lab.advance(60)
    assert only(lab)["metadata"]["uid"] != first["uid"]
    assert "deletionTimestamp" not in only(lab)["metadata"]
    assert condition(only(lab), "PodsReady")
    assert len(lab.pods()) == 5


def test_a_pending_workload_that_is_deleted_is_created_again() -> None:
    lab = waiting()
    first = only(lab)["metadata"]
    lab.delete(kinds.WORKLOAD, "default", first["name"])
    lab.advance(5)
    assert only(lab)["metadata"]["uid"] != first["uid"]
    assert "deletionTimestamp" not in only(lab)["metadata"]


def test_a_workload_whose_job_was_deleted_without_it_ends_and_gives_its_quota_back() -> None:
    lab = running()
    lab.store.carry_out(Delete(Key(kinds.JOB, "default", "one"), propagation="Orphan"))
    lab.advance(5)
    assert said(only(lab), "Finished") == ("True", "OwnerNotFound", "The workload's owner no longer exists")
    assert holdings(lab) == []


def test_a_workload_that_was_never_of_a_job_needs_no_owner() -> None:
    lab = centre()
    lab.apply("""
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: mine, namespace: default}
spec:
  queueName: lq
  podSets:
  - name: main
    count: 1
    template: {spec: {containers: [{name: c, image: x, resources: {requests: {cpu: 1}}}]}}
""")
    lab.advance(5)
    assert condition(only(lab), "Admitted")
    assert not condition(only(lab), "Finished")


def test_a_job_that_ends_as_it_is_edited_leaves_no_quota_held() -> None:
    lab = running(LONG.replace("completionMode: Indexed", "backoffLimit: 0"))
    lab.patch(kinds.JOB, "default", "one", {"spec": {"parallelism": 4}})
    job, stamp = lab.get(kinds.JOB, "one"), "2027-01-15T08:00:20Z"
    ends = [
        {"type": kind, "status": "True", "lastTransitionTime": stamp} for kind in ("SuccessCriteriaMet", "Complete")
    ]
    counts = {"active": 0, "succeeded": 5, "completionTime": stamp, "conditions": ends}
    lab.store.update(kinds.JOB, {**job, "status": {**job["status"], **counts}}, "status")
    lab.advance(60)
    assert holdings(lab) == []
    assert [one for one in lab.workloads() if not condition(one, "Finished")] == []


def test_a_train_job_finishes_without_its_runtime() -> None:
    lab = running(TRAIN_JOB.manifest)
    lab.delete(kinds.CLUSTER_TRAINING_RUNTIME, "", "torch")
    lab.advance(5)
    assert condition(only(lab), "Admitted")
    assert len(lab.pods()) == 4
    lab.advance(60)
    assert said(only(lab), "Finished")[:2] == ("True", "Succeeded")
    assert holdings(lab) == []


def test_a_train_job_without_its_runtime_is_stopped_all_the_same() -> None:
    lab = running(TRAIN_JOB.manifest.replace("20s", "1h"))
    lab.delete(kinds.CLUSTER_TRAINING_RUNTIME, "", "torch")
    stop(lab, "HoldAndDrain")
    lab.advance(60)
    assert lab.get(kinds.TRAIN_JOB, "one")["spec"]["suspend"] is True
    assert lab.pods() == []
    assert holdings(lab) == []


def test_a_single_pod_releases_its_quota_as_soon_as_it_is_evicted() -> None:
    lab = running(POD.manifest.replace("20s", "1h"))
    [pod] = lab.pods()
    lab.patch(kinds.NODE, "", pod["spec"]["nodeName"], {"metadata": {"annotations": {"closeknit.dev/cut-off": "true"}}})
    lab.advance(1)
    stop(lab, "HoldAndDrain")
    lab.settle()
    [pod] = lab.pods()
    assert "deletionTimestamp" in pod["metadata"]
    assert said(only(lab), "Requeued")[:2] == ("False", "ClusterQueueStopped")
    assert holdings(lab) == []


# Checks, limits and classes that change


def test_a_check_added_to_a_queue_stops_no_running_job() -> None:
    lab = running()
    lab.apply("""
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: budget}
spec: {controllerName: example.com/budget}
""")
    strategy = {"admissionChecks": [{"name": "budget"}]}
    lab.patch(kinds.CLUSTER_QUEUE, "", "cq", {"spec": {"admissionChecksStrategy": strategy}})
    lab.advance(20)
    assert [one["state"] for one in only(lab)["status"]["admissionChecks"]] == ["Pending"]
    assert condition(only(lab), "Admitted")
    assert lab.get(kinds.JOB, "one")["spec"]["suspend"] is False


def test_a_job_that_is_activated_again_has_all_of_its_time() -> None:
    lab = running(LONG.replace(QUEUE, f"{QUEUE}, kueue.x-k8s.io/max-exec-time-seconds: '60'"))
    lab.advance(120)
    assert only(lab)["spec"]["active"] is False
    assert event_messages(lab, "MaximumExecutionTimeExceeded") == ["The maximum execution time (60s) exceeded"]
    assert only(lab)["status"].get("accumulatedPastExecutionTimeSeconds", 0) == 0
    lab.patch(kinds.WORKLOAD, "default", only(lab)["metadata"]["name"], {"spec": {"active": True}})
    lab.advance(50)
    assert condition(only(lab), "Admitted")


def test_the_time_before_a_user_deactivates_a_job_counts() -> None:
    lab = running(LONG.replace(QUEUE, f"{QUEUE}, kueue.x-k8s.io/max-exec-time-seconds: '60'"))
    name = only(lab)["metadata"]["name"]
    lab.patch(kinds.WORKLOAD, "default", name, {"spec": {"active": False}})
    lab.advance(60)
    assert only(lab)["status"]["accumulatedPastExecutionTimeSeconds"] == 10
    lab.patch(kinds.WORKLOAD, "default", name, {"spec": {"active": True}})
    lab.advance(49)
    assert condition(only(lab), "Admitted")
    lab.advance(10)
    assert only(lab)["spec"]["active"] is False


LIMITS = """
apiVersion: v1
kind: LimitRange
metadata: {name: limits, namespace: default}
spec: {limits: [{type: Container, defaultRequest: {memory: 1Gi}, default: {memory: 1Gi}}]}
"""


def usage(lab: Lab) -> Raw:
    found: Raw = only(lab)["status"]["admission"]["podSetAssignments"][0]["resourceUsage"]
    return found


def test_new_limits_apply_to_pending_jobs() -> None:
    lab = waiting()
    lab.apply(LIMITS)
    lab.advance(1)
    stop(lab, "None")
    lab.advance(3)
    assert usage(lab) == {"cpu": "10", "memory": "5Gi"}


def test_limits_that_appear_while_a_job_runs_count_when_it_comes_back() -> None:
    lab = running()
    lab.apply(LIMITS)
    lab.advance(1)
    assert usage(lab) == {"cpu": "10"}
    stop(lab, "HoldAndDrain")
    lab.advance(60)
    stop(lab, "None")
    lab.advance(10)
    assert usage(lab) == {"cpu": "10", "memory": "5Gi"}


def test_new_overhead_applies_to_pending_jobs() -> None:
    lab = waiting(LONG.replace("restartPolicy: Never", "restartPolicy: Never\n      runtimeClassName: boxed"))
    lab.apply("""
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: boxed}
handler: boxed
overhead: {podFixed: {cpu: 500m}}
""")
    lab.advance(1)
    known = lab.cluster.control_plane.cache
    [workload] = known.workloads.values()
    assert workload.parts[0].requests["cpu"] == 2500


def test_a_job_that_may_start_with_fewer_pods_is_left_alone_where_none_may() -> None:
    whole = EmbeddedOptions(gates=Gates.profile("closeknit", {"PartialAdmission": False}), seed=1)
    least = "annotations: {kueue.x-k8s.io/job-min-parallelism: '2'}, labels: {"
    lab = running(LONG.replace("labels: {", least, 1), whole)
    assert event_messages(lab, "UpdatedWorkload") == []
    assert len(lab.pods()) == 5


def test_the_jobs_of_a_job_set_are_part_of_it_though_it_names_no_queue() -> None:
    lab = centre(Lab(EmbeddedOptions(managed=Managed(without_queue=True), seed=1)))
    lab.apply(JOB_SET.manifest.replace(", labels: {kueue.x-k8s.io/queue-name: lq}", ""))
    lab.advance(3)
    lab.patch(kinds.WORKLOAD, "default", only(lab)["metadata"]["name"], {"spec": {"queueName": "lq"}})
    lab.advance(10)
    assert only(lab)["metadata"]["ownerReferences"][0]["kind"] == "JobSet"
    assert [pod["status"]["phase"] for pod in lab.pods()] == ["Running"] * 4


def test_a_class_of_another_value_gives_it_to_every_workload_of_it() -> None:
    ranked = LONG.replace(QUEUE, f"{QUEUE}, kueue.x-k8s.io/priority-class: high")
    lab = running(ranked)
    stop(lab, "Hold")
    lab.apply(ranked.replace("name: one", "name: two") + "---" + LONG.replace("name: one", "name: three"))
    lab.advance(5)
    lab.patch(kinds.WORKLOAD_PRIORITY_CLASS, "", "high", {"value": 7})
    lab.advance(5)
    values = {one["metadata"]["ownerReferences"][0]["name"]: one["spec"]["priority"] for one in lab.workloads()}
    assert values == {"one": 7, "two": 7, "three": 0}


def test_a_priority_that_a_user_gave_to_a_workload_stays() -> None:
    lab = waiting(LONG.replace(QUEUE, f"{QUEUE}, kueue.x-k8s.io/priority-class: high"))
    lab.patch(kinds.WORKLOAD, "default", only(lab)["metadata"]["name"], {"spec": {"priority": 50}})
    lab.advance(5)
    assert only(lab)["spec"]["priority"] == 50


def test_a_job_of_another_class_has_a_workload_of_that_class() -> None:
    lab = waiting(LONG.replace(QUEUE, f"{QUEUE}, kueue.x-k8s.io/priority-class: high"))
    lab.apply(CLASSES)
    label(lab, "priority-class", "low")
    lab.advance(5)
    assert (only(lab)["spec"]["priority"], only(lab)["spec"]["priorityClassRef"]["name"]) == (1, "low")
    stop(lab, "None")
    lab.advance(10)
    label(lab, "priority-class", "high")
    lab.advance(5)
    assert (only(lab)["spec"]["priority"], only(lab)["spec"]["priorityClassRef"]["name"]) == (100, "high")
    assert condition(only(lab), "PodsReady")


def test_a_ray_job_that_is_not_valid_is_on_hold_until_it_is() -> None:
    lab = waiting(RAY_JOB.manifest)
    lab.cluster.loop = Loop(lab.store, [lab.cluster.control_plane])
    says(lab, {"jobDeploymentStatus": "ValidationFailed", "message": "no such thing"})
    stop(lab, "None")
    lab.advance(5)
    assert said(only(lab), "QuotaReserved") == ("False", "OnHold", "no such thing")
    assert holdings(lab) == []
    says(lab, {"jobDeploymentStatus": "Suspended"})
    lab.advance(5)
    assert condition(only(lab), "Admitted")


def says(lab: Lab, status: Raw) -> None:
    lab.store.update(kinds.RAY_JOB, {**lab.get(kinds.RAY_JOB, "one"), "status": status}, "status")


def test_a_job_that_leaves_its_queue_loses_its_workload_and_gets_one_when_it_returns() -> None:
    lab = waiting()
    label(lab, "queue-name", None)
    lab.advance(2)
    assert lab.workloads() == []
    label(lab, "queue-name", "lq")
    stop(lab, "None")
    lab.advance(10)
    assert condition(only(lab), "PodsReady")


# Prebuilt Workloads


def prebuilt(count: int = 5) -> Raw:
    """A Workload for the job, with the job's template as the cluster has defaulted it."""
    template = waiting().get(kinds.JOB, "one")["spec"]["template"]
    pod_set = {"name": "main", "count": count, "template": json.loads(json.dumps(template))}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "mine", "namespace": "default"},
        "spec": {"queueName": "lq", "podSets": [pod_set]},
    }


def test_a_job_waits_for_the_workload_that_it_names_and_makes_it_its_own() -> None:
    lab = running(PREBUILT)
    assert lab.workloads() == []
    assert lab.get(kinds.JOB, "one")["spec"]["suspend"] is True
    lab.create(prebuilt())
    lab.advance(10)
    job, meta = lab.get(kinds.JOB, "one"), only(lab)["metadata"]
    assert meta["labels"]["kueue.x-k8s.io/job-uid"] == job["metadata"]["uid"]
    [owner] = meta["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("Job", "one", True)
    assert condition(only(lab), "PodsReady")
    assert len(lab.pods()) == 5


def test_a_workload_that_was_made_for_another_job_than_this_is_over() -> None:
    lab = centre()
    lab.create(prebuilt(count=4))
    lab.apply(PREBUILT)
    lab.advance(10)
    assert said(only(lab), "Finished") == (
        "True",
        "OutOfSync",
        "The prebuilt workload is out of sync with its user job",
    )
    assert lab.get(kinds.JOB, "one")["spec"]["suspend"] is True
    assert lab.pods() == []


def test_a_workload_of_one_job_is_not_taken_by_another() -> None:
    lab = centre()
    lab.create(prebuilt())
    lab.apply(PREBUILT)
    lab.advance(10)
    lab.apply(PREBUILT.replace("name: one", "name: two"))
    lab.advance(10)
    assert [one["name"] for one in only(lab)["metadata"]["ownerReferences"]] == ["one"]
    assert event_messages(lab, "InvalidJob") == ["the prebuilt Workload default/mine belongs to Job one"]
    assert lab.get(kinds.JOB, "two")["spec"]["suspend"] is True


def test_a_class_that_is_made_again_with_another_value_gives_it_to_every_workload_of_it() -> None:
    lab = running(LONG.replace(QUEUE, f"{QUEUE}, kueue.x-k8s.io/priority-class: high"))
    lab.delete(kinds.WORKLOAD_PRIORITY_CLASS, "", "high")
    lab.advance(5)
    assert only(lab)["spec"]["priority"] == 100
    lab.apply(CLASSES.replace("low", "high"))
    lab.advance(5)
    assert only(lab)["spec"]["priority"] == 1


def test_a_train_job_that_waits_is_rebuilt_when_its_runtime_is_edited() -> None:
    lab = waiting(TRAIN_JOB.manifest)
    runtime = lab.get(kinds.CLUSTER_TRAINING_RUNTIME, "torch")
    edited = json.loads(json.dumps(runtime).replace('"cpu": "2"', '"cpu": "1"'))
    lab.store.update(kinds.CLUSTER_TRAINING_RUNTIME, edited)
    lab.advance(3)
    [part] = only(lab)["spec"]["podSets"]
    [container] = part["template"]["spec"]["containers"]
    assert container["resources"]["requests"] == {"cpu": "1"}


def test_editing_a_runtime_does_not_stop_its_running_jobs() -> None:
    lab = running(TRAIN_JOB.manifest.replace("20s", "1h"))
    runtime = lab.get(kinds.CLUSTER_TRAINING_RUNTIME, "torch")
    edited = json.loads(json.dumps(runtime).replace('"cpu": "2"', '"cpu": "1"'))
    lab.store.update(kinds.CLUSTER_TRAINING_RUNTIME, edited)
    lab.advance(3)
    assert condition(only(lab), "Admitted")
    assert [pod["status"]["phase"] for pod in lab.pods()] == ["Running"] * 4


# Jobs that belong to other jobs


def child(lab: Lab, owner: Raw) -> None:
    """A Job owned by another one, and not suspended."""
    [raw] = [one for one in yaml.safe_load_all(LONG.replace("name: one", "name: child")) if one]
    reference = {key: owner[key] for key in ("apiVersion", "kind")} | {
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }
    raw["metadata"] |= {"labels": {}, "ownerReferences": [reference]}
    lab.create({**raw, "spec": {**raw["spec"], "suspend": False}})


def test_the_child_of_a_job_that_waits_does_not_run() -> None:
    lab = waiting(JOB_SET.manifest)
    child(lab, lab.get(kinds.JOB_SET, "one"))
    lab.advance(3)
    assert lab.get(kinds.JOB, "child")["spec"]["suspend"] is True
    assert event_messages(lab, "Suspended") == ["Kueue managed child job suspended"]
    assert [one["metadata"]["ownerReferences"][0]["kind"] for one in lab.workloads()] == ["JobSet"]


def test_the_child_of_a_job_that_was_admitted_runs() -> None:
    lab = running(JOB_SET.manifest.replace("20s", "1h"))
    assert [one["spec"]["suspend"] for one in lab.all(kinds.JOB)] == [False, False]
    assert event_messages(lab, "Suspended") == []


@pytest.mark.parametrize("verifies", [True, False])
def test_a_job_that_only_names_an_admitted_job_as_its_owner_is_suspended(verifies: bool) -> None:
    """It has no name that the JobSet gives; without the gate it runs, as in Kueue."""
    gates = Gates.profile("closeknit", {"VerifyPodOwners": verifies})
    lab = running(JOB_SET.manifest.replace("20s", "1h"), EmbeddedOptions(seed=1, gates=gates))
    child(lab, lab.get(kinds.JOB_SET, "one"))
    lab.advance(3)
    assert lab.get(kinds.JOB, "child")["spec"]["suspend"] is verifies


def test_the_child_of_an_unmanaged_job_runs() -> None:
    lab = centre()
    lab.apply(JOB_SET.manifest.replace(", labels: {kueue.x-k8s.io/queue-name: lq}", ""))
    lab.advance(3)
    child(lab, lab.get(kinds.JOB_SET, "one"))
    lab.advance(3)
    assert lab.get(kinds.JOB, "child")["spec"]["suspend"] is False
