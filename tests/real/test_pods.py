"""Single pods, and pod groups."""

from __future__ import annotations

from closeknit.observe.pool_form import RACK
from servers.manifests import Object

from .scene import PODS, WORKLOADS, Scene
from .work import template

GROUP, INDEX = "kueue.x-k8s.io/pod-group-name", "kueue.x-k8s.io/pod-group-pod-index"
TOTAL = "kueue.x-k8s.io/pod-group-total-count"


def pod(name: str, body: Object, labels: dict[str, str] | None = None, total: int = 0) -> Object:
    notes = {**body["metadata"]["annotations"], **({TOTAL: str(total)} if total else {})}
    meta = {"name": name, "labels": labels or {}, "annotations": notes}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": body["spec"]}


def member(number: int, total: int, body: Object, name: str = "") -> Object:
    labels = {GROUP: "train", INDEX: str(number)}
    return pod(name or f"train-{number}", body, labels, total)


def test_a_pod_is_gated_until_it_is_admitted_and_its_workload_ends_with_it(scene: Scene) -> None:
    scene.nodes(racks=1, hosts=1, cpu=8)
    made = [scene.submit(pod(name, template(8, required=RACK))) for name in ("one", "two")]
    gates = [[gate["name"] for gate in one["spec"]["schedulingGates"]] for one in made]
    assert gates == [["kueue.x-k8s.io/admission", "kueue.x-k8s.io/topology"]] * 2
    scene.queue()
    (first,) = scene.await_running(1)
    name = first["metadata"]["name"]
    assert [first["spec"]["nodeName"]] == scene.plan(name)
    scene.finish(first)
    scene.await_true(name, "Finished")
    (second,) = scene.await_running(1)
    assert second["metadata"]["name"] == ({"one", "two"} - {name}).pop()
    scene.delete(PODS, second["metadata"]["name"])
    scene.until(lambda: scene.find(PODS, second["metadata"]["name"]) is None, "it is gone")
    scene.until(lambda: scene.used() == "0", "none of the quota is in use")


def test_a_group_starts_when_it_is_whole_and_is_placed_by_index(scene: Scene) -> None:
    scene.nodes(racks=2, hosts=2, cpu=8)
    scene.queue()
    for number in (2, 0):
        scene.submit(member(number, 3, template(4, required=RACK)))
    scene.stays(lambda: not scene.all(WORKLOADS), "no workload exists yet", 2)
    scene.submit(member(1, 3, template(4, required=RACK)))
    running = scene.await_running(3)
    plan = scene.plan("train")
    assert len(scene.racks(plan)) == 1
    assert scene.places(rank=INDEX) == plan
    scene.finish(*running)
    scene.await_true("train", "Finished")
    scene.until(lambda: scene.used() == "0", "none of the quota is in use")
    scene.until(lambda: scene.finalizers() == [], "the pods' finalizers are removed")


def test_a_member_that_failed_is_replaced_in_its_place(scene: Scene) -> None:
    scene.nodes(racks=1, hosts=2, cpu=8)
    scene.queue()
    for number in range(4):
        scene.submit(member(number, 4, template(4, required=RACK)))
    running = scene.await_running(4)
    plan, (lost,) = scene.plan("train"), [one for one in running if one["metadata"]["name"] == "train-2"]
    scene.patch(PODS, "train-2", {"status": {"phase": "Failed"}}, "status")
    scene.submit(member(2, 4, template(4, required=RACK), "train-2-again"))
    scene.await_running(4)
    again = scene.get(PODS, "train-2-again")
    assert again["spec"]["nodeName"] == lost["spec"]["nodeName"]
    assert scene.places(rank=INDEX) == plan


def test_a_group_is_gone_when_its_pods_are(scene: Scene) -> None:
    scene.nodes(racks=1, hosts=1, cpu=8)
    scene.queue()
    for number in range(2):
        scene.submit(member(number, 2, template(4, required=RACK)))
    scene.await_running(2)
    for number in range(2):
        scene.delete(PODS, f"train-{number}")
    scene.until(lambda: not scene.pods(gone=True) and not scene.all(WORKLOADS), "everything of it is gone")
    scene.until(lambda: scene.used() == "0", "none of the quota is in use")
