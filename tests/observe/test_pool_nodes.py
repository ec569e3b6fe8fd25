"""Pools as individual nodes and pods: the same nodes and usage as in columns."""

from __future__ import annotations

from closeknit.model.shape import Taint
from closeknit.observe.pool_form import Pool
from closeknit.observe.pool_nodes import nodes_of_pool, pods_of_pool
from closeknit.observe.pools import pool_usage

POOL = Pool("", 2, 2, 3, {"cpu": 8000, "pods": 16}, {"zone": "a"}, (Taint("k", "", "NoSchedule"),), 0.5, 3)


def test_every_node_has_its_place_its_labels_and_its_taints() -> None:
    nodes = list(nodes_of_pool(POOL))
    assert len({node.name for node in nodes}) == 12
    assert nodes[4].labels == {
        "cloud.provider.com/topology-block": "b01",
        "cloud.provider.com/topology-rack": "b01-r02",
        "kubernetes.io/hostname": "b01-r02-n02",
        "zone": "a",
    }
    assert nodes[4].allocatable == {"cpu": 8000, "pods": 16}
    assert nodes[4].taints == POOL.taints
    assert all(node.usable for node in nodes)


def test_pods_take_what_the_pool_says_is_used() -> None:
    used = pool_usage(POOL)
    pods = list(pods_of_pool(POOL))
    assert len({key for key, _ in pods}) == len(pods) == int(used["pods"].sum()) > 0
    assert sum(pod.requests["cpu"] for _, pod in pods) == int(used["cpu"].sum()) == 12 * 8000 // 2


def test_an_empty_pool_has_no_pods() -> None:
    assert list(pods_of_pool(Pool("", 1, 1, 1, {"cpu": 1000, "pods": 9}, {}))) == []
