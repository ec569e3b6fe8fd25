from __future__ import annotations

from dataclasses import replace
from typing import Any

from closeknit.dialects.kueue.jobs.injection import Info, StartConflict
from closeknit.dialects.kueue.jobs.kinds import LIVE, Finished
from closeknit.dialects.kueue.jobs.kinds.pod import doomed, let_go, prepared, role
from closeknit.dialects.kueue.jobs.pods import role_hash
from closeknit.dialects.kueue.jobs.starting import started, stopping
from closeknit.dialects.kueue.jobs.workload_object import workload_for
from closeknit.model.container import Container
from closeknit.model.gates import Gates
from closeknit.model.shape import Requirement, Shape, Term, Toleration, WeightedTerm

Raw = dict[str, Any]
POD = LIVE["", "Pod"]
KUEUE = Gates.profile("kueue")
NO_TAS = Gates.profile("kueue", {"TopologyAwareScheduling": False})
ADMISSION, TOPOLOGY = {"name": "kueue.x-k8s.io/admission"}, {"name": "kueue.x-k8s.io/topology"}


def a_pod(phase: str = "Pending", cpu: str = "1", gates: list[Raw] | None = None, **metadata: Any) -> Raw:
    spec: Raw = {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}
    if gates:
        spec["schedulingGates"] = gates
    metadata = {"name": "p", "namespace": "team", "uid": "uid", **metadata}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": phase}}


def test_a_new_pod_waits_behind_two_gates_and_is_marked_as_ours() -> None:
    raw = prepared(a_pod(gates=[{"name": "mine"}], labels={"a": "b"}), KUEUE)
    assert raw["spec"]["schedulingGates"] == [{"name": "mine"}, ADMISSION, TOPOLOGY]
    assert raw["metadata"]["labels"] == {"a": "b", "kueue.x-k8s.io/managed": "true"}
    assert raw["metadata"]["finalizers"] == ["kueue.x-k8s.io/managed"]
    assert list(raw["metadata"]["annotations"]) == ["kueue.x-k8s.io/role-hash"]
    assert prepared(raw, KUEUE) == raw


def test_without_topology_there_is_one_gate() -> None:
    assert prepared(a_pod(), NO_TAS)["spec"]["schedulingGates"] == [ADMISSION]


def test_a_pod_that_a_parent_suspends_has_no_finalizer() -> None:
    raw = prepared(a_pod(annotations={"kueue.x-k8s.io/pod-suspending-parent": "deployment"}), KUEUE)
    assert "finalizers" not in raw["metadata"]


def test_the_index_of_a_pod_is_taken_from_the_label_that_it_names() -> None:
    notes = {"kueue.x-k8s.io/pod-group-pod-index-label": "apps.kubernetes.io/pod-index"}
    raw = prepared(a_pod(annotations=notes, labels={"apps.kubernetes.io/pod-index": "3"}), KUEUE)
    assert raw["metadata"]["labels"]["kueue.x-k8s.io/pod-group-pod-index"] == "3"


def test_pods_of_one_shape_have_one_role_regardless_of_their_names() -> None:
    assert role(a_pod()) == role(a_pod(name="other", labels={"x": "y"}, gates=[ADMISSION]))
    assert role(a_pod()) != role(a_pod(cpu="2"))
    assert len(role(a_pod())) == 8
    assert role(a_pod(annotations={"kueue.x-k8s.io/role-hash": "worker"})) == "worker"


def test_the_workload_of_a_pod_has_its_spec_and_nothing_of_its_metadata() -> None:
    notes = {"kueue.x-k8s.io/podset-required-topology": "rack"}
    raw = a_pod(gates=[ADMISSION], labels={"kueue.x-k8s.io/queue-name": "q"}, annotations=notes)
    workload = workload_for(raw, POD, KUEUE)
    assert workload["metadata"]["ownerReferences"][0]["kind"] == "Pod"
    assert workload["spec"]["podSets"] == [
        {
            "name": "main",
            "count": 1,
            "template": {"spec": raw["spec"]},
            "topologyRequest": {"required": "rack", "podIndexLabel": "kueue.x-k8s.io/pod-group-pod-index"},
        }
    ]


