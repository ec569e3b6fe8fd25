"""Changes that arrive late or in an unusual order still take effect."""

from __future__ import annotations

from collections import Counter

import pytest

from closeknit.cluster import kinds
from closeknit.host.embedded import EmbeddedOptions
from closeknit.model.cluster_queue import ClusterQueue, LocalQueue
from closeknit.model.gates import Gates
from closeknit.model.settings import Settings
from closeknit.queue.pending_queues import PendingQueues
from host.centre import QUEUES, centre
from host.jobs_of_each_kind import JOB
from host.lab import Lab, condition
from host.test_node_failure import fail, planned, running
from lifecycle.shapes import pending

LONG = JOB.manifest.replace("20s", "1h")
BEGIN, NOW = "2026-01-01T00:00:00Z", "2027-01-15T08:00:05Z"


def test_a_pod_that_was_deleted_is_replaced_on_its_place_as_soon_as_that_is_free() -> None:
    lab = centre()
    lab.apply(LONG)
    lab.advance(10)
    before = {pod["spec"]["nodeName"] for pod in lab.pods()}
    gone = lab.pods()[3]["metadata"]["name"]
    lab.delete(kinds.POD, "default", gone)
    lab.advance(40)
    assert gone not in {pod["metadata"]["name"] for pod in lab.pods()}
    assert len(lab.pods()) == 5
    assert all(pod["status"]["phase"] == "Running" for pod in lab.pods())
    assert {pod["spec"]["nodeName"] for pod in lab.pods()} == before


def test_a_local_queue_is_active_once_the_flavor_of_its_cluster_queue_is_there() -> None:
    topology, flavor, queue, local, _ = QUEUES.split("---")
    lab = Lab()
    lab.apply("---".join((topology, queue, local)))
    lab.advance(5)
    assert not condition(lab.get(kinds.LOCAL_QUEUE, "lq"), "Active")
    lab.apply(flavor)
    lab.advance(5)
    assert condition(lab.get(kinds.CLUSTER_QUEUE, "cq"), "Active")
    assert condition(lab.get(kinds.LOCAL_QUEUE, "lq"), "Active")


def test_a_workload_moved_to_another_queue_is_queued_there() -> None:
    lines = PendingQueues(Settings(), Gates.profile())
    lines.put_queue(ClusterQueue("cq"))
    first = pending()
    lines.put(first)
    moved = type(first)("ns", "wl", first.request, first.parts, "other", "uid")
    lines.put(moved)
    lines.put_local_queue(LocalQueue("ns", "lq", "cq"))
    assert lines.queue_name_of == {}
    lines.put_local_queue(LocalQueue("ns", "other", "cq"))
    assert lines.queue_name_of == {"ns/wl": "cq"}
    assert lines.without_queue == {}


def test_a_node_counts_as_lost_after_its_time_though_nothing_else_happens() -> None:
    gates = Gates.profile(changes={"TASReplaceNodeDueToNotReadyOverFixedTime": True})
    lab = running(options=EmbeddedOptions(gates=gates, seed=1), cpu=6)
    fail(lab, "h01")
    lab.advance(30)
    assert planned(lab) == {"h00", "h01"}
    lab.advance(25)
    assert planned(lab) == {"h00", "h02"}


def test_a_workload_whose_reasons_alternate_does_not_keep_the_scheduler_busy() -> None:
    """Two pod sets out of step in their walk through two flavors are refused for another reason every time."""
    lab = Lab()
    lab.apply("""
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: a}, spec: {}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: b}, spec: {}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: cq}
spec:
  namespaceSelector: {}
  queueingStrategy: StrictFIFO
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - {name: a, resources: [{name: cpu, nominalQuota: 3}]}
    - {name: b, resources: [{name: cpu, nominalQuota: 3}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: lq, namespace: default}
spec: {clusterQueue: cq}
""")
    lab.apply(LONG.replace('cpu: "2"', 'cpu: "1"'))
    lab.advance(600)
    assert lab.cluster.control_plane.cache.scheduler.number < 100


def test_a_job_of_a_parked_class_gets_the_shared_reason() -> None:
    lab = centre()
    whole = LONG.replace("parallelism: 5", "parallelism: 24").replace("completions: 5", "completions: 24")
    for name in ("one", "two", "three"):
        lab.apply(whole.replace("-required-", "-preferred-").replace("name: one", f"name: {name}"))
        lab.advance(3)
    said = {
        one["metadata"]["ownerReferences"][0]["name"]: next(
            each["message"] for each in one["status"]["conditions"] if each["type"] == "QuotaReserved"
        )
        for one in lab.workloads()
    }
    assert said["one"] == "Quota reserved in ClusterQueue cq"
    assert said["two"].startswith("couldn't assign flavors to pod set main")
    assert said["three"] == "Bypassed scheduling evaluation because an equivalent workload recently failed"


def crowd(lab: Lab, count: int) -> None:
    """Jobs of one equivalence class, all submitted before the first is tried; there is room for one."""
    whole = LONG.replace("parallelism: 5", "parallelism: 24").replace("completions: 5", "completions: 24")
    for number in range(count):
        lab.apply(whole.replace("-required-", "-preferred-").replace("name: one", f"name: j{number:03d}"))


