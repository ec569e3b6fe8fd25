"""Preemption under fair sharing by examples; the cohort has 12, its queues have what each example says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from closeknit.decide.decision import Preempt
from closeknit.model.cluster_queue import ClusterQueue, Preemption
from closeknit.model.gates import Gates
from closeknit.model.quota import Cohort
from closeknit.model.settings import FAIR, FINAL_SHARE, INITIAL_SHARE, Settings
from closeknit.model.workload import Workload

from .objects import cohort, queue, running, scheduler, workload

ANY = Preemption("LowerPriority", "Any")
TWELVE = (cohort("r", "", 12),)


def victims(
    queues: Iterable[ClusterQueue],
    *workloads: Workload,
    cohorts: Iterable[Cohort] = TWELVE,
    rules: tuple[str, ...] = FAIR,
    gates: dict[str, bool] | None = None,
) -> dict[str, str]:
    """The cause by name of the victim."""
    built = scheduler(queues, cohorts, gates=Gates.profile("closeknit", gates or {}), settings=Settings(rules))
    for one in workloads:
        built.put(one, 0.0)
    return {one.victim.name: one.cause.value for one in built.cycle(100.0) if isinstance(one, Preempt)}


def old(name: str, queue: str, count: int, at: float = 0.0, **more: Any) -> Workload:
    return running(workload(name, queue, count, **more), at=at)


def three(**weights: float) -> list[ClusterQueue]:
    """Queues without quota of their own."""
    return [queue(name, 0, "r", preemption=ANY, weight=weights.get(name, 1.0)) for name in "abc"]


class TestFinalShare:
    def test_the_highest_share_gives_if_it_keeps_as_much_as_the_preemptor_gets(self) -> None:
        """8, 4 and nothing become 4, 4 and 4."""
        ones = [old("b1", "b", 4, at=1.0), old("b2", "b", 4, at=2.0), old("c1", "c", 4)]
        assert victims(three(), *ones, workload("w", "a", 4)) == {"b2": "InCohortFairSharing"}

    def test_priority_is_ignored_between_queues_that_may_reclaim_any(self) -> None:
        ones = [old("b1", "b", 4, at=1.0, priority=9), old("b2", "b", 4, priority=8), old("c1", "c", 4)]
        assert victims(three(), *ones, workload("w", "a", 4)) == {"b2": "InCohortFairSharing"}

    def test_a_victim_that_would_leave_its_queue_with_less_than_the_preemptor_gets_is_skipped(self) -> None:
        """6 and 6: without a workload of 4 a queue would keep 2, without one of 2 it keeps the 4 that go to `w`."""
        ones = [old("b1", "b", 2), old("b2", "b", 4, at=2.0), old("c1", "c", 2), old("c2", "c", 4, at=2.0)]
        assert victims(three(), *ones, workload("w", "a", 4), rules=(FINAL_SHARE,)) == {
            "b1": "InCohortFairSharing",
            "c1": "InCohortFairSharing",
        }

    def test_a_weight_of_two_entitles_to_twice_as_much(self) -> None:
        """6 and 6: a newcomer of weight 2 may have 4 although the other keeps only 2."""
        ones = [old("b1", "b", 2), old("b2", "b", 4, at=2.0), old("c1", "c", 6)]
        assert victims(three(a=2.0), *ones, workload("w", "a", 4), rules=(FINAL_SHARE,)) == {
            "b2": "InCohortFairSharing"
        }


class TestInitialShare:
    """One workload of 8 cannot be made smaller: after it nothing is left to its queue."""

    ONES = (old("b1", "b", 8), old("c1", "c", 4))

    def test_by_the_second_rule_it_goes_because_its_queue_has_more_than_the_newcomer_would(self) -> None:
        assert victims(three(), *self.ONES, workload("w", "a", 4)) == {"b1": "InCohortFairSharing"}

    def test_by_the_first_rule_alone_it_stays(self) -> None:
        assert victims(three(), *self.ONES, workload("w", "a", 4), rules=(FINAL_SHARE,)) == {}

    def test_the_second_rule_may_stand_alone(self) -> None:
        one = workload("w", "a", 4)
        assert victims(three(), *self.ONES, one, rules=(INITIAL_SHARE,)) == {"b1": "InCohortFairSharing"}

    def test_not_if_the_newcomer_would_have_as_much(self) -> None:
        ones = [old("b1", "b", 6), old("c1", "c", 6)]
        assert victims(three(), *ones, workload("w", "a", 6)) == {}


class TestNominal:
    def members(self) -> list[ClusterQueue]:
        return [queue("a", 4, "r", preemption=ANY), queue("b", 0, "r"), queue("c", 0, "r")]

    def test_what_is_nominally_its_own_is_taken_back_whatever_the_shares(self) -> None:
        ones = [old("b1", "b", 2), old("c1", "c", 2), workload("w", "a", 4)]
        assert victims(self.members(), *ones, cohorts=()) == {
            "b1": "InCohortReclamation",
            "c1": "InCohortReclamation",
        }

    def test_without_the_gate_shares_decide(self) -> None:
        ones = [old("b1", "b", 2), old("c1", "c", 2), workload("w", "a", 4)]
        assert victims(self.members(), *ones, cohorts=(), gates={"FairSharingPreemptWithinNominal": False}) == {
            "b1": "InCohortFairSharing",
            "c1": "InCohortFairSharing",
        }

    def test_a_queue_within_its_nominal_quota_is_safe(self) -> None:
        members = [queue("a", 0, "r", preemption=ANY), queue("b", 8, "r"), queue("c", 0, "r")]
        ones = [old("b1", "b", 8), old("c1", "c", 4), workload("w", "a", 4)]
        assert victims(members, *ones, cohorts=[cohort("r", "", 4)]) == {}
        ones[-1] = workload("w", "a", 2)
        assert victims(members, *ones, cohorts=[cohort("r", "", 4)]) == {"c1": "InCohortFairSharing"}


class TestOwnQueue:
    def test_the_less_important_of_the_own_queue_goes_when_it_has_most_itself(self) -> None:
        ones = [old("a1", "a", 8), old("c1", "c", 4), workload("w", "a", 4, priority=1)]
        assert victims(three(), *ones) == {"a1": "InClusterQueue"}

    def test_by_its_policy(self) -> None:
        ones = [old("a1", "a", 8, priority=1), old("c1", "c", 4), workload("w", "a", 4, priority=1)]
        assert victims(three(), *ones) == {}


class TestWeightNothing:
    def test_a_borrower_with_weight_zero_gives_first(self) -> None:
        ones = [old("b1", "b", 8), old("c1", "c", 4), workload("w", "a", 4)]
        assert victims(three(c=0.0), *ones) == {"c1": "InCohortFairSharing"}

    def test_and_gets_nothing_from_others(self) -> None:
        ones = [old("b1", "b", 8), old("c1", "c", 4), workload("w", "a", 1)]
        assert victims(three(a=0.0), *ones) == {}


class TestCohorts:
    """Queues a and a2 under m, b under n; shares are compared where the two ways meet."""

    MEMBERS = (
        queue("a", 0, "m", preemption=ANY),
        queue("a2", 0, "m", preemption=ANY),
        queue("b", 0, "n", preemption=ANY),
    )
    TREE = (cohort("r", "", 12), cohort("m", "r"), cohort("n", "r"))

    def test_what_the_rest_of_its_cohort_has_counts_against_the_newcomer(self) -> None:
        """m has 4 and would have 8, n has 8 and would keep 4; by queues, nothing against 8 would be fair."""
        ones = [old("x", "a2", 4), old("b1", "b", 4), old("b2", "b", 4, at=2.0), workload("w", "a", 4)]
        assert victims(self.MEMBERS, *ones, cohorts=self.TREE, rules=(FINAL_SHARE,)) == {}

    def test_within_the_cohort_queues_are_compared(self) -> None:
        ones = [old("x", "a2", 4), old("y", "a2", 4, at=2.0), old("b1", "b", 4), workload("w", "a", 4)]
        assert victims(self.MEMBERS, *ones, cohorts=self.TREE) == {"y": "InCohortFairSharing"}

    def test_a_cohorts_weight_counts_for_all_below_it(self) -> None:
        heavy = (cohort("r", "", 12), cohort("m", "r", weight=2.0), cohort("n", "r"))
        ones = [old("x", "a2", 4), old("b1", "b", 4), old("b2", "b", 4, at=2.0), workload("w", "a", 4)]
        assert victims(self.MEMBERS, *ones, cohorts=heavy, rules=(FINAL_SHARE,)) == {"b2": "InCohortFairSharing"}

    def test_which_of_two_equal_cohorts_gives_does_not_depend_on_which_came_first(self) -> None:
        members = [queue("a", 0, "r", preemption=ANY), queue("b", 0, "m"), queue("c", 0, "n")]
        ones = [old(f"{name}{at}", name, 2, at=float(at)) for name in "bc" for at in (1, 2)]
        trees = ([cohort("r", "", 8), *(cohort(name, "r") for name in order)] for order in ("mn", "nm"))
        one, other = (victims(members, *ones, workload("w", "a", 2), cohorts=tree) for tree in trees)
        assert one == other
