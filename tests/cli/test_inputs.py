"""The cluster as commands read it: options to a snapshot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from closeknit.cli.inputs import LoadedNodes, cluster_options, load
from closeknit.cli.progress import PATIENCE, SLOW_YAML, Progress
from closeknit.model.mistake import InputError
from closeknit.model.topology import HOSTNAME
from closeknit.observe.pool_form import BLOCK, POOL, RACK

LEVELS = f"{BLOCK},{RACK},{HOSTNAME}"
POOLS = """\
- {name: b, racks: 2, nodesPerRack: 2, node: {cpu: 8, labels: {tier: gold}}}
- {name: a, blocks: 2, racksPerBlock: 1, nodesPerRack: 1, node: {cpu: 4, nvidia.com/gpu: 8}, used: 50%}
"""


@pytest.fixture
def nodes(tmp_path: Path) -> str:
    path = tmp_path / "pools.yaml"
    path.write_text(POOLS)
    return str(path)


def pods_file(folder: Path, *nodes: str) -> str:
    spec = {"containers": [{"resources": {"requests": {"cpu": "1"}}}]}
    pods = [{"kind": "Pod", "metadata": {"name": n}, "spec": {**spec, "nodeName": n}} for n in nodes]
    path = folder / "pods.json"
    path.write_text(json.dumps({"items": pods}))
    return str(path)


def refusal(*args: Any, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        load(*args, **options)
    return str(caught.value)


def other(loaded: LoadedNodes, resource: str) -> dict[str, int]:
    column = loaded.snapshot.other[loaded.snapshot.index[resource]]
    return dict(zip(loaded.snapshot.table.names, column.tolist(), strict=True))


def test_nodes_and_levels_make_a_snapshot_in_tree_order(nodes: str) -> None:
    loaded = load([nodes], levels=LEVELS)
    assert loaded.topology.levels == (BLOCK, RACK, HOSTNAME)
    assert loaded.snapshot.table.names[:2] == ["a-b01-r01-n01", "a-b02-r01-n01"]
    assert loaded.nodes.table.names[:2] == ["b-b01-r01-n01", "b-b01-r01-n02"]
    assert "AutoLevel" in loaded.gates


def test_usage_reaches_its_node_whatever_the_order_of_rows(nodes: str, tmp_path: Path) -> None:
    pods = pods_file(tmp_path, "b-b01-r02-n01", "b-b01-r02-n01", "a-b02-r01-n01")
    loaded = load([nodes], [pods], levels=LEVELS)
    assert {name: cpu for name, cpu in other(loaded, "cpu").items() if name.startswith("b-")} == {
        "b-b01-r01-n01": 0,
        "b-b01-r01-n02": 0,
        "b-b01-r02-n01": 2000,
        "b-b01-r02-n02": 0,
    }
    pods_in_use = other(loaded, "pods")
    assert sum(pods_in_use.values()) == 8 + 3
    assert other(loaded, "nvidia.com/gpu")["a-b02-r01-n01"] == pods_in_use["a-b02-r01-n01"] - 1


def test_a_selector_keeps_only_its_nodes(nodes: str, tmp_path: Path) -> None:
    loaded = load([nodes], [pods_file(tmp_path, "b-b01-r01-n02")], levels=LEVELS, selector=[f"tier=gold,{POOL}=b"])
    assert len(loaded.snapshot.table) == 4
    assert len(loaded.nodes.table) == 6
    assert other(loaded, "cpu") == {
        "b-b01-r01-n01": 0,
        "b-b01-r01-n02": 1000,
        "b-b01-r02-n01": 0,
        "b-b01-r02-n02": 0,
    }


def test_a_topology_manifest_gives_levels_and_name(nodes: str, tmp_path: Path) -> None:
    path = tmp_path / "topology.yaml"
    path.write_text(
        "apiVersion: kueue.x-k8s.io/v1beta2\nkind: Topology\nmetadata: {name: dc}\n"
        f"spec: {{levels: [{{nodeLabel: {BLOCK}}}, {{nodeLabel: {RACK}}}]}}\n"
    )
    loaded = load([nodes], topology=str(path))
    assert (loaded.topology.name, loaded.topology.levels) == ("dc", (BLOCK, RACK))


def test_levels_that_are_not_given_are_suggested_on_stderr(nodes: str, capsys: pytest.CaptureFixture[str]) -> None:
    loaded = load([nodes])
    assert loaded.topology.levels[-1] == HOSTNAME
    out, err = capsys.readouterr()
    assert out == ""
    assert f"levels taken from the nodes' labels; to pin them: --levels {','.join(loaded.topology.levels)}" in err


def test_without_levels_to_suggest_the_command_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "nodes.json"
    ready = {"conditions": [{"type": "Ready", "status": "True"}], "allocatable": {"pods": 1}}
    path.write_text(json.dumps({"kind": "Node", "metadata": {"name": "a"}, "status": ready}))
    assert "; give --levels or --topology" in refusal([str(path)])


def test_warnings_go_to_stderr(nodes: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load([nodes], [pods_file(tmp_path, "x")], levels=f"{BLOCK},tier")
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "warning: nodes without the level tier, left out: 2 of 6 (a-b01-r01-n01, a-b02-r01-n01); label them with tier",
        "warning: pods on nodes that were not given: 1 (on x); give all nodes, or leave those pods out",
    ]


def test_gates_and_profile_are_those_asked_for(nodes: str) -> None:
    gates = load([nodes], levels=LEVELS, profile="kueue", feature_gates="TASProfileMixed=false").gates
    assert "AutoLevel" not in gates
    assert "TASProfileMixed" not in gates


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"levels": LEVELS, "topology": "t.yaml"},
            "--levels: cannot be combined with --topology; give one of the two",
        ),
        (
            {"pods": ["-"], "topology": "-"},
            "-: standard input can be read only once, but --pods and --topology read it; "
            "put all but one of them into files",
        ),
        ({"selector": ["tier"]}, '--selector: "tier" is not a label; write KEY=VALUE'),
        (
            {"selector": ["tier=a", "tier=b"]},
            "--selector: has two values for tier; remove one of them",
        ),
        ({"selector": ["teir=gold"]}, '--selector: no node has the label "teir"; did you mean tier?'),
        ({"selector": ["tier=gould"]}, '--selector: no node has tier "gould"; did you mean gold?'),
        (
            {"selector": ["tier=gold", f"{POOL}=a"]},
            f"--selector: no node has all of tier=gold, {POOL}=a; use fewer labels",
        ),
        (
            {"levels": "cloud.provider.com/topology-blk"},
            f'--levels: unknown level "cloud.provider.com/topology-blk": no node has this label; did you mean {BLOCK}?',
        ),
    ],
)
def test_wrong_use_is_refused_with_a_remedy(nodes: str, options: dict[str, Any], said: str) -> None:
    assert refusal([nodes], **options) == said


def test_levels_that_no_node_has_together_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "pools.yaml"
    path.write_text(
        "- {name: a, racks: 1, nodesPerRack: 1, node: {cpu: 1, labels: {x: '1'}}}\n"
        "- {name: b, racks: 1, nodesPerRack: 1, node: {cpu: 1, labels: {y: '1'}}}\n"
    )
    assert refusal([str(path)], levels="x,y") == (
        "no node has all of the levels x, y; label the nodes, or use fewer levels"
    )


def test_the_options_are_those_that_load_takes() -> None:
    @click.command()
    @cluster_options
    def command(**cluster: Any) -> None:
        click.echo(len(load(**cluster).snapshot.table))

    pools = "racks: 2\nnodesPerRack: 3\nnode: {cpu: 1}\n"
    result = CliRunner().invoke(command, ["--nodes", "-", "--levels", LEVELS], input=pools)
    assert (result.exit_code, result.output) == (0, "6\n")
    assert "Missing option '--nodes'" in CliRunner().invoke(command, []).output


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_progress_is_silent_at_first_and_then_says_a_line_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Progress("pods", clock) as tick:
        for clock.now, count in ((0.5, 1000), (PATIENCE + 0.1, 2000), (PATIENCE + 0.2, 3000), (9.0, 4000)):
            tick("pods.json", count, count * 1000, "JSON")
    assert capsys.readouterr().err == "reading pods.json: 2,000 pods, 2 MB\nreading pods.json: 4,000 pods, 4 MB\n"


def test_large_yaml_gets_one_hint(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("pods", Clock()) as tick:
        for size in (1, SLOW_YAML + 1, SLOW_YAML + 2):
            tick("pods.yaml", 1, size, "YAML")
            tick("pods.json", 1, size, "JSON")
    assert capsys.readouterr().err == "hint: pods.yaml is large YAML; `-o json` output loads faster\n"
