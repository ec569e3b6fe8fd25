"""The checks of the suites for gangs find what a wrong engine would do."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.suites.gangs import GangCluster

RACK = "rack"


def node(name: str, rack: str, cpu: str = "2") -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {RACK: rack}}, "status": {"allocatable": {"cpu": cpu, "pods": "10"}}}


def pod(name: str, on: str = "", cpu: str = "1") -> dict[str, Any]:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    spec = {"containers": [container], "schedulingGroup": {"podGroupName": "g"}, **({"nodeName": on} if on else {})}
    return {"metadata": {"name": name}, "spec": spec}


def cluster(*pods: dict[str, Any], least: int = 2) -> GangCluster:
    constraint = {"topology": [{"key": RACK}]}
    spec = {"schedulingPolicy": {"gang": {"minCount": least}}, "schedulingConstraints": constraint}
    group = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": "g"}, "spec": spec}
    return GangCluster([node("a1", "a"), node("b1", "b"), node("b2", "b")], [group], list(pods))


def test_a_gang_gets_nodes_and_nothing_is_wrong_with_them() -> None:
    found = cluster(*(pod(f"p{number}") for number in range(4)), least=4)
    assert set(found.bind().values()) == {"b1", "b2"}
    assert found.faults() == []


@pytest.mark.parametrize(
    ("pods", "fault"),
    [
        ([pod("p0", "a1"), pod("p1", "b1")], "g is not in one rack: [\"('a',)\", \"('b',)\"]"),
        ([pod("p0", "a1", "3")], "a1 holds more cpu than it has"),
        ([pod("p0", "a1"), pod("p1")], "default/g is below its minimums"),
    ],
)
def test_what_breaks_a_rule_is_a_fault(pods: list[dict[str, Any]], fault: str) -> None:
    found = cluster(*pods)
    found.served = {"default/g"}
    assert fault in found.faults()
