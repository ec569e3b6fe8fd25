"""The AppWrapper operator: it creates and deletes its objects, and ends with them."""

from __future__ import annotations

from typing import Any

from closeknit.cluster.embedded.standins.binder import Binder
from closeknit.cluster.embedded.standins.garbage import GarbageCollector
from closeknit.cluster.embedded.standins.job import BatchJobs
from closeknit.cluster.embedded.standins.kubelet import Kubelet
from closeknit.cluster.embedded.standins.operators.app_wrapper import AppWrappers
from closeknit.cluster.kinds import BY_NAME, CONFIG_MAP, JOB, POD
from closeknit.cluster.port import Raw
from cluster.embedded.standins.playground import Playground

APP_WRAPPER = BY_NAME["workload.codeflare.dev", "AppWrapper"]
SETTINGS = {"template": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}}


def playground() -> Playground:
    host = Playground(AppWrappers(), BatchJobs(), Binder(), Kubelet(), GarbageCollector())
    host.node("n1")
    return host


def job(code: str = "0", **component: Any) -> Raw:
    notes = {"closeknit.dev/run-time": "20s", "closeknit.dev/exit-code": code}
    pods = {
        "metadata": {"annotations": notes},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"backoffLimit": 0, "parallelism": 2, "completions": 2, "template": pods}
    template = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "work"}, "spec": spec}
    return {"template": template, **component}


def create(host: Playground, *components: Raw, suspend: bool = False) -> None:
    host.create(APP_WRAPPER, {"metadata": {"name": "aw"}, "spec": {"suspend": suspend, "components": list(components)}})


def state(host: Playground) -> tuple[str, set[str]]:
    """The phase, and the conditions that hold."""
    status = host.get(APP_WRAPPER, "aw")["status"]
    return status["phase"], {one["type"] for one in status.get("conditions", ()) if one["status"] == "True"}


def test_it_creates_its_objects_and_succeeds_with_those_that_complete() -> None:
    host = playground()
    create(host, job(), SETTINGS)
    host.run(10)
    assert state(host) == ("Running", {"QuotaReserved", "ResourcesDeployed", "PodsReady"})
    for kind, name in ((JOB, "work"), (CONFIG_MAP, "settings")):
        made = host.get(kind, name)["metadata"]
        assert made["labels"]["workload.codeflare.dev/appwrapper"] == "aw"
        assert made["ownerReferences"][0]["kind"] == "AppWrapper"
    host.run(60)
    assert state(host)[0] == "Succeeded"
    assert "QuotaReserved" not in state(host)[1]
    assert host.names(CONFIG_MAP) == ["settings"]


def test_pods_get_the_fields_of_the_infos() -> None:
    host = playground()
    info = {"labels": {"l": "1"}, "annotations": {"a": "2"}, "nodeSelector": {"kubernetes.io/hostname": "n1"}}
    gates = {"schedulingGates": [{"name": "example.com/gate"}], "tolerations": [{"key": "gpu", "operator": "Exists"}]}
    create(host, job(podSetInfos=[{**info, **gates}]))
    host.run(5)
    for pod in host.pods():
        assert pod["metadata"]["labels"]["l"] == "1"
        assert pod["metadata"]["annotations"]["a"] == "2"
        assert pod["spec"]["nodeSelector"] == {"kubernetes.io/hostname": "n1"}
        assert {"key": "gpu", "operator": "Exists"} in pod["spec"]["tolerations"]
        assert pod["spec"]["schedulingGates"] == [{"name": "example.com/gate"}]
    assert len(host.pods()) == 2
    assert state(host) == ("Running", {"QuotaReserved", "ResourcesDeployed"})


def test_it_fails_with_one_object_and_all_are_deleted() -> None:
    host = playground()
    create(host, job(code="3"), SETTINGS)
    host.run(120)
    assert state(host) == ("Failed", set())
    assert (host.names(JOB), host.names(CONFIG_MAP), host.names(POD)) == ([], [], [])


def test_objects_of_a_kind_that_is_not_served_fail_it() -> None:
    host = playground()
    create(host, {"template": {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}}})
    host.run(5)
    assert state(host) == ("Failed", set())


def test_while_it_is_suspended_nothing_is_there() -> None:
    host = playground()
    create(host, job(), SETTINGS, suspend=True)
    host.run(5)
    assert state(host) == ("Suspended", set())
    assert host.names(JOB) == []
    host.patch(APP_WRAPPER, "aw", {"spec": {"suspend": False}})
    host.run(10)
    assert len(host.pods()) == 2
    host.patch(APP_WRAPPER, "aw", {"spec": {"suspend": True}})
    host.run(60)
    assert state(host) == ("Suspended", set())
    assert (host.names(JOB), host.names(POD)) == ([], [])
