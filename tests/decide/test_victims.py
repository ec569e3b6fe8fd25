"""Classical preemption by examples: which workloads may be preempted, in which order, and which are spared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from closeknit.decide.decision import Preempt, Wait
from closeknit.model.cluster_queue import BorrowWithinCohort, ClusterQueue, Preemption
from closeknit.model.quota import Cohort
from closeknit.model.workload import Workload

from .objects import cohort, limited, queue, running, scheduler, workload

LOWER = Preemption("LowerPriority")
NEWER = Preemption("LowerOrNewerEqualPriority")
ANY = Preemption("Never", "Any")
RECLAIM_LOWER = Preemption("Never", "LowerPriority")


def victims(queues: Iterable[ClusterQueue], *workloads: Workload, cohorts: Iterable[Cohort] = ()) -> dict[str, str]:
    """The cause by name of the victim."""
    built = scheduler(queues, cohorts)
    for one in workloads:
        built.put(one, 0.0)
    return {one.victim.name: one.cause.value for one in built.cycle(100.0) if isinstance(one, Preempt)}


def old(name: str, queue: str = "a", count: int = 4, at: float = 0.0, **more: Any) -> Workload:
    return running(workload(name, queue, count, **more), at=at)


def evicted(one: Workload) -> Workload:
    return replace(one, status=one.status.condition("Evicted", True, "Preempted", "", 1.0))


class TestOwnQueue:
    def test_the_less_important_goes(self) -> None:
        assert victims([queue("a", 4, preemption=LOWER)], old("x"), workload("w", count=4, priority=1)) == {
            "x": "InClusterQueue"
        }

    @pytest.mark.parametrize("policy", [LOWER, NEWER, Preemption()], ids=["lower", "newer", "never"])
    def test_the_more_important_never_does(self, policy: Preemption) -> None:
        ones = [old("x", priority=2, created=50.0), workload("w", count=4, priority=1)]
        assert victims([queue("a", 4, preemption=policy)], *ones) == {}

    def test_nothing_is_preempted_where_the_policy_is_never(self) -> None:
        assert victims([queue("a", 4)], old("x"), workload("w", count=4, priority=1)) == {}

    @pytest.mark.parametrize(
        ("policy", "created", "goes"),
        [(LOWER, 50.0, False), (NEWER, 50.0, True), (NEWER, 10.0, False), (NEWER, 5.0, False)],
        ids=["equal", "newer equal", "as old", "older"],
    )
    def test_of_equals_only_the_newer_and_only_by_its_policy(
        self, policy: Preemption, created: float, goes: bool
    ) -> None:
        ones = [old("x", created=created), workload("w", count=4, created=10.0)]
        assert bool(victims([queue("a", 4, preemption=policy)], *ones)) is goes

    def test_no_more_than_needed_and_the_least_important_first(self) -> None:
        ones = [old("x", count=2, priority=1), old("y", count=2, priority=0), workload("w", count=2, priority=9)]
        assert set(victims([queue("a", 4, preemption=LOWER)], *ones)) == {"y"}

    def test_of_equals_the_one_admitted_last_then_the_smaller_uid(self) -> None:
        members = [queue("a", 4, preemption=LOWER)]
        ones = [old("x", count=2, at=1.0), old("y", count=2, at=2.0), workload("w", count=2, priority=9)]
        assert set(victims(members, *ones)) == {"y"}
        ones = [old("x", count=2, uid="2"), old("y", count=2, uid="1"), workload("w", count=2, priority=9)]
        assert set(victims(members, *ones)) == {"y"}

    def test_a_workload_being_evicted_goes_before_all_others(self) -> None:
        leaving = evicted(old("leaving", count=2, priority=5))
        built = scheduler([queue("a", 4, preemption=LOWER)])
        for one in (leaving, old("x", count=2), workload("w", count=2, priority=9)):
            built.put(one, 0.0)
        (wait,) = built.cycle(0.0)
        assert isinstance(wait, Wait)
        assert [one.name for one in wait.victims] == ["leaving"]

    def test_a_victim_that_is_not_needed_is_spared(self) -> None:
        """`x` is taken first but gives too little; with `y` gone, `x` can stay."""
        ones = [old("x", count=1, priority=0), old("y", count=3, priority=1), workload("w", count=3, priority=9)]
        assert set(victims([queue("a", 4, preemption=LOWER)], *ones)) == {"y"}

    def test_if_all_candidates_are_not_enough_nothing_is_preempted(self) -> None:
        ones = [old("x", count=2), old("y", count=2, priority=9), workload("w", count=4, priority=5)]
        assert victims([queue("a", 4, preemption=LOWER)], *ones) == {}

    def test_a_workload_that_uses_nothing_needed_stays(self) -> None:
        both = {"default": {"gpu": 4, "cpu": 4}}
        ones = [
            old("cpus", count=4, requests={"cpu": 1}),
            running(workload("gpus", count=4, priority=1)),
            workload("w", count=4, priority=9),
        ]
        assert set(victims([queue("a", both, preemption=LOWER)], *ones)) == {"gpus"}


class TestReclaim:
    """`b` has borrowed what is nominally `a`'s."""

    def members(self, policy: Preemption, nominal: int = 4) -> list[ClusterQueue]:
        return [queue("a", nominal, "r", preemption=policy), queue("b", 0, "r")]

    def test_what_was_lent_is_taken_back_whatever_the_priority(self) -> None:
        ones = [old("x", "b", priority=9), workload("w", count=4)]
        assert victims(self.members(ANY), *ones) == {"x": "InCohortReclamation"}

    def test_unless_only_the_less_important_may_go(self) -> None:
        assert victims(self.members(RECLAIM_LOWER), old("x", "b", priority=9), workload("w", count=4)) == {}
        ones = [old("x", "b", priority=0), workload("w", count=4, priority=1)]
        assert victims(self.members(RECLAIM_LOWER), *ones) == {"x": "InCohortReclamation"}

    @pytest.mark.parametrize("policy", [LOWER, Preemption("Never", "")], ids=["never", "not given"])
    def test_without_a_policy_nothing_is_taken_back(self, policy: Preemption) -> None:
        assert victims(self.members(policy), old("x", "b"), workload("w", count=4)) == {}

    def test_a_queue_within_its_nominal_quota_is_safe(self) -> None:
        members = [queue("a", 4, "r", preemption=ANY), queue("b", 4, "r"), queue("c", 0, "r")]
        ones = [old("own", "b", 4), old("borrowed", "c", 4), workload("w", count=4)]
        assert set(victims(members, *ones)) == {"borrowed"}

    def test_no_more_is_taken_from_a_queue_than_it_has_borrowed(self) -> None:
        """`b` has 2 and uses 6: after one victim of 4 it borrows nothing, and its other workload is safe."""
        members = [queue("a", 6, "r", preemption=ANY), queue("b", 2, "r")]
        ones = [old("large", "b", 4, at=2.0), old("small", "b", 2, at=1.0), workload("w", count=7)]
        assert victims(members, *ones) == {}
        ones[-1] = workload("w", count=6)
        assert set(victims(members, *ones)) == {"large"}

    def test_others_go_before_the_own_queue(self) -> None:
        members = [queue("a", 8, "r", preemption=Preemption("LowerPriority", "Any")), queue("b", 0, "r")]
        ones = [old("own", "a", 4), old("foreign", "b", 4, priority=5), workload("w", count=4, priority=9)]
        assert victims(members, *ones) == {"foreign": "InCohortReclamation"}

    def test_another_tree_is_out_of_reach(self) -> None:
        members = [queue("a", 4, "r", preemption=ANY), queue("b", 0, "s")]
        ones = [old("own", "a", 4, priority=9), old("x", "b", 4), workload("w", count=4, priority=5)]
        assert victims(members, *ones) == {}

    def test_a_workload_in_a_stopped_queue_is_not_taken(self) -> None:
        members = [queue("a", 4, "r", preemption=ANY), queue("b", 0, "r", stop="Hold")]
        assert victims(members, old("x", "b"), workload("w", count=4)) == {}


