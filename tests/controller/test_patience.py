"""Cycles that come to nothing are repeated for a while, and then no more."""

from __future__ import annotations

from itertools import count, cycle, islice

from closeknit.controller.patience import MOST, SAME, Patience


def test_the_same_answer_a_few_times_in_a_row_is_enough() -> None:
    patience = Patience()
    for _ in range(SAME):
        patience.fruitless("a waits")
        assert not patience.is_over
    patience.fruitless("a waits")
    assert patience.is_over


def test_answers_that_take_turns_are_enough_at_last_and_that_is_told_once() -> None:
    patience = Patience()
    told = [patience.fruitless(one) for one in islice(cycle("ab"), MOST + 2)]
    assert patience.is_over
    assert told == [False] * (MOST + 1) + [True]
    assert not patience.fruitless("a")


def test_as_long_as_there_is_somebody_new_to_look_at_there_is_no_end() -> None:
    patience = Patience()
    for number in islice(count(), 10 * MOST):
        patience.fruitless(f"{number} waits")
    assert not patience.is_over


def test_a_change_is_worth_another_try_and_no_news_that_it_came_to_nothing_again() -> None:
    patience = Patience()
    for one in islice(cycle("ab"), MOST + 2):
        patience.fruitless(one)
    patience.renew()
    assert not patience.is_over
    assert not any(patience.fruitless(one) for one in islice(cycle("ab"), MOST + 2))
    assert patience.is_over


def test_after_a_cycle_that_brought_something_about_it_is_news_again() -> None:
    patience = Patience()
    for one in islice(cycle("ab"), MOST + 2):
        patience.fruitless(one)
    patience.fruitful()
    assert not patience.is_over
    assert [patience.fruitless(one) for one in islice(cycle("ab"), MOST + 2)][-1]
