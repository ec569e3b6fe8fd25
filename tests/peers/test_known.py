from __future__ import annotations

from typing import Any

from peers.known import (
    LEFT_BEHIND,
    SEVERAL,
    WALK,
    driven_out_again,
    explanation,
    explanation_of_order,
    is_at_once,
    is_back,
    is_old,
    is_tie,
)
from peers.marks import Mark, marks, order
from peers.views import steady, view


def waiting(reason: str, **more: Any) -> dict[str, Any]:
    condition = {"type": "QuotaReserved", "status": "False", "reason": reason, "message": "a text"}
    spec = {"podSets": [{"name": "main", "count": 2}], "priority": 1}
    return {"spec": spec, "status": {"conditions": [condition], **more}}


def test_a_reason_in_kueues_event_but_not_in_its_status_is_explained() -> None:
    theirs, ours = view(waiting("TopologyPlacementFailed")), view(waiting("NoMatchingFlavor"))
    assert explanation(theirs, ours, ["TopologyPlacementFailed", "NoMatchingFlavor"]) == LEFT_BEHIND
    assert explanation(theirs, ours, ["TopologyPlacementFailed"]) is None


def test_a_message_that_kueue_wrote_at_another_time_is_explained() -> None:
    theirs, ours = view(waiting("WaitingForQuota")), view(waiting("NoMatchingFlavor"))
    assert explanation(theirs, ours, ["WaitingForQuota"], walks=True) == WALK
    assert explanation(theirs, ours, ["WaitingForQuota"]) is None
    elsewhere = view(waiting("NoMatchingFlavor", unhealthyNodes=[{"name": "a"}]))
    assert explanation(theirs, elsewhere, [], walks=True) is None


def test_nothing_but_the_reason_is_explained_so() -> None:
    theirs = view(waiting("TopologyPlacementFailed", unhealthyNodes=[{"name": "a"}]))
    assert explanation(theirs, view(waiting("NoMatchingFlavor")), ["NoMatchingFlavor"]) is None
    assert explanation(None, view(waiting("NoMatchingFlavor")), ["NoMatchingFlavor"]) is None


def test_waiting_for_something_else_is_no_change() -> None:
    assert steady(waiting("WaitingForQuota")) == steady(waiting("ExceedsMaxQuota"))
    assert view(waiting("WaitingForQuota")) != view(waiting("ExceedsMaxQuota"))


def test_admissions_are_in_order_by_queue_and_evictions_are_not() -> None:
    happened = [Mark("q", "b", "reserves"), Mark("q", "a", "reserves"), Mark("q", "d", "is evicted")]
    happened += [Mark("q", "c", "is evicted"), Mark("p", "e", "reserves")]
    assert order(happened) == {"p reserves": ["e"], "q is evicted": ["c", "d"], "q reserves": ["b", "a"]}


def test_a_condition_that_comes_to_be_true_is_a_mark_once() -> None:
    before = waiting("WaitingForQuota")
    after = {
        "status": {"admission": {"clusterQueue": "q"}, "conditions": [{"type": "QuotaReserved", "status": "True"}]}
    }
    assert marks("a", before, after) == [Mark("q", "a", "reserves")]
    assert marks("a", after, after) == []


def test_after_several_evictions_the_same_may_happen_in_another_order() -> None:
    theirs = {"q is evicted": ["a", "b"], "q reserves": ["a", "c"]}
    assert explanation_of_order(theirs, {**theirs, "q reserves": ["c", "a"]}) == SEVERAL
    assert explanation_of_order(theirs, {**theirs, "q reserves": ["c"]}) is None
    assert explanation_of_order({"q reserves": ["a", "c"]}, {"q reserves": ["c", "a"]}) is None


def test_which_of_two_workloads_admitted_in_one_second_is_evicted_is_chance() -> None:
    before = [Mark("q", "a", "reserves", "12:00:01"), Mark("q", "b", "reserves", "12:00:01")]
    later = [before[0], Mark("q", "b", "reserves", "12:00:02")]
    a, b = Mark("q", "a", "is evicted"), Mark("q", "b", "is evicted")
    assert is_tie([([*before, a], 2), ([*before, b], 2)])
    assert is_tie([([*later, a], 2), ([*before, b], 2)])
    assert not is_tie([([*later, a], 2), ([*later, b], 2)])
    assert not is_tie([([*before, a], 2), ([*before, a], 2)])
    assert not is_tie([([*before, a], 2), (before, 2)])


