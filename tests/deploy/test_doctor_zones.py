"""What `doctor` finds about NUMA zones."""

from __future__ import annotations

import asyncio
from typing import Any

from closeknit.cluster import kinds
from closeknit.deploy.doctor import Finding, examine, zones
from closeknit.deploy.objects import InstallOptions
from deploy.server import Server
from deploy.test_install_doctor import NOW, healthy, node

Raw = dict[str, Any]


def topology(name: str) -> Raw:
    api = kinds.NODE_TOPOLOGY.api_version
    return {"apiVersion": api, "kind": kinds.NODE_TOPOLOGY.kind, "metadata": {"name": name}, "zones": []}


def simulated(name: str, policy: str = "single-numa-node") -> Raw:
    one = node(name)
    one["metadata"]["annotations"] = {"closeknit.dev/numa": f'{{"zones": 2, "policy": "{policy}"}}'}
    return one


def found(server: Server, view: Raw | None = None) -> list[Finding]:
    async def asked() -> Raw | None:
        return view

    async def all_of_them() -> list[Finding]:
        words = examine(server, InstallOptions(), lambda *_: "", lambda: NOW, (zones,), asked)
        return [one async for one in words]

    return asyncio.run(all_of_them())


def told(server: Server, view: Raw | None = None) -> list[tuple[str, str]]:
    return [(one.state.word, one.text) for one in found(server, view)]


def test_without_reports_pods_are_placed_by_node_totals() -> None:
    assert told(healthy(node("a"))) == [("ok", "no node reports NUMA zones: pods are placed by node totals")]


def test_nodes_with_and_without_a_report_are_counted() -> None:
    server = healthy(node("a"), node("b"), topology("a"))
    assert told(server) == [("ok", "1 of 2 nodes report NUMA zones, by node totals on the others")]


def test_a_report_without_a_node_is_named() -> None:
    assert told(healthy(node("a"), topology("a"), topology("gone"))) == [
        ("warning", "noderesourcetopologies of nodes that do not exist: 1 (gone)")
    ]


def test_a_node_with_a_policy_and_no_report_is_named() -> None:
    server = healthy(simulated("a"), simulated("b", policy="none"), node("c"))
    [one] = found(server, {"expected": ["c"]})
    assert one.text.startswith("2 nodes with a topology manager policy and no report: a, c")
    assert one.remedy == "run NFD's topology-updater or resource-topology-exporter"


def test_nodes_in_doubt_and_paused_nodes_are_named_with_the_remedy() -> None:
    nodes = [
        {"name": "a", "doubt": "The report of node a has no fingerprint; run it with --pods-fingerprint."},
        {"name": "b", "pauses": [{"seconds": 12.0, "asks": "cpu 4"}]},
    ]
    [doubt, pause] = found(healthy(node("a"), topology("a")), {"nodes": nodes})
    assert (doubt.state.word, doubt.remedy) == ("warning", "run it with --pods-fingerprint")
    assert (pause.state.word, pause.text) == (
        "problem",
        "the kubelet of node b refused a pod that should have fit (cpu 4); no such pod is sent there for 12 s",
    )


def test_a_server_without_the_kind_is_no_problem_unless_nodes_have_a_policy() -> None:
    def without(*nodes: Raw) -> Server:
        return healthy(*nodes, absent=(kinds.NODE_TOPOLOGY,))

    assert [state for state, _ in told(without(node("a")))] == ["ok"]
    [(state, text)] = told(without(simulated("a")))
    assert state == "warning"
    assert "noderesourcetopologies are not served" in text
