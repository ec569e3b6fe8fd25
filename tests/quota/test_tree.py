"""Quota in a tree, by examples that can be worked out in the head; all amounts are of one flavor and resource."""

from __future__ import annotations

import sys

import pytest

from closeknit.model.quantity import INT64_MIN
from closeknit.model.quota import UNLIMITED, FlavorResource
from closeknit.quota.tree import MOST_LEVELS, QuotaNode, QuotaTree
from decide.objects import ON_DEFAULT as FR
from decide.objects import cohort, limited, queue


def used(tree: QuotaTree, **amounts: int) -> QuotaTree:
    for name, amount in amounts.items():
        tree.add(name, {FR: amount})
    return tree


def left(tree: QuotaTree, name: str) -> int:
    return tree.queues[name].available(FR)


def usage(node: QuotaNode) -> int:
    return node.usage.get(FR, 0)


def two(a: tuple[int | None, ...], b: tuple[int | None, ...], root: int = 0) -> QuotaTree:
    """Two queues of one cohort; each with nominal quota and, if given, borrowing and lending limits."""
    members = [queue(name, limited(*given), "r") for name, given in (("a", a), ("b", b))]
    return QuotaTree(members, [cohort("r", "", root)])


class TestWithoutCohort:
    def test_a_queue_by_itself_has_what_it_was_given(self) -> None:
        tree = QuotaTree([queue("a", 5)])
        assert left(used(tree, a=3), "a") == 2
        assert tree.queues["a"].potentially_available(FR) == 5

    def test_quota_that_was_taken_away_leaves_debt(self) -> None:
        assert left(used(QuotaTree([queue("a", 5)]), a=8), "a") == -3

    def test_a_flavor_that_the_queue_does_not_have_has_no_quota(self) -> None:
        node = QuotaTree([queue("a", 5)]).queues["a"]
        assert node.available(FlavorResource("other", "gpu")) == 0
        assert node.potentially_available(FlavorResource("other", "gpu")) == 0

    def test_it_never_borrows_and_its_height_is_nothing(self) -> None:
        node = used(QuotaTree([queue("a", 5)]), a=8).queues["a"]
        assert node.borrowing_height(FR, 9) == (0, False)


class TestBorrowing:
    def test_a_cohort_has_what_its_members_lend_and_its_own_on_top(self) -> None:
        tree = two((5,), (2,), root=3)
        assert tree.cohorts["r"].subtree[FR] == 10
        assert tree.queues["b"].potentially_available(FR) == 10

    def test_what_one_member_uses_the_others_cannot_have(self) -> None:
        tree = used(two((5,), (2,)), a=4)
        assert (left(tree, "a"), left(tree, "b")) == (3, 3)

    def test_a_borrowing_limit_caps_what_may_be_used_beyond_nominal(self) -> None:
        tree = two((5,), (2, 1))
        assert tree.queues["b"].potentially_available(FR) == 3
        assert left(tree, "b") == 3
        assert left(used(tree, b=2), "b") == 1

    def test_a_borrowing_limit_of_nothing_leaves_nominal_quota(self) -> None:
        assert left(two((5,), (2, 0)), "b") == 2

    def test_usage_beyond_nominal_quota_is_borrowed(self) -> None:
        tree = used(two((5,), (2,)), b=3)
        assert tree.queues["b"].is_borrowing(FR)
        assert not tree.queues["b"].within_nominal([FR])
        assert not tree.queues["a"].borrows_with(FR, 5)
        assert tree.queues["a"].borrows_with(FR, 6)


