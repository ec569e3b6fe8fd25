from __future__ import annotations

import pytest

from closeknit.model.quantity import INT64_MAX, INT64_MIN
from closeknit.model.quota import (
    UNLIMITED,
    FlavorQuotas,
    FlavorResource,
    Quota,
    ResourceGroup,
    minus,
    plus,
    quotas,
)


@pytest.mark.parametrize(
    ("left", "right", "sum_"),
    [
        (2, 3, 5),
        (2, -3, -1),
        (UNLIMITED, -5, UNLIMITED),
        (-5, UNLIMITED, UNLIMITED),
        (UNLIMITED, UNLIMITED, UNLIMITED),
        (INT64_MAX - 1, 5, INT64_MAX),
        (INT64_MIN, -1, INT64_MIN),
    ],
)
def test_a_sum_with_an_unlimited_part_is_unlimited_and_any_other_saturates(left: int, right: int, sum_: int) -> None:
    assert plus(left, right) == sum_


@pytest.mark.parametrize(
    ("left", "right", "rest"),
    [
        (5, 3, 2),
        (3, 5, -2),
        (UNLIMITED, 5, UNLIMITED),
        (UNLIMITED, UNLIMITED, 0),
        (5, UNLIMITED, INT64_MIN),
        (INT64_MIN, 1, INT64_MIN),
    ],
)
def test_unlimited_stays_so_whatever_is_taken_from_it_but_itself(left: int, right: int, rest: int) -> None:
    assert minus(left, right) == rest


def test_quotas_come_in_the_order_of_groups_flavors_and_resources() -> None:
    groups = (
        ResourceGroup(("cpu", "memory"), (FlavorQuotas("spot", {"cpu": Quota(1), "memory": Quota(2)}),)),
        ResourceGroup(("gpu",), (FlavorQuotas("a100", {"gpu": Quota(3)}), FlavorQuotas("h100", {"gpu": Quota(4)}))),
    )
    assert list(quotas(groups)) == [
        (FlavorResource("spot", "cpu"), Quota(1)),
        (FlavorResource("spot", "memory"), Quota(2)),
        (FlavorResource("a100", "gpu"), Quota(3)),
        (FlavorResource("h100", "gpu"), Quota(4)),
    ]


def test_a_quota_without_limits_borrows_and_lends_everything() -> None:
    assert Quota(4) == Quota(4, borrowing=None, lending=None)
