"""The order of turns within a cycle: seen by which workload gets the last gpus of a cohort."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from closeknit.decide.decision import Admit
from closeknit.model.cluster_queue import ClusterQueue
from closeknit.model.flavor import Flavor
from closeknit.model.gates import Gates
from closeknit.model.node import Node
from closeknit.model.quota import Cohort, Quota
from closeknit.model.request import Constraint
from closeknit.model.settings import FAIR, Settings
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.model.workload import Workload

from .objects import DEFAULT, GPU, cohort, limited, queue, running, scheduler, workload


def first(
    queues: Iterable[ClusterQueue],
    *workloads: Workload,
    cohorts: Iterable[Cohort] = (),
    fair: bool = False,
    gates: dict[str, bool] | None = None,
) -> list[str]:
    """The names of the workloads admitted in one cycle, in the order of their turns."""
    settings = Settings(FAIR if fair else ())
    built = scheduler(queues, cohorts, gates=Gates.profile("closeknit", gates or {}), settings=settings)
    for one in workloads:
        built.put(one, 0.0)
    return [one.workload.name for one in built.cycle(0.0) if isinstance(one, Admit)]


TWO = [queue("a", 0, "r"), queue("b", 0, "r")]
FOUR = cohort("r", "", 4)


class TestClassical:
    def test_more_important_goes_first(self) -> None:
        ones = [workload("low", "a", 4), workload("high", "b", 4, priority=1, created=9.0)]
        assert first(TWO, *ones, cohorts=[FOUR]) == ["high"]

    def test_of_equals_the_older(self) -> None:
        ones = [workload("new", "a", 4, created=2.0), workload("old", "b", 4, created=1.0)]
        assert first(TWO, *ones, cohorts=[FOUR]) == ["old"]

    def test_less_borrowing_goes_before_higher_priority(self) -> None:
        members = [queue("a", 0, "r"), queue("b", 4, "r")]
        ones = [workload("borrows", "a", 4, priority=9), workload("owns", "b", 4)]
        assert first(members, *ones) == ["owns"]

    def test_borrowing_nearby_is_less_than_borrowing_from_afar(self) -> None:
        """Both need the 4 of cohort m; `near` is below it, `far` only under the root."""
        members = [queue("near", 0, "m"), queue("far", 0, "r")]
        tree = [cohort("m", "r", 4), cohort("r")]
        ones = [workload("from-afar", "far", 4, priority=9), workload("from-nearby", "near", 4)]
        assert first(members, *ones, cohorts=tree) == ["from-nearby"]

    def test_priority_does_not_count_without_its_gate(self) -> None:
        ones = [workload("old", "a", 4, created=1.0), workload("high", "b", 4, priority=1, created=9.0)]
        off = {"PrioritySortingWithinCohort": False}
        assert first(TWO, *ones, cohorts=[FOUR], gates=off) == ["old"]

    @pytest.mark.parametrize("fair", [False, True], ids=["classical", "fair"])
    def test_of_equals_made_in_the_same_second_it_does_not_count_which_queue_came_first(self, fair: bool) -> None:
        ones = [workload("x", "a", 4), workload("y", "b", 4)]
        one, other = (first(queues, *ones, cohorts=[FOUR], fair=fair) for queues in (TWO, TWO[::-1]))
        assert one == other

    @pytest.mark.parametrize("fair", [False, True], ids=["classical", "fair"])
    def test_workloads_that_do_not_compete_are_all_admitted(self, fair: bool) -> None:
        ones = [workload("x", "a", 2), workload("y", "b", 2)]
        assert sorted(first(TWO, *ones, cohorts=[FOUR], fair=fair)) == ["x", "y"]


class TestFair:
    def test_the_smaller_share_goes_first_whatever_the_priority(self) -> None:
        """`a` has borrowed 2 of 8 already."""
        old = running(workload("old", "a", 2))
        ones = [old, workload("rich", "a", 6, priority=9), workload("poor", "b", 6)]
        assert first(TWO, *ones, cohorts=[cohort("r", "", 8)], fair=True) == ["poor"]
        assert first(TWO, *ones, cohorts=[cohort("r", "", 8)]) == ["rich"]

    def test_what_it_asks_for_counts_as_if_it_had_it(self) -> None:
        ones = [workload("large", "a", 4), workload("small", "b", 3, created=9.0)]
        assert first(TWO, *ones, cohorts=[FOUR], fair=True) == ["small"]

    def test_a_weight_makes_a_share_smaller(self) -> None:
        members = [queue("a", 0, "r", weight=2.0), queue("b", 0, "r")]
        ones = [workload("heavy", "a", 4, created=9.0), workload("light", "b", 3)]
        assert first(members, *ones, cohorts=[FOUR], fair=True) == ["heavy"]

    def test_weight_nothing_goes_last(self) -> None:
        members = [queue("a", 0, "r", weight=0.0), queue("b", 0, "r")]
        ones = [workload("none", "a", 1, priority=9), workload("some", "b", 4)]
        assert first(members, *ones, cohorts=[FOUR], fair=True) == ["some"]

    def test_of_equal_shares_the_more_important_then_the_older(self) -> None:
        ones = [workload("low", "a", 4), workload("high", "b", 4, priority=1, created=9.0)]
        assert first(TWO, *ones, cohorts=[FOUR], fair=True) == ["high"]
        ones = [workload("new", "a", 4, created=2.0), workload("old", "b", 4, created=1.0)]
        assert first(TWO, *ones, cohorts=[FOUR], fair=True) == ["old"]

    def test_an_entry_that_does_not_borrow_goes_before_one_that_does_even_with_weight_zero(self) -> None:
        members = [queue("a", 0, "r"), queue("b", 4, "r", weight=0.0)]
        ones = [workload("borrows", "a", 4, priority=9), workload("owns", "b", 4)]
        assert first(members, *ones, fair=True) == ["owns"]

    def test_cohorts_compete_by_their_own_shares(self) -> None:
        """m has borrowed 4 of 12 for another of its queues, so n goes first though its queue asks for more."""
        members = [queue("a", 0, "m"), queue("a2", 0, "m"), queue("b", 0, "n")]
        tree = [cohort("r", "", 12), cohort("m", "r"), cohort("n", "r")]
        ones = [running(workload("old", "a2", 4)), workload("x", "a", 5), workload("y", "b", 6)]
        assert first(members, *ones, cohorts=tree, fair=True) == ["y"]

    def test_trees_and_queues_by_themselves_do_not_touch_each_other(self) -> None:
        members = [queue("a", 0, "r"), queue("b", 4), queue("c", 4, "s")]
        ones = [workload("x", "a", 4), workload("y", "b", 4), workload("z", "c", 4)]
        assert sorted(first(members, *ones, cohorts=[FOUR], fair=True)) == ["x", "y", "z"]

    def test_which_entry_gets_the_last_place_does_not_depend_on_the_order_of_queues(self) -> None:
        """Two queues without a cohort over one host with room for one."""
        served = []
        for order in ("ab", "ba"):
            built = scheduler(
                [queue(name, {"placed": 4}) for name in order],
                flavors=[Flavor("placed", topology="t")],
                topologies=[Topology("t", (HOSTNAME,))],
                settings=Settings(FAIR),
            )
            built.world.put_node(Node("h", {HOSTNAME: "h"}, {GPU: 1, "pods": 9}))
            for name in "ab":
                built.put(workload(f"in-{name}", name, constraint=Constraint(required=HOSTNAME)), 0.0)
            served.append([one.workload.name for one in built.cycle(0.0) if isinstance(one, Admit)])
        assert served[0] == served[1]


def test_a_limit_of_its_own_keeps_a_queue_from_borrowing_what_it_was_offered() -> None:
    members = [queue("a", limited(0, 2), "r"), queue("b", {DEFAULT: Quota(0)}, "r")]
    ones = [workload("held-back", "a", 3, priority=9), workload("free", "b", 3)]
    assert first(members, *ones, cohorts=[FOUR]) == ["free"]
