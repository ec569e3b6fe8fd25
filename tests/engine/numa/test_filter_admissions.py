"""Hosts of our own queues in mode compat: the filter of NodeResourceTopologyMatch, one pod after another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from closeknit.engine.numa.filter_admissions import FilterAdmissions
from closeknit.model.container import Container
from closeknit.model.numa import NodeZones, TopologyManager, TopologyPolicy, TopologyScope
from closeknit.model.shape import Shape
from closeknit.numa.admissions import UNLIMITED
from closeknit.numa.admitting import RefusedPod
from closeknit.numa.demand import PodDemand
from closeknit.numa.layout import STATIC
from engine.zoned import GI, placed, shape, world, zones


def admits(node: NodeZones, pods: Shape, most: int = 99) -> int:
    answers = FilterAdmissions()
    number = answers.reported(node, STATIC)
    return int(answers.counts(np.array([number]), PodDemand.of_shape(pods, True), np.array([most]))[0])


def single(*free: int, scope: TopologyScope = "container") -> NodeZones:
    return replace(zones("a", free), manager=TopologyManager("single-numa-node", scope))


def test_each_pod_is_charged_to_every_zone() -> None:
    """Two pods of two CPUs fit into each zone of four, but the third finds nothing in either."""
    assert admits(single(4, 4), shape(2)) == 2
    assert admits(single(4, 2), shape(2)) == 2
    assert admits(single(3, 3), shape(2)) == 1
    assert admits(single(1, 1), shape(2)) == 0


def test_no_more_are_counted_than_are_asked_about_and_later_more() -> None:
    answers = FilterAdmissions()
    numbers = np.array([answers.reported(single(4, 4), STATIC)] * 2)
    demand = PodDemand.of_shape(shape(1), True)
    assert answers.counts(numbers, demand, np.array([1, 0])).tolist() == [1, 0]
    assert answers.counts(numbers, demand, np.array([9, 3])).tolist() == [4, 3]


@pytest.mark.parametrize("policy", ["none", "best-effort", "restricted"])
def test_kubelets_with_other_policies_set_no_limit(policy: TopologyPolicy) -> None:
    assert admits(zones("a", (1, 1), policy=policy), shape(2), UNLIMITED) == UNLIMITED


def test_burstable_pods_need_zones_that_list_what_they_ask_for_but_no_amounts() -> None:
    assert admits(single(1, 1), shape(2, guaranteed=False), 7) == 7
    assert admits(NodeZones("a", (), TopologyManager("single-numa-node")), shape(2, guaranteed=False)) == 0


def test_what_burstable_pods_ask_for_is_charged_all_the_same() -> None:
    answers = FilterAdmissions()
    number = answers.reported(single(4, 4), STATIC)
    number, _ = answers.fill(number, PodDemand.of_shape(shape(3, guaranteed=False), True), 1)
    assert [own["cpu"] for own in answers.free(number).values()] == [1000, 1000]


def test_in_scope_pod_the_overhead_counts() -> None:
    heavy = Shape.of({"cpu": 4500, "memory": GI}, containers=shape(4).containers, overhead={"cpu": 500})
    assert admits(single(4, 4, scope="container"), heavy) == 1
    assert admits(single(4, 4, scope="pod"), heavy) == 0
    assert admits(single(4, 4, scope="pod"), shape(4)) == 1


def test_an_init_container_is_tested_by_itself() -> None:
    """The kubelet would want the app to take the CPU that the init container leaves, which is in the other zone."""
    asks = [{"cpu": cpus * 1000, "memory": GI} for cpus in (1, 4)]
    containers = (Container.of(asks[0], asks[0], "init"), Container.of(asks[1], asks[1]))
    pods = Shape.of(asks[1], containers=containers)
    assert admits(single(3, 4), pods) == 1
    assert placed(world({"a": 7}, single(3, 4), mode="compat"), pods) == {"a": 1}
    assert placed(world({"a": 7}, single(3, 4), mode="strict"), pods) is None


def test_what_was_charged_is_given_back_exactly() -> None:
    answers, demand = FilterAdmissions(), PodDemand.of_shape(shape(3), True)
    number = answers.reported(single(4, 2), STATIC)
    after, given = answers.fill(number, demand, 2)
    assert [own["cpu"] for own in answers.free(after).values()] == [-2000, -4000]
    for one in given:
        after = answers.charge(after, one, -1)
    assert after == number


def test_a_refusal_has_the_words_of_the_plug_in() -> None:
    answers = FilterAdmissions()
    found = answers.admit(answers.reported(single(4, 4), STATIC), PodDemand.of_shape(shape(3), True), 5)
    assert isinstance(found, RefusedPod)
    assert (found.admitted, found.verdict.reason) == (1, "cannot align container")


def test_of_two_readings_only_what_both_have_is_free() -> None:
    answers = FilterAdmissions()
    numbers = [answers.reported(one, STATIC) for one in (single(4, 1), single(2, 3))]
    assert [own["cpu"] for own in answers.free(answers.least_of(numbers)).values()] == [2000, 1000]


def test_pods_of_a_gang_are_charged_to_every_zone_of_their_host() -> None:
    made = world({"a": 8, "b": 8}, single(4, 4), mode="compat")
    assert placed(made, shape(2), 3) == {"b": 3}
    assert placed(made, shape(2), 6) == {"a": 2, "b": 4}
    assert placed(made, shape(2), 7) is None
    assert placed(world({"a": 8, "b": 8}, single(4, 4)), shape(2), 7) == {"a": 4, "b": 3}


def test_a_policy_of_the_pod_itself_is_not_the_plug_ins() -> None:
    assert placed(world({"a": 2}, zones("a", (1, 1)), mode="compat"), shape(2, "restricted")) == {"a": 1}
