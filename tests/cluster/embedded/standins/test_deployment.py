from __future__ import annotations

from typing import Any

from closeknit.cluster.embedded.standins.binder import Binder
from closeknit.cluster.embedded.standins.deployment import Deployments
from closeknit.cluster.embedded.standins.garbage import GarbageCollector
from closeknit.cluster.embedded.standins.kubelet import Kubelet
from closeknit.cluster.embedded.standins.replica_set import ReplicaSets
from closeknit.cluster.kinds import DEPLOYMENT, POD, REPLICA_SET
from closeknit.cluster.port import Raw
from cluster.embedded.standins.playground import Playground, condition, states, template


def playground() -> Playground:
    host = Playground(Deployments(), ReplicaSets(), Binder(), Kubelet(), GarbageCollector())
    host.node("n1")
    return host


def body(replicas: int, **spec: Any) -> Raw:
    return {
        "metadata": {"name": "d"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "d"}},
            "template": template(labels={"app": "d"}, restartPolicy="Always"),
            **spec,
        },
    }


def sizes(host: Playground) -> dict[str, int]:
    """Revision to replicas."""
    return {
        one["metadata"]["annotations"]["deployment.kubernetes.io/revision"]: one["spec"]["replicas"]
        for one in host.all(REPLICA_SET)
    }


def change(host: Playground, version: str) -> None:
    host.patch(DEPLOYMENT, "d", {"spec": {"template": {"metadata": {"annotations": {"v": version}}}}})


def test_a_deployment_creates_a_replica_set_that_creates_pods() -> None:
    host = playground()
    host.create(DEPLOYMENT, body(2))
    host.run(3)
    (owned,) = host.all(REPLICA_SET)
    hashed = owned["metadata"]["labels"]["pod-template-hash"]
    assert owned["metadata"]["name"] == f"d-{hashed}"
    assert owned["metadata"]["labels"] == {"app": "d", "pod-template-hash": hashed}
    assert owned["metadata"]["annotations"] == {
        "deployment.kubernetes.io/desired-replicas": "2",
        "deployment.kubernetes.io/max-replicas": "3",
        "deployment.kubernetes.io/revision": "1",
    }
    assert owned["spec"]["selector"] == {"matchLabels": {"app": "d", "pod-template-hash": hashed}}
    assert owned["status"] == {
        "replicas": 2,
        "fullyLabeledReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 2,
        "terminatingReplicas": 0,
        "observedGeneration": 1,
    }
    for pod in host.pods():
        assert pod["metadata"]["name"].startswith(f"d-{hashed}-")
        assert pod["metadata"]["labels"] == {"app": "d", "pod-template-hash": hashed}
        assert pod["metadata"]["ownerReferences"][0]["kind"] == "ReplicaSet"
    deployment = host.get(DEPLOYMENT, "d")
    assert deployment["metadata"]["annotations"] == {"deployment.kubernetes.io/revision": "1"}
    status = dict(deployment["status"])
    assert states(deployment) == {"Available": "True", "Progressing": "True"}
    progress = condition(deployment, "Progressing")
    assert progress is not None
    assert progress["reason"] == "NewReplicaSetAvailable"
    assert progress["message"] == f'ReplicaSet "d-{hashed}" has successfully progressed.'
    status.pop("conditions")
    assert status == {
        "observedGeneration": 1,
        "replicas": 2,
        "updatedReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 2,
        "terminatingReplicas": 0,
    }


def test_a_rolling_update_keeps_within_its_bounds() -> None:
    host = playground()
    host.create(DEPLOYMENT, body(4))
    host.run(5)
    change(host, "2")
    least, most = 4, 4
    for _ in range(100):
        host.run(0.1)
        pods = [pod for pod in host.pods() if "deletionTimestamp" not in pod["metadata"]]
        least = min(least, sum(states(pod).get("Ready") == "True" for pod in pods))
        most = max(most, len(pods))
    assert (least, most) == (3, 5)
    assert sizes(host) == {"1": 0, "2": 4}
    deployment = host.get(DEPLOYMENT, "d")
    assert deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2"
    assert deployment["status"]["updatedReplicas"] == 4
    assert len(host.pods()) == 4


def test_a_rollback_reuses_the_old_set() -> None:
    host = playground()
    host.create(DEPLOYMENT, body(2))
    host.run(10)
    first = host.names(REPLICA_SET)[0]
    change(host, "2")
    host.run(10)
    host.patch(DEPLOYMENT, "d", {"spec": {"template": {"metadata": {"annotations": {"v": None}}}}})
    host.run(10)
    assert sizes(host) == {"3": 2, "2": 0}
    assert host.get(REPLICA_SET, first)["spec"]["replicas"] == 2


