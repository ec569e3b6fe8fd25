"""Pools of equal nodes: names, labels and usage are what the compact form promises."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from closeknit.cluster.mistakes import Mistakes
from closeknit.model.mistake import InputError
from closeknit.model.shape import Taint
from closeknit.model.topology import HOSTNAME
from closeknit.observe.pool_form import BLOCK, POOL, RACK, Pool, read_pool
from closeknit.observe.pool_nodes import zones_of_pool
from closeknit.observe.pools import pool_table, pool_usage

NODE = {"cpu": 8, "memory": "64Gi", "nvidia.com/gpu": 4}


def form(**changes: Any) -> dict[str, Any]:
    raw = {"blocks": 2, "racksPerBlock": 3, "nodesPerRack": 4, "node": NODE, **changes}
    return {key: value for key, value in raw.items() if value is not None}


def pool(**changes: Any) -> Pool:
    mistakes = Mistakes()
    made = read_pool(form(**changes), "pools.yaml", mistakes)
    mistakes.check()
    assert made is not None
    return made


def refusal(**changes: Any) -> str:
    with pytest.raises(InputError) as caught:
        pool(**changes)
    return str(caught.value)


def node(**changes: Any) -> dict[str, Any]:
    return {"node": {**NODE, **changes}}


def test_a_node_is_named_by_block_rack_and_number() -> None:
    table = pool_table(pool())
    assert len(table) == 24
    assert [table.names[row] for row in (0, 1, 4, 23)] == [
        "b01-r01-n01",
        "b01-r01-n02",
        "b01-r02-n01",
        "b02-r03-n04",
    ]
    assert dict(table.label_values(16)) == {BLOCK: "b02", RACK: "b02-r02", HOSTNAME: "b02-r02-n01"}


def test_a_name_of_the_pool_goes_before_everything_and_becomes_a_label() -> None:
    table = pool_table(pool(name="gpu"))
    assert dict(table.label_values(0)) == {
        BLOCK: "gpu-b01",
        RACK: "gpu-b01-r01",
        HOSTNAME: "gpu-b01-r01-n01",
        POOL: "gpu",
    }
    assert table.names[0] == "gpu-b01-r01-n01"


def test_racks_alone_make_one_block() -> None:
    table = pool_table(pool(blocks=None, racksPerBlock=None, racks=3))
    assert len(table) == 12
    assert table.labels[BLOCK].values == ["b01"]


def test_numbers_are_wide_enough_for_names_to_sort_as_counted() -> None:
    names = pool_table(pool(blocks=1, racksPerBlock=1, nodesPerRack=120)).names
    assert names[0] == "b01-r01-n001"
    assert names == sorted(names)


def test_nodes_hold_what_is_written_and_110_pods_by_default() -> None:
    assert pool().allocatable == {"cpu": 8000, "memory": 2**36, "nvidia.com/gpu": 4, "pods": 110}
    assert pool(**node(pods=30)).allocatable["pods"] == 30
    table = pool_table(pool())
    assert table.allocatable["cpu"].tolist() == [8000] * 24
    assert table.usable.all()
    assert not table.cordoned.any()


def test_labels_and_taints_are_on_every_node() -> None:
    taints = ["nvidia.com/gpu=yes:NoSchedule", "spot:NoExecute", {"key": "a", "effect": "PreferNoSchedule"}]
    table = pool_table(pool(**node(labels={"tier": "gold"}, taints=taints)))
    assert table.label(23, "tier") == "gold"
    assert table.taints[table.taint_codes[23]] == (
        Taint("nvidia.com/gpu", "yes", "NoSchedule"),
        Taint("spot", "", "NoExecute"),
        Taint("a", "", "PreferNoSchedule"),
    )


@pytest.mark.parametrize("node_", [NODE, {"cpu": 2}, {"cpu": "500m"}, {"cpu": 64, "pods": 3}, {"nvidia.com/gpu": 1}])
@pytest.mark.parametrize("used", ["1%", "30%", "99.5%", "100%"])
def test_about_the_wanted_part_is_in_use_and_never_more_than_there_is(node_: dict[str, Any], used: str) -> None:
    made = pool(nodesPerRack=50, node=node_, used=used)
    usage = pool_usage(made)
    assert usage["pods"].sum() > 0
    for resource, column in usage.items():
        assert (column >= 0).all()
        assert (column <= made.allocatable[resource]).all()
    for resource in {"cpu", "nvidia.com/gpu"} & usage.keys():
        part = usage[resource].sum() / (made.allocatable[resource] * made.size)
        assert part == pytest.approx(float(used[:-1]) / 100, abs=0.02)


def test_usage_differs_between_nodes_and_repeats_with_the_seed() -> None:
    first = pool_usage(pool(nodesPerRack=50, used="50%", seed=1))
    again = pool_usage(pool(nodesPerRack=50, used="50%", seed=1))
    other = pool_usage(pool(nodesPerRack=50, used="50%", seed=2))
    assert set(first["nvidia.com/gpu"].tolist()) == {0, 1, 2, 3, 4}
    assert (first["pods"] == again["pods"]).all()
    assert (first["pods"] != other["pods"]).any()


def test_nothing_is_in_use_by_default() -> None:
    assert pool_usage(pool()) == {}
    assert pool_usage(pool(used="0%")) == {}


def test_a_hundred_thousand_nodes_are_made_in_well_under_two_seconds() -> None:
    made = pool(blocks=100, racksPerBlock=50, nodesPerRack=20, used="30%")
    start = time.process_time()
    table, usage = pool_table(made), pool_usage(made)
    assert time.process_time() - start < 2
    assert len(table) == 100_000
    assert int(np.sum(usage["nvidia.com/gpu"])) == 120_000


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"nodePerRack": 4}, "pool: nodePerRack: is not a key of a pool; did you mean nodesPerRack?"),
        ({"blocks": None}, "pool: blocks: is missing; write how many, such as blocks: 4"),
        ({"nodesPerRack": 0}, "pool: nodesPerRack: is 0; write one or more"),
        ({"blocks": -3}, "pool: blocks: is -3; write one or more"),
        ({"blocks": "many"}, 'pool: blocks: "many" is not a whole number; write how many'),
        ({"blocks": True}, "pool: blocks: true is not a whole number; write how many"),
        ({"blocks": 2.5}, "pool: blocks: 2.5 is not a whole number; write how many"),
        ({"blocks": 10**7}, "pool: blocks: 10000000 is too large; write at most 1,000,000 nodes in all"),
        ({"racks": 2, "racksPerBlock": None}, "pool: racks: does not go with blocks; write racks, or blocks and"),
        ({"node": None}, "pool: node: says nothing about the nodes; write node: {cpu: 96"),
        ({"name": "GPU Pool"}, 'pool GPU Pool: name: "GPU Pool" cannot begin the names of nodes; use at most 30'),
        ({"used": 30}, "pool: used: 30 is not a part of the cluster; write a percentage, such as used: 30%"),
        ({"used": "130%"}, 'pool: used: "130%" is not a part of the cluster; write a percentage'),
        ({"seed": "x"}, 'pool: seed: "x" is not a seed; write a whole number'),
        (node(cpu="lots"), 'pool: node[cpu]: "lots" is not a quantity; write a number with an optional suffix'),
        (node(cpu=-1), "pool: node[cpu]: -1 is negative; write zero or more"),
        (
            node(memory="999999Ei"),
            "pool: node[memory]: 999999Ei is too large: more than any machine has; check its suffix",
        ),
        (node(cpu=True), "pool: node[cpu]: true is not a quantity; write a number"),
        (node(cpu=None), "pool: node[cpu]: null is not a quantity; write a number"),
        (node(cpus=4), "pool: node[cpus]: is not a resource that Kubernetes knows; did you mean cpu?"),
        (node(label={}), "pool: node[label]: {} is not a quantity; did you mean labels?"),
        (node(**{"a b": 1}), "pool: node[a b]: is not the name of a resource; write cpu, memory or"),
        (node(labels={"tier": 1}), "pool: node.labels[tier]: must be text, but is read as 1; quote it"),
        (node(labels={"tier": None}), "pool: node.labels[tier]: must be text, but is read as null; quote it"),
        (node(labels={"tier": "-"}), 'pool: node.labels[tier]: "-" is not a label value; use at most 63'),
        (node(labels={"a b": "x"}), "pool: node.labels[a b]: is not a label key; use letters"),
        (node(labels={RACK: "x"}), f"pool: node.labels[{RACK}]: is made for every node; leave it out"),
        (node(labels=["x"]), 'pool: node.labels: ["x"] is not a mapping; write labels: {key: value}'),
        (node(taints="x"), 'pool: node.taints: "x" is not a list; write taints: [key=value:NoSchedule]'),
        (node(taints=["x"]), 'pool: node.taints[0]: "x" is not a taint; write key=value:NoSchedule'),
        (node(taints=["x=y:Never"]), 'pool: node.taints[0].effect: "Never" is no effect; use one of NoSchedule'),
        (node(taints=[{"effect": "NoExecute"}]), 'pool: node.taints[0].key: "" is not a taint key; write a key'),
    ],
)
def test_a_bad_pool_is_refused_with_field_and_remedy(changes: dict[str, Any], said: str) -> None:
    assert refusal(**changes).startswith(f"pools.yaml: {said}")


def test_all_mistakes_of_a_pool_are_reported_together() -> None:
    assert len(refusal(blocks=0, used=1, **node(cpu="x")).splitlines()) == 3


def test_zones_of_its_nodes_belong_to_a_pool_and_are_no_resource() -> None:
    made = pool(**node(numa={"zones": 2, "policy": "single-numa-node", "exporter": "never"}))
    assert made.allocatable == pool().allocatable
    found = list(zones_of_pool(made))
    assert [one.node for one in found] == pool_table(made).names
    assert found[0].manager.policy == "single-numa-node"
    assert [zone.resources["nvidia.com/gpu"].available for zone in found[0].zones] == [2, 2]
    assert list(zones_of_pool(pool())) == []


@pytest.mark.parametrize(
    ("numa", "says"),
    [
        ({"zones": 0}, "pools.yaml: pool: node.numa.zones: is 0; write how many zones"),
        ("two", 'pools.yaml: pool: node.numa: is "two", not a mapping; write numa: {zones: 2'),
        ({"zones": 2, "polcy": "none"}, "pools.yaml: pool: node.numa.polcy: is not a key; did you mean policy?"),
    ],
)
def test_zones_that_cannot_be_simulated_are_refused(numa: Any, says: str) -> None:
    assert says in refusal(**node(numa=numa))
