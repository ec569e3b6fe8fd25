from __future__ import annotations

from typing import Any

from closeknit.cluster.embedded.standins.heartbeat import Heartbeat
from closeknit.cluster.embedded.standins.kubelet import Kubelet
from closeknit.cluster.embedded.standins.node_lifecycle import NodeLifecycle
from closeknit.cluster.embedded.standins.pod_gc import PodGc
from closeknit.cluster.embedded.standins.settings import StandinSettings
from closeknit.cluster.embedded.standins.taint_eviction import TaintEviction
from closeknit.cluster.kinds import EVENT, LEASE, NODE, POD
from closeknit.cluster.port import Raw
from cluster.embedded.standins.playground import Playground, condition, states

FAIL = {"metadata": {"annotations": {"closeknit.dev/failed": "true"}}}
BACK = {"metadata": {"annotations": {"closeknit.dev/failed": None}}}
PATIENT = [
    {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}
]

IMPATIENT = [
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}
    for key in ("unreachable", "not-ready")
]


def standins() -> tuple[Any, ...]:
    settings = StandinSettings()
    return Kubelet(settings), Heartbeat(settings), NodeLifecycle(settings), TaintEviction(), PodGc(settings)


def playground() -> Playground:
    host = Playground(*standins())
    host.node("n1")
    return host


def taints(node: Raw) -> list[tuple[str, str]]:
    return [(one["key"], one["effect"]) for one in node.get("spec", {}).get("taints", ())]


def running(host: Playground, name: str, tolerations: list[Raw] | None = None) -> None:
    host.pod(name, {"closeknit.dev/run-time": "forever"}, tolerations=IMPATIENT if tolerations is None else tolerations)
    host.store.bind("default", name, "n1")
    host.run(2)


def test_a_new_node_becomes_ready_and_gets_a_lease() -> None:
    host = Playground(*standins())
    host.create(NODE, {"metadata": {"name": "n1"}, "status": {"capacity": {"cpu": "4", "pods": "10"}}})
    host.settle()
    node = host.get(NODE, "n1")
    assert states(node) == {"MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False", "Ready": "True"}
    assert node["status"]["allocatable"] == {"cpu": "4", "pods": "10"}
    assert [one["type"] for one in node["status"]["addresses"]] == ["InternalIP", "Hostname"]
    assert taints(node) == []
    lease = host.get(LEASE, "n1", "kube-node-lease")
    assert lease["spec"]["holderIdentity"] == "n1"
    assert lease["spec"]["renewTime"] == "2023-11-14T22:13:20.000000Z"
    assert lease["metadata"]["ownerReferences"][0]["kind"] == "Node"


def test_healthy_nodes_write_nothing_more() -> None:
    host = playground()
    host.run(1)
    before = host.store.version
    host.run(100_000)
    assert host.store.version == before


def test_a_silent_node_is_lost_after_the_grace_period_and_its_pods_are_not_ready() -> None:
    host = playground()
    running(host, "p", PATIENT)
    host.patch(NODE, "n1", FAIL)
    host.run(9.9)
    assert states(host.get(NODE, "n1"))["Ready"] == "True"
    host.run(0.2)
    node = host.get(NODE, "n1")
    ready = condition(node, "Ready")
    assert ready is not None
    assert (ready["status"], ready["reason"]) == ("Unknown", "NodeStatusUnknown")
    assert ready["message"] == "Kubelet stopped posting node status."
    assert states(node)["MemoryPressure"] == "Unknown"
    assert taints(node) == [
        ("node.kubernetes.io/unreachable", "NoSchedule"),
        ("node.kubernetes.io/unreachable", "NoExecute"),
    ]
    assert node["spec"]["taints"][0]["timeAdded"] == "2023-11-14T22:13:32Z"
    assert states(host.get(POD, "p"))["Ready"] == "False"
    assert [one["reason"] for one in host.all(EVENT)] == ["NodeNotReady"]


def test_pods_are_evicted_when_they_tolerate_it_no_longer_and_stay_terminating() -> None:
    host = playground()
    running(host, "p", PATIENT)
    running(host, "now")
    host.patch(NODE, "n1", FAIL)
    host.run(10)
    evicted = host.get(POD, "now")
    assert "deletionTimestamp" in evicted["metadata"]
    target = condition(evicted, "DisruptionTarget")
    assert target is not None
    assert (target["status"], target["reason"]) == ("True", "DeletionByTaintManager")
    host.run(29)
    assert "deletionTimestamp" not in host.get(POD, "p")["metadata"]
    host.run(1.1)
    assert "deletionTimestamp" in host.get(POD, "p")["metadata"]
    host.run(10_000)
    assert host.names(POD) == ["p", "now"]


def test_a_pod_that_tolerates_everything_stays() -> None:
    host = playground()
    running(host, "p", [{"operator": "Exists"}])
    host.patch(NODE, "n1", FAIL)
    host.run(10_000)
    assert "deletionTimestamp" not in host.get(POD, "p")["metadata"]


