"""From where a pod has memory follows which zones serve it together, as the memory manager would have formed groups."""

from __future__ import annotations

from dataclasses import replace

import pytest

from closeknit.model.container import Container
from closeknit.model.numa import NodeZones, TopologyManager, Zone, ZoneAmounts
from closeknit.model.resources import MEMORY
from closeknit.numa.demand import PodDemand
from closeknit.numa.layout import KubeletRules, Layout, layout_of
from closeknit.numa.memory_groups import groups_of

ZONES = tuple(Zone(at, {MEMORY: ZoneAmounts(100, 100, 100)}) for at in range(4))


def layout(scope: str = "container") -> Layout:
    return layout_of(NodeZones("n1", ZONES, TopologyManager("restricted", scope)), KubeletRules())  # type: ignore[arg-type]


def demand(*sizes: int, guaranteed: bool = True) -> PodDemand:
    amounts = [{"cpu": 1000, MEMORY: size} for size in sizes]
    return PodDemand.of([Container.of(one, one if guaranteed else {}) for one in amounts])


def held(*sizes: int) -> dict[int, dict[str, int]]:
    return {zone: {"cpu": 1000, MEMORY: size} for zone, size in enumerate(sizes) if size}


@pytest.mark.parametrize(
    ("scope", "sizes", "by_zone", "groups"),
    [
        ("container", [80], [80], {0b01: 1}),
        ("container", [150], [100, 50], {0b11: 1}),
        ("pod", [80, 20], [80, 20], {0b11: 1}),
        ("container", [80, 20], [80, 20], {0b01: 1, 0b10: 1}),
        ("container", [80, 20], [20, 80], {0b01: 1, 0b10: 1}),
        ("container", [90, 20, 10], [100, 20], {0b01: 1, 0b10: 1}),
        ("container", [110, 20], [100, 30], {0b11: 1}),
    ],
    ids=["one zone", "two", "two of a pod", "each its own", "in any order", "two in one", "more than one has"],
)
def test_zones_serve_together_what_no_container_has_alone(
    scope: str, sizes: list[int], by_zone: list[int], groups: dict[int, int]
) -> None:
    assert groups_of(demand(*sizes), held(*by_zone), layout(scope)) == groups


def test_what_is_not_pinned_forms_no_group() -> None:
    assert groups_of(demand(80, guaranteed=False), held(80), layout()) == {}
    assert groups_of(demand(80), {0: {"cpu": 1000}}, layout()) == {}
    one = layout()
    unpinned = replace(one, settings=replace(one.settings, pins_memory=False))
    assert groups_of(demand(80), held(80), unpinned) == {}
