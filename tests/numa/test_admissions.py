"""What kubelets admit, for many nodes at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from closeknit.model.container import Container
from closeknit.model.numa import NodeZones, TopologyManager, Zone, ZoneAmounts
from closeknit.numa.admissions import MOST_PODS, UNLIMITED, Admissions, RefusedPod
from closeknit.numa.demand import PodDemand
from closeknit.numa.zone_state import state_of_report

from .machines import GI, container, pod


def node(*free: int, policy: Any = "single-numa-node", far: int = 20) -> NodeZones:
    """Zones of 16 CPUs and 64 Gi with so many CPUs free."""
    zones = tuple(
        Zone(
            at,
            {"cpu": ZoneAmounts(16000, 16000, cpus * 1000), "memory": ZoneAmounts(64 * GI, 64 * GI, 64 * GI)},
            {other: 10 if other == at else far for other in range(len(free))},
        )
        for at, cpus in enumerate(free)
    )
    return NodeZones("n", zones, TopologyManager(policy))


def counts(demand: PodDemand, *nodes: NodeZones, at_most: Any = None) -> list[int]:
    admissions = Admissions()
    numbers = np.array([admissions.number(state_of_report(one)) for one in nodes])
    found: list[int] = admissions.counts(numbers, demand, at_most).tolist()
    return found


def test_each_zone_holds_pods_of_its_own() -> None:
    assert counts(pod(container(6)), node(16, 13), node(5, 5), node(16, 13)) == [4, 0, 4]


def test_best_effort_admits_what_the_node_has_wherever_it_is() -> None:
    demand = PodDemand.of([Container.of({"cpu": 6000, "memory": GI}, {"cpu": 6000, "memory": GI})])
    assert counts(demand, node(9, 9, policy="best-effort"), node(9, 9)) == [3, 2]


@pytest.mark.parametrize(("policy", "expected"), [("single-numa-node", 2), ("restricted", 2), (None, 3)])
def test_a_pod_may_ask_for_more_than_its_kubelet_insists_on(policy: Any, expected: int) -> None:
    demand = PodDemand.of(pod(container(6)).containers, policy=policy)
    assert counts(demand, node(9, 9, policy="best-effort")) == [expected]


def test_a_kubelet_without_a_policy_sets_no_limit_and_can_promise_nothing() -> None:
    asking = PodDemand.of(pod(container(6)).containers, policy="restricted")
    assert counts(pod(container(6)), node(1, 1, policy="none")) == [UNLIMITED]
    assert counts(asking, node(16, 16, policy="none")) == [0]


def test_a_pod_that_pins_nothing_is_not_limited() -> None:
    assert counts(PodDemand.of([Container.of({"cpu": 6000})]), node(1, 1)) == [UNLIMITED]


def test_no_more_are_counted_than_asked_for_and_more_when_asked_again() -> None:
    admissions = Admissions()
    numbers = np.array([admissions.number(state_of_report(node(16, 16)))] * 2)
    assert admissions.counts(numbers, pod(container(2)), np.array([3, 0])).tolist() == [3, 0]
    assert admissions.counts(numbers, pod(container(2)), np.array([100, -1])).tolist() == [16, 0]


def test_a_pod_of_one_byte_is_counted_up_to_what_a_kubelet_can_run() -> None:
    one = {"cpu": 500, "memory": 1}
    assert counts(PodDemand.of([Container.of(one, one)]), node(1, 1)) == [MOST_PODS]


def test_memory_that_no_zone_lists_is_refused() -> None:
    one = {"cpu": 500, "memory": 1, "hugepages-1Gi": GI}
    assert counts(PodDemand.of([Container.of(one, one)]), node(1, 1)) == [0]


def test_a_pod_that_is_admitted_tells_what_it_got() -> None:
    admissions = Admissions()
    found = admissions.admit(admissions.number(state_of_report(node(4, 16))), pod(container(6)), 2)
    assert not isinstance(found, RefusedPod)
    after, got = found
    assert [one.by_zone for one in got] == [{1: {"cpu": 6000, "memory": GI}}] * 2
    assert admissions.state(after).cpus == (4, 4)


def test_a_refusal_tells_how_many_were_admitted_before_it() -> None:
    admissions = Admissions()
    found = admissions.admit(admissions.number(state_of_report(node(4, 16))), pod(container(6)), 3)
    assert isinstance(found, RefusedPod)
    assert (found.admitted, found.verdict.reason) == (2, "TopologyAffinityError")


def test_an_own_policy_that_is_not_kept_is_named() -> None:
    admissions = Admissions()
    number = admissions.number(state_of_report(node(9, 9, policy="best-effort")))
    found = admissions.admit(number, PodDemand.of(pod(container(12)).containers, policy="single-numa-node"))
    assert isinstance(found, RefusedPod)
    assert found.verdict.message == (
        "The pod asks for single-numa-node; the node's kubelet with the policy best-effort would spread the pod's "
        "resources over more zones"
    )


def test_states_that_are_not_kept_are_forgotten_and_their_numbers_mean_others() -> None:
    admissions, demand = Admissions(), pod(container(6))
    one, other = (admissions.number(state_of_report(node(free, 0))) for free in (16, 12))
    assert admissions.counts(np.array([one, other]), demand).tolist() == [2, 2]
    admissions.keep(np.array([other]))
    again = admissions.number(state_of_report(node(6, 0)))
    assert again == one
    assert admissions.counts(np.array([again, other]), demand).tolist() == [1, 2]


def test_cost_is_zones_then_distance_then_zones_that_were_unused() -> None:
    admissions = Admissions()
    nodes = [node(9, 9, policy="best-effort"), node(16, 9), node(9, 9, policy="best-effort", far=30), node(1, 1)]
    numbers = np.array([admissions.number(state_of_report(one)) for one in nodes])
    cost = admissions.cost(numbers, pod(container(9), container(9)))
    assert cost.zones.tolist() == [2, 2, 2, -1]
    assert cost.distance.tolist() == [15, 15, 20, 0]
    assert cost.broken.tolist() == [0, 1, 0, 0]
