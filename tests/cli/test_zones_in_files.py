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
    late = pod("p", "a", 1, 0), pod("q", "a", 1, 1)
    stale = report("a", nodeTopologyPodsFingerprint="pfp0v001ef46db3751d8e999")
    assert asked(tmp_path, "place", job(2), node("a"), stale) == 0
    assert asked(tmp_path, "place", job(2), node("a"), stale, pods=late) == 3
    assert asked(tmp_path, "place", job(1, pods=2), node("a"), stale, pods=late) == 0


def test_a_refusal_counts_what_zones_have_and_offers_what_would_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [node("a"), node("b"), report("a", gpus=(2, 1)), report("b", gpus=(1, 1))]
    for one in nodes[2:]:
        for at, zone in enumerate(one["zones"]):
            zone["resources"][0]["allocatable"] = 2 if at else 3
    assert asked(tmp_path, "explain", job(3), *nodes) == 0
    out = capsys.readouterr().out
    assert f'NUMA zones, "{GPU}"' in out
    assert f"3 of {GPU} are asked for together: 3 free on 2 zones, at most 2 on one" in out
    assert f"* request 2 {GPU} per container, which is the most that one NUMA zone has free" in out


def test_a_smaller_container_is_offered_only_if_it_helps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two GPUs are free in a zone, but two such pods need two zones."""
    assert asked(tmp_path, "explain", job(3, pods=2), node("a"), report("a", gpus=(2, 1))) == 0
    assert "per container" not in capsys.readouterr().out


def test_explain_tells_which_nodes_have_no_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(tmp_path, "explain", job(5), node("a"), node("b"), report("a")) == 0
    out = capsys.readouterr().out
    assert "1 of 2 nodes is without a report of NUMA zones: pods are placed there by node totals" in out


def test_explain_names_what_is_not_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cores = report("a", topologyManagerOptionFullPcpusOnly="true")
    assert asked(tmp_path, "explain", job(3), node("a"), cores, form="json") == 0
    notes = json.loads(capsys.readouterr().out)["zones"]
    assert notes == {"nodes": 1, "withoutReport": 0, "unknown": ["which CPUs share a core"]}


def test_a_plan_names_what_is_not_known_of_its_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(tmp_path, "place", job(2), node("a")) == 0
    assert "without a report" not in capsys.readouterr().out
    assert asked(tmp_path, "place", job(4), node("a"), node("b"), report("b")) == 0
    assert "1 of 1 node is without a report of NUMA zones" in capsys.readouterr().out


def test_pods_that_share_what_they_use_are_not_told_of_zones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shared = job(0)
    shared["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "20"}}
    assert asked(tmp_path, "explain", shared, node("a"), node("b"), report("a")) == 0
    assert "NUMA" not in capsys.readouterr().out


def tree(folder: Path, *objects: Raw, form: str = "") -> int:
    nodes = written(folder, "nodes.yaml", *objects)
    words = ["tree", "--nodes", nodes, "--levels", f"{RACK},{HOST}", "--level", "numa", "--resource", GPU]
    return ended([*words, *(["-o", form] if form else [])])


def test_a_tree_shows_zones_below_hosts_where_they_are_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tree(tmp_path, node("a"), node("b"), report("a", gpus=(0, 2))) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("   ")[0].rstrip() for line in lines] == ["r1", "├─ a", "│  ├─ node-0", "│  └─ node-1", "└─ b"]
    assert lines[2].endswith(f"{'▒' * 16}         0 of 2 {GPU} free")
    assert lines[3].endswith(f"{'░' * 16}         2 of 2 {GPU} free")


def test_the_data_of_a_tree_has_the_zones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tree(tmp_path, node("a"), node("b"), report("a", gpus=(0, 2)), form="json") == 0
    [rack] = json.loads(capsys.readouterr().out)["domains"]
    [a, b] = rack["domains"]
    assert [zone["resources"][GPU]["free"] for zone in a["zones"]] == [0, 2]
    assert "zones" not in b


def test_a_tree_without_reports_has_no_zones_to_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tree(tmp_path, node("a")) == 2
    assert "no NUMA zones of nodes are known" in capsys.readouterr().err


GANG = """
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: gang, namespace: default}
spec: {minMember: 2}
"""


def member(name: str, gpus: int) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "annotations": {"pod-group-name": "gang"}},
        "spec": {"schedulerName": "kai-scheduler", "containers": [container(gpus)]},
    }


def gang(folder: Path, *nodes: Raw, form: str = "") -> int:
    files = [written(folder, "gang.yaml", yaml.safe_load(GANG), member("p", 2), member("q", 2))]
    words = ["place", *files, "--nodes", written(folder, "nodes.yaml", *nodes)]
    return ended([*words, *(["-o", form] if form else [])])


def test_groups_of_pods_are_placed_by_zones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gang(tmp_path, node("a"), report("a", gpus=(1, 1))) == 3
    assert gang(tmp_path, node("a"), report("a"), form="json") == 0
    [group] = json.loads(capsys.readouterr().out.partition("{")[2].join(("{", "")))["groups"]
    zones = [one["zone"] for pods in group["podSets"] for at in pods["nodes"] for pod in at["zones"] for one in pod]
    assert sorted(zones) == ["node-0", "node-1"]
