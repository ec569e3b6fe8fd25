"""NodeResourceTopologies beside nodes in files: `place`, `explain` and `what-if` count pods by NUMA zones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from .test_numa import ended

RACK = "example.com/rack"
HOST = "kubernetes.io/hostname"
GPU = "nvidia.com/gpu"
Raw = dict[str, Any]


def node(name: str, rack: str = "r1", gpus: int = 4) -> Raw:
    room = {"cpu": "16", "memory": "64Gi", "pods": "110", GPU: str(gpus)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {RACK: rack, HOST: name}},
        "status": {"allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def report(name: str, gpus: tuple[int, int] = (2, 2), cpus: tuple[int, int] = (8, 8), **attributes: str) -> Raw:
    """A node of two zones with so many GPUs and CPUs available."""
    named = {"topologyManagerPolicy": "single-numa-node", **attributes}

    def zone(at: int) -> Raw:
        amounts = ((GPU, 2, gpus[at]), ("cpu", 8, cpus[at]), ("memory", "32Gi", "32Gi"))
        resources = [
            {"name": key, "capacity": whole, "allocatable": whole, "available": left} for key, whole, left in amounts
        ]
        return {"name": f"node-{at}", "type": "Node", "resources": resources}

    return {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": name},
        "attributes": [{"name": key, "value": value} for key, value in named.items()],
        "zones": [zone(0), zone(1)],
    }


def container(gpus: int, cpus: int = 1) -> Raw:
    amounts = {"cpu": str(cpus), "memory": "1Gi", **({GPU: str(gpus)} if gpus else {})}
    return {"name": "main", "image": "i", "resources": {"requests": amounts, "limits": amounts}}


def job(gpus: int, pods: int = 1, queue: str = "lq", name: str = "train", cpus: int = 1) -> Raw:
    template = {
        "metadata": {"annotations": {"kueue.x-k8s.io/podset-required-topology": RACK}},
        "spec": {"restartPolicy": "Never", "containers": [container(gpus, cpus)]},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": queue}},
        "spec": {"parallelism": pods, "completions": pods, "completionMode": "Indexed", "template": template},
    }


def pod(name: str, host: str, gpus: int, zone: int | None = None) -> Raw:
    notes = [{"zone": f"node-{zone}", "amount": {GPU: str(gpus), "cpu": "1", "memory": "1Gi"}}]
    annotations = {} if zone is None else {"kai.scheduler/numa-placement-observed": json.dumps(notes)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "annotations": annotations},
        "spec": {"nodeName": host, "containers": [container(gpus)]},
        "status": {"phase": "Running", "qosClass": "Guaranteed"},
    }


def written(folder: Path, name: str, *objects: Raw) -> str:
    path = folder / name
    path.write_text(yaml.safe_dump_all(objects))
    return str(path)


def asked(folder: Path, command: str, work: Raw, *objects: Raw, pods: tuple[Raw, ...] = (), form: str = "") -> int:
    """The exit code of a command about a job on these nodes."""
    words = [command, written(folder, "job.yaml", work), "--nodes", written(folder, "nodes.yaml", *objects)]
    words += ["--levels", f"{RACK},{HOST}", *(["--pods", written(folder, "pods.yaml", *pods)] if pods else [])]
    return ended([*words, *(["-o", form] if form else [])])


def test_a_pod_is_placed_where_one_zone_has_room(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    full, open_zone = report("a", gpus=(1, 1)), report("b", gpus=(0, 2))
    assert asked(tmp_path, "place", job(2), node("a"), node("b"), full, open_zone, form="json") == 0
    [domain] = json.loads(capsys.readouterr().out)["podSets"][0]["domains"]
    assert domain == {
        "path": ["r1", "b"],
        "pods": 1,
        "zones": [[{"zone": "node-1", "amount": {"cpu": "1", "memory": "1Gi", GPU: "2"}}]],
    }


def test_the_picture_has_the_expected_zones_of_each_host(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(tmp_path, "place", job(1, pods=3), node("a"), report("a", gpus=(1, 2))) == 0
    [line] = [one for one in capsys.readouterr().out.splitlines() if "r1/a  " in one]
    assert line.endswith("node-0, node-1 ×2")


def test_reports_may_be_in_a_file_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["place", written(tmp_path, "job.yaml", job(2)), "--nodes", written(tmp_path, "nodes.yaml", node("a"))]
    words += ["--nodes", written(tmp_path, "nrt.yaml", report("a", gpus=(1, 1))), "--levels", f"{RACK},{HOST}"]
    assert ended(words) == 3
    assert f'NUMA zones, "{GPU}"' in capsys.readouterr().out


def test_reports_may_be_beside_the_jobs(tmp_path: Path) -> None:
    words = ["place", written(tmp_path, "job.yaml", job(2), report("a", gpus=(1, 1)))]
    words += ["--nodes", written(tmp_path, "nodes.yaml", node("a")), "--levels", f"{RACK},{HOST}"]
    assert ended(words) == 3


def test_reports_without_any_node_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(tmp_path, "place", job(2), report("a")) == 2
    assert "there is no Node in it" in capsys.readouterr().err


def test_mistakes_in_a_report_are_warnings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = report("a")
    wrong["zones"][1]["name"] = "numa-1"
    assert asked(tmp_path, "place", job(2), node("a"), wrong, report("gone")) == 0
    told = capsys.readouterr().err
    assert "numa-1" in told
    assert "NodeResourceTopologies of nodes that were not given: 1 (gone)" in told


def test_pods_of_a_report_that_matches_are_not_counted_twice(tmp_path: Path) -> None:
    """The report already lacks what the pod has: two GPUs of one zone are left."""
    running = (pod("p", "a", 2, zone=0),)
    assert asked(tmp_path, "place", job(2), node("a"), report("a", gpus=(0, 2)), pods=running) == 0
    assert asked(tmp_path, "place", job(2, pods=2), node("a"), report("a", gpus=(0, 2)), pods=running) == 3


def test_pods_that_a_report_does_not_know_are_charged(tmp_path: Path) -> None:
    """The fingerprint is that of no pods, so these came later: each zone has one GPU left."""
    none, late = {"nodeTopologyPodsFingerprint": "pfp0v001ef46db3751d8e999"}, (pod("p", "a", 1, 0), pod("q", "a", 1, 1))
    assert asked(tmp_path, "place", job(2), node("a"), report("a", **none)) == 0
    assert asked(tmp_path, "place", job(2), node("a"), report("a", **none), pods=late) == 3
    assert asked(tmp_path, "place", job(1, pods=2), node("a"), report("a", **none), pods=late) == 0