def test_a_pod_that_was_placed_keeps_the_gate_of_topology() -> None:
    raw = a_pod(gates=[{"name": "mine"}, ADMISSION, TOPOLOGY], labels={"a": "b"})
    info = Info("main", 1, {"l": "1"}, {"w": "x"}, {"pool": "big"}, (), ("kueue.x-k8s.io/topology",))
    running = started(POD, raw, [info])
    assert isinstance(running, dict)
    assert running["metadata"]["labels"] == {"a": "b", "l": "1"}
    assert running["metadata"]["annotations"] == {"w": "x"}
    assert running["spec"]["nodeSelector"] == {"pool": "big"}
    assert running["spec"]["schedulingGates"] == [{"name": "mine"}, TOPOLOGY]
    assert not POD.is_suspended(running)


def test_a_pod_that_was_not_placed_loses_both_gates() -> None:
    running = started(POD, a_pod(gates=[ADMISSION, TOPOLOGY]), [Info("main", 1)])
    assert isinstance(running, dict)
    assert "schedulingGates" not in running["spec"]


def test_a_conflicting_label_keeps_a_pod_from_starting() -> None:
    assert started(POD, a_pod(labels={"l": "0"}), [Info("main", 1, {"l": "1"})]) == StartConflict(
        "invalid admission check PodSetUpdate: conflict for labels: conflict for key=l, value1=0, value2=1"
    )


def test_a_pod_is_stopped_by_deleting_it_unless_it_never_ran() -> None:
    step = stopping(POD, a_pod("Running"), None)
    assert step is not None
    assert step.deletes
    assert stopping(POD, a_pod(gates=[ADMISSION]), None) is None
    assert stopping(POD, a_pod("Failed"), None) is None
    assert stopping(POD, a_pod("Running", deletionTimestamp="2026-01-31T12:00:00Z"), None) is None


def test_before_deletion_a_pod_gets_a_condition_with_the_reason() -> None:
    raw = doomed(a_pod("Running"), "Preempted", "Preempted to accommodate a workload", "2026-01-31T12:00:00Z")
    assert raw["status"]["conditions"] == [
        {
            "type": "TerminationTarget",
            "status": "True",
            "reason": "WorkloadEvictedDueToPreempted",
            "message": "Preempted to accommodate a workload",
            "lastTransitionTime": "2026-01-31T12:00:00Z",
        }
    ]
    assert doomed(raw, "Preempted", "m", "2026-01-31T12:00:00Z")["status"]["conditions"][0]["message"] == "m"


def test_a_counted_pod_loses_its_finalizer() -> None:
    assert "finalizers" not in let_go(a_pod(finalizers=["kueue.x-k8s.io/managed"]))["metadata"]
    kept = let_go(a_pod(finalizers=["kueue.x-k8s.io/managed", "mine"]))
    assert kept["metadata"]["finalizers"] == ["mine"]


def test_a_lone_pod_is_never_active_and_ends_by_its_phase() -> None:
    assert not POD.is_active(a_pod("Running"))
    assert POD.finished(a_pod("Running")) is None
    assert POD.finished(a_pod("Succeeded")) == Finished(True, "")
    failed = a_pod("Failed")
    failed["status"]["message"] = "out of memory"
    assert POD.finished(failed) == Finished(False, "out of memory")
    ready = a_pod("Running")
    ready["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    assert POD.pods_ready(ready)
    assert not POD.pods_ready(a_pod("Running"))


def test_the_hash_of_a_shape_never_changes_since_running_groups_use_it() -> None:
    required, preferred = (Term((Requirement("gpu", "In", ("h100",)),)),), (WeightedTerm(3, Term()),)
    tolerations = (Toleration("x", "Exists", seconds=5),)
    shape = Shape.of({"cpu": 1000, "memory": 4096}, {"pool": "a"}, tolerations, required, preferred)
    limited = replace(shape, containers=(Container.of({"cpu": 1000, "memory": 4096}, {"cpu": 2000}),))
    assert role_hash(shape) == role_hash(limited) == "f36683b9"
    assert role_hash(Shape.of({"cpu": 1})) == "87d1ddfd"