def reasons(lab: Lab) -> Counter[tuple[str, str]]:
    """The number of workloads by reason and beginning of the message."""
    found = [
        {one["type"]: one for one in raw.get("status", {}).get("conditions", ())}.get("QuotaReserved", {})
        for raw in lab.workloads()
    ]
    return Counter((one.get("reason", ""), one.get("message", "").split(" ")[0]) for one in found)


def test_workloads_of_a_parked_class_get_the_shared_reason_a_few_at_a_time() -> None:
    lab = centre()
    crowd(lab, 50)
    lab.settle()
    at_once = reasons(lab)["WaitingForQuota", "Bypassed"]
    assert 0 < at_once < 48
    lab.advance(3)
    assert reasons(lab) == {
        ("QuotaReserved", "Quota"): 1,
        ("WaitingForQuota", "couldn't"): 1,
        ("WaitingForQuota", "Bypassed"): 48,
    }


def test_the_shared_reason_is_reported_once_per_workload() -> None:
    lab = centre()
    crowd(lab, 4)
    lab.advance(3)
    versions = {one["metadata"]["name"]: one["metadata"]["resourceVersion"] for one in lab.workloads()}
    lab.patch(kinds.CLUSTER_QUEUE, "", "cq", {"spec": {"flavorFungibility": {"whenCanBorrow": "TryNextFlavor"}}})
    lab.advance(60)
    assert lab.cluster.control_plane.cache.scheduler.number > 2
    assert {one["metadata"]["name"]: one["metadata"]["resourceVersion"] for one in lab.workloads()} == versions


def test_in_kueues_profile_a_new_workload_of_a_parked_class_has_no_condition_yet() -> None:
    lab = centre(Lab(EmbeddedOptions(gates=Gates.profile("kueue"), seed=1)))
    crowd(lab, 4)
    lab.advance(3)
    assert reasons(lab)["", ""] == 2


DAEMON = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: d, namespace: kube-system}
spec:
  selector: {matchLabels: {app: d}}
  template:
    metadata: {labels: {app: d}}
    spec:
      nodeSelector: {pool: gpu}
      tolerations: [{operator: Exists}]
      containers: [{name: c, image: i, resources: {requests: {cpu: "5"}}}]
"""
SMALL = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}]}


@pytest.mark.parametrize("change", [SMALL, {"nodeSelector": {"pool": "other"}}], ids=["smaller", "elsewhere"])
def test_a_daemon_set_that_makes_room_wakes_pending_workloads(change: dict[str, object]) -> None:
    lab = centre()
    lab.apply(DAEMON)
    lab.advance(5)
    lab.apply(LONG.replace('cpu: "2"', 'cpu: "1"'))
    lab.advance(20)
    assert not condition(lab.workloads()[0], "QuotaReserved")
    lab.patch(kinds.DAEMON_SET, "kube-system", "d", {"spec": {"template": {"spec": change}}})
    lab.advance(20)
    assert condition(lab.workloads()[0], "QuotaReserved")


CHECK = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: a}
spec: {controllerName: example.com/x}
"""


def set_active(lab: Lab, status: str) -> None:
    check = lab.get(kinds.ADMISSION_CHECK, "a")
    said = {"type": "Active", "status": status, "reason": "X", "message": "", "lastTransitionTime": BEGIN}
    lab.store.update(kinds.ADMISSION_CHECK, {**check, "status": {"conditions": [said]}}, "status")


def word(lab: Lab) -> tuple[str, str]:
    [found] = [one for one in lab.workloads()[0]["status"]["conditions"] if one["type"] == "QuotaReserved"]
    return found["reason"], found["message"]


def test_pending_workloads_report_when_a_check_makes_their_queue_inactive_and_active_again() -> None:
    lab = centre()
    lab.apply(CHECK)
    checks = {"admissionChecks": [{"name": "a"}]}
    lab.patch(kinds.CLUSTER_QUEUE, "", "cq", {"spec": {"admissionChecksStrategy": checks}})
    lab.apply(LONG.replace('cpu: "2"', 'cpu: "40"'))
    lab.advance(5)
    assert word(lab)[0] == "ExceedsMaxQuota"
    set_active(lab, "False")
    lab.advance(5)
    assert word(lab) == ("Suspended", "ClusterQueue cq is inactive")
    set_active(lab, "True")
    lab.advance(5)
    assert word(lab)[0] == "ExceedsMaxQuota"


def test_a_check_that_wants_a_job_later_while_its_queue_is_held_does_not_lock_it_out() -> None:
    lab = centre()
    lab.apply(CHECK)
    checks = {"admissionChecks": [{"name": "a"}]}
    lab.patch(kinds.CLUSTER_QUEUE, "", "cq", {"spec": {"admissionChecksStrategy": checks, "stopPolicy": "Hold"}})
    lab.apply(LONG)
    lab.advance(5)
    workload = lab.workloads()[0]
    again = {"name": "a", "state": "Retry", "message": "later", "requeueAfterSeconds": 10, "lastTransitionTime": NOW}
    status = {**workload["status"], "admissionChecks": [again]}
    lab.store.update(kinds.WORKLOAD, {**workload, "status": status}, "status")
    lab.patch(kinds.CLUSTER_QUEUE, "", "cq", {"spec": {"stopPolicy": "None"}})
    lab.advance(4)
    assert not condition(lab.workloads()[0], "QuotaReserved")
    lab.advance(10)
    assert condition(lab.workloads()[0], "QuotaReserved")
