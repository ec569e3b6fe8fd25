"""Properties of counts, against the kubelet that is asked pod by pod."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.model.numa import NodeZones, TopologyManager
from closeknit.numa.admissions import Admissions, RefusedPod
from closeknit.numa.demand import PodDemand
from closeknit.numa.few_counts import FEW
from closeknit.numa.zone_state import ZoneState, amounts, kubelet_of, state_after, state_of_report, with_taken

from .reports import partly_taken, random_demand, random_kind

seeds = st.integers(0, 10**6)
EXAMPLES = settings(max_examples=25, deadline=None)
MOST = 12


def one_by_one(state: ZoneState, demand: PodDemand) -> int:
    kubelet = kubelet_of(state)
    return next((pod for pod in range(MOST) if not kubelet.admit(str(pod), demand).admitted), MOST)


def states_of(draw: Random, count: int, zones: int = 0) -> list[ZoneState]:
    kind = random_kind(draw, zones)
    return [state_of_report(partly_taken(draw, kind)) for _ in range(count)]


@settings(max_examples=12, deadline=None)
@given(seed=seeds)
def test_counts_are_those_of_kubelets_that_are_asked_pod_by_pod(seed: int) -> None:
    """One state alone is counted without arrays, the others together."""
    draw, admissions = Random(seed), Admissions()
    numbers = np.array([admissions.number(state) for state in states_of(draw, FEW + 2)])
    for _ in range(2):
        demand = random_demand(draw, own_policy=True)
        admissions.counts(numbers[:1], demand, np.full(1, MOST))
        found = admissions.counts(numbers, demand, np.full(numbers.size, MOST))
        assert found.tolist() == [one_by_one(admissions.state(number), demand) for number in numbers.tolist()]
        after = [admissions.admit(number, demand) for number in numbers.tolist()]
        pairs = zip(numbers.tolist(), after, strict=True)
        numbers = np.array([was if isinstance(now, RefusedPod) else now[0] for was, now in pairs])


@EXAMPLES
@given(seed=seeds)
def test_a_state_is_the_same_after_a_kubelet_that_admitted_nothing(seed: int) -> None:
    for state in states_of(Random(seed), 3):
        assert state_after(state, kubelet_of(state)) == state


@EXAMPLES
@given(seed=seeds)
def test_what_a_pod_got_can_be_given_back_and_taken_again(seed: int) -> None:
    """Best-effort may give memory of a group of zones to a container of one zone; the group is gone then."""
    draw, admissions = Random(seed), Admissions()
    before = admissions.number(states_of(draw, 1)[0])
    found = admissions.admit(before, random_demand(draw))
    if isinstance(found, RefusedPod):
        return
    was, now = admissions.state(before), admissions.state(found[0])
    assert amounts(with_taken(now, found[1][0], -1)) == amounts(was)
    assert amounts(with_taken(was, found[1][0])) == amounts(now)
    if was.layout.settings.policy != "best-effort":
        assert with_taken(now, found[1][0], -1) == was
        assert with_taken(was, found[1][0]) == now


@EXAMPLES
@given(seed=seeds)
def test_a_pod_of_one_container_finds_no_less_room_where_more_is_free(seed: int) -> None:
    draw, admissions = Random(seed), Admissions()
    kind = random_kind(draw)
    single = NodeZones("n", kind.zones, TopologyManager("single-numa-node"))
    state = state_of_report(partly_taken(draw, single))
    more = with_taken(state, {zone.id: {"cpu": 2000, "memory": 2**30} for zone in kind.zones}, -1)
    demand = PodDemand.of(random_demand(draw).containers[-1:])
    numbers = np.array([admissions.number(one) for one in (state, more)])
    least, most = admissions.counts(numbers, demand)
    assert least <= most
