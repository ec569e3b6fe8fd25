"""Filter and score by NUMA zones: the sentences that the rules are made of."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.engine.numa.outcome import Alignment
from closeknit.engine.numa.topology_match import align, score
from closeknit.engine.numa.zone_search import closest_zones
from closeknit.engine.numa.zone_table import ZoneTable
from closeknit.model.container import Container, QoS
from closeknit.model.numa import NodeZones, TopologyManager, Zone, ZoneAmounts
from closeknit.model.numa_arguments import MatchArguments
from closeknit.numa.pod_needs import PodNeeds

MIB = 2**20


def zones(*held: dict[str, int], ids: list[int] | None = None, scope: str = "container", **more: Any) -> NodeZones:
    """Zones with these amounts, 10 from themselves and 20 from each other."""
    numbers = ids or list(range(len(held)))
    made = [
        Zone(
            number,
            {name: ZoneAmounts(one, one, one) for name, one in has.items()},
            {other: 10 if other == number else 20 for other in numbers},
        )
        for number, has in zip(numbers, held, strict=True)
    ]
    return NodeZones("n", tuple(made), TopologyManager("single-numa-node", scope, **more))  # type: ignore[arg-type]


def table(given: NodeZones | None, *offered: str) -> ZoneTable:
    made = ZoneTable()
    made.put_node("n", offered)
    if given is not None:
        made.put_zones(given)
    return made


def pod(*requests: dict[str, int], qos: QoS = "Guaranteed", first: str = "") -> PodNeeds:
    kinds = ["app"] * len(requests)
    if first:
        kinds[0] = first
    containers = (Container.of(one, one, kind) for one, kind in zip(requests, kinds, strict=True))  # type: ignore[arg-type]
    return PodNeeds(tuple(containers), qos)


def answer(on: ZoneTable, needs: PodNeeds) -> Alignment:
    return align(on, needs).at(on.rows["n"])


def points(given: NodeZones | None, needs: PodNeeds, strategy: Any, **weights: int) -> int:
    on = table(given)
    return score(on, needs, MatchArguments(strategy, weights)).at(on.rows["n"])


def test_a_plain_resource_that_a_node_offers_is_on_none_because_schedulers_do_not_keep_it() -> None:
    given = zones({"cpu": 4000, "memory": 8 * MIB, "foo": 4, "storage": 4})
    for name in ("foo", "storage"):
        needs = pod({"cpu": 1000, "memory": MIB, name: 1})
        assert answer(table(given, name), needs) is Alignment.CONTAINER
    huge = zones({"cpu": 4000, "memory": 8 * MIB, "hugepages-2Mi": 4 * MIB})
    needs = pod({"cpu": 1000, "memory": MIB, "hugepages-2Mi": 2 * MIB})
    assert answer(table(huge, "hugepages-2Mi"), needs) is Alignment.FITS


def test_zones_further_apart_than_an_unknown_distance_are_not_taken_together() -> None:
    amounts = {"cpu": ZoneAmounts(4000, 4000, 4000), "memory": ZoneAmounts(MIB, MIB, MIB)}
    needs = pod({"cpu": 6000, "memory": MIB})
    for far, expected in ((500, 82), (502, 0)):  # mean distances of 255 and 256
        two = tuple(Zone(at, amounts, {at: 10, 1 - at: far}) for at in (0, 1))
        assert points(NodeZones("n", two), needs, "LeastNUMANodes") == expected
    alone = NodeZones("n", (Zone(0, amounts, {0: 256}),))
    assert points(alone, pod({"cpu": 1000, "memory": MIB}), "LeastNUMANodes") == 0


def test_a_node_without_a_report_takes_any_pod_and_one_with_stale_zones_none() -> None:
    on = table(None)
    assert answer(on, pod({"cpu": 1000})) is Alignment.FITS
    on.mark("n", is_stale=True)
    assert answer(on, pod({"cpu": 1000})).reason == "invalid node topology data"
    assert answer(on, pod({}, qos="BestEffort")) is Alignment.FITS


def test_a_report_without_a_node_is_an_error() -> None:
    on = ZoneTable()
    on.put_zones(zones({"cpu": 1000}))
    found = answer(on, pod({"cpu": 1000}))
    assert (found.code, found.reason) == ("Error", "node not found")


def test_zones_that_only_together_have_enough_are_not_enough() -> None:
    on = table(zones({"cpu": 2000, "memory": 9}, {"cpu": 2000, "memory": 9}))
    assert answer(on, pod({"cpu": 3000})).reason == "cannot align container"
    assert answer(on, pod({"cpu": 3000}, first="init")).reason == "cannot align init container"
    assert answer(on, pod({"cpu": 3000}, first="sidecar")).reason == "cannot align sidecar container"
    assert answer(table(zones({"cpu": 2000}, scope="pod")), pod({"cpu": 3000})).reason == "cannot align pod"


def test_a_burstable_pod_needs_a_zone_that_lists_cpu_but_no_amount_of_it() -> None:
    assert answer(table(zones({"cpu": 0})), pod({"cpu": 3000}, qos="Burstable")) is Alignment.FITS
    assert answer(table(zones({"memory": 9})), pod({"cpu": 3000}, qos="Burstable")) is Alignment.CONTAINER


def test_app_containers_take_from_the_lowest_zone_and_init_containers_take_nothing() -> None:
    given = zones({"cpu": 3000}, {"cpu": 2000}, ids=[1, 0])
    assert answer(table(given), pod({"cpu": 3000}, {"cpu": 2000}, {"cpu": 3000}, first="init")) is Alignment.FITS
    assert answer(table(given), pod({"cpu": 2000}, {"cpu": 3000})) is Alignment.FITS
    assert answer(table(given), pod({"cpu": 1000}, {"cpu": 2000}, {"cpu": 2000})) is Alignment.CONTAINER


def test_a_device_in_no_zone_is_anywhere_if_the_node_has_it() -> None:
    given = zones({"cpu": 4000})
    assert answer(table(given, "x/gpu"), pod({"cpu": 1000, "x/gpu": 1})) is Alignment.FITS
    assert answer(table(given), pod({"cpu": 1000, "x/gpu": 1})) is Alignment.CONTAINER
    assert answer(table(given), pod({"cpu": 1000, "x/gpu": 0})) is Alignment.FITS
    assert answer(table(given, "foo"), pod({"cpu": 1000, "foo": 1})) is Alignment.CONTAINER


def test_a_node_without_zones_takes_what_needs_none() -> None:
    assert answer(table(zones(), "x/gpu"), pod({"x/gpu": 1})) is Alignment.FITS
    assert answer(table(zones(), "x/gpu"), pod({"cpu": 1000})) is Alignment.CONTAINER


@pytest.mark.parametrize(
    ("cpu", "memory", "most", "least", "balanced"),
    [(4000, 500 * MIB, 27, 73, 89), (2000, 50 * MIB, 70, 30, 82), (6000, 60 * MIB, 33, 66, 100)],
)
def test_the_published_example_has_its_scores(cpu: int, memory: int, most: int, least: int, balanced: int) -> None:
    given = zones(*[{"cpu": cpu, "memory": memory}] * 2)
    needs = pod({"cpu": 2000, "memory": 20 * MIB})
    strategies = ("MostAllocated", "LeastAllocated", "BalancedAllocation")
    assert [points(given, needs, one) for one in strategies] == [most, least, balanced]


def test_a_node_has_the_lowest_score_of_a_zone_that_is_not_0() -> None:
    given = zones({"cpu": 1000}, {"cpu": 10_000}, {"cpu": 4000})
    assert points(given, pod({"cpu": 2000}), "MostAllocated") == 20


def test_only_a_guaranteed_pod_tells_nodes_apart_and_a_node_without_a_report_has_0() -> None:
    assert points(None, pod({"cpu": 1000}, qos="Burstable"), "LeastNUMANodes") == 100
    assert points(None, pod({"cpu": 1000}), "LeastNUMANodes") == 0


def test_cpu_is_scored_in_whole_cpus_and_compared_exactly() -> None:
    needs = pod({"cpu": 1500})
    assert points(zones({"cpu": 1500}), needs, "MostAllocated") == 100
    assert points(zones({"cpu": 1499}), needs, "MostAllocated") == 0


def test_amounts_beyond_the_exact_floats_are_scored_exactly() -> None:
    most = 2**53
    assert points(zones({"memory": most}), pod({"memory": most - 1}), "MostAllocated") == 99
    assert points(zones({"memory": most}), pod({"memory": 1}), "LeastAllocated") == 99


def test_fewer_zones_score_higher_and_more_than_the_kubelet_allows_is_an_error() -> None:
    needs = pod({"cpu": 3000})
    assert points(zones({"cpu": 3000}, {"cpu": 3000}), needs, "LeastNUMANodes") == 94
    assert points(zones({"cpu": 2000}, {"cpu": 1000}), needs, "LeastNUMANodes") == 82
    on = table(zones(*[{"cpu": 1000}] * 3, max_zones=2))
    found = score(on, needs, MatchArguments("LeastNUMANodes"))
    assert (found.at(0), found.error(0)) == (
        -25,
        'plugin "NodeResourceTopologyMatch" returns an invalid score -25, '
        "it should in the range of [0, 100] after normalizing",
    )


def test_a_name_in_no_zone_beside_cpu_leaves_nothing_to_score() -> None:
    given = zones({"cpu": 3000})
    assert points(given, pod({"cpu": 1000, "ephemeral-storage": 1}), "LeastNUMANodes") == 0
    assert points(given, pod({"x/y": 1}), "LeastNUMANodes") == 100


def test_34_zones_of_which_any_may_be_needed_are_searched_within_bounds() -> None:
    given = zones(*[{"cpu": 1000}] * 34, max_zones=64)
    assert points(given, pod({"cpu": 17_000}), "LeastNUMANodes") == 100 - 17
    assert points(given, pod({"cpu": 34_000}), "LeastNUMANodes") == 100 - 34
    assert points(given, pod({"cpu": 35_000}), "LeastNUMANodes") == 0


def test_a_search_takes_no_zones_that_have_too_little() -> None:
    """The closest two of three zones have too little together."""
    found = closest_zones([[10, 11, 20], [11, 10, 20], [20, 20, 10]], [0, 1, 2], 2, [([1, 1, 4], 5)], 100)
    assert found == ((0, 2), 60, True)


def test_a_search_that_runs_out_of_steps_is_not_sure() -> None:
    found = closest_zones([[10, 12, 11], [12, 10, 12], [11, 12, 10]], [0, 1, 2], 2, [], 2)
    assert found == ((0, 1), 44, False)


def test_layouts_of_distances_that_no_node_has_are_forgotten() -> None:
    on = table(None)
    for far in range(100):
        near = Zone(0, {"cpu": ZoneAmounts(1000, 1000, 1000)}, {0: 10, 1: far})
        on.put_zones(NodeZones("n", (near, Zone(1, near.resources, {0: far, 1: 10}))))
    [columns] = on
    assert len(columns.distances) <= 16
    assert columns.distances.costs[columns.layouts[0]].tolist() == [[10, 99], [99, 10]]


def test_a_request_beyond_all_machines_fits_nowhere() -> None:
    needs = pod({"memory": 2**63 - 1})
    assert answer(table(zones({"memory": 5})), needs) is Alignment.CONTAINER
    assert points(zones({"memory": 5}), needs, "MostAllocated") == 0


def test_a_table_forgets_a_node_that_is_gone_with_its_report() -> None:
    on = table(zones({"cpu": 1000}))
    on.drop_node("n")
    assert answer(on, pod({"cpu": 1000})) is Alignment.NODE_NOT_FOUND
    on.drop_zones("n")
    assert on.rows == {}
    assert on.put_node("m", ()) == 0
    assert align(on, pod({"cpu": 1000})).at(0) is Alignment.FITS
