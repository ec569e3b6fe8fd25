"""Jobs on the embedded host when queues stop, time limits expire, pods are late, or admission checks decide."""

from __future__ import annotations

import pytest

from closeknit.cluster import kinds
from closeknit.cluster.errors import TooManyRequests
from closeknit.cluster.port import EvictPod
from closeknit.host.embedded import EmbeddedOptions
from closeknit.model.settings import PodsReady, Settings
from host.centre import centre
from host.jobs_of_each_kind import JOB
from host.lab import Lab, Raw, condition

LONG = JOB.manifest.replace("20s", "1h")


def running(manifest: str = LONG, options: EmbeddedOptions | None = None) -> Lab:
    lab = centre(Lab(options))
    lab.apply(manifest)
    lab.advance(10)
    return lab


def said(raw: Raw, kind: str) -> tuple[str, str]:
    [found] = [one for one in raw["status"]["conditions"] if one["type"] == kind]
    return found["status"], found["reason"]


def test_a_queue_that_drains_stops_its_jobs_and_one_that_runs_again_starts_them() -> None:
    lab = running()
    lab.patch(kinds.CLUSTER_QUEUE, "", "cq", {"spec": {"stopPolicy": "HoldAndDrain"}})
    lab.advance(60)
    [workload] = lab.workloads()
    assert said(workload, "Evicted") == ("True", "ClusterQueueStopped")
    assert said(workload, "Requeued") == ("False", "ClusterQueueStopped")
    assert lab.get(kinds.JOB, "one")["spec"]["suspend"] is True
    lab.patch(kinds.CLUSTER_QUEUE, "", "cq", {"spec": {"stopPolicy": "None"}})
    lab.advance(20)
    assert said(lab.workloads()[0], "Requeued") == ("True", "ClusterQueueRestarted")
    assert condition(lab.workloads()[0], "PodsReady")


def test_a_queue_on_hold_keeps_running_jobs_and_admits_no_others() -> None:
    lab = running()
    lab.patch(kinds.CLUSTER_QUEUE, "", "cq", {"spec": {"stopPolicy": "Hold"}})
    lab.apply(LONG.replace("name: one", "name: two"))
    lab.advance(30)
    one, two = sorted(lab.workloads(), key=lambda raw: str(raw["metadata"]["name"]))
    assert condition(one, "Admitted")
    assert said(two, "QuotaReserved") == ("False", "Suspended")


def test_a_job_may_run_for_its_time_and_no_longer() -> None:
    label = "queue-name: lq, kueue.x-k8s.io/max-exec-time-seconds: '60'"
    lab = running(LONG.replace("queue-name: lq", label))
    assert condition(lab.workloads()[0], "Admitted")
    lab.advance(120)
    [workload] = lab.workloads()
    assert workload["spec"]["active"] is False
    assert said(workload, "Evicted") == ("True", "DeactivatedDueToMaximumExecutionTimeExceeded")
    assert lab.get(kinds.JOB, "one")["spec"]["suspend"] is True


def test_pods_that_are_not_ready_in_time_send_a_job_back_for_longer_each_time() -> None:
    waits = Settings(pods_ready=PodsReady(timeout=30.0, base=10.0, limit=2))
    late = LONG.replace(
        "closeknit.dev/run-time: 1h", "closeknit.dev/run-time: 1h\n        closeknit.dev/start-time: 1h"
    )
    lab = running(late, EmbeddedOptions(settings=waits, seed=1))
    lab.advance(30)
    [workload] = lab.workloads()
    assert workload["status"]["requeueState"]["count"] == 1
    lab.advance(300)
    [workload] = lab.workloads()
    assert workload["spec"]["active"] is False
    assert said(workload, "Evicted") == ("True", "DeactivatedDueToRequeuingLimitExceeded")