class TestLending:
    def test_what_is_kept_is_invisible_to_the_others(self) -> None:
        tree = two((5, None, 2), (0,))
        assert tree.queues["a"].local[FR] == 3
        assert tree.cohorts["r"].subtree[FR] == 2
        assert (left(tree, "a"), left(tree, "b")) == (5, 2)

    def test_what_is_kept_is_used_first_and_does_not_show_above(self) -> None:
        tree = used(two((5, None, 2), (0,)), a=3)
        assert usage(tree.cohorts["r"]) == 0
        assert left(tree, "b") == 2
        used(tree, a=1)
        assert usage(tree.cohorts["r"]) == 1
        assert (left(tree, "a"), left(tree, "b")) == (1, 1)

    def test_giving_back_empties_what_spilled_over_first(self) -> None:
        tree = used(two((5, None, 2), (0,)), a=5)
        assert usage(tree.cohorts["r"]) == 2
        tree.remove("a", {FR: 1})
        assert usage(tree.cohorts["r"]) == 1
        tree.remove("a", {FR: 3})
        assert (usage(tree.cohorts["r"]), usage(tree.queues["a"])) == (0, 1)

    def test_nothing_is_lent_at_a_limit_of_nothing(self) -> None:
        tree = two((5, None, 0), (0,))
        assert (left(tree, "a"), left(tree, "b")) == (5, 0)

    def test_a_cohort_may_keep_part_of_what_its_members_lend_it(self) -> None:
        tree = QuotaTree(
            [queue("a", 5, "m"), queue("b", 0, "r")],
            [cohort("r"), cohort("m", "r", limited(1, None, 2))],
        )
        assert tree.cohorts["m"].subtree[FR] == 6
        assert tree.cohorts["m"].local[FR] == 4
        assert tree.cohorts["r"].subtree[FR] == 2
        assert (left(tree, "a"), left(tree, "b")) == (6, 2)

    def test_a_cohort_that_may_lend_more_than_it_has_keeps_nothing(self) -> None:
        tree = QuotaTree([queue("a", 1, "m")], [cohort("r"), cohort("m", "r", limited(1, None, 9))])
        assert tree.cohorts["m"].local[FR] == 0
        assert tree.cohorts["r"].subtree[FR] == 2


class TestDebt:
    def test_debt_of_one_member_shows_to_all_even_to_one_that_neither_borrows_nor_lends_what_it_lacks(self) -> None:
        tree = used(two((2,), (3, 0)), a=4)
        assert left(tree, "b") == 1
        used(tree, a=4)
        assert left(tree, "b") == -3

    def test_debt_also_reaches_a_queue_that_lends_nothing(self) -> None:
        tree = used(two((2,), (3, 0, 0)), a=4)
        assert left(tree, "b") == 1


class TestDepth:
    """`a` and `b` under m, `c` beside m under the root r."""

    def tree(self) -> QuotaTree:
        return QuotaTree(
            [queue("a", 1, "m"), queue("b", 2, "m"), queue("c", 4, "r")], [cohort("m", "r", 1), cohort("r")]
        )

    def test_heights_count_the_cohorts_on_the_longest_way_down(self) -> None:
        tree = self.tree()
        assert (tree.queues["a"].height, tree.cohorts["m"].height, tree.cohorts["r"].height) == (0, 1, 2)

    def test_a_request_borrows_as_high_as_the_first_cohort_that_has_quota_for_it(self) -> None:
        node = self.tree().queues["a"]
        assert node.borrowing_height(FR, 1) == (0, True)
        assert node.borrowing_height(FR, 4) == (1, True)
        assert node.borrowing_height(FR, 5) == (2, False)
        assert node.borrowing_height(FR, 99) == (2, False)

    def test_what_is_kept_does_not_count_as_borrowed_from_above(self) -> None:
        tree = QuotaTree([queue("a", limited(3, None, 1), "m"), queue("b", 1, "m")], [cohort("m", "r", 0), cohort("r")])
        assert tree.queues["a"].borrowing_height(FR, 4) == (1, True)
        assert tree.queues["a"].borrowing_height(FR, 5) == (2, False)

    def test_a_cohorts_borrowing_limit_holds_for_its_members_together(self) -> None:
        tree = QuotaTree(
            [queue("a", 1, "m"), queue("b", 1, "m"), queue("c", 9, "r")],
            [cohort("m", "r", limited(0, 3)), cohort("r")],
        )
        assert left(tree, "a") == 5
        assert left(used(tree, b=4), "a") == 1

    def test_paths_start_at_the_root(self) -> None:
        assert self.tree().queues["b"].path == "/r/m/b"

    def test_queues_below_a_node_and_its_ancestors_are_found(self) -> None:
        tree = self.tree()
        assert {one.name for one in tree.cohorts["r"].queues()} == {"a", "b", "c"}
        assert [one.name for one in tree.queues["a"].ancestors] == ["m", "r"]
        assert tree.queues["a"].root is tree.cohorts["r"]


