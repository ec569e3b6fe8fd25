"""The quick filling without sorting gives what walking the sorted list gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closeknit.engine import fill as module
from closeknit.engine.fill import DomainRoom, DomainShare, fill, fill_in_order

pairs = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 30)), min_size=1, max_size=40)


def walked(count: list[int], tie: list[int], need: int, ascending: bool) -> DomainShare | None:
    counts, ties = np.array(count), np.array(tie)
    order = np.lexsort((ties, counts if ascending else -counts))
    nobody = np.zeros(len(counts), dtype=np.int64)
    return fill_in_order(order, DomainRoom(counts, counts, nobody, None), need, 0, tight=not ascending)


def plain(share: DomainShare | None) -> dict[int, int] | None:
    if share is None:
        return None
    return {at: amount for at, amount in zip(share.at.tolist(), share.amount.tolist(), strict=True) if amount}


@pytest.mark.parametrize("small", [0, 2048], ids=["counting", "sorting"])
@given(rows=pairs, need=st.integers(0, 120), ascending=st.booleans())
def test_both_ways_of_filling_agree(small: int, rows: list[tuple[int, int]], need: int, ascending: bool) -> None:
    count, tie = [c for c, _ in rows], [t for _, t in rows]
    before = module.SMALL
    module.SMALL = small
    try:
        quick = fill(np.array(count), np.array(tie), need, ascending)
    finally:
        module.SMALL = before
    assert plain(quick) == plain(walked(count, tie, need, ascending))


@given(rows=pairs, need=st.integers(1, 120), ascending=st.booleans())
def test_what_is_filled_adds_up_and_no_domain_gets_more_than_it_holds(
    rows: list[tuple[int, int]], need: int, ascending: bool
) -> None:
    count = np.array([c for c, _ in rows])
    share = fill(count, count, need, ascending)
    if share is None:
        assert count.sum() < need
    else:
        assert share.amount.sum() == need
        assert (share.amount <= count[share.at]).all()
        assert (np.diff(share.at) > 0).all()


def test_the_worked_example() -> None:
    count = np.array([4, 2, 3, 2])
    assert plain(fill(count, count, 6, ascending=False)) == {0: 4, 1: 2}
    assert plain(fill(count, count, 6, ascending=True)) == {1: 2, 2: 2, 3: 2}
    assert plain(fill(count, count, 6, ascending=False, tight=False)) == {0: 4, 2: 2}
