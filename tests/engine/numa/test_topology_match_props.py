"""Filter and score of all nodes at once are those of each node by itself."""

from __future__ import annotations

from random import Random
from typing import get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.engine.numa import least_zones
from closeknit.engine.numa.topology_match import align, score
from closeknit.engine.numa.zone_table import ZoneTable
from closeknit.model.container import QoS
from closeknit.model.numa import NodeZones
from closeknit.model.numa_arguments import MatchArguments, ScoringStrategy

from .problems import node, offered, pod
from .reference import filtered, scored

SEEDS = st.integers(0, 2**32)


@settings(max_examples=120, deadline=None)
@given(SEEDS, st.sampled_from(get_args(QoS)))
def test_the_filter_answers_as_for_each_node_alone(seed: int, qos: QoS) -> None:
    random = Random(seed)
    table, needs = ZoneTable(), pod(random, qos)
    nodes = [(node(random, f"n{number}"), offered(random)) for number in range(8)]
    for zones, names in nodes:
        table.put_zones(zones)
        table.put_node(zones.node, names)
    found = align(table, needs)
    for zones, names in nodes:
        assert found.at(table.rows[zones.node]).reason == filtered(zones, names, needs)


@settings(max_examples=120, deadline=None)
@given(SEEDS, st.sampled_from(get_args(ScoringStrategy)))
def test_the_score_is_that_of_each_node_alone(seed: int, strategy: ScoringStrategy) -> None:
    random = Random(seed)
    table, needs = ZoneTable(), pod(random, "Guaranteed")
    weights = {name: random.randint(0, 5) for name in ("cpu", "memory", "x/gpu") if random.random() < 0.5}
    nodes = [node(random, f"n{number}") for number in range(8)]
    for zones in nodes:
        table.put_zones(zones)
    found = score(table, needs, MatchArguments(strategy, weights))
    for zones in nodes:
        assert found.at(table.rows[zones.node]) == scored(zones, needs, strategy, weights)


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_a_search_with_bounds_finds_what_a_list_of_all_combinations_finds(seed: int) -> None:
    random = Random(seed)
    table, needs = ZoneTable(), pod(random, "Guaranteed")
    for number in range(8):
        table.put_zones(node(random, f"n{number}", 7))
    listed = score(table, needs, MatchArguments("LeastNUMANodes")).values
    before, least_zones.MOST_COMBINATIONS = least_zones.MOST_COMBINATIONS, 0
    try:
        searched = score(table, needs, MatchArguments("LeastNUMANodes")).values
    finally:
        least_zones.MOST_COMBINATIONS = before
    assert searched.tolist() == listed.tolist()


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_a_table_that_changed_is_one_that_was_built_new(seed: int) -> None:
    random = Random(seed)
    table, needs = ZoneTable(), pod(random, "Guaranteed")
    current: dict[str, NodeZones] = {}
    names = {f"n{number}": offered(random) for number in range(6)}
    for _ in range(30):
        name = random.choice(sorted(names))
        if random.random() < 0.25:
            current.pop(name, None)
            table.drop_zones(name)
        else:
            current[name] = node(random, name, 3)
            table.put_zones(current[name])
            table.put_node(name, names[name])
    new = ZoneTable()
    for name, zones in current.items():
        new.put_node(name, names[name])
        new.put_zones(zones)
    for strategy in get_args(ScoringStrategy):
        left, right = (score(one, needs, MatchArguments(strategy)) for one in (table, new))
        assert {key: left.at(table.rows[key]) for key in current} == {key: right.at(new.rows[key]) for key in current}
    fits, again = align(table, needs), align(new, needs)
    assert {key: fits.at(table.rows[key]) for key in current} == {key: again.at(new.rows[key]) for key in current}
