"""Reports of zones: what is read, and what is said about mistakes."""

from __future__ import annotations

from copy import deepcopy
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from closeknit.dialects.nrt.reading import read_topology
from closeknit.model.numa import NodeZones, TopologyManager, Zone, ZoneAmounts
from closeknit.model.resources import ABSURD

from .objects import Raw, resource, topology, zone

GIB = 2**30
TWO = topology(
    zone("node-1", resource("cpu", "3500m", 4), resource("memory", "1Gi"), costs={"node-0": 20, "node-1": 10}),
    zone("node-0", resource("cpu", 2), costs={"node-0": 10, "node-1": 20}),
    attributes={
        "topologyManagerPolicy": "single-numa-node",
        "topologyManagerScope": "pod",
        "nodeTopologyPodsFingerprint": "pfp0v001ef46db3751d8e999",
        "nodeTopologyPodsFingerprintMethod": "with-exclusive-resources",
    },
)


def said(zones: NodeZones) -> list[tuple[str, str]]:
    return [(one.field, one.text) for one in zones.mistakes]


def test_zones_are_read_in_their_order_in_the_units_of_the_model() -> None:
    found = read_topology(TWO)
    assert found == NodeZones(
        "n1",
        (
            Zone(1, {"cpu": ZoneAmounts(4000, 4000, 3500), "memory": ZoneAmounts(GIB, GIB, GIB)}, {0: 20, 1: 10}),
            Zone(0, {"cpu": ZoneAmounts(2000, 2000, 2000)}, {0: 10, 1: 20}),
        ),
        TopologyManager("single-numa-node", "pod"),
        "pfp0v001ef46db3751d8e999",
        exclusive_only=True,
    )
    assert found.mistakes == ()


@pytest.mark.parametrize(
    ("zones", "ids", "field", "text"),
    [
        (["node_1", "node-0"], [0], "zones[0].name", "not the name of a NUMA zone"),
        (["node-0", "node-00"], [0], "zones[1].name", "is also the zone zones[0]"),
        (["node-64", "node-63"], [63], "zones[0].name", "has id 64"),
    ],
)
def test_a_zone_without_a_valid_name_is_left_out(zones: list[str], ids: list[int], field: str, text: str) -> None:
    found = read_topology(topology(*(zone(name, resource("cpu", 1)) for name in zones)), "file.yaml")
    assert [one.id for one in found.zones] == ids
    [mistake] = found.mistakes
    assert (mistake.where, mistake.what, mistake.field) == ("file.yaml", "NodeResourceTopology n1", field)
    assert text in mistake.text
    assert mistake.remedy


def test_sparse_ids_in_any_order_are_legal() -> None:
    found = read_topology(topology(*(zone(f"node-{number}") for number in (40, 2, 63, 0))))
    assert [one.id for one in found.zones] == [40, 2, 63, 0]
    assert found.mistakes == ()


def test_zones_of_other_types_are_ignored_but_their_resources_are_known() -> None:
    found = read_topology(topology(zone("socket-0", resource("x/gpu", 1), type="Socket")))
    assert (found.zones, found.names, found.mistakes) == ((), frozenset({"x/gpu"}), ())


@pytest.mark.parametrize(
    ("given", "amounts", "field", "text"),
    [
        (resource("cpu", "3", "2"), ZoneAmounts(2000, 2000, 3000), "available", "only 2 of cpu is allocatable"),
        (resource("cpu", "-1", "2"), ZoneAmounts(2000, 2000, 0), "available", 'is "-1"'),
        (resource("memory", "8Ei"), ZoneAmounts(ABSURD, ABSURD, ABSURD), "available", "more than any machine has"),
        (resource("cpu", "much", 2), None, "available", "is not a quantity"),
        (resource("cpu", [1], 2), None, "available", "is a list, not a quantity"),
        (resource("cpu", 1, True, 1), ZoneAmounts(1000, 1000, 1000), "allocatable", "not a quantity"),
        ({"name": "cpu", "capacity": 1, "allocatable": 1}, None, "available", "is missing"),
        ({"capacity": 1, "allocatable": 1, "available": 1}, None, "name", "is missing"),
    ],
)
def test_a_wrong_amount_is_reported_with_its_field(
    given: Raw, amounts: ZoneAmounts | None, field: str, text: str
) -> None:
    found = read_topology(topology(zone("node-0", resource("x/y", 1), given)))
    first = next(iter(found.mistakes))
    assert first.field == f"zones[0].resources[1].{field}"
    assert text in first.text
    expected = {"x/y": ZoneAmounts(1, 1, 1)} | ({} if amounts is None else {given["name"]: amounts})
    assert found.zones[0].resources == expected


