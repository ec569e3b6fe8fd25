"""Machines that fail under running jobs: their pods get other hosts, and no other pod moves."""

from __future__ import annotations

from closeknit.observe.pool_form import RACK
from servers.manifests import Object
from servers.nodes import silence

from .scene import INDEX, NODES, PODS, Scene
from .work import job, template


def uids(pods: list[Object]) -> dict[str, str]:
    """The uids of pods by rank."""
    return {one["metadata"]["labels"][INDEX]: one["metadata"]["uid"] for one in pods}


def running(scene: Scene, count: int = 5, cpu: int = 4, hosts: int = 3, racks: int = 1) -> tuple[list[str], list[str]]:
    """A job of five on two of three hosts, with room for one more on the second; its plan and its pods' uids."""
    scene.nodes(racks=racks, hosts=hosts, cpu=12)
    scene.queue()
    scene.submit(job("train", count, template(cpu, required=RACK), backoffLimit=100))
    found = uids(scene.await_running(count))
    plan = scene.plan("train")
    assert scene.places() == plan
    return plan, [found[str(rank)] for rank in range(count)]


def evictions(scene: Scene) -> dict[str, int]:
    stats = scene.workload("train")["status"].get("schedulingStats") or {}
    return {one["reason"]: one["count"] for one in stats.get("evictions") or ()}


def await_swap(scene: Scene, lost: str, plan: list[str], first: list[str], within: float = 120.0) -> None:
    """Wait until the pods of the lost node run where the new plan has them; all others are unchanged."""

    def swapped() -> bool:
        new = scene.plan("train")
        return lost not in new and sorted(scene.places()) == sorted(new)

    scene.until(swapped, f"{lost} was replaced", within)
    after = uids(scene.await_running(len(plan), within=within))
    for rank, host in enumerate(plan):
        assert (after[str(rank)] == first[rank]) is (host != lost), f"rank {rank} of {host}"
    assert evictions(scene) == {}
    scene.until(lambda: not scene.workload("train")["status"].get("unhealthyNodes"), "no node is listed as unhealthy")


def test_a_node_that_is_deleted_is_replaced_at_once(scene: Scene) -> None:
    plan, first = running(scene)
    lost = plan[-1]
    scene.delete(NODES, lost)
    scene.until(lambda: lost not in scene.plan("train"), "the plan has another node", 10)
    scene.collect(lost)
    await_swap(scene, lost, plan, first)


def test_a_silent_node_is_replaced_when_its_pods_are_evicted(scene: Scene) -> None:
    plan, first = running(scene)
    silence(scene.api, plan[-1])
    await_swap(scene, plan[-1], plan, first)


def test_a_node_that_drives_its_pods_away_is_replaced(scene: Scene) -> None:
    plan, first = running(scene)
    taint(scene, plan[-1], "NoExecute")
    await_swap(scene, plan[-1], plan, first)


def test_a_node_that_takes_no_new_pods_keeps_those_it_has_until_they_end(scene: Scene) -> None:
    plan, first = running(scene)
    taint(scene, plan[-1], "NoSchedule")
    scene.stays(lambda: scene.plan("train") == plan and scene.places() == plan, "they stay", 6)
    moved = [pod for pod in scene.pods() if pod["spec"]["nodeName"] == plan[-1]]
    for pod in moved:
        scene.delete(PODS, pod["metadata"]["name"])
    await_swap(scene, plan[-1], plan, first)


def test_a_pod_waits_for_a_node_which_takes_no_new_ones_until_its_job_has_left_it(scene: Scene) -> None:
    """While other pods of its job run there the node is kept, and a pod that the job creates for it waits."""
    plan, first = running(scene)
    taint(scene, plan[-1], "NoSchedule")
    last, other = [pod for pod in scene.pods() if pod["spec"]["nodeName"] == plan[-1]]
    scene.delete(PODS, last["metadata"]["name"])
    scene.until(lambda: [pod for pod in scene.pods() if not pod["spec"].get("nodeName")], "its successor waits", 60)
    scene.stays(lambda: not scene.event_messages("PodTerminatedByKueue"), "its successor is left alone", 5)
    assert scene.plan("train") == plan
    scene.delete(PODS, other["metadata"]["name"])
    scene.until(lambda: scene.event_messages("PodTerminatedByKueue"), "then its successor is ended", 60)
    await_swap(scene, plan[-1], plan, first, 90)


def test_a_job_whose_rack_has_no_other_node_moves_to_another_rack(scene: Scene) -> None:
    plan, _ = running(scene, count=6, hosts=2, racks=2)
    scene.delete(NODES, plan[-1])
    scene.until(lambda: evictions(scene) == {"NodeFailures": 1}, "it is evicted")
    scene.collect(plan[-1])
    scene.until(lambda: scene.racks(scene.plan("train")) not in ([], scene.racks(plan)), "it has another rack", 60)
    scene.await_running(6, within=60)
    assert scene.places() == scene.plan("train")


def test_a_replacement_does_not_collide_with_a_pod_that_runs_where_its_rank_belongs(scene: Scene) -> None:
    """After the swap the plan is sorted again: rank 0 belongs where rank 1 still runs, so it takes the free host."""
    plan, first = running(scene, count=2, cpu=12)
    assert len(set(plan)) == 2
    stayed, lost = plan[1], plan[0]
    taint(scene, lost, "NoExecute")
    scene.until(lambda: lost not in scene.plan("train"), "the plan has another node")
    new = scene.plan("train")
    assert new[0] == stayed, "its rank belongs where another runs"
    scene.until(lambda: scene.places() == [new[1], stayed], "it has what is free")
    assert uids(scene.await_running(2))["1"] == first[1]
    assert evictions(scene) == {}


def taint(scene: Scene, node: str, effect: str) -> None:
    there = scene.get(NODES, node)["spec"]["taints"]
    scene.patch(NODES, node, {"spec": {"taints": [*there, {"key": "broken", "effect": effect}]}})
