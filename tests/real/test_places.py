"""What pods and launchers are told about their places, and maintenance windows, on a real server."""

from __future__ import annotations

from time import time

import pytest

from closeknit.dialects.timestamps import stamp
from closeknit.observe.pool_form import RACK
from servers.manifests import Object

from .scene import INDEX, MAINTENANCES, NODES, Scene
from .test_nodes import await_swap, running, uids
from .work import job, template

MAPS = "v1/configmaps"


def window(scene: Scene, host: str, begin: float, end: float) -> Object:
    now = time()
    rack = scene.get(NODES, host)["metadata"]["labels"][RACK]
    spec = {
        "domains": [{"nodeLabels": {RACK: rack}}],
        "from": stamp(now + begin),
        "until": stamp(now + end),
        "drain": True,
    }
    meta = {"name": scene.name}
    return {"apiVersion": "closeknit.dev/v1alpha1", "kind": "Maintenance", "metadata": meta, "spec": spec}


def test_ranks_and_the_host_file_are_true_after_a_replacement(scene: Scene) -> None:
    scene.nodes(racks=1, hosts=3, cpu=12)
    scene.queue()
    pods = template(4, required=RACK)
    pods["metadata"]["annotations"]["closeknit.dev/hostfile"] = "openmpi"
    scene.submit(job("train", 5, pods, backoffLimit=100))
    first = uids(scene.await_running(5))
    plan = scene.plan("train")
    check(scene, plan)
    scene.delete(NODES, plan[-1])
    scene.collect(plan[-1])
    await_swap(scene, plan[-1], plan, [first[str(rank)] for rank in range(5)])
    check(scene, scene.places())


def check(scene: Scene, hosts: list[str]) -> None:
    for pod in scene.await_running(len(hosts)):
        labels = pod["metadata"]["labels"]
        assert labels["closeknit.dev/rank"] == labels[INDEX]
        assert labels["closeknit.dev/domain.hostname"] == hosts[int(labels[INDEX])]

    def listed() -> bool:
        found = scene.find(MAPS, "train-hostfile")
        rows = [] if found is None else found["data"]["rankfile"].splitlines()
        return [row.split("=", 1)[1].split(" ")[0] for row in rows] == hosts

    scene.until(listed, "the rankfile lists the hosts of all ranks")


def test_a_window_drains_a_rack_when_it_begins_and_frees_it_when_it_is_cancelled(scene: Scene) -> None:
    plan, _ = running(scene, count=2, racks=2)
    scene.of_all(**window(scene, plan[0], 5, 3600))
    old = scene.racks(plan)

    def moved() -> bool:
        now = scene.plan("train")
        return len(now) == 2 and scene.racks(now) != old

    scene.until(moved, "the job has another rack", 90)
    stats = scene.workload("train")["status"]["schedulingStats"]["evictions"]
    assert [(one["reason"], one["count"]) for one in stats] == [("Maintenance", 1)]
    scene.submit(job("next", 9, template(4, required=RACK)))
    scene.until(lambda: f'maintenance "{scene.name}"' in (scene.why("next") or ""), "the reason names the window", 60)
    scene.delete(MAINTENANCES, scene.name)
    scene.await_true("next", "Admitted")


@pytest.mark.parametrize("wrong", ["until", "domains"])
def test_a_server_refuses_an_invalid_window_and_names_the_field(scene: Scene, wrong: str) -> None:
    name = scene.nodes(racks=1, hosts=1)[0]
    body = window(scene, name, 10, 20)
    body["spec"][wrong] = stamp(time()) if wrong == "until" else []
    answer = scene.api.post("/apis/closeknit.dev/v1alpha1/maintenances", body)
    assert answer.status == 422
    assert f"spec.{wrong}" in answer.body["message"]