class TestWhileBorrowing:
    """`a` has 2 of the cohort's 6; its newcomer asks for 4 and so would borrow; `b` has borrowed 4."""

    def run(self, borrow: BorrowWithinCohort, theirs: int = 0, mine: int = 1) -> dict[str, str]:
        policy = Preemption("Never", "Any", borrow)
        members = [queue("a", 2, "r", preemption=policy), queue("b", 0, "r")]
        ones = [old("x", "b", 4, priority=theirs), workload("w", count=4, priority=mine)]
        return victims(members, *ones, cohorts=[cohort("r", "", 4)])

    def test_it_is_forbidden_by_default(self) -> None:
        assert self.run(BorrowWithinCohort()) == {}

    def test_the_less_important_may_be_taken_if_a_policy_says_so(self) -> None:
        assert self.run(BorrowWithinCohort("LowerPriority")) == {"x": "InCohortReclaimWhileBorrowing"}

    def test_the_equally_important_may_not(self) -> None:
        assert self.run(BorrowWithinCohort("LowerPriority"), theirs=1) == {}

    @pytest.mark.parametrize(("bound", "goes"), [(0, False), (1, True)])
    def test_nor_one_above_the_threshold(self, bound: int, goes: bool) -> None:
        assert bool(self.run(BorrowWithinCohort("LowerPriority", bound), theirs=1, mine=5)) is goes

    def test_a_request_within_nominal_quota_reclaims_even_from_higher_priority(self) -> None:
        policy = Preemption("Never", "Any", BorrowWithinCohort("LowerPriority", 0))
        members = [queue("a", 4, "r", preemption=policy), queue("b", 0, "r")]
        ones = [old("x", "b", 4, priority=9), workload("w", count=4)]
        assert victims(members, *ones) == {"x": "InCohortReclamation"}