def test_of_a_resource_that_is_listed_twice_the_last_amount_counts() -> None:
    found = read_topology(topology(zone("node-0", resource("cpu", 4), resource("cpu", 1))))
    assert found.zones[0].resources == {"cpu": ZoneAmounts(1000, 1000, 1000)}
    [(field, text)] = said(found)
    assert (field, text) == ("zones[0].resources[1].name", "cpu is listed twice")


def test_missing_and_asymmetric_distances_are_named_and_count_as_they_are() -> None:
    found = read_topology(
        topology(
            zone("node-0", costs={"node-0": 10, "node-1": 12}),
            zone("node-1", costs={"node-0": 20, "node-1": 10, "node-7": 99, "x": 1}),
            zone("node-2", costs={"node-0": 30, "node-1": 30, "node-2": 10}),
        )
    )
    assert [(one.field, one.text) for one in found.mistakes] == [
        ("zones[0].costs", "is 12 to node-1, but 20 from it"),
        ("zones[0].costs", "has no distance to node-2"),
        ("zones[1].costs", "has no distance to node-2"),
    ]
    assert found.zones[1].costs == {0: 20, 1: 10, 7: 99}
    assert found.zones[0].cost(2) == 255


def test_settings_that_say_nothing_are_named() -> None:
    found = read_topology(
        topology(
            attributes={"topologyManagerScope": "Pod", "topologyManagerMaxNUMANodes": "1"},
            topologyPolicies=["Restricted"],
        )
    )
    assert [field for field, _ in said(found)] == ["topologyPolicies[0]", "attributes[0].value", "attributes[1].value"]
    assert found.manager == TopologyManager()


@pytest.mark.parametrize(
    ("attribute", "annotation", "fingerprint", "in_annotation"),
    [("a", "b", "a", False), ("", "b", "", False), (None, "b", "b", True), (None, None, "", False)],
)
def test_the_fingerprint_of_the_attribute_wins(
    attribute: str | None, annotation: str | None, fingerprint: str, in_annotation: bool
) -> None:
    attributes = {} if attribute is None else {"nodeTopologyPodsFingerprint": attribute}
    notes = {} if annotation is None else {"topology.node.k8s.io/fingerprint": annotation}
    found = read_topology(topology(attributes=attributes, metadata={"name": "n1", "annotations": notes}))
    assert (found.fingerprint, found.in_annotation) == (fingerprint, in_annotation)


def test_the_placement_of_containers_is_kept_as_written() -> None:
    vector = [{"name": "topology.node.k8s.io/numaplacement-vector", "value": "$"}]
    metadata = {"topology.node.k8s.io/numaplacement-metadata": "npv0v001::ve=leb89::cc=3::nn=2::bn=1"}
    found = read_topology(topology(zone("node-0", attributes=vector), zone("node-1"), attributes=metadata))
    assert found.placement == (metadata["topology.node.k8s.io/numaplacement-metadata"], {0: "$"})


def test_wrong_types_are_reported_one_by_one_and_the_rest_is_read() -> None:
    raw = deepcopy(TWO)
    raw["zones"][0]["costs"] = [{"name": "node-0", "value": "far"}]
    raw["zones"][1]["name"] = 7
    raw["attributes"].append({"name": "x", "value": True})
    found = read_topology(raw)
    assert [one.id for one in found.zones] == [1]
    assert found.manager.policy == "single-numa-node"
    assert {"zones[0].costs[0].value", "zones[1].name", "attributes[4].value"} <= {field for field, _ in said(found)}


def test_of_an_object_full_of_mistakes_the_first_are_kept() -> None:
    found = read_topology(topology(*(zone(f"zone-{number}") for number in range(20_000))))
    assert len(found.mistakes) == 50


VALUES: list[Any] = [
    None,
    0,
    -1,
    2**70,
    1.5,
    float("inf"),
    True,
    "",
    "x",
    "node-0",
    "1e400",
    "9" * 5000,
    [],
    {},
    [[]],
    [{}],
]


@given(st.integers(0, 2**32))
def test_nothing_that_yaml_can_hold_raises(seed: int) -> None:
    random = Random(seed)
    raw: Any = deepcopy(TWO)
    for _ in range(random.randint(1, 4)):
        at: Any = raw
        while True:
            keys = list(at) if isinstance(at, dict) else list(range(len(at)))
            key = random.choice(keys) if keys else None
            if key is None or not isinstance(at[key], dict | list) or random.random() < 0.2:
                break
            at = at[key]
        if key is not None:
            at[key] = random.choice(VALUES)
    read_topology(raw)
    read_topology({**raw, "apiVersion": "topology.node.k8s.io/v1alpha1"})


@pytest.mark.parametrize("raw", [None, [], "x", 1, {}, {"zones": None}, {"metadata": []}])
def test_what_is_no_object_has_no_zones(raw: Any) -> None:
    assert read_topology(raw).zones == ()
    assert read_topology(raw).mistakes
