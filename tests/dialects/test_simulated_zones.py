"""NUMA zones of simulated machines: how they are written, divided, and what a kubelet would not start with."""

from __future__ import annotations

import re

import pytest

from closeknit.dialects.field import Field
from closeknit.dialects.kueue.admin import check_node
from closeknit.dialects.simulated_zones import NUMA, annotated_zones
from closeknit.dialects.zone_holdings import bits, numbers
from closeknit.numa.simulated import SimulatedZones

GI = 1 << 30
ROOM = {"cpu": 96_000, "memory": 384 * GI, "nvidia.com/gpu": 8, "vendor.io/nic": 3, "pods": 110}


def zones(text: str, **more: int) -> SimulatedZones:
    return annotated_zones(text, {**ROOM, **more})


def amounts(found: SimulatedZones, resource: str) -> list[int | None]:
    return [zone.get(resource) for zone in found.zones]


def test_everything_is_divided_evenly_and_the_first_zones_get_the_rest() -> None:
    found = zones("{zones: 2}")
    assert amounts(found, "cpu") == [48_000, 48_000]
    assert amounts(found, "memory") == [192 * GI, 192 * GI]
    assert amounts(found, "nvidia.com/gpu") == [4, 4]
    assert amounts(found, "vendor.io/nic") == [2, 1]
    assert amounts(found, "pods") == [None, None]
    assert amounts(zones("{zones: 2}", **{"hugepages-1Gi": 3 * GI}), "hugepages-1Gi") == [2 * GI, GI]


def test_what_a_list_of_zones_names_is_taken_from_it_and_the_rest_is_divided() -> None:
    found = zones("zones: [{cpu: 64, nvidia.com/gpu: 8}, {cpu: 32}, {}]")
    assert amounts(found, "cpu") == [64_000, 32_000, None]
    assert amounts(found, "nvidia.com/gpu") == [8, None, None]
    assert amounts(found, "memory") == [128 * GI] * 3


def test_only_named_devices_have_zones() -> None:
    assert zones("{zones: 2, devices: nvidia.com/gpu}").resources == ["cpu", "memory", "nvidia.com/gpu"]
    assert zones("{zones: 2, devices: []}").resources == ["cpu", "memory"]


def test_cpus_of_the_system_come_on_top_and_are_the_lowest() -> None:
    found = zones("{zones: 2, reservedCPUs: 2}")
    assert amounts(found, "cpu") == [49_000, 49_000]
    assert [zone.resources["cpu"] for zone in found.reported("n").zones] == [(49_000, 47_000, 47_000), (49_000,) * 3]
    capacity = {**ROOM, "cpu": 100_000}
    assert annotated_zones("{zones: 2}", ROOM, capacity).reserved_cpus == 4