class TestHierarchy:
    """`a` under m, `near` beside it, `far` under n; m and n under the root."""

    def members(self, policy: Preemption, a: int = 0) -> list[ClusterQueue]:
        return [queue("a", a, "m", preemption=policy), queue("near", 0, "m"), queue("far", 0, "n")]

    def tree(self, m: int) -> list[Cohort]:
        return [cohort("m", "r", m), cohort("n", "r"), cohort("r")]

    def test_what_belongs_to_the_own_cohort_is_taken_back_from_another(self) -> None:
        ones = [old("x", "far", 4, priority=9), workload("w", count=4)]
        assert victims(self.members(ANY), *ones, cohorts=self.tree(4)) == {"x": "InCohortReclamation"}

    def test_within_the_cohort_it_has_no_advantage(self) -> None:
        ones = [old("x", "near", 4, priority=9), workload("w", count=4)]
        assert victims(self.members(ANY), *ones, cohorts=self.tree(4)) == {}

    def test_a_cohort_that_stays_within_its_own_is_safe_though_one_of_its_queues_borrows(self) -> None:
        members = [
            queue("a", 4, "m", preemption=ANY),
            queue("far", 0, "n"),
            queue("lender", 4, "n"),
            queue("c", 0, "r"),
        ]
        ones = [old("inside", "far", 4), old("outside", "c", 4, priority=9), workload("w", count=4)]
        assert set(victims(members, *ones, cohorts=[cohort("m", "r"), cohort("n", "r")])) == {"outside"}

    def test_what_a_queue_does_not_lend_does_not_have_to_be_taken_back(self) -> None:
        members = [queue("a", limited(4, None, 0), "m", preemption=ANY), queue("far", 0, "n")]
        ones = [old("x", "far", 2), workload("w", count=4)]
        assert victims(members, *ones, cohorts=[cohort("m", "r"), cohort("n", "r"), cohort("r", "", 2)]) == {}
