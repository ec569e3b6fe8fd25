"""All stand-ins together."""

from __future__ import annotations

from random import Random

from closeknit.cluster.embedded.standins import standins
from closeknit.cluster.embedded.standins.settings import StandinSettings
from closeknit.cluster.kinds import DAEMON_SET, DEPLOYMENT, JOB, NODE, POD, STATEFUL_SET
from closeknit.cluster.port import Raw
from cluster.embedded.standins.playground import Playground, containers, states, template

SETTINGS = StandinSettings()
IMPATIENT = [
    {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3}
]


def playground(nodes: int = 3) -> Playground:
    host = Playground(*standins(SETTINGS, Random(1)))
    for number in range(nodes):
        host.node(f"n{number}", cpu="4")
    return host


def selected(name: str) -> Raw:
    return {
        "selector": {"matchLabels": {"app": name}},
        "template": template(labels={"app": name}, restartPolicy="Always", tolerations=IMPATIENT),
    }


def busy(host: Playground) -> None:
    """A little of everything."""
    host.create(DEPLOYMENT, {"metadata": {"name": "web"}, "spec": {"replicas": 3, **selected("web")}})
    host.create(STATEFUL_SET, {"metadata": {"name": "db"}, "spec": {"replicas": 2, **selected("db")}})
    host.create(DAEMON_SET, {"metadata": {"name": "log"}, "spec": selected("log")})
    host.job("train", {"closeknit.dev/run-time": "5m±10%"}, parallelism=4, completions=4, completionMode="Indexed")
    host.job("short", {"closeknit.dev/run-time": "30s", "closeknit.dev/exit-code": "1"}, backoffLimit=1)


def ready(host: Playground) -> dict[str, int]:
    result: dict[str, int] = {}
    for pod in host.pods():
        if states(pod).get("Ready") == "True":
            owner = pod["metadata"]["ownerReferences"][0]["kind"]
            result[owner] = result.get(owner, 0) + 1
    return result


def test_a_cluster_becomes_idle() -> None:
    host = playground()
    busy(host)
    host.run(600)
    assert ready(host) == {"ReplicaSet": 3, "StatefulSet": 2, "DaemonSet": 3}
    assert states(host.get(JOB, "train"))["Complete"] == "True"
    assert states(host.get(JOB, "short"))["Failed"] == "True"
    before = host.store.version
    host.run(100_000)
    assert host.store.version == before


def test_pods_of_a_lost_node_are_replaced_and_removed_on_its_return() -> None:
    host = playground()
    host.create(DEPLOYMENT, {"metadata": {"name": "web"}, "spec": {"replicas": 3, **selected("web")}})
    host.create(STATEFUL_SET, {"metadata": {"name": "db"}, "spec": {"replicas": 1, **selected("db")}})
    spec = {"closeknit.dev/run-time": "5m"}
    host.create(
        JOB,
        {"metadata": {"name": "train"}, "spec": {"template": template(spec, tolerations=IMPATIENT)}},
    )
    host.run(30)
    assert {pod["spec"]["nodeName"] for pod in host.pods()} == {"n0"}
    host.patch(NODE, "n0", {"metadata": {"annotations": {"closeknit.dev/failed": "true"}}})
    host.run(13.5)
    # Lost after 10 s, evicted 3 s later: serving pods are replaced at once, the job after a backoff of 10 s.
    assert ready(host) == {}
    assert sum("deletionTimestamp" in pod["metadata"] for pod in host.pods()) == 5
    host.run(15)
    # The pod of the StatefulSet keeps its name, and so waits for the old one to be gone.
    assert ready(host) == {"ReplicaSet": 3, "Job": 1}
    assert {pod["spec"]["nodeName"] for pod in host.pods() if states(pod).get("Ready") == "True"} == {"n1"}
    host.patch(NODE, "n0", {"metadata": {"annotations": {"closeknit.dev/failed": None}}})
    host.run(5)
    assert ready(host) == {"ReplicaSet": 3, "Job": 1, "StatefulSet": 1}
    assert len(host.pods()) == 5
    host.run(400)
    assert states(host.get(JOB, "train"))["Complete"] == "True"


def test_pods_of_a_deleted_node_are_removed() -> None:
    host = playground()
    host.create(STATEFUL_SET, {"metadata": {"name": "db"}, "spec": {"replicas": 1, **selected("db")}})
    host.run(10)
    host.patch(NODE, "n0", {"metadata": {"annotations": {"closeknit.dev/failed": "true"}}})
    host.run(60)
    host.delete(NODE, "n0")
    host.run(10)
    assert [pod["spec"]["nodeName"] for pod in host.pods()] == ["n1"]


def story(restart_every: float | None) -> list[tuple[str, str]]:
    host = playground()
    busy(host)
    passed = 0.0
    while passed < 600:
        span = restart_every or 600
        host.run(span)
        passed += span
        if restart_every:
            host.start(standins(SETTINGS, Random(1)))
    return sorted((pod["metadata"]["name"].rsplit("-", 1)[0], pod["status"]["phase"]) for pod in host.pods())


def test_restarts_change_nothing_in_the_end() -> None:
    assert story(7.0) == story(None)


def test_the_same_beginning_gives_the_same_end() -> None:
    def run() -> list[Raw]:
        host = playground()
        busy(host)
        host.run(300)
        return [raw for objects in host.store.objects.values() for raw in objects.values()]

    assert run() == run()


def test_a_drained_node_is_emptied_pod_by_pod() -> None:
    host = playground()
    host.create(DEPLOYMENT, {"metadata": {"name": "web"}, "spec": {"replicas": 2, **selected("web")}})
    host.run(10)
    host.patch(NODE, "n0", {"spec": {"unschedulable": True}})
    host.settle()
    for pod in host.pods():
        host.delete(POD, pod["metadata"]["name"])
    host.run(5)
    assert [pod["spec"]["nodeName"] for pod in host.pods()] == ["n1", "n1"]


def test_pods_wait_while_the_cluster_is_full_and_are_bound_in_turn() -> None:
    host = playground(1)
    for number in range(6):
        spec = {"template": template({"closeknit.dev/run-time": "10s"}, **containers(cpu="2"))}
        host.create(JOB, {"metadata": {"name": f"j{number}"}, "spec": spec})
    host.run(5)
    assert sum(pod["status"]["phase"] == "Running" for pod in host.pods()) == 2
    host.run(40)
    assert all(states(job)["Complete"] == "True" for job in host.all(JOB))
