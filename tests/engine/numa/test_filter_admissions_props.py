"""The pods that hosts hold in mode compat, against the plug-in's own cache and filter, pod by pod."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.engine.numa.filter_admissions import FilterAdmissions
from closeknit.engine.numa.outcome import Alignment
from closeknit.engine.numa.topology_match import align
from closeknit.engine.numa.zone_table import ZoneTable
from closeknit.model.numa import SINGLE, NodeZones
from closeknit.model.numa_arguments import MatchArguments
from closeknit.numa.demand import PodDemand
from closeknit.numa.layout import STATIC
from closeknit.numa.pod_needs import PodNeeds
from closeknit.state.numa.over_reserve import OverReserveCache
from closeknit.state.numa.zoned_pod import ZonedPod
from numa.reports import NAMES, partly_taken, random_demand, random_kind

MOST = 12


def one_by_one(node: NodeZones, needs: PodNeeds) -> int:
    """Reserve pods as long as the filter passes them."""
    cache = OverReserveCache(MatchArguments(), ["default-scheduler"], [node])
    for number in range(MOST):
        left, table = cache.view(node.node).zones, ZoneTable()
        assert left is not None
        table.put_node(node.node, NAMES)
        table.put_zones(left)
        if align(table, needs).at(0) is not Alignment.FITS:
            return number
        cache.reserve(node.node, ZonedPod("default", str(number), str(number), needs, node.node))
    return MOST


@given(st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None)
def test_a_host_holds_the_pods_that_the_filter_passes_one_after_another(draw: Random) -> None:
    kinds = [partly_taken(draw, random_kind(draw)) for _ in range(draw.randint(1, 4))]
    nodes = [
        replace(one, manager=replace(one.manager, policy=draw.choice((SINGLE, one.manager.policy)))) for one in kinds
    ]
    demand = random_demand(draw)
    demand = replace(PodDemand.of(demand.containers), overhead=draw.choice(((), (("cpu", 500),))))
    answers = FilterAdmissions()
    numbers = np.array([answers.reported(one, STATIC) for one in nodes])
    needs = PodNeeds(demand.containers, demand.qos, demand.overhead)
    counts = answers.counts(numbers, demand, np.full(len(nodes), MOST))
    assert counts.tolist() == [one_by_one(one, needs) for one in nodes]
