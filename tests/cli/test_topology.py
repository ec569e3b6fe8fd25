"""`closeknit topology suggest` as text, JSON and YAML."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from closeknit.cli.main import main
from closeknit.model.topology import HOSTNAME

BLOCK, RACK = "cloud.provider.com/topology-block", "cloud.provider.com/topology-rack"
CLIQUE = "nvidia.com/gpu.clique"

Nodes = list[dict[str, Any]]
Run = Callable[..., tuple[int, str, str]]


def nodes(crossing: bool = False) -> Nodes:
    """Two blocks of two racks of two nodes; cliques lie across them or are absent."""
    return [
        node(
            row,
            {
                BLOCK: f"b{row // 4}",
                RACK: f"r{row // 2}",
                "closeknit.dev/pool": "train",
                **({CLIQUE: f"c{row % 2}"} if crossing else {}),
            },
        )
        for row in range(8)
    ]


def node(row: int, labels: dict[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"n{row}", "labels": {HOSTNAME: f"n{row}", **labels}},
        "status": {"allocatable": {"pods": "110"}, "conditions": [{"type": "Ready", "status": "True"}]},
    }


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `closeknit topology suggest` on nodes: exit code, standard output, standard error."""

    def with_nodes(*args: str, given: Nodes | None = None) -> tuple[int, str, str]:
        file = tmp_path / "nodes.json"
        file.write_text(json.dumps({"kind": "List", "items": nodes() if given is None else given}))
        with pytest.raises(SystemExit) as exit_:
            main(["topology", "suggest", "--nodes", str(file), *args])
        out, err = capsys.readouterr()
        assert isinstance(exit_.value.code, int)
        return exit_.value.code, out, err

    return with_nodes


def test_people_see_levels_with_counts_and_examples(run: Run) -> None:
    code, out, err = run()
    assert code == 0
    picture = """\
  LEVEL                               DOMAINS  EXAMPLES
  cloud.provider.com/topology-block         2  b0, b1
  └ cloud.provider.com/topology-rack        4  r0, r1, r2, …
    └ kubernetes.io/hostname                8  n0, n1, n2, …
"""
    assert picture in out
    assert err == ""


def test_people_see_manifests_that_can_be_applied(run: Run) -> None:
    _, out, _ = run("--name", "gpus")
    topology, flavor = yaml.safe_load_all(out[out.index("apiVersion:") :])
    assert topology["spec"]["levels"] == [{"nodeLabel": key} for key in (BLOCK, RACK, HOSTNAME)]
    assert flavor["spec"] == {"nodeLabels": {"closeknit.dev/pool": "train"}, "topologyName": "gpus"}
    assert topology["metadata"] == flavor["metadata"] == {"name": "gpus"}


def test_wide_shows_the_nodes_of_a_domain(run: Run) -> None:
    _, out, _ = run("-o", "wide", given=nodes()[:7])
    assert "NODES EACH" in out
    assert "└ cloud.provider.com/topology-rack        4         1-2  r0" in out


def test_yaml_is_manifests_alone(run: Run) -> None:
    code, out, err = run("-o", "yaml")
    assert code == 0
    assert [document["kind"] for document in yaml.safe_load_all(out)] == ["Topology", "ResourceFlavor"]
    assert "DOMAINS" in err


def test_json_is_all_of_it(run: Run) -> None:
    code, out, _ = run("-o", "json")
    said = json.loads(out)
    assert code == 0
    assert [level["nodeLabel"] for level in said["levels"]] == [BLOCK, RACK, HOSTNAME]
    assert said["levels"][1]["domains"] == 4
    assert [manifest["kind"] for manifest in said["manifests"]] == ["Topology", "ResourceFlavor"]


@pytest.mark.parametrize("form", [(), ("-o", "yaml"), ("-o", "wide")])
def test_a_contradiction_ends_with_3_and_says_why_on_standard_error(run: Run, form: tuple[str, ...]) -> None:
    code, out, err = run(*form, given=nodes(crossing=True))
    assert code == 3
    assert out == ""
    words = " ".join(err.split())
    assert f'{CLIQUE} "c0" lies in more than one {BLOCK}: "b0" (node n0), "b1" (node n4)' in words
    assert "--levels" in words


