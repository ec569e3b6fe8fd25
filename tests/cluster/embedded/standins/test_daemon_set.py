from __future__ import annotations

from typing import Any

from closeknit.cluster.embedded.standins.binder import Binder
from closeknit.cluster.embedded.standins.daemon_set import DaemonSets
from closeknit.cluster.embedded.standins.garbage import GarbageCollector
from closeknit.cluster.embedded.standins.kubelet import Kubelet
from closeknit.cluster.embedded.standins.pod_gc import PodGc
from closeknit.cluster.kinds import CONTROLLER_REVISION, DAEMON_SET, NODE
from closeknit.cluster.port import Raw
from cluster.embedded.standins.playground import Playground, template


def standins() -> list[Any]:
    return [DaemonSets(), Binder(), Kubelet(), GarbageCollector(), PodGc()]


def playground(*nodes: str) -> Playground:
    host = Playground(*standins())
    for name in nodes:
        host.node(name)
    return host


def body(annotations: dict[str, str] | None = None, **spec: Any) -> Raw:
    return {
        "metadata": {"name": "d"},
        "spec": {
            "selector": {"matchLabels": {"app": "d"}},
            "template": template(annotations, labels={"app": "d"}, restartPolicy="Always", **spec),
        },
    }


def where(host: Playground) -> list[str]:
    return sorted(pod["spec"].get("nodeName", "-") for pod in host.pods())


def test_every_node_gets_a_pod_and_new_ones_too() -> None:
    host = playground("a", "b")
    host.create(DAEMON_SET, body())
    host.run(3)
    assert where(host) == ["a", "b"]
    host.node("c")
    host.run(3)
    assert where(host) == ["a", "b", "c"]
    (revision,) = host.all(CONTROLLER_REVISION)
    hashed = revision["metadata"]["labels"]["controller-revision-hash"]
    assert revision["metadata"]["name"] == f"d-{hashed}"
    pod = next(one for one in host.pods() if one["spec"]["nodeName"] == "a")
    assert pod["metadata"]["labels"] == {
        "app": "d",
        "controller-revision-hash": hashed,
        "pod-template-generation": "1",
    }
    assert pod["metadata"]["generateName"] == "d-"
    assert pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] == {
        "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}]
    }
    tolerated = [(one["key"].removeprefix("node.kubernetes.io/"), one["effect"]) for one in pod["spec"]["tolerations"]]
    assert tolerated == [
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    ]
    assert host.get(DAEMON_SET, "d")["status"] == {
        "currentNumberScheduled": 3,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 3,
        "numberReady": 3,
        "observedGeneration": 1,
        "updatedNumberScheduled": 3,
        "numberAvailable": 3,
    }


def test_only_nodes_that_the_template_admits_get_one() -> None:
    host = playground("a", "b", "c")
    host.patch(NODE, "b", {"metadata": {"labels": {"disk": "ssd"}}})
    host.patch(NODE, "c", {"metadata": {"labels": {"disk": "ssd"}}, "spec": {"taints": [taint("NoSchedule")]}})
    host.create(DAEMON_SET, body(nodeSelector={"disk": "ssd"}))
    host.run(3)
    assert where(host) == ["b"]
    host.patch(NODE, "a", {"metadata": {"labels": {"disk": "ssd"}}})
    host.patch(NODE, "b", {"metadata": {"labels": {"disk": None}}})
    host.run(3)
    assert where(host) == ["a"]


def taint(effect: str) -> Raw:
    return {"key": "example.com/busy", "effect": effect}


def test_a_cordoned_node_keeps_and_gets_its_pod() -> None:
    host = playground("a")
    host.patch(NODE, "a", {"spec": {"unschedulable": True}})
    host.create(DAEMON_SET, body())
    host.run(3)
    assert where(host) == ["a"]


def test_a_taint_that_ends_nothing_leaves_what_runs() -> None:
    host = playground("a")
    host.create(DAEMON_SET, body())
    host.run(3)
    host.patch(NODE, "a", {"spec": {"taints": [taint("NoSchedule")]}})
    host.run(3)
    assert where(host) == ["a"]
    status = host.get(DAEMON_SET, "d")["status"]
    assert (status["desiredNumberScheduled"], status["numberMisscheduled"]) == (0, 1)
    host.patch(NODE, "a", {"spec": {"taints": [taint("NoExecute")]}})
    host.run(3)
    assert where(host) == []


def test_a_deleted_node_takes_its_pod_along() -> None:
    host = playground("a", "b")
    host.create(DAEMON_SET, body())
    host.run(3)
    host.delete(NODE, "a")
    host.run(10)
    assert where(host) == ["b"]
    assert host.get(DAEMON_SET, "d")["status"]["desiredNumberScheduled"] == 1


def test_a_new_template_is_rolled_out_node_by_node() -> None:
    host = playground("a", "b", "c")
    host.create(DAEMON_SET, body())
    host.run(3)
    host.patch(DAEMON_SET, "d", {"spec": {"template": {"metadata": {"annotations": {"v": "2"}}}}})
    least = 3
    for _ in range(100):
        host.run(0.1)
        least = min(least, sum(pod["status"]["phase"] == "Running" for pod in host.pods()))
    assert least == 2
    assert [pod["metadata"]["annotations"]["v"] for pod in host.pods()] == ["2", "2", "2"]
    assert host.get(DAEMON_SET, "d")["status"]["updatedNumberScheduled"] == 3


def test_affinity_terms_of_the_template_are_kept_beside_the_name() -> None:
    host = playground("a")
    expression = {"key": "kubernetes.io/hostname", "operator": "Exists"}
    required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    host.create(DAEMON_SET, body(affinity=affinity))
    host.run(3)
    (pod,) = host.pods()
    (term,) = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert term["matchExpressions"] == [expression]
    assert term["matchFields"][0]["values"] == ["a"]


def test_many_nodes_are_handled_in_linear_time() -> None:
    host = playground()
    host.create(DAEMON_SET, body())
    for number in range(300):
        host.node(f"n{number:03d}")
    host.run(3)
    assert len(host.pods()) == 300
    assert host.get(DAEMON_SET, "d")["status"]["numberReady"] == 300


def test_a_restart_changes_nothing() -> None:
    host = playground("a", "b")
    host.create(DAEMON_SET, body())
    host.run(5)
    before = host.store.version
    host.start(standins())
    host.run(5)
    assert host.store.version == before
