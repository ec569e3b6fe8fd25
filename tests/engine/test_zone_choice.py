"""Which host gets a pod where several serve: fewest zones, then the nearest ones, then whole zones kept free."""

from __future__ import annotations

import pytest

from closeknit.model.numa import TopologyPolicy
from closeknit.model.request import Constraint

from .zoned import RACK, placed, shape, world, zones

ANYWHERE = Constraint(unconstrained=True)


def test_a_best_effort_host_that_would_spread_a_pod_is_passed_over_although_it_is_tighter() -> None:
    made = world({"a": 2, "b": 8}, zones("a", (1, 1)), zones("b", (4, 4)))
    assert placed(made, shape(2)) == {"b": 1}


def test_without_reports_the_tightest_host_gets_it() -> None:
    assert placed(world({"a": 2, "b": 8}), shape(2)) == {"a": 1}


def test_a_host_that_spreads_a_pod_serves_where_no_other_does() -> None:
    made = world({"a": 2, "b": 8}, zones("a", (1, 1)), zones("b", (4, 4)))
    assert placed(made, shape(2), 4) == {"b": 4}
    assert placed(made, shape(2), 5) == {"a": 1, "b": 4}
    assert placed(made, shape(2, "restricted"), 5) is None


def test_pods_that_pin_nothing_go_where_they_go_without_zones() -> None:
    made = world({"a": 2, "b": 8}, zones("a", (1, 1)), zones("b", (4, 4)))
    assert placed(made, shape(2, guaranteed=False)) == {"a": 1}


@pytest.mark.parametrize("policy", ["best-effort", "restricted"])
def test_a_host_with_larger_zones_is_taken_if_it_needs_fewer(policy: TopologyPolicy) -> None:
    """Three CPUs are more than a zone of `a` has."""
    made = world({"a": 4, "b": 8}, zones("a", (2, 2), size=2, policy=policy), zones("b", (4, 4), policy=policy))
    assert placed(made, shape(3)) == {"b": 1}


def test_pods_are_not_spread_over_racks_for_the_sake_of_zones() -> None:
    hosts = {"a": 2, "b": 2, "c": 1, "d": 2, "e": 1, "f": 1, "g": 2}
    aligned = [zones(name, (2, 0)) for name in "dg"]
    made = world(hosts, zones("a", (1, 1)), zones("b", (1, 1)), *aligned)
    assert placed(made, shape(2), 2, Constraint(preferred=RACK)) == {"a": 1, "b": 1}
    assert placed(made, shape(2), 2, ANYWHERE) == {"d": 1, "g": 1}


def test_of_several_racks_one_without_spread_pods_is_taken() -> None:
    hosts = {"a": 2, "b": 2, "c": 1, "d": 2, "e": 2, "f": 1}
    made = world(hosts, *(zones(name, (1, 1)) for name in "ab"), *(zones(name, (0, 2)) for name in "de"))
    assert placed(made, shape(2), 2) == {"d": 1, "e": 1}


@pytest.mark.parametrize("policy", ["best-effort", "restricted"])
def test_of_equal_hosts_the_one_with_the_nearer_zones_is_taken(policy: TopologyPolicy) -> None:
    far = zones("a", (2, 0, 2, 0), size=2, policy=policy)
    near = zones("b", (2, 0, 2, 0), size=2, policy=policy, near={(0, 2): 12, (2, 0): 12})
    made = world({"a": 4, "b": 4}, far, near)
    assert placed(made, shape(4)) == {"b": 1}
    assert placed(world({"a": 4, "b": 4}), shape(4)) == {"a": 1}


@pytest.mark.parametrize("policy", ["best-effort", "restricted", "single-numa-node"])
def test_of_equal_hosts_the_one_that_keeps_whole_zones_free_is_taken(policy: TopologyPolicy) -> None:
    """Both hold six pods. On `a` the kubelet would break into zone 0, which is wholly free."""
    made = world({"a": 6, "b": 6}, zones("a", (4, 2), policy=policy), zones("b", (3, 3), policy=policy))
    assert placed(made, shape(1)) == {"b": 1}
    assert placed(made, shape(1), 1, ANYWHERE) == {"b": 1}


def test_of_equal_hosts_one_whose_zones_are_unknown_comes_last() -> None:
    assert placed(world({"a": 6, "b": 6}, zones("b", (4, 2))), shape(1)) == {"b": 1}


def test_of_hosts_that_cost_the_same_the_first_is_taken() -> None:
    made = world({"a": 6, "b": 6}, zones("a", (3, 3)), zones("b", (3, 3)))
    assert placed(made, shape(1)) == {"a": 1}


def test_kubelets_that_align_nothing_are_taken_only_where_no_other_serves() -> None:
    made = world({"a": 4, "b": 8}, zones("a", (2, 2), policy="none"), zones("b", (4, 4)))
    assert placed(made, shape(2)) == {"b": 1}
    assert placed(made, shape(2), 6) == {"a": 2, "b": 4}
    alone = world({"a": 4, "b": 8}, zones("a", (2, 2), policy="none"), zones("b", (4, 4), policy="none"))
    assert placed(alone, shape(2)) == {"a": 1}


@pytest.mark.parametrize("kubelet", ["none", "best-effort", "restricted", "single-numa-node"])
@pytest.mark.parametrize("own", ["restricted", "single-numa-node"])
def test_a_policy_of_the_pod_itself_counts_on_every_kubelet(own: TopologyPolicy, kubelet: TopologyPolicy) -> None:
    made = world({"a": 2}, zones("a", (1, 1), policy=kubelet))
    assert placed(made, shape(2, own)) is None
    assert placed(world({"a": 2}, zones("a", (2, 0), policy=kubelet)), shape(2, own)) == (
        None if kubelet == "none" else {"a": 1}
    )
    assert placed(world({"a": 2}), shape(2, own)) == {"a": 1}