class TestNames:
    def test_a_cohort_that_is_only_named_is_a_root_without_quota_of_its_own(self) -> None:
        tree = QuotaTree([queue("a", 5, "r")])
        assert tree.cohorts["r"].subtree == {FR: 5}
        assert tree.cohorts["r"].parent is None

    def test_so_is_one_that_only_another_cohort_names(self) -> None:
        tree = QuotaTree([queue("a", 5, "m")], [cohort("m", "r")])
        assert tree.queues["a"].path == "/r/m/a"

    def test_a_cohort_and_a_queue_may_have_one_name(self) -> None:
        tree = QuotaTree([queue("x", 5, "x")])
        assert tree.queues["x"].parent is tree.cohorts["x"]

    def test_queues_below_a_cycle_of_cohorts_are_cut_off_and_the_others_keep_their_quota(self) -> None:
        tree = QuotaTree(
            [queue("a", 5, "m"), queue("b", 5, "below"), queue("c", 5, "r")],
            [cohort("m", "n"), cohort("n", "m"), cohort("below", "n"), cohort("r", "", 1)],
        )
        assert tree.cyclic == {"a", "b"}
        assert tree.rootless == {"m", "n", "below"}
        assert left(tree, "c") == 6

    def test_a_cohort_that_is_its_own_parent_is_a_cycle(self) -> None:
        assert QuotaTree([queue("a", 5, "m")], [cohort("m", "m")]).cyclic == {"a"}

    def test_usage_of_a_deleted_queue_is_ignored(self) -> None:
        tree = used(QuotaTree([queue("a", 5)]), gone=3)
        tree.remove("gone", {FR: 3})
        assert left(tree, "a") == 5


class TestUnlimited:
    def test_unlimited_quota_is_never_used_up(self) -> None:
        tree = used(QuotaTree([queue("a", UNLIMITED)]), a=10**15)
        assert left(tree, "a") == UNLIMITED
        assert tree.queues["a"].potentially_available(FR) == UNLIMITED

    def test_a_cohort_with_an_unlimited_member_is_unlimited(self) -> None:
        tree = used(two((UNLIMITED,), (1,)), a=5)
        assert tree.cohorts["r"].subtree[FR] == UNLIMITED
        assert left(tree, "b") == UNLIMITED

    def test_with_any_lending_limit_all_of_it_is_kept(self) -> None:
        """What is kept is unlimited less the limit: unlimited; what is lent is unlimited less that: nothing."""
        tree = two((UNLIMITED, None, 4), (1,))
        assert tree.queues["a"].local[FR] == UNLIMITED
        assert left(tree, "b") == 1

    def test_a_borrowing_limit_bounds_what_is_borrowed_of_it(self) -> None:
        assert left(two((UNLIMITED,), (1, 3)), "b") == 4

    def test_a_request_for_unlimited_quota_does_not_borrow(self) -> None:
        assert not two((UNLIMITED,), (1,)).queues["a"].borrows_with(FR, 10**18)

    def test_what_an_unlimited_queue_keeps_for_itself_stays_unlimited_in_use(self) -> None:
        tree = used(two((UNLIMITED, None, 4), (1,)), a=7)
        assert tree.queues["a"].local_available(FR) == UNLIMITED
        assert left(tree, "a") == UNLIMITED

    def test_a_bounded_amount_less_an_unlimited_one_is_the_smallest_there_is(self) -> None:
        tree = used(QuotaTree([queue("a", 5)]), a=UNLIMITED)
        assert left(tree, "a") < 0
        assert left(tree, "a") >= INT64_MIN


