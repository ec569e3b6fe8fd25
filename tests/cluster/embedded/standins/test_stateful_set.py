from __future__ import annotations

from typing import Any

from closeknit.cluster.embedded.standins.binder import Binder
from closeknit.cluster.embedded.standins.garbage import GarbageCollector
from closeknit.cluster.embedded.standins.kubelet import Kubelet
from closeknit.cluster.embedded.standins.stateful_set import StatefulSets
from closeknit.cluster.kinds import CONTROLLER_REVISION, POD, STATEFUL_SET
from closeknit.cluster.port import Raw
from cluster.embedded.standins.playground import Playground, template


def playground() -> Playground:
    host = Playground(StatefulSets(), Binder(), Kubelet(), GarbageCollector())
    host.node("n1")
    return host


def body(replicas: int, **spec: Any) -> Raw:
    return {
        "metadata": {"name": "s"},
        "spec": {
            "replicas": replicas,
            "serviceName": "svc",
            "selector": {"matchLabels": {"app": "s"}},
            "template": template(labels={"app": "s"}, restartPolicy="Always"),
            **spec,
        },
    }


def status(host: Playground) -> Raw:
    found: Raw = host.get(STATEFUL_SET, "s")["status"]
    return found


def running(host: Playground) -> list[str]:
    return sorted(pod["metadata"]["name"] for pod in host.pods() if pod["status"]["phase"] == "Running")


def change(host: Playground, version: str) -> None:
    host.patch(STATEFUL_SET, "s", {"spec": {"template": {"metadata": {"annotations": {"v": version}}}}})


def versions(host: Playground) -> dict[str, str]:
    return {pod["metadata"]["name"]: pod["metadata"].get("annotations", {}).get("v", "1") for pod in host.pods()}


def test_pods_are_created_one_by_one_when_the_previous_is_ready() -> None:
    host = playground()
    host.create(STATEFUL_SET, body(3))
    host.run(0.5)
    assert host.names(POD) == ["s-0"]
    host.run(1)
    assert host.names(POD) == ["s-0", "s-1"]
    host.run(2)
    assert running(host) == ["s-0", "s-1", "s-2"]
    (revision,) = host.all(CONTROLLER_REVISION)
    name = revision["metadata"]["name"]
    assert revision["revision"] == 1
    assert revision["metadata"]["labels"] == {
        "app": "s",
        "controller.kubernetes.io/hash": name.removeprefix("s-"),
    }
    pod = host.get(POD, "s-1")
    assert pod["metadata"]["labels"] == {
        "app": "s",
        "apps.kubernetes.io/pod-index": "1",
        "controller-revision-hash": name,
        "statefulset.kubernetes.io/pod-name": "s-1",
    }
    assert pod["metadata"]["generateName"] == "s-"
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("s-1", "svc")
    assert status(host) == {
        "observedGeneration": 1,
        "replicas": 3,
        "readyReplicas": 3,
        "currentReplicas": 3,
        "updatedReplicas": 3,
        "currentRevision": name,
        "updateRevision": name,
        "collisionCount": 0,
        "availableReplicas": 3,
    }


def test_parallel_pods_are_created_and_deleted_at_once() -> None:
    host = playground()
    host.create(STATEFUL_SET, body(3, podManagementPolicy="Parallel"))
    host.settle()
    assert host.names(POD) == ["s-0", "s-1", "s-2"]
    host.run(3)
    host.patch(STATEFUL_SET, "s", {"spec": {"replicas": 0}})
    host.settle()
    assert all("deletionTimestamp" in pod["metadata"] for pod in host.pods())
    host.run(2)
    assert host.names(POD) == []


def test_the_last_pod_is_deleted_first_and_one_at_a_time() -> None:
    host = playground()
    host.create(STATEFUL_SET, body(3))
    host.run(10)
    host.patch(STATEFUL_SET, "s", {"spec": {"replicas": 1}})
    host.settle()
    assert [pod["metadata"]["name"] for pod in host.pods() if "deletionTimestamp" in pod["metadata"]] == ["s-2"]
    host.run(1.1)
    assert [pod["metadata"]["name"] for pod in host.pods() if "deletionTimestamp" in pod["metadata"]] == ["s-1"]
    host.run(2)
    assert host.names(POD) == ["s-0"]
    assert status(host)["replicas"] == 1


def test_a_new_template_is_rolled_out_from_the_highest_ordinal_one_at_a_time() -> None:
    host = playground()
    host.create(STATEFUL_SET, body(3))
    host.run(10)
    change(host, "2")
    host.run(2.5)
    assert versions(host)["s-2"] == "2"
    assert versions(host)["s-1"] == "1"
    least = 3
    for _ in range(100):
        host.run(0.1)
        least = min(least, len(running(host)))
    assert least == 2
    assert set(versions(host).values()) == {"2"}
    assert status(host)["currentRevision"] == status(host)["updateRevision"]
    assert [one["revision"] for one in host.all(CONTROLLER_REVISION)] == [1, 2]


def test_a_partition_keeps_the_lower_pods_as_they_were() -> None:
    host = playground()
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    host.create(STATEFUL_SET, body(3, updateStrategy=rolling))
    host.run(10)
    change(host, "2")
    host.run(10)
    assert versions(host) == {"s-0": "1", "s-1": "1", "s-2": "2"}
    assert status(host)["currentReplicas"] == 2
    assert status(host)["updatedReplicas"] == 1
    host.delete(POD, "s-0")
    host.run(5)
    assert versions(host)["s-0"] == "1"


def test_a_former_template_gets_a_new_revision_number() -> None:
    host = playground()
    host.create(STATEFUL_SET, body(1))
    host.run(5)
    change(host, "2")
    host.run(5)
    host.patch(STATEFUL_SET, "s", {"spec": {"template": {"metadata": {"annotations": {"v": None}}}}})
    host.run(5)
    assert sorted(one["revision"] for one in host.all(CONTROLLER_REVISION)) == [2, 3]
    assert versions(host) == {"s-0": "1"}


def test_an_ended_pod_is_created_again_with_its_name() -> None:
    host = playground()
    host.create(STATEFUL_SET, body(2))
    host.run(5)
    before = host.get(POD, "s-0")["metadata"]["uid"]
    host.patch(POD, "s-0", {"status": {"phase": "Failed"}}, "status")
    host.run(3)
    assert running(host) == ["s-0", "s-1"]
    assert host.get(POD, "s-0")["metadata"]["uid"] != before


def test_numbers_may_start_elsewhere() -> None:
    host = playground()
    host.create(STATEFUL_SET, body(2, ordinals={"start": 5}))
    host.run(5)
    assert host.names(POD) == ["s-5", "s-6"]


def test_old_revisions_beyond_the_limit_are_deleted() -> None:
    host = playground()
    host.create(STATEFUL_SET, body(1, revisionHistoryLimit=1))
    for version in ("2", "3", "4"):
        host.run(5)
        change(host, version)
    host.run(5)
    assert [one["revision"] for one in host.all(CONTROLLER_REVISION)] == [3, 4]


def test_a_restart_changes_nothing() -> None:
    host = playground()
    host.create(STATEFUL_SET, body(2))
    host.run(10)
    before = host.store.version
    host.start([StatefulSets(), Binder(), Kubelet(), GarbageCollector()])
    host.run(10)
    assert host.store.version == before
