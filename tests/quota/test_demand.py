"""What quota counts for a workload: excluded, transformed, less what is done; and what an admission holds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from closeknit.model.quota import UNLIMITED, FlavorResource
from closeknit.model.resources import Resources
from closeknit.model.settings import Settings, Transformation
from closeknit.model.workload import Admission, PodSetAssignment, Status, Workload
from closeknit.quota.demand import Demand, counted, demands, held, sum_requests
from decide.objects import part, workload

ONE = 10**9
GI = 2**30


def done(one: Workload, **pods: int) -> Workload:
    return replace(one, status=replace(one.status, reclaimable=pods))


class TestCounts:
    def test_a_demand_is_so_many_pods_of_a_part(self) -> None:
        (one,) = demands(workload("w", count=3, requests={"gpu": 2, "cpu": 500}), Settings())
        assert (one.name, one.count) == ("main", 3)
        assert one.total == {"gpu": 6, "cpu": 1500}

    def test_pods_that_are_done_are_left_out(self) -> None:
        (one,) = demands(done(workload("w", count=3), main=2), Settings())
        assert (one.count, one.total) == (1, {"gpu": 1})

    def test_unless_the_gate_is_off(self) -> None:
        (one,) = demands(done(workload("w", count=3), main=2), Settings(), reclaim=False)
        assert one.count == 3

    def test_more_done_than_there_are_is_none_left(self) -> None:
        (one,) = demands(done(workload("w", count=3), main=5), Settings())
        assert (one.count, one.total) == (0, {"gpu": 0})

    def test_every_part_has_a_demand_in_order(self) -> None:
        one = workload("w", "a", 0, 0, part("leader", 1), part("workers", 4, 2))
        assert [(each.name, each.count) for each in demands(one, Settings())] == [("leader", 1), ("workers", 4)]

    def test_the_same_demand_for_fewer_pods_asks_as_much_for_each(self) -> None:
        (one,) = demands(workload("w", count=3, requests=2), Settings())
        assert one.of(2).total == {"gpu": 4}
        assert one.of(3) is one

    def test_the_members_of_a_group_are_summed(self) -> None:
        one = part()
        leader = Demand(one.part, one.pod_set, 1, {"cpu": 100, "gpu": 1})
        workers = Demand(one.part, one.pod_set, 3, {"gpu": 2})
        assert sum_requests([leader, workers]) == {"cpu": 100, "gpu": 7}

    def test_huge_sums_stay_at_the_end_of_int64(self) -> None:
        one = part()
        assert sum_requests([Demand(one.part, one.pod_set, 1, {"gpu": UNLIMITED})] * 2) == {"gpu": UNLIMITED}


class TestExcluded:
    def test_resources_with_an_excluded_prefix_are_not_counted(self) -> None:
        settings = Settings(exclude_prefixes=("networking.example.com/", "net"))
        asked = {"gpu": 1, "networking.example.com/vpc": 1, "networks": 2, "inet": 3}
        assert counted(asked, settings) == {"gpu": 1, "inet": 3}

    def test_what_is_excluded_is_not_transformed_either(self) -> None:
        rule = Transformation("gpu", {"credits": 5 * ONE})
        assert counted({"gpu": 1}, Settings(exclude_prefixes=("gpu",), transformations=(rule,))) == {}


TRANSFORMED: list[tuple[str, Transformation, Resources, Resources]] = [
    ("retain", Transformation("gpu", {"credits": 5 * ONE}), {"gpu": 2}, {"gpu": 2, "credits": 10}),
    ("replace", Transformation("gpu", {"credits": 5 * ONE}, retain=False), {"gpu": 2}, {"credits": 10}),
    ("not asked for", Transformation("gpu", {"credits": 5 * ONE}), {"cpu": 2}, {"cpu": 2}),
    ("two outputs", Transformation("mig", {"a": ONE, "b": 5 * ONE}, retain=False), {"mig": 2}, {"a": 2, "b": 10}),
    ("adds up", Transformation("gpu", {"cpu": 2 * ONE}, retain=False), {"gpu": 1, "cpu": 500}, {"cpu": 2500}),
    ("from cpu", Transformation("cpu", {"credits": 3 * ONE}), {"cpu": 2000}, {"cpu": 2000, "credits": 6}),
    ("a part of a unit counts whole", Transformation("cpu", {"c": ONE}, retain=False), {"cpu": 1500}, {"c": 2}),
    ("memory", Transformation("gpu", {"memory": 40 * GI * ONE}, retain=False), {"gpu": 2}, {"memory": 80 * GI}),
    ("times", Transformation("mem", {"m": ONE}, False, multiply_by="gpu"), {"mem": 3, "gpu": 4}, {"gpu": 4, "m": 12}),
    ("times what is not asked for", Transformation("mem", {"m": ONE}, False, "gpu"), {"mem": 3}, {"m": 3}),
    ("never below nothing", Transformation("gpu", {"c": -5 * ONE}), {"gpu": 2, "c": 3}, {"gpu": 2, "c": 3}),
]


@pytest.mark.parametrize(
    ("rule", "asked", "expected"), [row[1:] for row in TRANSFORMED], ids=[row[0] for row in TRANSFORMED]
)
def test_a_transformation_counts_one_resource_as_others(
    rule: Transformation, asked: Resources, expected: Resources
) -> None:
    assert counted(asked, Settings(transformations=(rule,))) == expected


def test_outputs_of_several_inputs_are_summed_before_they_are_floored() -> None:
    rules = (Transformation("a", {"c": 5 * ONE}, retain=False), Transformation("b", {"c": -2 * ONE}, retain=False))
    assert counted({"a": 1, "b": 1}, Settings(transformations=rules)) == {"c": 3}
    assert counted({"b": 1}, Settings(transformations=rules)) == {"c": 0}


def test_without_settings_requests_are_counted_as_they_are() -> None:
    asked = {"gpu": 1}
    assert counted(asked, Settings()) is asked


class TestHeld:
    FR = FlavorResource("default", "gpu")

    def holds(self, count: int, usage: int, spec: int, finished: int = 0) -> int:
        given = PodSetAssignment("main", {"gpu": "default"}, {"gpu": usage}, count)
        one = workload("w", count=spec, requests=99)
        return held(one, Admission("a", (given,)), Status(reclaimable={"main": finished}))[self.FR]

    def test_what_was_stored_counts_not_what_is_asked_for_now(self) -> None:
        assert self.holds(count=4, usage=8, spec=4) == 8

    def test_pods_that_are_done_give_back_their_part(self) -> None:
        assert self.holds(count=4, usage=8, spec=4, finished=1) == 6
        assert self.holds(count=4, usage=8, spec=4, finished=4) == 0

    def test_a_part_that_does_not_divide_is_divided_as_whole_numbers_first(self) -> None:
        assert self.holds(count=3, usage=10, spec=3, finished=1) == 6

    def test_a_partial_admission_releases_only_what_goes_below_its_count(self) -> None:
        assert self.holds(count=2, usage=4, spec=5) == 4
        assert self.holds(count=2, usage=4, spec=5, finished=3) == 4
        assert self.holds(count=2, usage=4, spec=5, finished=4) == 2

    def test_pod_sets_of_one_flavor_are_summed_and_a_resource_without_flavor_is_not_counted(self) -> None:
        one = workload("w", "a", 0, 0, part("leader", 1), part("workers", 2))
        leader = PodSetAssignment("leader", {"gpu": "default"}, {"gpu": 1, "fpga": 3}, 1)
        workers = PodSetAssignment("workers", {"gpu": "default"}, {"gpu": 4}, 2)
        assert held(one, Admission("a", (leader, workers)), Status()) == {self.FR: 5}

    def test_a_pod_set_that_is_no_longer_in_the_spec_still_holds_what_it_was_given(self) -> None:
        given = PodSetAssignment("gone", {"gpu": "default"}, {"gpu": 4}, 2)
        assert held(workload("w"), Admission("a", (given,)), Status()) == {self.FR: 4}
