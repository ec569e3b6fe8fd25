from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster.embedded.standins.binder import Binder
from closeknit.cluster.embedded.standins.budgets import Budgets
from closeknit.cluster.embedded.standins.kubelet import Kubelet
from closeknit.cluster.embedded.standins.replica_set import ReplicaSets
from closeknit.cluster.embedded.store import WriteOptions
from closeknit.cluster.errors import BadRequest, TooManyRequests
from closeknit.cluster.kinds import BUDGET, POD, REPLICA_SET
from closeknit.cluster.port import EvictPod, Raw
from cluster.embedded.standins.playground import Playground, condition, template


def playground(replicas: int = 3) -> Playground:
    host = Playground(Budgets(), ReplicaSets(), Binder(), Kubelet())
    host.node("n1")
    host.create(
        REPLICA_SET,
        {
            "metadata": {"name": "r"},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": "r"}},
                "template": template(labels={"app": "r"}, restartPolicy="Always"),
            },
        },
    )
    host.run(3)
    return host


def budget(host: Playground, name: str = "b", **spec: Any) -> None:
    host.create(BUDGET, {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": {"app": "r"}}, **spec}})
    host.settle()


def status(host: Playground) -> Raw:
    found: Raw = host.get(BUDGET, "b")["status"]
    return found


def numbers(host: Playground) -> tuple[int, int, int, int]:
    parts = ("expectedPods", "currentHealthy", "desiredHealthy", "disruptionsAllowed")
    one, two, three, four = (status(host)[part] for part in parts)
    return one, two, three, four


def evict(host: Playground, number: int = 0, options: WriteOptions | None = None) -> str:
    name = str(host.pods()[number]["metadata"]["name"])
    host.store.carry_out(EvictPod("default", name), options or WriteOptions())
    return name


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"minAvailable": 2}, (3, 3, 2, 1)),
        ({"minAvailable": "50%"}, (3, 3, 2, 1)),
        ({"minAvailable": "100%"}, (3, 3, 3, 0)),
        ({"maxUnavailable": 1}, (3, 3, 2, 1)),
        ({"maxUnavailable": "50%"}, (3, 3, 1, 2)),
        ({"maxUnavailable": 0}, (3, 3, 3, 0)),
    ],
)
def test_a_budget_counts_its_pods(spec: Raw, expected: tuple[int, int, int, int]) -> None:
    host = playground()
    budget(host, **spec)
    assert numbers(host) == expected
    allowed = condition(host.get(BUDGET, "b"), "DisruptionAllowed")
    assert allowed is not None
    wanted = ("True", "SufficientPods") if expected[3] else ("False", "InsufficientPods")
    assert (allowed["status"], allowed["reason"]) == wanted
    assert status(host)["observedGeneration"] == 1


def test_an_eviction_takes_from_the_budget_and_a_second_is_refused() -> None:
    host = playground()
    budget(host, minAvailable=2)
    name = evict(host, 0)
    pod = host.get(POD, name)
    assert "deletionTimestamp" in pod["metadata"]
    target = condition(pod, "DisruptionTarget")
    assert target is not None
    assert (target["reason"], target["message"]) == ("EvictionByEvictionAPI", "Eviction API: evicting")
    with pytest.raises(TooManyRequests) as refused:
        evict(host, 1)
    assert refused.value.status()["message"] == "Cannot evict pod as it would violate the pod's disruption budget."
    assert refused.value.status()["code"] == 429
    assert refused.value.status()["details"]["causes"] == [
        {
            "reason": "DisruptionBudget",
            "message": "The disruption budget b needs 2 healthy pods and has 3 currently",
        }
    ]
    host.settle()
    assert numbers(host) == (4, 2, 2, 0)
    assert "disruptedPods" not in status(host)
    host.run(3)
    assert numbers(host) == (3, 3, 2, 1)
    evict(host, 0)