def test_a_contradiction_in_json_has_no_manifests(run: Run) -> None:
    code, out, _ = run("-o", "json", given=nodes(crossing=True))
    said = json.loads(out)
    assert code == 3
    assert (said["levels"], said["manifests"]) == ([], [])
    assert said["problems"]


def test_levels_settle_a_contradiction(run: Run) -> None:
    code, out, _ = run("--levels", f"{RACK}, {HOSTNAME}", "-o", "json", given=nodes(crossing=True))
    assert code == 0
    assert [level["nodeLabel"] for level in json.loads(out)["levels"]] == [RACK, HOSTNAME]


def test_a_level_that_no_node_has_is_bad_input(run: Run) -> None:
    code, _, err = run("--levels", "cloud.provider.com/topology-rac")
    assert code == 2
    assert f"did you mean {RACK}?" in err


def test_problems_and_remarks_are_listed(run: Run) -> None:
    given = nodes()
    given[3] = node(3, {BLOCK: "b0"})
    for each in given:
        each["metadata"]["labels"]["topology.kubernetes.io/region"] = "eu"
    _, out, _ = run(given=given)
    assert f"Problems:\n  - {RACK} is missing on 1 of 8 nodes" in out
    assert "Remarks:\n  - topology.kubernetes.io/region is left out" in out


def test_a_selector_takes_only_its_nodes_and_is_the_flavors(run: Run) -> None:
    given = nodes()
    for each in given[4:]:
        each["metadata"]["labels"]["tier"] = "gold"
    code, out, _ = run("--selector", "tier=gold", "-o", "json", given=given)
    said = json.loads(out)
    assert code == 0
    assert said["levels"][-1]["domains"] == 4
    assert said["nodeLabels"] == {"tier": "gold"}


def test_a_selector_without_nodes_is_bad_input(run: Run) -> None:
    code, _, err = run("--selector", "closeknit.dev/pool=trian")
    assert (code, err) == (
        2,
        'error: --selector: no node has closeknit.dev/pool "trian"; did you mean train?\n',
    )


def test_the_remark_about_a_label_left_out_names_a_selector_that_brings_it_back(run: Run) -> None:
    given = nodes()
    for each in given:
        each["metadata"]["labels"]["node-group"] = "big"
    for each in given[5:]:
        each["metadata"]["labels"] |= {"nvidia.com/gpu.clique": each["metadata"]["labels"][RACK], "node-group": "gpu"}
    _, out, _ = run("-o", "json", given=given)
    (remark,) = json.loads(out)["remarks"]
    assert remark.endswith("select only nodes that have it: --selector node-group=gpu")
    _, out, _ = run("-o", "json", "--selector", "node-group=gpu", given=given)
    assert not [one for one in json.loads(out)["remarks"] if "is left out: only" in one]


def test_odd_nodes_are_warned_of_on_standard_error(run: Run) -> None:
    given = nodes()
    del given[0]["status"]["conditions"]
    code, out, err = run(given=given)
    assert code == 0
    assert err.startswith("warning: ")
    assert "warning" not in out


def test_a_file_without_nodes_is_bad_input(run: Run) -> None:
    code, out, err = run(given=[])
    assert (code, out) == (2, "")
    assert err.startswith("error: ")


def test_levels_obey_the_rules_of_a_topology(run: Run) -> None:
    code, _, err = run("--levels", f"{HOSTNAME},{RACK}")
    assert code == 2
    assert "not the last level" in err


def test_a_name_that_no_object_can_have_is_refused(run: Run) -> None:
    code, _, err = run("--name", "My Topology")
    assert code == 2
    assert "is not a valid object name" in err


def test_help_teaches_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["topology", "suggest", "--help"])
    assert exit_.value.code == 0
    assert "closeknit topology suggest --nodes nodes.yaml -o yaml > topology.yaml" in capsys.readouterr().out