def test_a_returned_node_is_ready_again_and_terminating_pods_are_removed() -> None:
    host = playground()
    running(host, "stays", [{"operator": "Exists"}])
    running(host, "goes")
    host.patch(NODE, "n1", {"metadata": {"annotations": {"closeknit.dev/cut-off": "true"}}})
    host.run(100)
    assert states(host.get(POD, "stays"))["Ready"] == "False"
    host.patch(NODE, "n1", {"metadata": {"annotations": {"closeknit.dev/cut-off": None}}})
    host.run(2)
    node = host.get(NODE, "n1")
    assert states(node) == {"Ready": "True", "MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False"}
    assert taints(node) == []
    assert host.names(POD) == ["stays"]
    assert states(host.get(POD, "stays"))["Ready"] == "True"
    lease = host.get(LEASE, "n1", "kube-node-lease")
    assert lease["metadata"].get("annotations", {}) == {}


def test_pods_of_a_deleted_node_are_collected() -> None:
    host = playground()
    running(host, "p")
    host.patch(NODE, "n1", FAIL)
    host.run(20)
    host.delete(NODE, "n1")
    host.run(4)
    seen = host.store.version
    assert host.names(POD) == ["p"]
    host.run(2)
    assert host.names(POD) == []
    last = host.store.changes(seen)[-1].object
    assert last["status"]["phase"] == "Failed"
    assert condition(last, "DisruptionTarget") is not None


def test_a_recreated_node_keeps_its_pods() -> None:
    host = playground()
    running(host, "p")
    host.delete(NODE, "n1")
    host.run(2)
    host.node("n1")
    host.run(100)
    assert host.names(POD) == ["p"]


def test_a_not_ready_node_is_tainted() -> None:
    host = playground()
    running(host, "p")
    node = host.get(NODE, "n1")
    conditions = [{"type": "Ready", "status": "False", "reason": "KubeletNotReady"}]
    host.patch(NODE, "n1", {"status": {**node["status"], "conditions": conditions}}, "status")
    host.settle()
    assert taints(host.get(NODE, "n1")) == [
        ("node.kubernetes.io/not-ready", "NoSchedule"),
        ("node.kubernetes.io/not-ready", "NoExecute"),
    ]
    assert "deletionTimestamp" in host.get(POD, "p")["metadata"]


def test_a_cordoned_node_is_tainted_and_keeps_its_pods_and_other_taints() -> None:
    host = playground()
    running(host, "p")
    mine = {"key": "example.com/mine", "value": "x", "effect": "NoSchedule"}
    host.patch(NODE, "n1", {"spec": {"unschedulable": True, "taints": [mine]}})
    host.settle()
    expected = [("example.com/mine", "NoSchedule"), ("node.kubernetes.io/unschedulable", "NoSchedule")]
    assert taints(host.get(NODE, "n1")) == expected
    host.patch(NODE, "n1", {"spec": {"unschedulable": None}})
    host.settle()
    assert taints(host.get(NODE, "n1")) == [("example.com/mine", "NoSchedule")]
    host.run(100)
    assert "deletionTimestamp" not in host.get(POD, "p")["metadata"]


def test_a_users_taint_evicts_after_the_toleration_expires() -> None:
    host = playground()
    running(host, "p", [{"key": "maintenance", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}])
    host.patch(NODE, "n1", {"spec": {"taints": [{"key": "maintenance", "effect": "NoExecute"}]}})
    host.run(59)
    assert host.names(POD) == ["p"]
    host.run(3)
    assert host.names(POD) == []


def test_an_untolerated_taint_evicts_at_once() -> None:
    host = playground()
    running(host, "p")
    host.patch(NODE, "n1", {"spec": {"taints": [{"key": "maintenance", "effect": "NoExecute"}]}})
    host.run(1.5)
    assert host.names(POD) == []


def test_the_silence_of_a_node_is_remembered_over_a_restart() -> None:
    host = playground()
    running(host, "p")
    host.patch(NODE, "n1", FAIL)
    host.run(6)
    host.start(standins())
    host.run(3)
    assert states(host.get(NODE, "n1"))["Ready"] == "True"
    host.run(1.1)
    assert states(host.get(NODE, "n1"))["Ready"] == "Unknown"


def test_toleration_times_continue_over_a_restart() -> None:
    host = playground()
    running(host, "p", PATIENT)
    host.patch(NODE, "n1", FAIL)
    host.run(25)
    host.start(standins())
    host.run(14)
    assert "deletionTimestamp" not in host.get(POD, "p")["metadata"]
    host.run(2)
    assert "deletionTimestamp" in host.get(POD, "p")["metadata"]


def test_a_return_within_the_grace_period_restarts_it() -> None:
    host = playground()
    host.patch(NODE, "n1", FAIL)
    host.run(5)
    host.patch(NODE, "n1", BACK)
    host.run(5)
    host.patch(NODE, "n1", FAIL)
    host.run(8)
    assert states(host.get(NODE, "n1"))["Ready"] == "True"
    host.run(3)
    assert states(host.get(NODE, "n1"))["Ready"] == "Unknown"
