"""Things that happen late or in an odd order, and are noticed all the same."""

from __future__ import annotations

from closeknit.cluster import kinds
from closeknit.host.embedded import Options
from closeknit.model.cluster_queue import ClusterQueue, LocalQueue
from closeknit.model.gates import Gates
from closeknit.model.settings import Settings
from closeknit.queue.lines import Lines
from host.centre import QUEUES, centre
from host.jobs_of_each_kind import JOB
from host.lab import Lab, condition
from host.test_node_failure import fail, planned, running
from lifecycle.shapes import pending

LONG = JOB.manifest.replace("20s", "1h")


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


def test_a_workload_that_looks_for_another_queue_is_found_by_that_one() -> None:
    lines = Lines(Settings(), Gates.profile())
    lines.put_queue(ClusterQueue("cq"))
    first = pending()
    lines.put(first)
    moved = type(first)("ns", "wl", first.parts, "other", "uid")
    lines.put(moved)
    lines.put_local_queue(LocalQueue("ns", "lq", "cq"))
    assert lines.line_of == {}
    lines.put_local_queue(LocalQueue("ns", "other", "cq"))
    assert lines.line_of == {"ns/wl": "cq"}
    assert lines.homeless == {}


def test_a_node_counts_as_lost_after_its_time_though_nothing_else_happens() -> None:
    gates = Gates.profile(changes={"TASReplaceNodeDueToNotReadyOverFixedTime": True})
    lab = running(options=Options(gates=gates, seed=1), cpu=6)
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
    assert lab.cluster.control_plane.known.scheduler.number < 100


def test_a_job_like_one_that_was_refused_is_told_why_nobody_looks_at_it() -> None:
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
