"""`closeknit place` and `explain` on realistic clusters: mixed, tainted, described by a flavor."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from closeknit.cli.main import main
from closeknit.model.topology import HOSTNAME

AWS = [f"topology.k8s.aws/network-node-layer-{layer}" for layer in (1, 2, 3)]
ZONE = "topology.kubernetes.io/zone"
GROUP = "eks.amazonaws.com/nodegroup"
REQUIRED = "kueue.x-k8s.io/podset-required-topology"

Run = Callable[..., tuple[int, str, str]]


def node(name: str, labels: dict[str, str], gpus: int = 0, taint: str = "") -> dict[str, Any]:
    allocatable = {"cpu": "96", "pods": "110", **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name, **labels}},
        "spec": {"taints": [{"key": taint, "effect": "NoSchedule"}]} if taint else {},
        "status": {"allocatable": allocatable, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def mixed(gpus: int = 0, taint: str = "") -> list[dict[str, Any]]:
    """24 nodes with layers, of 64: layer 1 halves them, layer 2 quarters them, layer 3 has 4 nodes."""
    layered = [
        node(
            f"gpu-{row:02}",
            {ZONE: "a", GROUP: "gpu", **{key: f"nn-{row // size}" for key, size in zip(AWS, (12, 8, 4), strict=True)}},
            gpus,
            taint,
        )
        for row in range(24)
    ]
    return [*layered, *(node(f"cpu-{row:02}", {ZONE: "ab"[row % 2], GROUP: "cpu"}) for row in range(40))]


def job(level: str | None = None) -> dict[str, Any]:
    annotations = {} if level is None else {REQUIRED: level}
    template = {
        "metadata": {"annotations": annotations},
        "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "90"}}}]},
    }
    spec = {"parallelism": 4, "completions": 4, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train"}, "spec": spec}


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in a folder with these files: exit code, standard output, standard error."""

    def call(*args: str, **files: list[dict[str, Any]]) -> tuple[int, str, str]:
        for name, objects in files.items():
            (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump_all(objects))
        paths = {f"{name}.yaml": str(tmp_path / f"{name}.yaml") for name in files}
        with pytest.raises(SystemExit) as ended:
            main([paths.get(arg, arg) for arg in args])
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return call


@pytest.mark.parametrize("command", ["place", "explain"])
def test_the_levels_a_job_names_count_though_most_nodes_lack_them(run: Run, command: str) -> None:
    code, out, err = run(command, "job.yaml", "--nodes", "nodes.yaml", job=[job(AWS[2])], nodes=mixed())
    assert (code, "Job train" in out) == (0, True)
    assert f"--levels {','.join([*AWS, HOSTNAME])}\n" in err
    assert [line for line in err.splitlines() if line.startswith("warning")] == [
        f"warning: nodes without the levels {', '.join(AWS)}, left out: 40 of 64 (cpu-00, cpu-01, cpu-02 and 37 more); "
        "they are not part of this topology"
    ]


def test_a_job_without_levels_has_the_whole_cluster(run: Run) -> None:
    _, out, err = run("place", "job.yaml", "--nodes", "nodes.yaml", "-o", "json", job=[job()], nodes=mixed())
    assert json.loads(out)["fits"]
    assert "warning" not in err


def test_a_level_that_would_add_nothing_stays_if_a_job_names_it(run: Run) -> None:
    nodes = [node(f"n{row}", {ZONE: "a", "example.com/rack": f"r{row // 2}", "cell": "c"}) for row in range(8)]
    for level in (ZONE, "cell"):
        code, _, err = run("place", "job.yaml", "--nodes", "nodes.yaml", job=[job(level)], nodes=nodes)
        assert (code, f"{level}," in err) == (0, True)


def test_a_misspelt_level_is_refused_with_the_nearest(run: Run) -> None:
    code, _, err = run("place", "job.yaml", "--nodes", "nodes.yaml", job=[job(AWS[2] + "s")], nodes=mixed(gpus=8))
    assert code == 2
    assert f"did you mean {AWS[2]}?" in err


def flavor(labels: dict[str, str]) -> list[dict[str, Any]]:
    api = "kueue.x-k8s.io/v1beta2"
    levels = [{"nodeLabel": key} for key in (*AWS, HOSTNAME)]
    spec = {"nodeLabels": labels, "topologyName": "dc", "tolerations": [{"key": "gpu", "operator": "Exists"}]}
    return [
        {"apiVersion": api, "kind": "Topology", "metadata": {"name": "dc"}, "spec": {"levels": levels}},
        {"apiVersion": api, "kind": "ResourceFlavor", "metadata": {"name": "fast"}, "spec": spec},
    ]


def test_the_flavor_beside_a_topology_selects_nodes_and_tolerates_their_taints(run: Run) -> None:
    args = ("place", "job.yaml", "--nodes", "nodes.yaml", "--topology", "dc.yaml")
    files = {"job": [job(AWS[2])], "nodes": mixed(taint="gpu"), "dc": flavor({GROUP: "gpu"})}
    code, _, err = run(*args, **files)
    assert code == 0
    assert err == f"using the nodes of ResourceFlavor fast: {GROUP}=gpu; --selector selects others\n"
    assert run(*args, **{**files, "dc": files["dc"][:1]})[0] == 3, "without the flavor nothing tolerates the taint"


def test_a_selector_takes_the_place_of_the_flavors(run: Run) -> None:
    args = ("tree", "--nodes", "nodes.yaml", "--topology", "dc.yaml", "--selector", f"{ZONE}=a")
    code, _, err = run(*args, nodes=mixed(), dc=flavor({GROUP: "gpu"}))
    assert (code, "ResourceFlavor" in err, "left out: 20 of 44" in err) == (0, False, True)


def test_a_flavor_that_selects_nothing_is_refused_by_its_name(run: Run) -> None:
    code, _, err = run(
        "tree", "--nodes", "nodes.yaml", "--topology", "dc.yaml", nodes=mixed(), dc=flavor({GROUP: "gp"})
    )
    assert code == 2
    assert f'ResourceFlavor fast: spec.nodeLabels: no node has {GROUP} "gp"; did you mean gpu?' in err


def test_a_pool_without_its_label_gets_a_warning(run: Run) -> None:
    dc = flavor({"closeknit.dev/pool": "default"})
    code, _, err = run("tree", "--nodes", "nodes.yaml", "--topology", "dc.yaml", nodes=mixed(), dc=dc)
    assert code == 0
    assert "no node has the label closeknit.dev/pool=default of ResourceFlavor fast yet" in err


@pytest.mark.parametrize("command", ["place", "explain"])
def test_standard_input_can_be_read_once(run: Run, command: str) -> None:
    code, _, err = run(command, "-", "--nodes", "-")
    assert code == 2
    assert err == (
        "error: -: standard input can be read only once, but JOB.yaml and --nodes read it; "
        "put all but one of them into files\n"
    )