def test_recreate_removes_the_old_pods_first() -> None:
    host = playground()
    host.create(DEPLOYMENT, body(3, strategy={"type": "Recreate"}))
    host.run(5)
    change(host, "2")
    most = 0
    for _ in range(50):
        host.run(0.1)
        most = max(most, len({pod["metadata"]["labels"]["pod-template-hash"] for pod in host.pods()}))
    assert most == 1
    assert sizes(host) == {"1": 0, "2": 3}


def test_scaling_up_and_down() -> None:
    host = playground()
    host.create(DEPLOYMENT, body(2))
    host.run(5)
    host.patch(DEPLOYMENT, "d", {"spec": {"replicas": 5}})
    host.run(5)
    assert host.get(DEPLOYMENT, "d")["status"]["readyReplicas"] == 5
    host.patch(DEPLOYMENT, "d", {"spec": {"replicas": 1}})
    host.run(5)
    assert len(host.pods()) == 1
    assert host.get(DEPLOYMENT, "d")["status"]["readyReplicas"] == 1


def test_a_lost_pod_is_replaced_and_the_rollout_stays_done() -> None:
    host = playground()
    host.create(DEPLOYMENT, body(2))
    host.run(5)
    host.delete(POD, host.pods()[0]["metadata"]["name"])
    host.settle()
    deployment = host.get(DEPLOYMENT, "d")
    assert deployment["status"]["terminatingReplicas"] == 1
    assert deployment["status"]["unavailableReplicas"] == 1
    available, progress = condition(deployment, "Available"), condition(deployment, "Progressing")
    assert available is not None
    assert progress is not None
    assert (available["status"], available["reason"]) == ("False", "MinimumReplicasUnavailable")
    assert progress["reason"] == "NewReplicaSetAvailable"
    host.run(3)
    assert host.get(DEPLOYMENT, "d")["status"]["readyReplicas"] == 2


def test_pods_have_to_be_ready_for_a_while_to_be_available() -> None:
    host = playground()
    host.create(DEPLOYMENT, body(1, minReadySeconds=20))
    host.run(10)
    assert host.get(DEPLOYMENT, "d")["status"]["readyReplicas"] == 1
    assert "availableReplicas" not in host.get(DEPLOYMENT, "d")["status"]
    host.run(12)
    assert host.get(DEPLOYMENT, "d")["status"]["availableReplicas"] == 1


def test_a_stalled_rollout_is_reported_after_its_deadline() -> None:
    host = playground()
    host.create(DEPLOYMENT, body(1, progressDeadlineSeconds=60, template=_unplaceable()))
    host.run(59)
    assert states(host.get(DEPLOYMENT, "d"))["Progressing"] == "True"
    host.run(3)
    progress = condition(host.get(DEPLOYMENT, "d"), "Progressing")
    assert progress is not None
    assert (progress["status"], progress["reason"]) == ("False", "ProgressDeadlineExceeded")


def _unplaceable() -> Raw:
    return template(labels={"app": "d"}, restartPolicy="Always", nodeSelector={"no": "such"})


def test_old_sets_beyond_the_limit_are_deleted() -> None:
    host = playground()
    host.create(DEPLOYMENT, body(1, revisionHistoryLimit=1))
    for version in ("2", "3", "4"):
        host.run(10)
        change(host, version)
    host.run(10)
    assert sizes(host) == {"3": 0, "4": 1}


def test_a_paused_deployment_does_not_roll() -> None:
    host = playground()
    host.create(DEPLOYMENT, body(1))
    host.run(5)
    host.patch(DEPLOYMENT, "d", {"spec": {"paused": True}})
    change(host, "2")
    host.run(10)
    assert sizes(host) == {"1": 1}
    host.patch(DEPLOYMENT, "d", {"spec": {"paused": None}})
    host.run(10)
    assert sizes(host) == {"1": 0, "2": 1}


def test_a_deleted_deployment_takes_all_along() -> None:
    host = playground()
    host.create(DEPLOYMENT, body(2))
    host.run(5)
    host.delete(DEPLOYMENT, "d")
    host.run(5)
    assert host.pods() == []
    assert host.names(REPLICA_SET) == []


def test_a_restart_changes_nothing() -> None:
    host = playground()
    host.create(DEPLOYMENT, body(2))
    host.run(5)
    before = host.store.version
    host.start([Deployments(), ReplicaSets(), Binder(), Kubelet(), GarbageCollector()])
    host.run(5)
    assert host.store.version == before