def test_a_check_of_another_controller_holds_a_job_until_it_is_ready() -> None:
    lab = centre()
    lab.apply("""
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: budget}
spec: {controllerName: example.com/budget}
""")
    check = lab.get(kinds.ADMISSION_CHECK, "budget")
    active = {
        "type": "Active",
        "status": "True",
        "reason": "Active",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    lab.cluster.store.update(kinds.ADMISSION_CHECK, {**check, "status": {"conditions": [active]}}, "status")
    strategy = {"admissionChecks": [{"name": "budget"}]}
    lab.patch(kinds.CLUSTER_QUEUE, "", "cq", {"spec": {"admissionChecksStrategy": strategy}})
    lab.apply(LONG)
    lab.advance(20)
    [workload] = lab.workloads()
    assert said(workload, "Admitted") == ("False", "UnsatisfiedAdmissionChecks")
    assert lab.get(kinds.JOB, "one")["spec"]["suspend"] is True
    answer(lab, "Retry", requeueAfterSeconds=60)
    lab.advance(5)
    [workload] = lab.workloads()
    assert said(workload, "Evicted") == ("True", "AdmissionCheck")
    assert workload["status"]["admissionChecks"][0]["retryCount"] == 1
    lab.advance(70)
    assert condition(lab.workloads()[0], "QuotaReserved")
    answer(lab, "Ready", podSetUpdates=[{"name": "main", "labels": {"cost": "centre-7"}}])
    lab.advance(10)
    assert condition(lab.workloads()[0], "PodsReady")
    assert all(pod["metadata"]["labels"]["cost"] == "centre-7" for pod in lab.pods())


def answer(lab: Lab, state: str, **other: object) -> None:
    """Set the state of a check, as its controller would."""
    [workload] = lab.workloads()
    [check] = workload["status"]["admissionChecks"]
    stamp = {"lastTransitionTime": "2027-01-15T08:00:20Z"}
    changed = {**check, "state": state, "message": "so it is", **stamp, **other}
    body = {**workload, "status": {**workload["status"], "admissionChecks": [changed]}}
    lab.cluster.store.update(kinds.WORKLOAD, body, "status")


def test_a_check_that_rejects_deactivates() -> None:
    lab = centre()
    lab.apply("""
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: budget}
spec: {controllerName: example.com/budget}
""")
    strategy = {"admissionChecks": [{"name": "budget"}]}
    lab.patch(kinds.CLUSTER_QUEUE, "", "cq", {"spec": {"admissionChecksStrategy": strategy}})
    lab.apply(LONG)
    lab.advance(5)
    answer(lab, "Rejected")
    lab.advance(5)
    [workload] = lab.workloads()
    assert workload["spec"]["active"] is False
    assert not condition(workload, "QuotaReserved")


def test_an_eviction_of_a_pod_honours_budgets() -> None:
    lab = running()
    lab.apply("""
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: all, namespace: default}
spec: {minAvailable: 5, selector: {matchLabels: {kueue.x-k8s.io/podset: main}}}
""")
    lab.advance(1)
    with pytest.raises(TooManyRequests):
        lab.cluster.store.carry_out(EvictPod("default", lab.pods()[0]["metadata"]["name"]))
    assert len(lab.pods()) == 5


def test_a_deleted_job_leaves_nothing_behind() -> None:
    lab = running()
    lab.delete(kinds.JOB, "default", "one")
    lab.advance(60)
    assert lab.workloads() == []
    assert lab.pods() == []
    assert lab.cluster.control_plane.cache.world.ledger.holdings == {}


def test_a_namespace_goes_with_everything_in_it() -> None:
    lab = centre()
    lab.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
    lab.apply("""
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: lq, namespace: team}
spec: {clusterQueue: cq}
""")
    lab.apply(LONG.replace("namespace: default", "namespace: team"))
    lab.advance(10)
    assert len(lab.all(kinds.POD, "team")) == 5
    lab.delete(kinds.NAMESPACE, "", "team")
    lab.advance(120)
    assert lab.cluster.store.find(kinds.NAMESPACE, "", "team") is None
    assert lab.all(kinds.POD, "team") == []
    assert lab.all(kinds.WORKLOAD, "team") == []


def test_a_queue_and_its_flavor_cannot_go_while_they_are_in_use() -> None:
    lab = running()
    lab.delete(kinds.CLUSTER_QUEUE, "", "cq")
    lab.delete(kinds.RESOURCE_FLAVOR, "", "gpu")
    lab.advance(5)
    assert "deletionTimestamp" in lab.get(kinds.CLUSTER_QUEUE, "cq")["metadata"]
    lab.delete(kinds.JOB, "default", "one")
    lab.advance(60)
    assert lab.all(kinds.CLUSTER_QUEUE) == []
    assert lab.all(kinds.RESOURCE_FLAVOR) == []


def test_unknown_status_fields_survive_a_status_write() -> None:
    """A status field that Closeknit does not know is preserved."""
    lab = centre()
    lab.apply(LONG)
    lab.settle()
    [workload] = lab.workloads()
    body = {**workload, "status": {**(workload.get("status") or {}), "newsOfTomorrow": {"deep": [1, 2]}}}
    lab.cluster.store.update(kinds.WORKLOAD, body, "status")
    lab.advance(10)
    assert lab.workloads()[0]["status"]["newsOfTomorrow"] == {"deep": [1, 2]}
