"""A job whose node fails, gate by gate. Gates apply to a whole control plane, so this file has one of its own.

Pods that tolerate a lost node stay on it, which shows whether their termination counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

import pytest

from closeknit.observe.pool_form import RACK
from host.hot_swap_matrix import PROFILE, ROWS, Row
from servers.cluster import USUAL, RealCluster
from servers.manifests import is_true
from servers.nodes import silence

from .plane import controlled, raised
from .scene import NODES, PODS, Scene
from .test_nodes import evictions, taint
from .work import job, template

DEFAULT = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
"""
STAYING = [
    {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 600}
    for name in ("not-ready", "unreachable")
]
TERMINATION, TAINTS = "TASReplaceNodeOnPodTermination", "TASReplaceNodeOnNodeTaints"
FIXED, FAST = "TASReplaceNodeDueToNotReadyOverFixedTime", "TASFailedNodeReplacementFailFast"


@pytest.fixture(scope="module")
def cluster() -> Iterator[RealCluster]:
    with raised(None, USUAL, ()) as cluster:
        yield cluster


@contextmanager
def running(
    cluster: RealCluster, *options: str, config: str = "", count: int = 5, hosts: int = 3
) -> Iterator[tuple[Scene, list[str]]]:
    """A job on two hosts, under a controller with these options, and the hosts of its pods."""
    with controlled(cluster, options, config) as place, Scene.begin(place) as scene:
        scene.nodes(racks=1, hosts=hosts, cpu=12)
        scene.queue()
        pod = template(4, required=RACK)
        pod["spec"]["tolerations"] = STAYING
        scene.submit(job("train", count, pod, backoffLimit=100))
        scene.await_running(count)
        yield scene, scene.plan("train")


def gates(**changes: bool) -> tuple[str, str]:
    return "--feature-gates", ",".join(f"{name}={str(value).lower()}" for name, value in changes.items())


def await_lost(scene: Scene, node: str) -> float:
    """Silence a node until Kubernetes marks it as lost; returns when it did."""
    silence(scene.api, node)
    scene.until(lambda: not is_true(scene.get(NODES, node), "Ready"), f"{node} is not ready", 30)
    return monotonic()


def is_replaced(scene: Scene, node: str) -> bool:
    return node not in scene.plan("train")


def test_without_replacement_a_job_waits_for_a_node_that_is_gone(cluster: RealCluster) -> None:
    with running(cluster, *gates(TASFailedNodeReplacement=False)) as (scene, plan):
        scene.delete(NODES, plan[-1])
        scene.stays(lambda: scene.plan("train") == plan, "its plan stays", 5)
        assert "unhealthyNodes" not in scene.workload("train")["status"]
        assert evictions(scene) == {}


def test_an_unready_node_is_not_lost_while_its_pods_stay(cluster: RealCluster) -> None:
    with running(cluster) as (scene, plan):
        await_lost(scene, plan[-1])
        scene.stays(lambda: scene.plan("train") == plan, "pods have a say", 6)
        for pod in [one for one in scene.pods() if one["spec"]["nodeName"] == plan[-1]]:
            scene.delete(PODS, pod["metadata"]["name"])
        scene.until(lambda: is_replaced(scene, plan[-1]), "it is replaced when they are evicted")


@pytest.mark.parametrize("gate", [{TERMINATION: False}, {FIXED: True}], ids=["pods have no say", "after a fixed time"])
def test_an_unready_node_is_lost_after_a_while_whatever_its_pods_do(
    cluster: RealCluster, gate: dict[str, bool]
) -> None:
    with running(cluster, *gates(**gate)) as (scene, plan):
        await_lost(scene, plan[-1])
        scene.until(lambda: is_replaced(scene, plan[-1]), "it is replaced", 10)
        assert evictions(scene) == {}


def test_by_default_that_takes_thirty_seconds(cluster: RealCluster) -> None:
    with running(cluster, *gates(**{TERMINATION: False}), config=DEFAULT) as (scene, plan):
        begin = await_lost(scene, plan[-1])
        scene.until(lambda: is_replaced(scene, plan[-1]), "it is replaced", 45)
        assert 28 < monotonic() - begin < 40


def test_where_pod_termination_does_not_count_a_taint_is_a_failure_at_once(cluster: RealCluster) -> None:
    with running(cluster, *gates(**{TERMINATION: False})) as (scene, plan):
        taint(scene, plan[-1], "NoSchedule")
        scene.until(lambda: is_replaced(scene, plan[-1]), "it is replaced", 10)


