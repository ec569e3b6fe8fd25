"""A gang of pods on nodes with NUMA zones, whose simulated kubelets refuse what no zone can hold.

The reports are created after the controller has started. Workers and leader differ in shape and share hosts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from closeknit.observe.pool_form import RACK
from contract.objects import path
from servers.manifests import Object
from servers.zoned import TOPOLOGIES, held_zones, is_refused, zoned_machines, zoned_meta

from .plane import Place
from .scene import EVENTS, PODS, Scene
from .test_pods import GROUP, TOTAL, pod
from .work import template

WORKERS, ZONE = 32, 8
LEADER, WORKER = 6, 4
EXPECTED, PART = "closeknit.dev/numa-zones", "part"


@pytest.fixture
def machines(scene: Scene, tmp_path: Path) -> Iterator[list[str]]:
    """Two racks of ten hosts with two zones of eight CPUs, each with a report."""
    with zoned_machines(scene.api, Path(scene.place.kubeconfig), tmp_path):
        names = scene.nodes(racks=2, hosts=10, cpu=2 * ZONE, meta=zoned_meta())
        scene.until(lambda: set(names) <= set(reports(scene)), "every node has a report")
        yield names


def reports(scene: Scene) -> dict[str, Object]:
    return {one["metadata"]["name"]: one for one in scene.api.get(path(TOPOLOGIES)).body["items"]}


def guaranteed(cpu: int, **wish: str) -> Object:
    found = template(cpu, **wish)
    amounts = {"cpu": str(cpu), "memory": "1Gi"}
    found["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
    return found


def gang() -> Iterator[Object]:
    """A pod group of two pod sets that are placed together."""
    total = str(WORKERS + 1)
    for number in range(WORKERS + 1):
        part, cpu = ("leader", LEADER) if number == 0 else ("worker", WORKER)
        found = pod(f"{part}-{number}", guaranteed(cpu, required=RACK, group_name="gang"), {GROUP: "gang", PART: part})
        found["metadata"]["annotations"][TOTAL] = total
        yield found


def planned_zones(one: Object) -> set[str]:
    return {zone["zone"] for zone in json.loads(one["metadata"]["annotations"][EXPECTED])}


def by_host(pods: list[Object], zones_of: Callable[[Object], set[str]]) -> dict[tuple[str, str], list[list[str]]]:
    """The zones of pods by host and part: pods of one shape may reach their kubelet in another order than planned."""
    found: dict[tuple[str, str], list[list[str]]] = {}
    for one in pods:
        at = one["spec"]["nodeName"], one["metadata"]["labels"][PART]
        found.setdefault(at, []).append(sorted(zones_of(one)))
    return {at: sorted(zones) for at, zones in found.items()}


def free(scene: Scene, nodes: list[str]) -> int:
    """CPUs that the reports of these nodes show as available."""
    there = reports(scene)
    resources = [one for name in nodes for zone in there[name]["zones"] for one in zone["resources"]]
    return sum(int(one["available"]) for one in resources if one["name"] == "cpu")


def test_a_gang_with_a_leader_is_admitted_in_the_zones_of_its_plan(
    scene: Scene, place: Place, machines: list[str]
) -> None:
    quota = [{"name": name, "nominalQuota": "1000Gi"} for name in ("cpu", "memory")]
    flavors = [{"name": scene.name, "resources": quota}]
    scene.queue(resourceGroups=[{"coveredResources": ["cpu", "memory"], "flavors": flavors}])
    scene.submit(pod("wide", guaranteed(ZONE + 2, required=RACK)))
    scene.until(lambda: "NUMA zones" in scene.why("wide"), "no zone has room for the wide pod")
    scene.delete(PODS, "wide")
    scene.until(lambda: scene.find(PODS, "wide") is None, "the wide pod is gone")
    for one in gang():
        scene.submit(one)
    pods = scene.await_running(WORKERS + 1)
    assert len(scene.workload("gang")["spec"]["podSets"]) == 2
    assert len(scene.racks([one["spec"]["nodeName"] for one in pods])) == 1
    hosts = {part: {one["spec"]["nodeName"] for one in scene.pods(f"{PART}={part}")} for part in ("leader", "worker")}
    assert hosts["leader"] <= hosts["worker"]
    assert [one["metadata"]["name"] for one in scene.all(PODS) if is_refused(one)] == []
    assert [one["message"] for one in scene.all(EVENTS) if one["reason"] == "TopologyAffinityError"] == []
    assert by_host(pods, lambda one: {f"node-{zone}" for zone in held_zones(one).values()}) == by_host(
        pods, planned_zones
    )
    used = WORKERS * WORKER + LEADER
    scene.until(lambda: free(scene, machines) == len(machines) * 2 * ZONE - used, "the reports count the gang")
