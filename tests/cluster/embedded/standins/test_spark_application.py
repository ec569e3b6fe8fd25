"""The Spark operator: executors follow their driver, and the application ends with it."""

from __future__ import annotations

from closeknit.cluster.embedded.standins.binder import Binder
from closeknit.cluster.embedded.standins.garbage import GarbageCollector
from closeknit.cluster.embedded.standins.kubelet import Kubelet
from closeknit.cluster.embedded.standins.operators.spark_application import SparkApplications
from closeknit.cluster.kinds import BY_NAME, POD
from closeknit.cluster.port import Key, Raw
from cluster.embedded.standins.playground import Playground

APPLICATION = BY_NAME["sparkoperator.k8s.io", "SparkApplication"]


def playground() -> Playground:
    host = Playground(SparkApplications(), Binder(), Kubelet(), GarbageCollector())
    host.node("n1")
    return host


def create(host: Playground, code: str = "0", suspend: bool = False) -> None:
    notes = {"closeknit.dev/run-time": "30s", "closeknit.dev/exit-code": code}
    role = {"cores": 1, "memory": "1g"}
    executor = {**role, "instances": 2, "image": "worker", "annotations": {"closeknit.dev/run-time": "forever"}}
    spec = {"type": "Scala", "mode": "cluster", "image": "spark", "driver": {**role, "annotations": notes}}
    host.create(APPLICATION, {"metadata": {"name": "pi"}, "spec": {**spec, "executor": executor, "suspend": suspend}})


def status(host: Playground) -> Raw:
    found: Raw = host.get(APPLICATION, "pi")["status"]
    return found


def state(host: Playground) -> str:
    found: str = status(host)["applicationState"]["state"]
    return found


def test_executors_are_created_when_the_driver_runs() -> None:
    host = playground()
    create(host)
    host.run(0.5)
    assert (state(host), host.names(POD)) == ("SUBMITTED", ["pi-driver"])
    host.run(10)
    assert state(host) == "RUNNING"
    assert status(host)["executorState"] == {"pi-exec-1": "RUNNING", "pi-exec-2": "RUNNING"}
    driver, executor = host.get(POD, "pi-driver"), host.get(POD, "pi-exec-1")
    assert driver["metadata"]["labels"]["spark-role"] == "driver"
    assert [one["spec"]["containers"][0]["image"] for one in (driver, executor)] == ["spark", "worker"]
    assert executor["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1", "memory": "1408Mi"}


def test_it_completes_with_its_driver_and_executors_are_deleted() -> None:
    host = playground()
    create(host)
    host.run(90)
    assert (state(host), host.names(POD)) == ("COMPLETED", ["pi-driver"])
    assert status(host)["executionAttempts"] == 1
    assert "terminationTime" in status(host)


def test_it_fails_with_its_driver() -> None:
    host = playground()
    create(host, code="1")
    host.run(90)
    assert status(host)["applicationState"] == {"state": "FAILED", "errorMessage": "driver container failed"}


def test_it_fails_when_its_driver_is_gone() -> None:
    host = playground()
    create(host)
    host.run(10)
    host.store.delete(Key(POD, "default", "pi-driver"))
    host.run(60)
    assert status(host)["applicationState"] == {"state": "FAILED", "errorMessage": "driver pod not found"}


def test_while_it_is_suspended_it_has_no_pods() -> None:
    host = playground()
    create(host, suspend=True)
    host.run(5)
    assert (state(host), host.names(POD)) == ("SUSPENDED", [])
    host.patch(APPLICATION, "pi", {"spec": {"suspend": False}})
    host.run(10)
    assert (state(host), len(host.names(POD))) == ("RUNNING", 3)
    host.patch(APPLICATION, "pi", {"spec": {"suspend": True}})
    host.run(60)
    assert (state(host), host.names(POD)) == ("SUSPENDED", [])