class TestRollback:
    def test_a_rollback_restores_amounts_and_takes_away_keys_that_were_new(self) -> None:
        tree = used(two((5, None, 2), (1,)), a=1)
        mark = tree.checkpoint()
        used(tree, a=4, b=1)
        tree.remove("a", {FR: 5})
        tree.rollback(mark)
        assert tree.queues["a"].usage == {FR: 1}
        assert tree.queues["b"].usage == {}
        assert tree.cohorts["r"].usage == {}

    def test_checkpoints_nest(self) -> None:
        tree = two((5,), (1,))
        outer = tree.checkpoint()
        used(tree, a=1)
        inner = tree.checkpoint()
        used(tree, a=2)
        tree.rollback(inner)
        assert usage(tree.queues["a"]) == 1
        tree.rollback(outer)
        assert usage(tree.queues["a"]) == 0

    def test_what_is_committed_stays(self) -> None:
        tree = used(two((5,), (1,)), a=1)
        tree.commit()
        tree.rollback(tree.checkpoint())
        assert usage(tree.queues["a"]) == 1

    @pytest.mark.parametrize("amount", [0, 3])
    def test_nothing_and_something_taken_and_given_back_leave_what_was_there(self, amount: int) -> None:
        tree = used(two((5, None, 2), (1,)), a=2, b=1)
        before = [usage(node) for node in (tree.queues["a"], tree.queues["b"], tree.cohorts["r"])]
        tree.add("a", {FR: amount})
        tree.remove("a", {FR: amount})
        assert [usage(node) for node in (tree.queues["a"], tree.queues["b"], tree.cohorts["r"])] == before


def chain(length: int) -> QuotaTree:
    """Cohorts c1 (the root) to c<length>, with the queue `top` in c1, `last` in c64 and `deep` in the last one."""
    cohorts = [cohort(f"c{level}", f"c{level - 1}" if level > 1 else "") for level in range(1, length + 1)]
    members = [queue("top", 2, "c1"), queue("last", 3, f"c{min(length, MOST_LEVELS)}"), queue("deep", 5, f"c{length}")]
    return QuotaTree(members, cohorts)


class TestDeepChains:
    def test_queues_of_the_deepest_level_allowed_share_quota_with_the_root(self) -> None:
        tree = used(chain(MOST_LEVELS), deep=4)
        assert left(tree, "top") == 6
        assert tree.queues["top"].potentially_available(FR) == 10
        assert tree.cohorts["c1"].height == MOST_LEVELS
        assert not tree.too_deep

    def test_cohorts_below_the_deepest_level_are_cut_off_and_the_others_keep_their_quota(self) -> None:
        tree = chain(5000)
        assert set(tree.too_deep) == {f"c{level}" for level in range(MOST_LEVELS + 1, 5001)}
        assert tree.cut_off == {"deep"}
        assert left(tree, "top") == 5
        assert left(tree, "deep") == 5

    def test_a_queue_of_a_cohort_that_is_too_deep_has_no_cohort(self) -> None:
        assert chain(MOST_LEVELS + 1).queues["deep"].parent is None

    def test_no_walk_of_the_tree_uses_a_frame_per_level(self) -> None:
        """Depth is limited, and yet no walk may rely on it: the interpreter's own limit may be lower."""
        tree = chain(MOST_LEVELS)
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(depth() + MOST_LEVELS // 2)
        try:
            rebuilt = chain(MOST_LEVELS)
            found = [one.name for one in rebuilt.cohorts["c1"].queues()]
            rest = rebuilt.queues["deep"].available(FR), tree.queues["deep"].potentially_available(FR)
        finally:
            sys.setrecursionlimit(limit)
        assert found == ["top", "deep", "last"]
        assert rest == (10, 10)


def depth() -> int:
    """The number of frames on the stack."""
    frame, count = sys._getframe(), 0
    while frame is not None:
        frame, count = frame.f_back, count + 1  # type: ignore[assignment]
    return count
