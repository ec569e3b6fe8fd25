"""`closeknit numa check`: whether kubelets would admit pods, in which zones, and what they lack."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from closeknit.cli.main import main


def report(name: str, *zones: dict[str, tuple[Any, Any]], policy: str = "single-numa-node") -> dict[str, Any]:
    """A NodeResourceTopology: for each zone what is allocatable and what is available."""

    def resources(amounts: dict[str, tuple[Any, Any]]) -> list[dict[str, Any]]:
        return [
            {"name": one, "capacity": total, "allocatable": total, "available": left}
            for one, (total, left) in amounts.items()
        ]

    return {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": name},
        "attributes": [{"name": "topologyManagerPolicy", "value": policy}],
        "zones": [
            {"name": f"node-{at}", "type": "Node", "resources": resources(zone)} for at, zone in enumerate(zones)
        ],
    }


def job(cpu: int, pods: int = 1, init: int = 0) -> dict[str, Any]:
    def container(name: str, count: int) -> dict[str, Any]:
        amounts = {"cpu": count, "memory": "1Gi"}
        return {"name": name, "image": "i", "resources": {"requests": amounts, "limits": amounts}}

    spec = {"restartPolicy": "Never", "containers": [container("main", cpu)]}
    if init:
        spec["initContainers"] = [container("prepare", init)]
    template = {"spec": spec}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train"},
        "spec": {"parallelism": pods, "completions": pods, "template": template},
    }


def run(folder: Path, work: dict[str, Any], *nodes: dict[str, Any], form: str = "") -> int:
    (folder / "job.yaml").write_text(yaml.safe_dump(work))
    (folder / "nrt.yaml").write_text(yaml.safe_dump_all(nodes))
    arguments = ["numa", "check", str(folder / "job.yaml"), "--nrt", str(folder / "nrt.yaml")]
    return ended([*arguments, "-o", form] if form else arguments)


def ended(arguments: list[str]) -> int:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as result:
        main(arguments)
    return int(str(result.value.code or 0))


EMPTY = {"cpu": (16, 16), "memory": ("64Gi", "64Gi")}


def test_a_job_that_fits_is_admitted_with_its_zones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, job(10, pods=2), report("a", EMPTY, EMPTY)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Job train, pod set main: 2 pods of QoS class Guaranteed"
    assert lines[2].split() == ["a", "2/2", "single-numa-node,", "container", "node-0"]


def test_a_refusal_has_the_words_of_the_kubelet_and_what_each_zone_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    used = {"cpu": (16, 9), "memory": ("64Gi", "64Gi")}
    assert run(tmp_path, job(10), report("a", used, used)) == 3
    out = capsys.readouterr().out
    assert "TopologyAffinityError: Resources cannot be allocated with Topology locality" in out
    assert "container 1 of 1 asks for 10 of cpu; at most 9 free in one zone (node-0 9, node-1 9)" in out


def test_cpus_of_an_init_container_bind_the_app_to_its_zone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    used = {"cpu": (16, 13), "memory": ("64Gi", "64Gi")}
    assert run(tmp_path, job(14, init=1), report("a", used, EMPTY)) == 3
    assert "it has to include node-0, where init containers of the pod left CPUs to it" in capsys.readouterr().out


def test_one_node_that_admits_a_pod_is_enough(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = {"cpu": (4, 4), "memory": ("64Gi", "64Gi")}
    assert run(tmp_path, job(10), report("small", small), report("large", EMPTY), form="json") == 0
    nodes = json.loads(capsys.readouterr().out)[0]["nodes"]
    assert [(one["node"], one["admits"]) for one in nodes] == [("small", 0), ("large", 1)]
    assert nodes[0]["refused"]["asked"][0] == {"resource": "cpu", "amount": "10", "free": {"node-0": "4"}}


def test_a_node_without_a_policy_admits_what_its_zones_have_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, job(20), report("a", EMPTY, EMPTY, policy="none")) == 0
    assert capsys.readouterr().out.splitlines()[2].split() == ["a", "1/1", "none", "any"]


def test_memory_that_is_in_use_makes_the_groups_of_zones_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    used = {"cpu": (16, 16), "memory": ("64Gi", "32Gi")}
    assert run(tmp_path, job(10), report("a", used, used)) == 0
    assert "not reported: which zones share memory" in capsys.readouterr().out


def test_a_machine_of_34_zones_is_answered_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    socket = {**EMPTY, "nvidia.com/gpu": (2, 2)}
    zones: list[dict[str, tuple[Any, Any]]] = [socket, socket, *({"memory": ("180Gi", "180Gi")} for _ in range(32))]
    assert run(tmp_path, job(10), report("gb200", *zones)) == 0
    assert "not reported: memory of more than 10 zones" in capsys.readouterr().out


def test_mistakes_of_a_report_are_told_and_concern_that_node_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = report("broken", EMPTY)
    broken["zones"][0]["name"] = "numa-node-0"
    assert run(tmp_path, job(10), broken, report("a", EMPTY)) == 0
    told = capsys.readouterr()
    assert "NodeResourceTopology broken" in told.err
    assert "a         1/1" in told.out


def test_a_file_without_reports_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job(1)))
    assert ended(["numa", "check", str(tmp_path / "job.yaml"), "--nrt", str(tmp_path / "job.yaml")]) == 2
    assert "give some with --nrt FILE" in capsys.readouterr().err


def test_without_files_of_nodes_a_running_cluster_is_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job(1)))
    assert ended(["numa", "check", str(tmp_path / "job.yaml"), "--data", str(tmp_path)]) == 4
    assert "no cluster runs in" in capsys.readouterr().err
