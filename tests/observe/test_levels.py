"""Topologies are read as the API server would accept them, and matched against nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from closeknit.model.mistake import InputError
from closeknit.model.node import Node
from closeknit.model.shape import Toleration
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.observe.levels import LevelSource, levels_from_text, missing_levels, read_topology
from closeknit.state.table import NodeTable

BLOCK, RACK = "cloud.provider.com/topology-block", "cloud.provider.com/topology-rack"


def manifest(*levels: str, name: str = "default", version: str = "kueue.x-k8s.io/v1beta2") -> str:
    entries = "".join(f"  - nodeLabel: {level}\n" for level in levels)
    return f"apiVersion: {version}\nkind: Topology\nmetadata: {{name: {name}}}\nspec:\n  levels:\n{entries}"


def write(folder: Path, text: str) -> str:
    path = folder / "topology.yaml"
    path.write_text(text)
    return str(path)


def refusal(path: str) -> str:
    with pytest.raises(InputError) as caught:
        read_topology(path)
    return str(caught.value)


@pytest.mark.parametrize("version", ["kueue.x-k8s.io/v1beta1", "kueue.x-k8s.io/v1beta2", "kai.scheduler/v1alpha1"])
def test_a_topology_of_each_dialect_is_read(tmp_path: Path, version: str) -> None:
    path = write(tmp_path, manifest(BLOCK, RACK, HOSTNAME, version=version))
    assert read_topology(path) == (Topology("default", (BLOCK, RACK, HOSTNAME)), None)


def test_other_objects_beside_it_do_not_disturb(tmp_path: Path) -> None:
    other = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: gpu}\n---\n"
    topology, flavor = read_topology(write(tmp_path, other + manifest(RACK)))
    assert (topology.levels, flavor) == ((RACK,), None)


def flavor_of(name: str, topology: str = "default", tolerations: str = "[]") -> str:
    return (
        f"apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {{name: {name}}}\n"
        f"spec: {{topologyName: {topology}, nodeLabels: {{pool: {name}}}, tolerations: {tolerations}}}\n---\n"
    )


def test_the_flavor_of_a_topology_comes_with_it(tmp_path: Path) -> None:
    tolerated = flavor_of("gpu", tolerations="[{key: nvidia.com/gpu, operator: Exists}]")
    path = write(tmp_path, tolerated + flavor_of("cpu", topology="another") + manifest(RACK))
    flavor = read_topology(path)[1]
    assert flavor == LevelSource(path, "gpu", {"pool": "gpu"}, (Toleration("nvidia.com/gpu", "Exists"),))


def test_of_several_flavors_of_a_topology_none_is_taken(tmp_path: Path) -> None:
    assert read_topology(write(tmp_path, flavor_of("a") + flavor_of("b") + manifest(RACK)))[1] is None


def test_a_bad_flavor_is_refused_with_its_field(tmp_path: Path) -> None:
    path = write(tmp_path, flavor_of("gpu", tolerations="[{operator: Equal}]") + manifest(RACK))
    assert refusal(path).startswith(f"{path}: ResourceFlavor gpu: spec.tolerations[0].operator: ")


def test_one_of_several_topologies_must_be_picked(tmp_path: Path) -> None:
    path = write(tmp_path, f"{manifest(RACK, name='a')}---\n{manifest(BLOCK, name='b')}")
    assert refusal(path) == f"{path}: contains 2 Topologies: a, b; name one: {path}#a"
    assert read_topology(f"{path}#b") == (Topology("b", (BLOCK,)), None)
    assert refusal(f"{path}#c") == f'{path}: contains no Topology "c"; it has a, b'


def test_a_file_without_a_topology_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "apiVersion: other.io/v1\nkind: Topology\nmetadata: {name: x}\n")
    assert refusal(path).startswith(f"{path}: contains no Topology; give a manifest with kind: Topology")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            manifest(RACK, version="kueue.x-k8s.io/v9"),
            "apiVersion: kueue.x-k8s.io/v9 is not a supported version; use",
        ),
        (manifest(), "spec.levels: has no levels; list 1 to 16 levels, each with a nodeLabel"),
        (manifest(*(f"l{i}" for i in range(17))), "spec.levels: has 17 levels; a topology has at most 16"),
        (manifest("a b"), 'spec.levels[0].nodeLabel: "a b" is not a label key; write one such as'),
        (manifest("a." * 130 + "b/" + "c" * 63), "spec.levels[0].nodeLabel: "),
        (manifest(RACK, RACK), f'spec.levels[1].nodeLabel: "{RACK}" is listed twice; name every level once'),
        (manifest(HOSTNAME, RACK), f'spec.levels[0].nodeLabel: "{HOSTNAME}" is not the last level; put it last'),
        (manifest("''"), "spec.levels[0].nodeLabel: level 1 is empty; write the key of a node label"),
        (manifest("7"), "spec.levels[0].nodeLabel: level 1 is empty; write the key of a node label"),
    ],
)
def test_a_bad_topology_is_refused_with_field_and_remedy(tmp_path: Path, text: str, said: str) -> None:
    path = write(tmp_path, text)
    assert refusal(path).startswith(f"{path}: Topology default: {said}")


def test_a_topology_without_a_name_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, manifest(RACK, name="''"))
    assert refusal(path).endswith("metadata.name: is missing; give the Topology a name")


def test_levels_from_the_command_line_obey_the_same_rules() -> None:
    assert levels_from_text(f"{BLOCK}, {RACK},{HOSTNAME}").levels == (BLOCK, RACK, HOSTNAME)
    for text, said in (
        (f"{BLOCK},,{RACK}", "--levels: level 2 is empty; write the key of a node label"),
        (
            f"{HOSTNAME},{RACK}",
            f'--levels: "{HOSTNAME}" is not the last level; put it last: nothing is finer than a host',
        ),
        (f"{RACK},{RACK}", f'--levels: "{RACK}" is listed twice; name every level once'),
        ("", "--levels: level 1 is empty; write the key of a node label"),
    ):
        with pytest.raises(InputError) as caught:
            levels_from_text(text)
        assert str(caught.value) == said


def test_nodes_that_lack_a_level_are_counted_and_named() -> None:
    nodes = [Node(f"n{i}", {BLOCK: "b"} if i < 5 else {BLOCK: "b", RACK: "r"}, {}) for i in range(8)]
    warnings = missing_levels(NodeTable.of(nodes), Topology("t", (BLOCK, RACK)))
    assert [str(warning) for warning in warnings] == [
        f"nodes without the level {RACK}, left out: 5 of 8 (n0, n1, n2 and 2 more); label them with {RACK}"
    ]


def test_levels_that_the_same_nodes_lack_are_warned_of_in_one_line() -> None:
    keys = ("a", "b", "c")
    nodes = [Node(f"n{i}", {} if i < 5 else dict.fromkeys(keys, "x"), {}) for i in range(19)]
    assert [str(warning) for warning in missing_levels(NodeTable.of(nodes), Topology("t", keys))] == [
        "nodes without the levels a, b, c, left out: 5 of 19 (n0, n1, n2 and 2 more); label them with a, b, c"
    ]


def test_nodes_that_lack_different_levels_get_a_line_each_and_three_at_most() -> None:
    keys = ("a", "b", "c")
    lacking = ["", "a", "b", "b", "c", "ab", "ab", "ab", "abc"]
    nodes = [Node(f"n{i}", {key: "x" for key in keys if key not in lacks}, {}) for i, lacks in enumerate(lacking)]
    warnings = missing_levels(NodeTable.of(nodes), Topology("t", keys))
    assert [str(warning).partition(" (")[0] for warning in warnings] == [
        "nodes without the levels a, b, left out: 3 of 9",
        "nodes without the level b, left out: 2 of 9",
        "nodes without the level a, left out: 1 of 9",
        "and 2 more sets of nodes without some of the levels, left out: 2 of 9",
    ]


def test_no_warning_asks_to_set_the_labels_of_a_cloud() -> None:
    keys = ("topology.k8s.aws/network-node-layer-1", "example.com/rack")
    nodes = [Node("cpu", {}, {}), Node("gpu", dict.fromkeys(keys, "x"), {})]
    (warning,) = missing_levels(NodeTable.of(nodes), Topology("t", keys))
    assert warning.remedy == "they are not part of this topology"


def test_a_level_that_no_node_has_is_refused_with_the_nearest_label() -> None:
    table = NodeTable.of([Node("a", {BLOCK: "b", RACK: "r"}, {})])
    with pytest.raises(InputError) as caught:
        missing_levels(table, Topology("t", (BLOCK, "cloud.provider.com/topology-rak")), "--levels")
    assert str(caught.value) == (
        f'--levels: unknown level "cloud.provider.com/topology-rak": no node has this label; did you mean {RACK}?'
    )


def test_nodes_without_labels_leave_nothing_to_suggest() -> None:
    with pytest.raises(InputError, match="the nodes have no labels at all: label them first"):
        missing_levels(NodeTable.of([Node("a", {}, {})]), Topology("t", (RACK,)))
