from __future__ import annotations

import pytest

from closeknit.cluster.embedded.standins.binder import Binder
from closeknit.cluster.embedded.standins.garbage import GarbageCollector
from closeknit.cluster.embedded.standins.job import BatchJobs
from closeknit.cluster.embedded.standins.kubelet import Kubelet
from closeknit.cluster.embedded.standins.namespaces import Namespaces
from closeknit.cluster.errors import Forbidden
from closeknit.cluster.kinds import CONFIG_MAP, JOB, NAMESPACE, POD, SERVICE_ACCOUNT
from cluster.embedded.standins.playground import Playground, condition


def playground() -> Playground:
    host = Playground(Namespaces(), GarbageCollector(), BatchJobs(), Binder(), Kubelet())
    host.node("n1")
    host.create(NAMESPACE, {"metadata": {"name": "team"}})
    host.settle()
    return host


def test_every_namespace_has_a_service_account() -> None:
    host = playground()
    homes = [one["metadata"]["namespace"] for one in host.all(SERVICE_ACCOUNT)]
    assert homes == ["default", "kube-system", "kube-node-lease", "team"]
    host.delete(SERVICE_ACCOUNT, "default", "team")
    host.settle()
    assert host.find(SERVICE_ACCOUNT, "default", "team") is not None


def test_a_deleted_namespace_is_removed_when_it_is_empty() -> None:
    host = playground()
    host.create(CONFIG_MAP, {"metadata": {"name": "c", "namespace": "team"}})
    host.create(CONFIG_MAP, {"metadata": {"name": "c", "namespace": "default"}})
    spec = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}
    host.create(JOB, {"metadata": {"name": "j", "namespace": "team"}, "spec": {"template": {"spec": spec}}})
    host.run(5)
    host.delete(NAMESPACE, "team")
    host.settle()
    team = host.get(NAMESPACE, "team")
    assert team["status"]["phase"] == "Terminating"
    remaining = condition(team, "NamespaceContentRemaining")
    assert remaining is not None
    assert remaining["status"] == "True"
    assert "pods. has 1 resource instances" in remaining["message"]
    with pytest.raises(Forbidden, match="is being terminated"):
        host.create(CONFIG_MAP, {"metadata": {"name": "late", "namespace": "team"}})
    host.run(2)
    assert host.find(NAMESPACE, "team") is None
    assert host.names(POD) == []
    assert [one["metadata"]["namespace"] for one in host.all(CONFIG_MAP)] == ["default"]


def test_an_empty_namespace_is_removed_at_once() -> None:
    host = playground()
    host.delete(NAMESPACE, "team")
    host.settle()
    assert host.find(NAMESPACE, "team") is None


def test_a_namespace_waits_for_a_finalizer_inside() -> None:
    host = playground()
    host.create(CONFIG_MAP, {"metadata": {"name": "c", "namespace": "team", "finalizers": ["example.com/keep"]}})
    host.delete(NAMESPACE, "team")
    host.run(100)
    assert host.find(NAMESPACE, "team") is not None
    host.patch(CONFIG_MAP, "c", {"metadata": {"finalizers": None}}, namespace="team")
    host.settle()
    assert host.find(NAMESPACE, "team") is None


def test_emptying_continues_after_a_restart() -> None:
    host = playground()
    host.create(CONFIG_MAP, {"metadata": {"name": "c", "namespace": "team"}})
    host.delete(NAMESPACE, "team")
    host.start([Namespaces(), GarbageCollector()])
    host.settle()
    assert host.find(NAMESPACE, "team") is None