def test_which_of_two_admissions_in_one_second_is_written_first_is_chance() -> None:
    def side(*jobs: str, at: str = "12:00:01") -> list[Mark]:
        return [Mark("q", "z", "is evicted"), *(Mark("q", job, "reserves", at) for job in jobs)]

    apart = [Mark("q", "z", "is evicted"), Mark("q", "a", "reserves", "1"), Mark("q", "b", "reserves", "2")]
    assert is_at_once([apart, side("b", "a")])
    assert is_at_once([side("b", "a"), apart])
    assert not is_at_once([side("a", "b"), side("a", "b")]), "nothing to explain"
    assert not is_at_once([apart, [apart[0], apart[2], apart[1]]]), "each in a second of its own"
    assert not is_at_once([side("a", "b"), side("b")])
    assert not is_at_once([side("a", "b"), side("b", "a", at="")[1:]])


def test_one_more_that_was_driven_out_and_is_back_in_its_place_is_chance_too() -> None:
    def holds(**conditions: str) -> dict[str, Any]:
        said = [{"type": kind, "status": status, "reason": "r"} for kind, status in conditions.items()]
        return view({**waiting("-"), "status": {"admission": {"clusterQueue": "q"}, "conditions": said}})

    theirs, ours = holds(QuotaReserved="True", Evicted="False", Requeued="True"), holds(QuotaReserved="True")
    assert is_back(theirs, ours)
    assert not is_back(ours, ours)
    assert not is_back(holds(QuotaReserved="True", Admitted="False"), ours)
    order_of_ours = {"q is evicted": ["a", "b"], "q reserves": ["a"]}
    more = {"p is evicted": ["c"], "p reserves": ["c"], **order_of_ours}
    assert explanation_of_order(more, order_of_ours, {"c"}) == SEVERAL
    assert explanation_of_order(more, order_of_ours) is None
    assert explanation_of_order({"p is evicted": ["c"], "q is evicted": ["a"]}, {"q is evicted": ["a"]}, {"c"}) is None


def test_a_workload_evicted_twice_on_one_side_and_pending_on_both_is_chance_too() -> None:
    def out(by: str) -> dict[str, Any]:
        evicted = {"type": "Evicted", "status": "True", "reason": "Preempted", "message": f"to accommodate {by}"}
        waits = waiting("WaitingForQuota")
        waits["status"]["conditions"].append(evicted)
        return view(waits)

    assert is_back(out("one"), out("another"))
    assert not is_back(out("one"), out("one"))
    assert not is_back(out("one"), view({**waiting("-"), "status": {"admission": {"clusterQueue": "q"}}}))
    once = {"q is evicted": ["a", "b"], "q reserves": ["a"]}
    twice = {"q is evicted": ["a", "b", "b"], "q reserves": ["b", "a"]}
    assert explanation_of_order(once, twice, {"b"}) == SEVERAL
    assert explanation_of_order(once, twice) is None


def test_one_side_may_evict_a_returned_workload_again_where_the_other_evicts_another() -> None:
    """Both are in their places in the end; the one evicted on both sides is equal."""
    theirs = {"p is evicted": ["c"], "p reserves": ["c"], "q is evicted": ["a", "b"], "q reserves": ["new", "b"]}
    ours = {"q is evicted": ["a", "b", "b"], "q reserves": ["b", "new", "b"]}
    assert driven_out_again(theirs, ours) == {"b"}
    assert explanation_of_order(theirs, ours, {"c"} | driven_out_again(theirs, ours)) == SEVERAL
    assert explanation_of_order(theirs, ours, {"c"}) is None
    lost = {**ours, "q reserves": ["b", "b"]}
    assert explanation_of_order(theirs, lost, {"c"} | driven_out_again(theirs, lost)) is None


def test_an_explained_eviction_is_not_reported_again_when_the_workload_continues() -> None:
    def holds(**conditions: str) -> dict[str, Any]:
        said = [{"type": kind, "status": status, "reason": "r"} for kind, status in conditions.items()]
        return view({**waiting("-"), "status": {"admission": {"clusterQueue": "q"}, "conditions": said}})

    accepted = holds(QuotaReserved="True", Evicted="False"), holds(QuotaReserved="True")
    over = holds(QuotaReserved="True", Evicted="False", Finished="True"), holds(QuotaReserved="True", Finished="True")
    assert is_old(accepted, accepted)
    assert is_old(accepted, over)
    assert not is_old(None, over)
    assert not is_old(accepted, (over[0], accepted[1]))
