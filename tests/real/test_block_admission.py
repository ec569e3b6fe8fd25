"""`waitForPodsReady.blockAdmission`. It is a setting of a whole control plane, so this file has one of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from closeknit.observe.pool_form import RACK
from servers.cluster import USUAL, RealCluster
from servers.manifests import is_true

from .plane import controlled, raised
from .scene import Scene
from .work import START_TIME, job, template

CONFIGURATION = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
waitForPodsReady: {blockAdmission: BLOCKS}
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[RealCluster]:
    with raised(None, USUAL, ()) as cluster:
        yield cluster


def begin(scene: Scene) -> None:
    """A job whose pods take long to start, and another one after it."""
    scene.nodes(racks=1, hosts=2, cpu=8)
    scene.queue()
    slow = template(1, required=RACK)
    slow["metadata"]["annotations"][START_TIME] = "15s"
    scene.submit(job("slow", 2, slow))
    scene.await_true("slow", "Admitted")
    scene.submit(job("next", 2, template(1, required=RACK)))


def test_a_job_waits_until_the_pods_of_the_one_before_are_ready(cluster: RealCluster) -> None:
    with controlled(cluster, (), CONFIGURATION.replace("BLOCKS", "true")) as place, Scene.begin(place) as scene:
        begin(scene)
        text = "waiting for all admitted workloads to be in PodsReady condition"
        scene.until(lambda: scene.why("next") == text, "it says so")
        assert not is_true(scene.workload("slow"), "PodsReady")
        scene.await_true("next", "Admitted")
        assert is_true(scene.workload("slow"), "PodsReady")


def test_without_it_both_are_admitted(cluster: RealCluster) -> None:
    with controlled(cluster, (), CONFIGURATION.replace("BLOCKS", "false")) as place, Scene.begin(place) as scene:
        begin(scene)
        scene.await_true("next", "Admitted")
        assert not is_true(scene.workload("slow"), "PodsReady")
