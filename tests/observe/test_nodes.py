"""Nodes from files: kubectl's output and the compact form, alone and together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from closeknit.model.mistake import InputError
from closeknit.model.shape import Taint
from closeknit.model.topology import HOSTNAME
from closeknit.observe.nodes import name_some, read_nodes
from closeknit.observe.pool_form import BLOCK, POOL

POOLS = "blocks: 2\nracksPerBlock: 2\nnodesPerRack: 5\nnode: {cpu: 96, memory: 1Ti, nvidia.com/gpu: 8}\n"


def node(name: str, **changes: Any) -> dict[str, Any]:
    raw: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name, "rack": "r1"}},
        "spec": {},
        "status": {
            "allocatable": {"cpu": "3920m", "memory": "16Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
    for path, value in changes.items():
        *above, last = path.split("__")
        target = raw
        for key in above:
            target = target[key]
        target[last] = value
    return raw


def listed(*nodes: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "items": list(nodes), "kind": "List", "metadata": {"resourceVersion": ""}}


def write(folder: Path, content: Any, name: str = "nodes.json") -> str:
    path = folder / name
    text = content if isinstance(content, str) else json.dumps(content)
    if name.endswith(".yaml") and not isinstance(content, str):
        text = yaml.safe_dump(content)
    path.write_text(text)
    return str(path)


def refusal(*paths: str) -> str:
    with pytest.raises(InputError) as caught:
        read_nodes(paths)
    return str(caught.value)


@pytest.mark.parametrize("name", ["nodes.json", "nodes.yaml"])
def test_a_list_as_kubectl_prints_it_becomes_a_table(tmp_path: Path, name: str) -> None:
    taints = [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]
    content = listed(node("a"), node("b", spec={"taints": taints, "unschedulable": True}))
    table = read_nodes([write(tmp_path, content, name)]).table
    assert table.names == ["a", "b"]
    assert table.allocatable["cpu"].tolist() == [3920, 3920]
    assert table.allocatable["memory"].tolist() == [2**34, 2**34]
    assert table.label(1, HOSTNAME) == "b"
    assert table.taints[table.taint_codes[1]] == (Taint("nvidia.com/gpu", "", "NoSchedule"),)
    assert table.usable.tolist() == [True, False]
    assert table.cordoned.tolist() == [False, True]


def test_single_nodes_and_several_files_make_one_table(tmp_path: Path) -> None:
    paths = [write(tmp_path, node("a")), write(tmp_path, listed(node("b"), node("c")), "more.yaml")]
    assert read_nodes(paths).table.names == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["nodes.json", "nodes.yaml"])
def test_whatever_is_null_counts_as_absent(tmp_path: Path, name: str) -> None:
    nothing = {"namespace": None, "uid": None, "generateName": None, "labels": None, "annotations": None}
    content = [
        node("a", metadata={"name": "a", **nothing}, spec=None),
        node("b", spec={"taints": [{"key": "k", "value": None, "effect": None}], "unschedulable": None}),
        node("c", status__conditions=[{"type": None, "status": None}, {"type": "Ready", "status": "True"}]),
        node("d", status=None, kind=None),
    ]
    table = read_nodes([write(tmp_path, listed(*content), name)]).table
    assert table.names == ["a", "b", "c", "d"]
    assert table.usable.tolist() == [True, True, True, False]
    assert table.taints[table.taint_codes[1]] == (Taint("k", "", ""),)
    assert table.allocatable["cpu"].tolist() == [3920, 3920, 3920, 0]


@pytest.mark.parametrize("metadata", [None, {"name": None}])
def test_a_node_whose_name_is_null_has_none(tmp_path: Path, metadata: Any) -> None:
    path = write(tmp_path, node("a", metadata=metadata))
    assert refusal(path) == f"{path}: Node: metadata.name: is missing; give every Node a name"


def test_quantities_may_be_numbers(tmp_path: Path) -> None:
    path = write(tmp_path, node("a", status__allocatable={"cpu": 0.5, "memory": 1024, "pods": 110}), "a.yaml")
    assert {key: column.tolist() for key, column in read_nodes([path]).table.allocatable.items()} == {
        "cpu": [500],
        "memory": [1024],
        "pods": [110],
    }


def test_five_lines_make_ten_thousand_nodes(tmp_path: Path) -> None:
    text = "blocks: 10\nracksPerBlock: 20\nnodesPerRack: 50\nnode: {cpu: 96, nvidia.com/gpu: 8}\nused: 30%\n"
    read = read_nodes([write(tmp_path, text, "pools.yaml")])
    assert len(read.table) == 10_000
    assert read.used["nvidia.com/gpu"].sum() == 24_000
    assert len(read.used["pods"]) == 10_000


@pytest.mark.parametrize("name", ["pools.yaml", "pools.json"])
def test_a_list_of_pools_shares_no_domain(tmp_path: Path, name: str) -> None:
    one = {"racks": 1, "nodesPerRack": 2, "node": {"cpu": 1}}
    read = read_nodes([write(tmp_path, [{"name": "cpu", **one}, {"name": "gpu", **one, "used": "50%"}], name)])
    assert read.table.names == ["cpu-b01-r01-n01", "cpu-b01-r01-n02", "gpu-b01-r01-n01", "gpu-b01-r01-n02"]
    assert [read.table.label(row, BLOCK) for row in (0, 3)] == ["cpu-b01", "gpu-b01"]
    assert [read.table.label(row, POOL) for row in (0, 3)] == ["cpu", "gpu"]
    assert read.used["pods"][:2].tolist() == [0, 0]
    assert read.used["pods"].sum() == 1


def test_real_nodes_and_a_pool_that_might_be_bought_go_together(tmp_path: Path) -> None:
    read = read_nodes([write(tmp_path, listed(node("a"))), write(tmp_path, POOLS, "pools.yaml")])
    assert len(read.table) == 21
    assert read.table.label(0, BLOCK) is None
    assert read.table.label(1, BLOCK) == "b01"


def test_nodes_that_cannot_hold_anything_are_warned_of_by_name(tmp_path: Path) -> None:
    names = "abcd"
    content = listed(*(node(name, status={"allocatable": {"cpu": 1}}) for name in names), node("e"))
    warnings = [str(warning) for warning in read_nodes([write(tmp_path, content)]).warnings]
    assert warnings == [
        "nodes without a Ready condition, which take no pods: 4 (a, b, c and 1 more); "
        "add status.conditions: [{type: Ready, status: 'True'}]",
        "nodes without pods in status.allocatable, which take no pods: 4 (a, b, c and 1 more); add pods: 110 there",
    ]


def test_a_node_given_twice_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, listed(node("a"), node("a")))
    assert refusal(path) == f"{path}: Node a: metadata.name: is used twice; remove one of the two"
    first, second = write(tmp_path, node("a")), write(tmp_path, node("a"), "more.json")
    assert refusal(first, second) == f"{second}: Node a: metadata.name: is in {first} already; remove one of the two"


def test_two_nodes_with_one_hostname_are_refused_and_both_named(tmp_path: Path) -> None:
    path = write(tmp_path, listed(node("a"), node("b", metadata__labels={HOSTNAME: "a"})))
    assert refusal(path) == (
        f"{path}: Node a and Node b: metadata.labels[kubernetes.io/hostname]: "
        'have the same value "a"; give every node its own hostname'
    )


def test_one_hostname_in_two_files_is_refused_and_both_files_named(tmp_path: Path) -> None:
    first, second = write(tmp_path, node("a")), write(tmp_path, node("b", metadata__labels={HOSTNAME: "a"}), "b.json")
    assert refusal(first, second) == (
        f"{second}: Node a of {first} and Node b: metadata.labels[kubernetes.io/hostname]: "
        'have the same value "a"; give every node its own hostname'
    )


@pytest.mark.parametrize(
    ("quantity", "said"),
    [
        ("-1", "-1 is negative; write zero or more"),
        ("1 Gi", '"1 Gi" is not a quantity; write a number with an optional suffix, such as 500m, 2 or 1.5Gi'),
        ("9" * 5000, "is not a quantity"),
        ("100000Ei", "100000Ei is too large: more than any machine has; check its suffix"),
        (1e30, "1e+30 is too large: more than any machine has; check its suffix"),
    ],
)
@pytest.mark.parametrize("resource", ["cpu", "memory", "nvidia.com/gpu"])
def test_a_bad_quantity_is_refused_with_node_field_and_remedy(
    tmp_path: Path, resource: str, quantity: str | float, said: str
) -> None:
    path = write(tmp_path, listed(node("ok"), node("a", status__allocatable={resource: quantity})))
    answer = refusal(path)
    assert answer.startswith(f"{path}: Node a: status.allocatable[{resource}]: ")
    assert said in answer


def test_a_label_that_is_a_number_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, node("a", metadata__labels={"rack": 7}), "a.yaml")
    assert refusal(path) == f"{path}: Node a: metadata.labels[rack]: must be text, but is read as 7; quote it"


def test_a_node_without_a_name_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, node("a", metadata={}))
    assert refusal(path) == f"{path}: Node: metadata.name: is missing; give every Node a name"


def test_ten_mistakes_are_shown_and_the_rest_counted(tmp_path: Path) -> None:
    path = write(tmp_path, listed(*(node(f"n{i}", status__allocatable={"cpu": "x"}) for i in range(25))))
    lines = refusal(path).splitlines()
    assert len(lines) == 11
    assert lines[-1] == "and 15 more"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"apiVersion": "v1", "kind": "Pod"}, "there is no Node in it, only Pod; give a file with Nodes"),
        (listed(), "there is no Node in it; give what kubectl get nodes -o json prints, or pools"),
    ],
)
def test_a_file_without_nodes_is_refused(tmp_path: Path, content: Any, said: str) -> None:
    path = write(tmp_path, content)
    assert refusal(path) == f"{path}: {said}"


def test_a_list_of_pools_without_names_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, f"{POOLS}---\n{POOLS}", "pools.yaml")
    assert refusal(path).splitlines() == [f"{path}: pool: name: is missing; give each of several pools a name"] * 2


def test_two_pools_of_one_name_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, f"name: x\n{POOLS}---\nname: x\n{POOLS}", "pools.yaml")
    assert refusal(path) == f"{path}: pool x: name: is used twice; give each pool its own"


def test_more_than_a_million_nodes_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, POOLS.replace("2", "2000"), "pools.yaml")
    assert refusal(path) == f"{path}: pools: 20,000,000 nodes are too many; make at most 1,000,000 nodes in all"


def test_a_misspelled_pool_is_still_recognised_as_a_pool(tmp_path: Path) -> None:
    path = write(tmp_path, POOLS.replace("nodesPerRack", "nodesPerRak"), "pools.yaml")
    assert f"{path}: pool: nodesPerRak: is not a key of a pool; did you mean nodesPerRack?" in refusal(path)


def test_a_few_names_are_shown_for_many() -> None:
    assert name_some(["a", "b"]) == "a, b"
    assert name_some(["a", "b", "c", "d"]) == "a, b, c and 1 more"
    assert name_some(["a", "b", "c"], 10) == "a, b, c and 7 more"
