from __future__ import annotations

from closeknit.cluster.embedded.standins.binder import Binder
from closeknit.cluster.embedded.standins.garbage import GarbageCollector
from closeknit.cluster.embedded.standins.job import BatchJobs
from closeknit.cluster.embedded.standins.kubelet import Kubelet
from closeknit.cluster.kinds import CONFIG_MAP, JOB, NODE, POD
from closeknit.cluster.port import Raw
from cluster.embedded.standins.playground import Playground


def playground() -> Playground:
    return Playground(GarbageCollector())


def thing(host: Playground, name: str, *owners: Raw, block: bool = False) -> Raw:
    references = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": one["metadata"]["name"],
            "uid": one["metadata"]["uid"],
            "blockOwnerDeletion": block,
        }
        for one in owners
    ]
    return host.create(CONFIG_MAP, {"metadata": {"name": name, "ownerReferences": references}})


def test_dependents_of_a_deleted_object_are_deleted_recursively() -> None:
    host = playground()
    root = thing(host, "root")
    child = thing(host, "child", root)
    thing(host, "grandchild", child)
    thing(host, "stranger")
    host.settle()
    host.delete(CONFIG_MAP, "root")
    host.settle()
    assert host.names(CONFIG_MAP) == ["stranger"]


def test_a_dependent_with_another_owner_stays_without_the_old_reference() -> None:
    host = playground()
    first, second = thing(host, "first"), thing(host, "second")
    thing(host, "child", first, second)
    host.delete(CONFIG_MAP, "first")
    host.settle()
    references = host.get(CONFIG_MAP, "child")["metadata"]["ownerReferences"]
    assert [one["name"] for one in references] == ["second"]
    host.delete(CONFIG_MAP, "second")
    host.settle()
    assert host.names(CONFIG_MAP) == []


def test_a_child_of_an_owner_that_never_existed_is_deleted() -> None:
    host = playground()
    gone = thing(host, "gone")
    host.delete(CONFIG_MAP, "gone")
    thing(host, "late", gone)
    host.settle()
    assert host.names(CONFIG_MAP) == []


def test_a_child_of_an_earlier_object_of_the_same_name_is_deleted() -> None:
    host = playground()
    earlier = thing(host, "owner")
    host.delete(CONFIG_MAP, "owner")
    thing(host, "owner")
    thing(host, "child", earlier)
    host.settle()
    assert host.names(CONFIG_MAP) == ["owner"]


def test_dependents_of_owners_of_unknown_kinds_are_kept() -> None:
    host = playground()
    reference = {"apiVersion": "example.com/v1", "kind": "Thing", "name": "x", "uid": "1"}
    host.create(CONFIG_MAP, {"metadata": {"name": "child", "ownerReferences": [reference]}})
    host.settle()
    assert host.names(CONFIG_MAP) == ["child"]


def test_foreground_deletion_waits_for_blocking_dependents() -> None:
    host = playground()
    owner = thing(host, "owner")
    child = thing(host, "child", owner, block=True)
    host.patch(CONFIG_MAP, "child", {"metadata": {"finalizers": ["example.com/keep"]}})
    thing(host, "grandchild", child, block=True)
    host.delete(CONFIG_MAP, "owner", propagation="Foreground")
    host.settle()
    assert host.names(CONFIG_MAP) == ["owner", "child"]
    assert host.get(CONFIG_MAP, "owner")["metadata"]["finalizers"] == ["foregroundDeletion"]
    host.patch(CONFIG_MAP, "child", {"metadata": {"finalizers": None}})
    host.settle()
    assert host.names(CONFIG_MAP) == []


def test_in_the_foreground_the_owner_does_not_wait_for_others() -> None:
    host = playground()
    owner = thing(host, "owner")
    thing(host, "child", owner, block=False)
    host.patch(CONFIG_MAP, "child", {"metadata": {"finalizers": ["example.com/keep"]}})
    host.delete(CONFIG_MAP, "owner", propagation="Foreground")
    host.settle()
    assert host.names(CONFIG_MAP) == ["child"]
    assert "deletionTimestamp" in host.get(CONFIG_MAP, "child")["metadata"]


def test_orphans_lose_their_owner_reference_and_stay() -> None:
    host = playground()
    owner = thing(host, "owner")
    thing(host, "child", owner)
    host.delete(CONFIG_MAP, "owner", propagation="Orphan")
    host.settle()
    assert host.names(CONFIG_MAP) == ["child"]
    assert "ownerReferences" not in host.get(CONFIG_MAP, "child")["metadata"]


def test_a_cluster_wide_owner_takes_its_dependents_along() -> None:
    host = playground()
    node = host.node("n1")
    reference = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": node["metadata"]["uid"]}
    host.create(CONFIG_MAP, {"metadata": {"name": "child", "ownerReferences": [reference]}})
    host.settle()
    assert host.names(CONFIG_MAP) == ["child"]
    host.delete(NODE, "n1")
    host.settle()
    assert host.names(CONFIG_MAP) == []


def test_a_deleted_job_takes_its_running_pods_along() -> None:
    host = Playground(BatchJobs(), Binder(), Kubelet(), GarbageCollector())
    host.node("n1")
    host.job("j", {"closeknit.dev/run-time": "forever"}, parallelism=3, completions=3)
    host.run(5)
    host.delete(JOB, "j", propagation="Foreground")
    host.settle()
    assert host.names(JOB) == ["j"]
    host.run(2)
    assert host.names(JOB) == []
    assert host.names(POD) == []


def test_a_finished_job_is_deleted_with_its_pods_after_its_ttl() -> None:
    host = Playground(BatchJobs(), Binder(), Kubelet(), GarbageCollector())
    host.node("n1")
    host.job("j", {"closeknit.dev/run-time": "1s"}, ttlSecondsAfterFinished=10)
    host.run(20)
    assert host.names(JOB) == []
    assert host.names(POD) == []


def test_a_restart_collects_what_was_left() -> None:
    host = playground()
    owner = thing(host, "owner")
    thing(host, "child", owner)
    host.delete(CONFIG_MAP, "owner")
    host.start([GarbageCollector()])
    host.settle()
    assert host.names(CONFIG_MAP) == []