def test_where_taints_are_no_failure_a_pod_waits_for_its_node(cluster: RealCluster) -> None:
    with running(cluster, *gates(**{TAINTS: False})) as (scene, plan):
        taint(scene, plan[-1], "NoSchedule")
        [moved, *_] = [pod for pod in scene.pods() if pod["spec"]["nodeName"] == plan[-1]]
        scene.delete(PODS, moved["metadata"]["name"])
        waiting = scene.until(lambda: [one for one in scene.pods() if not one["spec"].get("nodeName")], "one waits")
        assert len(waiting) == 1
        scene.stays(lambda: scene.plan("train") == plan, "its plan stays", 5)


@pytest.mark.parametrize("fails_fast", [True, False], ids=["evicted", "waits"])
def test_a_job_that_finds_no_other_node_is_evicted_or_waits_for_one(cluster: RealCluster, fails_fast: bool) -> None:
    with running(cluster, *gates(**{FAST: fails_fast}), count=6, hosts=2) as (scene, plan):
        scene.delete(NODES, plan[-1])
        if fails_fast:
            scene.until(lambda: evictions(scene) == {"NodeFailures": 1}, "it is evicted")
            return
        scene.until(lambda: scene.workload("train")["status"].get("unhealthyNodes"), "its node is unhealthy")
        scene.stays(lambda: evictions(scene) == {} and scene.plan("train") == plan, "it waits", 4)
        new = scene.node("b1-r1-h9", cpu=12)
        scene.until(lambda: set(scene.plan("train")) == {plan[0], new}, "it takes the new one", 45)
        assert evictions(scene) == {}


@pytest.mark.parametrize(("profile", "expected"), [("closeknit", {}), ("kueue", {"NodeFailures": 1})])
def test_two_nodes_at_once_are_replaced_by_us_and_are_an_eviction_to_kueue(
    cluster: RealCluster, profile: str, expected: dict[str, int]
) -> None:
    with running(cluster, "--profile", profile, hosts=4) as (scene, plan):
        first, second = dict.fromkeys(plan)
        scene.delete(NODES, first)
        scene.delete(NODES, second)
        scene.until(
            lambda: evictions(scene) == expected and not {first, second} & set(scene.plan("train")), "both are replaced"
        )


def in_014(row: Row) -> tuple[str, ...]:
    return "--profile", PROFILE, *gates(**row.gates)


def end_pods(scene: Scene, node: str) -> None:
    for pod in [one for one in scene.pods() if one["spec"].get("nodeName") == node]:
        scene.delete(PODS, pod["metadata"]["name"])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.title)
def test_in_kueue_014_time_and_pods_decide_by_the_matrix_whether_a_node_is_lost(cluster: RealCluster, row: Row) -> None:
    with running(cluster, *in_014(row)) as (scene, plan):
        await_lost(scene, plan[-1])
        if not row.by_time:
            scene.stays(lambda: scene.plan("train") == plan, "time does not count", 6)
            end_pods(scene, plan[-1])
        if row.by_time or row.by_pods:
            scene.until(lambda: is_replaced(scene, plan[-1]), "it is replaced")
        else:
            scene.stays(lambda: scene.plan("train") == plan, "hot swap is off", 6)
        assert evictions(scene) == {}


SWAPPING = [row for row in ROWS if row.replacement]


@pytest.mark.parametrize("row", SWAPPING, ids=lambda row: row.title)
def test_in_kueue_014_pods_that_terminate_before_the_time_is_up_count_by_the_matrix(
    cluster: RealCluster, row: Row
) -> None:
    with running(cluster, *in_014(row), config=DEFAULT) as (scene, plan):
        await_lost(scene, plan[-1])
        end_pods(scene, plan[-1])
        if row.by_pods:
            scene.until(lambda: is_replaced(scene, plan[-1]), "it is replaced before 30 s have passed", 20)
        else:
            scene.stays(lambda: scene.plan("train") == plan, "only time counts", 10)


@pytest.mark.parametrize("row", SWAPPING, ids=lambda row: row.title)
def test_in_kueue_014_a_job_without_a_spare_node_is_evicted_or_takes_one_as_soon_as_it_appears(
    cluster: RealCluster, row: Row
) -> None:
    with running(cluster, *in_014(row), count=6, hosts=2) as (scene, plan):
        scene.delete(NODES, plan[-1])
        if not row.retries:
            scene.until(lambda: evictions(scene) == {"NodeFailures": 1}, "it is evicted")
            return
        scene.until(lambda: scene.workload("train")["status"].get("unhealthyNodes"), "its node is unhealthy")
        scene.stays(lambda: evictions(scene) == {} and scene.plan("train") == plan, "it waits", 20)
        new = scene.node("b1-r1-h9", cpu=12)
        scene.until(lambda: set(scene.plan("train")) == {plan[0], new}, "it takes the new one", 10)
        assert evictions(scene) == {}
