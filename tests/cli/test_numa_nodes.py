"""`closeknit numa` and `numa check` on nodes: what is free there, who is where, and what else keeps pods off."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from host.node_topologies import topology, zone
from host.zoned_nodes import node as simulated_node

from .live import Live
from .test_numa import ended
from .test_zones_in_files import GPU, asked, job, node, pod, report, written

SINGLE = {"topologyManagerPolicy": "single-numa-node"}


def shown(
    folder: Path, capsys: pytest.CaptureFixture[str], *objects: dict[str, Any], words: tuple[str, ...] = ()
) -> str:
    assert ended(["numa", *words, "--cluster", written(folder, "cluster.yaml", *objects)]) == 0
    return capsys.readouterr().out


def view(folder: Path, capsys: pytest.CaptureFixture[str], *objects: dict[str, Any]) -> Any:
    return json.loads(shown(folder, capsys, *objects, words=("-o", "json")))


STALE = "pfp0v001ef46db3751d8e999"
"""The fingerprint of no pods."""


def test_bars_tell_what_is_free_and_pods_are_in_their_zones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(tmp_path, capsys, node("a"), report("a", gpus=(0, 2)), pod("p", "a", 2, zone=0)).splitlines()
    assert lines[0] == "a   single-numa-node, scope container"
    [first, second] = [line.split() for line in lines if GPU in line and "free" in line]
    assert first == [GPU, "▒" * 16, "0", "of", "2", "free"]
    assert second == [GPU, "░" * 16, "2", "of", "2", "free"]
    assert f"pod default/p: cpu 1, memory 1Gi, {GPU} 2 (observed)" in [line.strip() for line in lines]


def test_what_came_since_the_report_is_taken_and_the_difference_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = report("a", nodeTopologyPodsFingerprint=STALE)
    out = shown(tmp_path, capsys, node("a"), old, pod("p", "a", 1, zone=1))
    assert "1 of 2 free, 2 reported" in out
    assert "Since the report of node a, 1 pods with resources of their own came and 0 went." in out


def test_zones_of_a_pod_that_nobody_told_are_assumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [found] = view(tmp_path, capsys, node("a"), report("a", nodeTopologyPodsFingerprint=STALE), pod("p", "a", 2))[
        "nodes"
    ]
    [seat] = found["pods"]
    assert (seat["pod"], seat["told"], list(seat["zones"])) == ("default/p", "assumed", ["node-0"])


def test_the_data_has_options_managers_and_what_is_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = report("a", topologyManagerOptionFullPcpusOnly="true")
    [found] = view(tmp_path, capsys, node("a"), told)["nodes"]
    assert found["options"]["full-pcpus-only"] == "true"
    assert found["options"]["prefer-closest-numa-nodes"] is None
    assert found["cpuManager"] == "static (assumed)"
    assert found["unknown"] == ["which CPUs share a core"]
    assert found["zones"][0]["resources"]["memory"] == {"allocatable": "32Gi", "reported": "32Gi", "free": "32Gi"}


def test_nodes_without_a_report_are_counted_and_reports_without_a_node_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = shown(tmp_path, capsys, node("a"), node("b"), report("gone"))
    assert "there is no such Node" in out
    assert "2 nodes without a report, where pods are placed by node totals: a, b" in out


def test_a_node_without_a_report_has_nothing_to_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = written(tmp_path, "cluster.yaml", node("a"), node("b"), report("b"))
    assert ended(["numa", "a", "--cluster", cluster]) == 4
    assert "node a has no NodeResourceTopology" in capsys.readouterr().err
    assert ended(["numa", "c", "--cluster", cluster]) == 4
    assert 'no node and no NodeResourceTopology is named "c"' in capsys.readouterr().err


def checked(folder: Path, work: dict[str, Any], *objects: dict[str, Any], pods: tuple[dict[str, Any], ...] = ()) -> int:
    words = ["numa", "check", written(folder, "job.yaml", work), "--nodes", written(folder, "nodes.yaml", *objects)]
    return ended([*words, *(["--pods", written(folder, "pods.yaml", *pods)] if pods else [])])


def test_taints_and_node_totals_count_beside_zones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tainted = {**node("a"), "spec": {"taints": [{"key": "broken", "effect": "NoSchedule"}]}}
    small = node("b", gpus=1)
    assert checked(tmp_path, job(2), tainted, small, report("a"), report("b")) == 3
    out = capsys.readouterr().out
    assert 'excluded by taint "broken:NoSchedule"' in out
    assert f"the whole node has 1 of {GPU} left, a pod requests 2" in out


def test_a_node_without_a_report_is_asked_by_its_totals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert checked(tmp_path, job(3), node("a"), node("b"), report("a")) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["a", "0/1", "single-numa-node,", "container", "-"] in lines
    assert ["b", "1/1", "no", "report:", "by", "node", "totals", "any"] in lines


def test_what_runs_on_the_nodes_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    late = (pod("p", "a", 1, zone=0), pod("q", "a", 1, zone=1))
    old = report("a", nodeTopologyPodsFingerprint=STALE)
    assert checked(tmp_path, job(2), node("a"), old) == 0
    assert checked(tmp_path, job(2), node("a"), old, pods=late) == 3
    out = capsys.readouterr().out
    assert "TopologyAffinityError: Resources cannot be allocated with Topology locality" in out
    assert f"container 1 of 1 asks for 2 of {GPU}; at most 1 free in one zone (node-0 1, node-1 1)" in out


def test_place_and_check_agree(tmp_path: Path) -> None:
    for gpus in ((2, 2), (1, 1), (0, 2)):
        both = node("a"), report("a", gpus=gpus)
        assert asked(tmp_path, "place", job(2), *both) == checked(tmp_path, job(2), *both)


def test_a_running_host_tells_what_its_control_plane_knows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    amounts = {"cpu": ("4", "4", "4"), "memory": ("16Gi", "16Gi", "16Gi")}
    live = Live(tmp_path / "host")
    try:
        live.create(simulated_node("n1", numa=None), topology("n1", zone(0, amounts), zone(1, amounts), **SINGLE))
        assert ended(["numa", "n1", "-o", "json", "--data", str(tmp_path / "host")]) == 0
        [found] = json.loads(capsys.readouterr().out)["nodes"]
        assert found["at"] > 0
        assert [one["name"] for one in found["zones"]] == ["node-0", "node-1"]
        work = written(tmp_path, "job.yaml", job(0, cpus=3), job(0, cpus=5, name="wide"))
        assert ended(["numa", "check", work, "--data", str(tmp_path / "host")]) == 3
        assert "at most 4 free in one zone" in capsys.readouterr().out
    finally:
        live.stop()
