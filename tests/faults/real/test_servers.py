"""The servers beneath the controller stop and return; it keeps running, and catches up with everything it missed."""

from __future__ import annotations

from time import sleep

import pytest

from closeknit.cluster import kinds
from contract.expect import eventually
from faults.ground import Ground
from faults.scene import Scene
from servers.components import API_SERVER, ETCD
from servers.real.test_restarts import expired

UNDER_LOAD = 4.0
"""Seconds for which users act before something breaks, and after it was repaired."""


@pytest.mark.parametrize("name", [API_SERVER, ETCD])
def test_a_server_that_is_killed_is_missed_until_it_is_back(ground: Ground, name: str) -> None:
    with Scene(ground, 20 + len(name)) as scene:
        controller = scene.begin_alone()
        sleep(UNDER_LOAD)
        scene.judge.now()
        scene.judge.look_away()
        ground.cluster.kill(name)
        sleep(1)
        assert name not in ground.cluster.pids()
        ground.start(name)
        eventually(scene.judge.has_no_surplus_pods)
        scene.judge.now()
        sleep(UNDER_LOAD)
        scene.judge.now()
        scene.rest()
        assert controller.starts == 1, "it lives on"


def holding_jobs(scene: Scene) -> set[str]:
    return {one for one in scene.judge.holders() if one.startswith("job-")}


def test_changes_during_an_outage_are_seen_after_history_is_lost(ground: Ground) -> None:
    """The controller is suspended, much is deleted, and the server forgets the version at which it would resume."""
    workloads = kinds.WORKLOAD.path()
    with Scene(ground, 30) as scene:
        controller = scene.begin_alone()
        eventually(lambda: len(holding_jobs(scene)) > 3)
        scene.pause()
        held = holding_jobs(scene)
        controller.freeze()
        version = ground.api.get(workloads, limit=1).body["metadata"]["resourceVersion"]
        scene.judge.look_away()
        scene.act()
        sleep(UNDER_LOAD)
        users = scene.pause()
        for job in scene.accounts.jobs:
            if any(one.startswith(f"job-{job}-") for one in held):
                users._delete(job)
        ground.cluster.compact()
        ground.cluster.kill(API_SERVER)
        ground.start(API_SERVER)
        eventually(lambda: expired(ground.api, workloads, version))
        controller.thaw()
        scene.act()
        eventually(lambda: not held & holding_jobs(scene))
        believed = {key.partition("/")[2] for key in scene.rest()["holdings"]}
        assert controller.starts == 1, "it lives on"
        assert held & believed == set(), "it has noticed the deletions"
