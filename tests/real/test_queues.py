"""Queues: borrowing and reclaiming, preemption for quota and for topology, eviction and requeuing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from closeknit.observe.pool_form import RACK
from closeknit.quota.tree import MOST_LEVELS
from contract.objects import path
from servers.manifests import Object, is_true

from .scene import CLUSTER_QUEUES, JOBS, KUEUE, WORKLOADS, Scene
from .work import job, of_class, template

EVICTED = "Evicted"


def reason(workload: Object, condition: str) -> str:
    (found,) = [one for one in workload["status"]["conditions"] if one["type"] == condition]
    text: str = found["reason"]
    return text


def priority(scene: Scene, name: str, value: int) -> str:
    full = f"{scene.name}-{name}"
    scene.of_all(
        apiVersion="kueue.x-k8s.io/v1beta2", kind="WorkloadPriorityClass", metadata={"name": full}, value=value
    )
    return full


def test_a_queue_borrows_what_its_cohort_has_left_and_gives_it_back(scene: Scene) -> None:
    scene.nodes(racks=1, hosts=4, cpu=8)
    cohort = {"cohortName": scene.name}
    scene.queue("lender", cpu=16, **cohort, preemption={"reclaimWithinCohort": "Any"})
    scene.queue("borrower", cpu=16, **cohort)
    scene.submit(job("large", 6, template(4, required=RACK)), "borrower")
    scene.await_running(6)
    scene.until(lambda: scene.used("borrower") == "24", "more than its own is in use")
    scene.submit(job("owner", 4, template(4, required=RACK)), "lender")
    scene.await_true("owner", "Admitted")
    evicted = scene.await_true("large", EVICTED)
    assert reason(evicted, EVICTED) == "Preempted"
    assert reason(evicted, "Preempted") == "InCohortReclamation"
    scene.await_running(4, "job-name=owner")
    scene.until(lambda: not scene.pods("job-name=large", gone=True), "its pods are gone")
    scene.finish(*scene.pods("job-name=owner"))
    scene.await_true("owner", "Finished")
    scene.await_running(6, "job-name=large")


def test_a_cohort_that_is_too_deep_says_so(scene: Scene) -> None:
    parents = ["", *(f"{scene.name}-{level}" for level in range(MOST_LEVELS))]
    for level, parent in enumerate(parents):
        spec = {"parentName": parent} if parent else {}
        scene.of_all(apiVersion=KUEUE, kind="Cohort", metadata={"name": f"{scene.name}-{level}"}, spec=spec)
    deepest = f"{scene.name}-{MOST_LEVELS}"
    scene.until(lambda: unusable(scene, deepest) == ["CohortTooDeep"], "the cohort below the last level reports it")


def unusable(scene: Scene, cohort: str) -> list[str]:
    """Why a cohort cannot be used."""
    status = scene.api.get(path(f"{KUEUE}/cohorts", None, cohort)).body.get("status") or {}
    return [one["reason"] for one in status.get("conditions") or () if one["status"] == "False"]


def test_a_cycle_of_cohorts_says_so_until_it_is_broken(scene: Scene) -> None:
    names = [f"{scene.name}-{one}" for one in "ab"]
    for name, parent in zip(names, reversed(names), strict=True):
        scene.of_all(apiVersion=KUEUE, kind="Cohort", metadata={"name": name}, spec={"parentName": parent})
    scene.until(lambda: [unusable(scene, one) for one in names] == [["CohortCycle"]] * 2, "both report it")
    where = path(f"{KUEUE}/cohorts", None, names[0])
    assert scene.api.merge(where, {"spec": {"parentName": None}}).status == 200
    scene.until(lambda: [unusable(scene, one) for one in names] == [[], []], "neither does")


def test_a_queue_with_a_multikueue_check_and_a_topology_is_inactive_and_its_job_says_so(scene: Scene) -> None:
    scene.nodes(racks=1, hosts=1)
    check = {"controllerName": "kueue.x-k8s.io/multikueue"}
    scene.of_all(apiVersion=KUEUE, kind="AdmissionCheck", metadata={"name": scene.name}, spec=check)
    queue = scene.queue(admissionChecksStrategy={"admissionChecks": [{"name": scene.name}]})
    scene.submit(job("train", 1, template(1, required=RACK)))

    def active() -> tuple[str, str]:
        [one] = [one for one in scene.get(CLUSTER_QUEUES, queue)["status"]["conditions"] if one["type"] == "Active"]
        return one["status"], one["reason"]

    scene.until(lambda: active() == ("False", "NotSupportedWithTopologyAwareScheduling"), "the queue is inactive")
    scene.until(lambda: scene.why("train") == f"ClusterQueue {queue} is inactive", "its job says so")
    scene.patch(CLUSTER_QUEUES, queue, {"spec": {"admissionChecksStrategy": None}})
    scene.await_true("train", "Admitted")


def test_a_queue_borrows_no_more_than_it_may(scene: Scene) -> None:
    scene.nodes(racks=1, hosts=4, cpu=8)
    scene.queue("lender", cpu=16, cohortName=scene.name)
    scene.queue("borrower", cpu=8, cohortName=scene.name, limits={"borrowingLimit": "4"})
    scene.submit(job("large", 4, template(4, required=RACK)), "borrower")
    scene.until(lambda: "insufficient quota" in scene.why("large") or "maximum capacity" in scene.why("large"), "waits")
    scene.submit(job("small", 3, template(4, required=RACK)), "borrower")
    scene.await_running(3)


def test_a_job_of_higher_priority_takes_the_quota_of_a_lower_one(scene: Scene) -> None:
    scene.nodes(racks=1, hosts=4, cpu=8)
    scene.queue(cpu=16, preemption={"withinClusterQueue": "LowerPriority"})
    low, high = priority(scene, "low", 1), priority(scene, "high", 100)
    scene.submit(of_class(job("low", 4, template(4, required=RACK)), low))
    scene.await_running(4)
    scene.submit(of_class(job("high", 2, template(4, required=RACK)), high))
    evicted = scene.await_true("low", EVICTED)
    assert reason(evicted, "Preempted") == "InClusterQueue"
    scene.await_running(2, "job-name=high")
    assert scene.places("job-name=high") == scene.plan("high")
    suspended = scene.until(lambda: scene.get(JOBS, "low")["spec"]["suspend"], "the other is suspended")
    assert suspended is True
    scene.finish(*scene.pods("job-name=high"))
    scene.await_running(4, "job-name=low")


def test_a_job_of_higher_priority_takes_the_rack_that_it_needs(scene: Scene) -> None:
    """There is enough quota and capacity, but no rack has enough."""
    scene.nodes(racks=2, hosts=2, cpu=8)
    scene.queue(preemption={"withinClusterQueue": "LowerPriority"})
    low, high = priority(scene, "low", 1), priority(scene, "high", 100)
    scene.submit(of_class(job("first", 2, template(6, required=RACK)), low))
    scene.await_true("first", "Admitted")
    scene.submit(of_class(job("second", 1, template(6, required=RACK)), low))
    scene.await_true("second", "Admitted")
    scene.await_running(3)
    scene.submit(of_class(job("high", 2, template(8, required=RACK)), high))
    scene.await_running(2, "job-name=high")
    assert len(scene.racks(scene.plan("high"))) == 1
    assert scene.places("job-name=high") == scene.plan("high")
    victims = [name for name in ("first", "second") if is_true(scene.workload(name), EVICTED)]
    assert len(victims) == 1


def test_an_evicted_job_is_restored_and_starts_again_when_it_may(scene: Scene) -> None:
    scene.nodes(racks=1, hosts=2, cpu=8)
    scene.queue(cpu=16)
    made = scene.submit(job("train", 4, template(4, required=RACK)))
    assert made["spec"]["suspend"] is True
    scene.await_running(4)
    name = scene.workload("train")["metadata"]["name"]
    running = scene.get(JOBS, "train")["spec"]
    assert running["suspend"] is False
    assert running["template"]["spec"]["schedulingGates"] == [{"name": "kueue.x-k8s.io/topology"}]
    scene.patch(WORKLOADS, name, {"spec": {"active": False}})
    evicted = scene.await_true("train", EVICTED)
    assert reason(evicted, EVICTED) == "Deactivated"
    scene.until(lambda: not scene.pods(gone=True), "its pods are gone")
    scene.until(lambda: scene.used() == "0", "none of the quota is in use")
    assert scene.get(JOBS, "train")["spec"]["suspend"] is True
    scene.until(
        lambda: scene.get(JOBS, "train")["spec"]["template"] == made["spec"]["template"], "the template is restored"
    )
    scene.stays(lambda: not scene.pods(), "it does not come back by itself", 2)
    scene.patch(WORKLOADS, name, {"spec": {"active": True}})
    scene.await_running(4)
    assert scene.places() == scene.plan("train")
    assert reason(scene.workload("train"), "Requeued") == "Reactivated"


def test_a_drained_queue_evicts_all_workloads_until_it_resumes(scene: Scene) -> None:
    scene.nodes(racks=1, hosts=2, cpu=8)
    queue = scene.queue()
    scene.submit(job("train", 4, template(4, required=RACK)))
    scene.await_running(4)
    scene.patch(CLUSTER_QUEUES, queue, {"spec": {"stopPolicy": "HoldAndDrain"}})
    evicted = scene.await_true("train", EVICTED)
    assert reason(evicted, EVICTED) == "ClusterQueueStopped"
    scene.until(lambda: not scene.pods(gone=True), "its pods are gone")
    scene.patch(CLUSTER_QUEUES, queue, {"spec": {"stopPolicy": "None"}})
    scene.await_running(4)
    scene.finish(*scene.pods())
    scene.await_true("train", "Finished")


def test_a_job_that_takes_too_long_is_stopped_for_good(scene: Scene) -> None:
    scene.nodes(racks=1, hosts=2, cpu=8)
    scene.queue()
    body = job("train", 2, template(4, required=RACK))
    body["metadata"]["labels"] = {"kueue.x-k8s.io/max-exec-time-seconds": "2"}
    scene.submit(body)
    scene.await_running(2)
    evicted = scene.await_true("train", EVICTED)
    assert reason(evicted, EVICTED) == "DeactivatedDueToMaximumExecutionTimeExceeded"
    assert evicted["spec"]["active"] is False
    scene.until(lambda: not scene.pods(gone=True), "its pods are gone")


def test_a_job_suspended_by_hand_while_admitted_resumes(scene: Scene) -> None:
    scene.nodes(racks=1, hosts=2, cpu=8)
    scene.queue()
    scene.submit(job("train", 2, template(4, required=RACK)))
    first = {one["metadata"]["uid"] for one in scene.await_running(2)}
    scene.patch(JOBS, "train", {"spec": {"suspend": True}})
    scene.until(lambda: not first & {one["metadata"]["uid"] for one in scene.pods()}, "its first pods are gone")
    scene.await_running(2)
    assert scene.places() == scene.plan("train")


OLD = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: old, namespace: NAMESPACE}
spec: {clusterQueue: NAMESPACE-main}
"""


def closeknit(scene: Scene, *words: str) -> str:
    command = [sys.executable, "-m", "closeknit", *words, "--kubeconfig", scene.place.kubeconfig]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return ran.stdout + ran.stderr


def test_manifests_of_older_versions_are_not_served_and_the_commands_that_take_them_are_named(
    scene: Scene, tmp_path: Path
) -> None:
    scene.nodes(racks=1, hosts=1)
    scene.queue()
    file = tmp_path / "old.yaml"
    file.write_text(OLD.replace("NAMESPACE", scene.name))
    assert scene.api.get(f"/apis/kueue.x-k8s.io/v1beta1/namespaces/{scene.name}/localqueues").status == 404
    assert "manifests of older versions: `closeknit convert` rewrites them" in closeknit(scene, "doctor")
    closeknit(scene, "apply", "-f", str(file))
    scene.submit(job("train", 1, template(1, required=RACK)), "old")
    scene.await_true("train", "Admitted")
