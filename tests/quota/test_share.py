"""Dominant shares, in thousandths of what the parent could give."""

from __future__ import annotations

from itertools import combinations

import pytest

from closeknit.model.quantity import INT64_MAX
from closeknit.model.quota import FlavorResource, Quota
from closeknit.quota.share import Share, share_of
from closeknit.quota.tree import QuotaTree
from decide.objects import ON_DEFAULT as FR
from decide.objects import cohort, limited, queue

CPU, MEM = FlavorResource("default", "cpu"), FlavorResource("default", "memory")


def lent(weight: float = 1.0, cpu: int = 0, memory: int = 0) -> Share:
    """The share of a queue without quota that holds this, in a cohort that has 10 cpus and 20 of memory."""
    both = {"default": {"cpu": Quota(10), "memory": Quota(20)}}
    none = {"default": {"cpu": Quota(0), "memory": Quota(0)}}
    tree = QuotaTree([queue("lender", both, "r"), queue("a", none, "r", weight=weight)])
    tree.add("a", {CPU: cpu, MEM: memory})
    return share_of(tree.queues["a"])


def test_a_share_is_what_was_borrowed_in_thousandths_of_what_can_be_lent() -> None:
    share = lent(cpu=3)
    assert (share.ratio, share.resource, share.rounded) == (300.0, "cpu", 300)


def test_the_resource_with_the_largest_part_dominates() -> None:
    assert lent(cpu=1, memory=6).resource == "memory"
    assert lent(cpu=4, memory=6).resource == "cpu"


def test_of_equal_parts_the_first_name_dominates() -> None:
    share = lent(cpu=2, memory=4)
    assert (share.ratio, share.resource) == (200.0, "cpu")


def test_a_queue_within_its_nominal_quota_has_no_share() -> None:
    tree = QuotaTree([queue("a", 5, "r"), queue("b", 5, "r")])
    tree.add("a", {FR: 5})
    share = share_of(tree.queues["a"])
    assert (share.rounded, share.borrowing) == (0, False)


def test_a_root_and_a_queue_by_itself_have_no_share() -> None:
    tree = QuotaTree([queue("a", 5), queue("b", 0, "r")], [cohort("r", "", 2)])
    tree.add("a", {FR: 50})
    tree.add("b", {FR: 50})
    assert share_of(tree.queues["a"]).rounded == 0
    assert share_of(tree.cohorts["r"]).rounded == 0


def test_usage_to_come_counts_as_if_it_were_there() -> None:
    tree = QuotaTree([queue("a", 4, "r"), queue("b", 6, "r")])
    tree.add("a", {FR: 4})
    assert share_of(tree.queues["a"], {FR: 2}).ratio == 200.0
    assert share_of(tree.queues["a"]).ratio == 0.0


def test_a_weight_divides_the_share() -> None:
    assert lent(weight=2.0, cpu=3).rounded == 150
    assert lent(weight=0.5, cpu=3).rounded == 600


def test_a_share_is_shown_rounded_up() -> None:
    assert lent(weight=7.0, cpu=1).rounded == 15


def test_flavors_of_one_resource_are_summed() -> None:
    quotas = {"spot": {"cpu": Quota(4)}, "fixed": {"cpu": Quota(6)}}
    nothing = {"spot": {"cpu": Quota(0)}, "fixed": {"cpu": Quota(0)}}
    tree = QuotaTree([queue("lender", quotas, "r"), queue("a", nothing, "r")])
    tree.add("a", {FlavorResource("spot", "cpu"): 1, FlavorResource("fixed", "cpu"): 1})
    assert share_of(tree.queues["a"]).ratio == 200.0


def test_what_can_be_lent_is_what_the_parent_could_have_at_most() -> None:
    tree = QuotaTree([queue("a", 0, "m"), queue("c", 10, "r")], [cohort("m", "r", limited(0, 4)), cohort("r")])
    tree.add("a", {FR: 2})
    assert share_of(tree.queues["a"]).ratio == 500.0
    assert share_of(tree.cohorts["m"]).ratio == 200.0


def test_where_nothing_can_be_lent_borrowing_shows_without_a_ratio() -> None:
    tree = QuotaTree([queue("a", 0, "r"), queue("b", 0, "r")])
    tree.add("a", {FR: 3})
    share = share_of(tree.queues["a"])
    assert (share.ratio, share.borrowing, share.rounded) == (0.0, True, 0)


class TestZeroWeight:
    def test_any_borrowing_is_infinitely_much(self) -> None:
        share = lent(weight=0.0, cpu=1)
        assert share.infinite
        assert share.rounded == INT64_MAX

    def test_no_borrowing_is_nothing(self) -> None:
        share = lent(weight=0.0)
        assert not share.infinite
        assert share.rounded == 0

    def test_two_that_are_infinite_compare_by_what_they_borrowed(self) -> None:
        assert lent(weight=0.0, cpu=1) < lent(weight=0.0, cpu=2)
        assert lent(weight=0.0, cpu=2) == lent(weight=0.0, memory=4)

    def test_infinite_is_more_than_any_other(self) -> None:
        assert lent(weight=0.001, cpu=10) < lent(weight=0.0, cpu=1)


ORDERED = [
    Share(0.0),
    Share(100.0, 2.0),
    Share(100.0),
    Share(90.0, 0.5),
    Share(1.0, 0.0),
    Share(2.0, 0.0),
]


@pytest.mark.parametrize(("less", "more"), list(combinations(ORDERED, 2)))
def test_shares_are_in_order(less: Share, more: Share) -> None:
    assert less < more
    assert more > less
    assert less != more


def test_equal_shares_are_equal_whatever_they_come_from() -> None:
    assert Share(100.0, 2.0, "cpu") == Share(50.0, 1.0, "memory")
    assert Share(0.0, 0.0) == Share(0.0, 3.0)
    assert hash(Share(100.0, 2.0)) == hash(Share(50.0, 1.0))
