"""One pending queue: its head, and its parked workloads."""

from __future__ import annotations

from typing import Any

from closeknit.model.cluster_queue import Strategy
from closeknit.model.gates import Gates
from closeknit.model.settings import Settings
from closeknit.queue.pending_queue import PendingQueue
from closeknit.queue.pending_workload import PendingWorkload, pending_workload
from decide.objects import workload


def entry(name: str, requests: int = 1, **more: Any) -> PendingWorkload:
    return pending_workload(workload(name, requests=requests, **more), "a", Settings(), Gates.profile())


def line(*entries: PendingWorkload, strategy: Strategy = "BestEffortFIFO") -> PendingQueue:
    made = PendingQueue("a", strategy)
    for one in entries:
        made.push(one)
    return made


def taken(made: PendingQueue) -> list[str]:
    """Everybody in the order in which they are taken."""
    found = []
    while (one := made.pop()) is not None:
        found.append(one.workload.name)
    return found


def names(entries: Any) -> set[str]:
    return {one.workload.name for one in entries}


def wake(made: PendingQueue) -> int:
    return made.wake(lambda _: True, lambda _: True)


class TestOrder:
    def test_priority_then_time_then_uid(self) -> None:
        made = line(
            entry("d", priority=0, created=0.0),
            entry("c", priority=2, created=5.0, uid="2"),
            entry("b", priority=2, created=5.0, uid="1"),
            entry("a", priority=2, created=4.0, uid="9"),
        )
        assert taken(made) == ["a", "b", "c", "d"]

    def test_order_holds_across_classes(self) -> None:
        made = line(entry("b", 2, created=2.0), entry("a", 1, created=1.0), entry("c", 1, created=3.0))
        assert taken(made) == ["a", "b", "c"]

    def test_an_empty_queue_has_no_head(self) -> None:
        assert line().pop() is None
        assert not line().is_ready

    def test_a_workload_pushed_again_is_queued_once_at_its_new_place(self) -> None:
        made = line(entry("a", created=1.0), entry("b", created=2.0))
        made.push(entry("a", created=3.0))
        assert len(made) == 2
        assert taken(made) == ["b", "a"]

    def test_a_dropped_workload_is_gone(self) -> None:
        made = line(entry("a", created=1.0), entry("b", created=2.0))
        dropped = made.drop("default/a")
        assert dropped is not None
        assert dropped.workload.name == "a"
        assert made.drop("default/a") is None
        assert taken(made) == ["b"]

    def test_a_popped_workload_is_in_the_cycle_and_no_longer_queued(self) -> None:
        made = line(entry("a"))
        one = made.pop()
        assert made.in_cycle is one
        assert "default/a" not in made
        assert not made.is_ready

    def test_many_changes_to_one_class_leave_its_order_whole(self) -> None:
        made = line(*(entry(f"{at:02d}", created=float(at)) for at in range(40)))
        for at in range(0, 40, 2):
            made.drop(f"default/{at:02d}")
        for at in range(0, 40, 4):
            made.push(entry(f"{at:02d}", created=float(at)))
        assert taken(made) == [f"{at:02d}" for at in range(40) if at % 2 or at % 4 == 0]


class TestPreemptor:
    def test_a_preemptor_waiting_for_its_victims_stays_first(self) -> None:
        made = line(entry("a", priority=9), entry("b"))
        made.preemptor = "default/b"
        assert taken(made) == ["b", "a"]

    def test_but_not_in_a_strict_line(self) -> None:
        made = line(entry("a", priority=9), entry("b"), strategy="StrictFIFO")
        made.preemptor = "default/b"
        assert taken(made) == ["a", "b"]

    def test_nor_while_it_is_parked(self) -> None:
        made = line(entry("a", priority=9))
        made.park(entry("b"), "")
        made.preemptor = "default/b"
        assert taken(made) == ["a"]

    def test_nor_while_its_class_is(self) -> None:
        made = line(entry("a", 2), entry("b"))
        made.park_class(entry("c"), "")
        made.preemptor = "default/b"
        assert taken(made) == ["a"]

    def test_a_preemptor_that_has_left_is_no_matter(self) -> None:
        made = line(entry("a"))
        made.preemptor = "default/gone"
        assert taken(made) == ["a"]


class TestAside:
    def test_a_workload_parked_alone_leaves_its_class_ready(self) -> None:
        made = line(entry("a"), entry("b"))
        made.park(entry("a"), "")
        assert names(made.all_parked()) == {"a"}
        assert taken(made) == ["b"]

    def test_a_class_is_parked_as_a_whole(self) -> None:
        made = line(entry("a"), entry("b"), entry("c", 2))
        made.park_class(entry("a"), "")
        assert names(made.all_parked()) == {"a", "b"}
        assert taken(made) == ["c"]

    def test_a_new_one_that_is_like_them_is_parked_on_arrival(self) -> None:
        made = line()
        made.park_class(entry("a"), "")
        made.push(entry("b", created=-5.0))
        made.push(entry("c", 2))
        assert names(made.all_parked()) == {"a", "b"}
        assert taken(made) == ["c"]

    def test_that_is_remembered_when_the_class_is_empty(self) -> None:
        made = line()
        made.park_class(entry("a"), "")
        made.drop("default/a")
        made.push(entry("b"))
        assert not made.is_ready
        assert wake(made) == 1
        assert taken(made) == ["b"]

    def test_waking_makes_all_ready_in_order(self) -> None:
        made = line(entry("d", 2, created=4.0))
        made.park(entry("c", 3, created=3.0), "")
        made.park_class(entry("b", created=2.0), "")
        made.push(entry("a", created=1.0))
        assert wake(made) == 3
        assert not names(made.all_parked())
        assert taken(made) == ["a", "b", "c", "d"]

    def test_only_workloads_with_a_matching_reason_are_woken(self) -> None:
        made = line()
        made.park(entry("a", 1), "quota")
        made.park(entry("b", 2), "place")
        made.park_class(entry("c", 3), "quota")
        made.park_class(entry("d", 4), "place")
        assert made.wake(lambda _: True, lambda why: why == "quota") == 2
        assert names(made.ready()) == {"a", "c"}
        assert names(made.all_parked()) == {"b", "d"}

    def test_a_workload_parked_alone_that_may_not_wake_stays_parked(self) -> None:
        made = line()
        made.park(entry("a"), "")
        assert made.wake(lambda _: False, lambda _: True) == 0
        assert names(made.all_parked()) == {"a"}

    def test_after_waking_a_new_member_of_the_class_is_ready(self) -> None:
        made = line()
        made.park_class(entry("a", created=1.0), "")
        wake(made)
        made.push(entry("b", created=2.0))
        assert taken(made) == ["a", "b"]

    def test_that_something_happened_is_known_until_the_next_is_taken(self) -> None:
        made = line(entry("a"), entry("b"))
        made.pop()
        assert not made.woken
        wake(made)
        assert made.woken
        made.pop()
        assert not made.woken

    def test_every_workload_is_found_wherever_it_is(self) -> None:
        made = line(entry("a"))
        made.park(entry("b"), "")
        made.park_class(entry("c", 2), "")
        for name in "abc":
            found = made.get(f"default/{name}")
            assert found is not None
            assert found.workload.name == name
            assert f"default/{name}" in made
        assert made.get("default/d") is None
        assert len(made) == 3