def test_settings_are_those_of_a_kubelet() -> None:
    text = """{"zones": 4, "policy": "restricted", "scope": "pod", "cpuManager": "none", "memoryManager": "none",
               "options": {"prefer-closest-numa-nodes": true, "max-allowable-numa-nodes": 12}, "exporter": "1m30s"}"""
    found = zones(text)
    settings = found.settings
    assert (settings.policy, settings.scope, settings.closest) == ("restricted", "pod", True)
    assert (settings.pins_cpus, settings.pins_memory, found.delay) == (False, False, 90.0)
    assert found.reported("n").manager.max_zones == 12
    assert zones("{zones: 2, exporter: never}").delay is None
    assert zones("{zones: 2}").settings.policy == "none"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[1", "it is neither JSON nor YAML: write {zones: 2, policy: single-numa-node}"),
        ("2", "is 2, not a mapping; write numa: {zones: 2, policy: single-numa-node}"),
        ("{zone: 2}", "zone: is not a key; did you mean zones? the keys are zones, policy"),
        ("{}", "zones: is missing; write how many zones, from 1 to 64"),
        ("{zones: true}", "zones: is true; write how many zones"),
        ("{zones: 65}", "zones: is 65; write how many zones"),
        ("{zones: []}", "zones: has 0 zones; write 1 to 64"),
        ("{zones: [{cpu: x}, {}]}", "zones[0].cpu: "),
        ("{zones: [{cpu: 1.5}, {cpu: 94.5}]}", "zones[0].cpu: is not a whole number of CPUs"),
        ("{zones: [{cpu: -1}, {cpu: 97}]}", "zones[0].cpu: is negative"),
        ("{zones: [{cpu: 40}, {cpu: 50}]}", "zones: have 90 of cpu in all, but the node has 96; make them agree"),
        ("{zones: [{amd.com/gpu: 4}]}", "zones: have 4 of amd.com/gpu in all, but the node has 0"),
        ("{zones: 2, policy: single}", 'policy: is "single"; '),
        ("{zones: 2, policy: 1}", "policy: is 1, not a string"),
        ("{zones: 2, scope: node}", 'scope: is "node"; '),
        ("{zones: 2, cpuManager: dynamic}", 'cpuManager: is "dynamic"; use one of: static, none'),
        ("{zones: 2, options: {fast: true}}", "options.fast: is not a key"),
        ("{zones: 2, options: {prefer-closest-numa-nodes: 1}}", "is 1; use true or false"),
        ("{zones: 2, options: {max-allowable-numa-nodes: 4}}", "is 4; use a whole number from 8 to 1024"),
        ("{zones: 9}", "zones: are 9, but a kubelet starts with at most 8; set options: {max-allowable-numa-nodes: 9}"),
        (
            "{zones: 12, options: {max-allowable-numa-nodes: 12}}",
            "zones: have memory in 12 of them; at most 10 can be simulated",
        ),
        ("{zones: 2, devices: amd.com/gpu}", 'devices: is "amd.com/gpu", which the node does not have'),
        ("{zones: 2, distances: [[10, 20]]}", "distances: are not 2 rows of 2 numbers"),
        ("{zones: 2, distances: [[10, 20], [20, x]]}", "distances: have a value that is not a distance"),
        ("{zones: 2, exporter: soon}", 'exporter: is "soon", not a duration; write one such as 2s, or never'),
        ("{zones: 2, reservedCPUs: -1}", "reservedCPUs: is -1"),
        ("{zones: 2, reservedCPUs: 100}", "reservedCPUs: is 100; reserve no more CPUs than the first zone has"),
        ("{zones: 2, reservedCPUs: 20000}", "zones: have more than 8192 CPUs; simulate a smaller machine"),
    ],
)
def test_what_is_wrong_is_named_with_its_field_and_a_remedy(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        zones(text)


@pytest.mark.parametrize(("mask", "text"), [(0, ""), (0b1, "0"), (0b10111, "0-2,4"), (0b1100110, "1-2,5-6")])
def test_sets_of_numbers_are_written_as_ranges(mask: int, text: str) -> None:
    assert numbers(mask) == text
    assert bits(text, 64) == mask


@pytest.mark.parametrize("text", ["a", "3-1", "-1", "1-", "0-64", "64", "1,,2"])
def test_what_is_no_set_of_numbers_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"invalid literal|is not a range"):
        bits(text, 64)


@pytest.mark.parametrize(
    ("note", "says"), [("{zones: 2}", []), ("{zones: 0}", ["zones: is 0"]), ("{", ["neither JSON"])]
)
def test_an_annotation_that_the_kubelet_would_ignore_is_a_warning_of_check(note: str, says: list[str]) -> None:
    room = {"cpu": "8", "memory": "32Gi"}
    meta = {"name": "n", "annotations": {NUMA: note}}
    node = Field.root({"metadata": meta, "status": {"allocatable": room, "capacity": room}})
    check_node(node)
    assert node.report.mistakes == ()
    assert [text for text in says if any(text in str(one) for one in node.report.warnings)] == says
    assert len(node.report.warnings) == len(says)
