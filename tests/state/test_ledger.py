"""Holdings live: assumed, confirmed, and gone."""

from __future__ import annotations

import pytest

from closeknit.model.quota import FlavorResource
from closeknit.model.workload import Workload
from closeknit.state.ledger import Holding, HoldingStage, Ledger

GPU = FlavorResource("default", "gpu")


def holding(name: str, queue: str = "a", amount: int = 1, since: float = 0.0) -> Holding:
    return Holding(Workload("ns", name), queue, {GPU: amount}, since=since)


def test_what_is_assumed_counts_at_once() -> None:
    ledger = Ledger()
    ledger.assume(holding("w"))
    assert "ns/w" in ledger
    assert ledger.is_assumed("ns/w")
    assert list(ledger.of("a")) == ["ns/w"]
    assert ledger.get("ns/w") is ledger.of("a")["ns/w"]


def test_what_the_cluster_shows_takes_the_place_of_what_was_assumed() -> None:
    ledger = Ledger()
    ledger.assume(holding("w", "a", amount=1))
    ledger.confirm(holding("w", "b", amount=2))
    known = ledger.get("ns/w")
    assert known is not None
    assert (known.stage, known.queue, known.usage) == (HoldingStage.CONFIRMED, "b", {GPU: 2})
    assert not ledger.of("a")
    assert list(ledger.of("b")) == ["ns/w"]


def test_an_assumption_that_never_came_true_expires() -> None:
    ledger = Ledger()
    ledger.assume(holding("w"))
    gone = ledger.expire("ns/w")
    assert gone is not None
    assert gone.key == "ns/w"
    assert "ns/w" not in ledger
    assert not ledger.of("a")


def test_what_is_confirmed_does_not_expire() -> None:
    ledger = Ledger()
    ledger.confirm(holding("w"))
    assert ledger.expire("ns/w") is None
    assert "ns/w" in ledger


def test_no_workload_is_admitted_twice() -> None:
    ledger = Ledger()
    ledger.assume(holding("w"))
    with pytest.raises(AssertionError, match="ns/w is admitted twice"):
        ledger.assume(holding("w", "b"))
    ledger.confirm(holding("w"))
    with pytest.raises(AssertionError, match="ns/w is admitted twice"):
        ledger.assume(holding("w"))


def test_after_a_release_it_may_be_admitted_again() -> None:
    ledger = Ledger()
    ledger.confirm(holding("w"))
    assert ledger.release("ns/w") is not None
    assert ledger.release("ns/w") is None
    ledger.assume(holding("w"))
    assert ledger.is_assumed("ns/w")


def test_assumptions_older_than_a_time_are_found_and_confirmed_holdings_are_not() -> None:
    ledger = Ledger()
    ledger.assume(holding("old", since=10.0))
    ledger.assume(holding("new", since=30.0))
    ledger.confirm(holding("seen", since=5.0))
    assert [one.key for one in ledger.assumed_before(20.0)] == ["ns/old"]


def test_the_generation_of_a_queue_moves_when_something_is_taken_out_or_seen_but_not_when_it_is_assumed() -> None:
    ledger = Ledger()
    ledger.assume(holding("w"))
    assert ledger.generation.get("a", 0) == 0
    ledger.confirm(holding("w"))
    seen = ledger.generation["a"]
    assert seen > 0
    ledger.release("ns/w")
    assert ledger.generation["a"] > seen
    assert "b" not in ledger.generation
