"""Cycles without effect are repeated a few times, and then stop."""

from __future__ import annotations

from itertools import count, cycle, islice

from closeknit.controller.cycle_backoff import MOST, SAME, CycleBackoff


def test_the_same_answer_a_few_times_in_a_row_is_enough() -> None:
    patience = CycleBackoff()
    for _ in range(SAME):
        patience.fruitless("a waits")
        assert not patience.is_over
    patience.fruitless("a waits")
    assert patience.is_over


def test_alternating_outcomes_end_cycles_and_that_is_reported_once() -> None:
    patience = CycleBackoff()
    reported = [patience.fruitless(one) for one in islice(cycle("ab"), MOST + 2)]
    assert patience.is_over
    assert reported == [False] * (MOST + 1) + [True]
    assert not patience.fruitless("a")


def test_cycles_go_on_while_new_workloads_are_tried() -> None:
    patience = CycleBackoff()
    for number in islice(count(), 10 * MOST):
        patience.fruitless(f"{number} waits")
    assert not patience.is_over


def test_a_change_is_worth_another_try_and_no_news_that_it_came_to_nothing_again() -> None:
    patience = CycleBackoff()
    for one in islice(cycle("ab"), MOST + 2):
        patience.fruitless(one)
    patience.renew()
    assert not patience.is_over
    assert not any(patience.fruitless(one) for one in islice(cycle("ab"), MOST + 2))
    assert patience.is_over


def test_after_a_cycle_that_brought_something_about_it_is_news_again() -> None:
    patience = CycleBackoff()
    for one in islice(cycle("ab"), MOST + 2):
        patience.fruitless(one)
    patience.fruitful()
    assert not patience.is_over
    assert [patience.fruitless(one) for one in islice(cycle("ab"), MOST + 2)][-1]