def test_a_dry_run_eviction_uses_up_no_disruption() -> None:
    host = playground()
    budget(host, minAvailable=2)
    before = host.store.version
    for _ in range(3):
        evict(host, 0, WriteOptions(dry_run=True))
    assert host.store.version == before


def test_without_a_budget_every_pod_may_be_evicted() -> None:
    host = playground()
    for number in range(3):
        evict(host, number)
    assert all("deletionTimestamp" in pod["metadata"] for pod in host.pods()[:3])


def test_a_pod_that_does_not_run_may_be_evicted() -> None:
    host = playground()
    host.patch(POD, host.pods()[0]["metadata"]["name"], {"status": {"phase": "Failed"}}, "status")
    budget(host, minAvailable=3)
    evict(host, 0)
    assert len([pod for pod in host.pods() if pod["status"]["phase"] == "Failed"]) == 0


def unready(host: Playground, number: int) -> None:
    pod = host.pods()[number]
    conditions = [{**one, "status": "False"} if one["type"] == "Ready" else one for one in pod["status"]["conditions"]]
    host.patch(POD, pod["metadata"]["name"], {"status": {"conditions": conditions}}, "status")


def quiet(host: Playground) -> None:
    """Run only the stand-in of budgets from now on, so that no pod becomes ready again."""
    host.start([Budgets()])
    host.settle()


def test_an_unready_pod_may_be_evicted_while_enough_others_are_healthy() -> None:
    host = playground()
    budget(host, minAvailable=2)
    quiet(host)
    unready(host, 0)
    host.settle()
    assert numbers(host) == (3, 2, 2, 0)
    evict(host, 0)


def test_an_unready_pod_may_not_be_evicted_when_too_few_are_healthy() -> None:
    host = playground()
    budget(host, minAvailable=2)
    quiet(host)
    unready(host, 0)
    unready(host, 1)
    host.settle()
    with pytest.raises(TooManyRequests):
        evict(host, 0)


def test_an_unready_pod_may_always_be_evicted_with_policy_always_allow() -> None:
    host = playground()
    budget(host, minAvailable=3, unhealthyPodEvictionPolicy="AlwaysAllow")
    quiet(host)
    unready(host, 0)
    unready(host, 1)
    host.settle()
    gone = evict(host, 0)
    assert all("deletionTimestamp" in pod["metadata"] for pod in host.pods() if pod["metadata"]["name"] == gone)


def test_a_budget_without_a_status_refuses_evictions() -> None:
    host = playground()
    host.create(BUDGET, {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {}}})
    with pytest.raises(TooManyRequests) as refused:
        evict(host)
    assert refused.value.retry_after == 10
    assert refused.value.causes[0].message == "The disruption budget b is still being processed by the server."


def test_two_budgets_for_a_pod_are_refused() -> None:
    host = playground()
    budget(host, minAvailable=1)
    budget(host, "c", minAvailable=1)
    with pytest.raises(BadRequest, match="more than one PodDisruptionBudget"):
        evict(host)


def test_later_pods_and_changed_labels_are_counted() -> None:
    host = playground()
    budget(host, minAvailable=1)
    host.patch(REPLICA_SET, "r", {"spec": {"replicas": 5}})
    host.run(3)
    assert numbers(host) == (5, 5, 1, 4)
    host.start([Budgets()])
    host.patch(POD, host.pods()[0]["metadata"]["name"], {"metadata": {"labels": {"app": "other"}}})
    host.settle()
    assert numbers(host) == (4, 4, 1, 3)


def test_an_eviction_without_a_deletion_is_forgotten() -> None:
    host = playground()
    budget(host, minAvailable=2)
    name = host.pods()[0]["metadata"]["name"]
    noted = {**status(host), "disruptionsAllowed": 0, "disruptedPods": {name: "2023-11-14T22:13:23Z"}}
    host.patch(BUDGET, "b", {"status": noted}, "status")
    host.run(110)
    assert numbers(host) == (3, 2, 2, 0)
    host.run(20)
    assert numbers(host) == (3, 3, 2, 1)
