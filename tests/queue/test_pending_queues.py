"""The pending queues: routing by LocalQueue, requeueing and parking, and what wakes parked workloads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from closeknit.model.cluster_queue import LocalQueue, Strategy
from closeknit.model.gates import Gates
from closeknit.model.settings import Settings
from closeknit.model.workload import Status, Workload
from closeknit.queue.pending_queues import PendingQueues, backing_off
from closeknit.queue.pending_workload import FlavorProgress, PendingWorkload
from closeknit.queue.wake import RequeueReason, WaitStage, WakeEvent
from decide.objects import DEFAULT, queue, workload

NOW = 100.0


def lines(strategy: Strategy = "BestEffortFIFO", gates: dict[str, bool] | None = None, *names: str) -> PendingQueues:
    made = PendingQueues(Settings(), Gates.profile("closeknit", gates or {}))
    for name in names or ("a",):
        made.put_queue(queue(name, strategy=strategy))
        made.put_local_queue(LocalQueue(DEFAULT, name, name))
    return made


def head(made: PendingQueues) -> PendingWorkload:
    (found,) = made.heads(lambda _: True)
    return found


def ready(made: PendingQueues, name: str = "a") -> set[str]:
    return {one.workload.name for one in made.queues[name].ready()}


def parked(made: PendingQueues, name: str = "a") -> set[str]:
    return {one.workload.name for one in made.queues[name].all_parked()}


def wake(made: PendingQueues, event: WakeEvent = WakeEvent.QUEUE_CHANGED, now: float = NOW) -> int:
    return made.wake(event, ["a"], lambda _: True, now)


def status(**fields: Any) -> Status:
    return replace(Status(), **fields)


TABLE = [
    (RequeueReason.LOST_ITS_PLACE, True, True),
    (RequeueReason.PENDING_PREEMPTION, True, True),
    (RequeueReason.PREEMPTION_FAILED, True, True),
    (RequeueReason.NO_FIT, False, True),
    (RequeueReason.NO_CANDIDATES, False, True),
    (RequeueReason.GATED, False, True),
    (RequeueReason.OTHER, False, True),
    (RequeueReason.NAMESPACE, False, False),
]
"""By reason: whether it goes back into line, under either strategy."""


class TestRequeue:
    """Where a workload goes that was evaluated and not admitted."""

    def test_the_table_names_every_reason(self) -> None:
        assert {why for why, _, _ in TABLE} == set(RequeueReason)

    @pytest.mark.parametrize(("why", "best_effort", "strict"), TABLE, ids=[row[0].name for row in TABLE])
    def test_requeued_or_parked_by_reason_and_strategy(
        self, why: RequeueReason, best_effort: bool, strict: bool
    ) -> None:
        strategies: tuple[tuple[Strategy, bool], ...] = (("BestEffortFIFO", best_effort), ("StrictFIFO", strict))
        for strategy, returns in strategies:
            made = lines(strategy)
            made.put(workload("w"), NOW)
            made.requeue(head(made), why, WaitStage.UNKNOWN, NOW)
            assert (ready(made), parked(made)) == (({"w"}, set()) if returns else (set(), {"w"}))

    @pytest.mark.parametrize(
        "why",
        [
            RequeueReason.NO_FIT,
            RequeueReason.NO_CANDIDATES,
            RequeueReason.GATED,
            RequeueReason.OTHER,
            RequeueReason.NAMESPACE,
        ],
    )
    def test_flavors_that_were_not_tried_yet_are_a_reason_to_go_on(self, why: RequeueReason) -> None:
        made = lines()
        made.put(workload("w"), NOW)
        one = head(made)
        one.progress = FlavorProgress([{"gpu": 0}], 1, 0, one.equivalence_key)
        made.requeue(one, why, WaitStage.UNKNOWN, NOW)
        assert ready(made) == {"w"}

    @pytest.mark.parametrize(
        "why", [RequeueReason.NO_FIT, RequeueReason.NO_CANDIDATES, RequeueReason.OTHER, RequeueReason.NAMESPACE]
    )
    def test_so_is_anything_that_happened_since_it_was_taken(self, why: RequeueReason) -> None:
        made = lines()
        made.put(workload("w"), NOW)
        one = head(made)
        wake(made)
        made.requeue(one, why, WaitStage.UNKNOWN, NOW)
        assert ready(made) == {"w"}

    @pytest.mark.parametrize("why", list(RequeueReason))
    @pytest.mark.parametrize("strategy", ["BestEffortFIFO", "StrictFIFO"])
    def test_a_workload_that_backs_off_is_not_requeued(self, strategy: Strategy, why: RequeueReason) -> None:
        made = lines(strategy)
        made.put(workload("w"), NOW)
        one = head(made)
        one.workload = replace(one.workload, status=status(requeue_at=NOW + 1))
        made.requeue(one, why, WaitStage.UNKNOWN, NOW)
        assert (ready(made), parked(made)) == (set(), {"w"})

    @pytest.mark.parametrize("why", [RequeueReason.NO_FIT, RequeueReason.NO_CANDIDATES])
    def test_what_holds_for_one_holds_for_its_whole_class(self, why: RequeueReason) -> None:
        made = lines()
        made.put(workload("a", created=1.0), NOW)
        made.put(workload("b", created=2.0), NOW)
        made.put(workload("c", requests=2, created=3.0), NOW)
        made.requeue(head(made), why, WaitStage.QUOTA, NOW)
        assert (ready(made), parked(made)) == ({"c"}, {"a", "b"})
        made.put(workload("d"), NOW)
        assert parked(made) == {"a", "b", "d"}

    def test_members_of_a_parked_class_are_named_once_for_reporting_the_last_first(self) -> None:
        made = lines()
        for name, created in (("a", 1.0), ("b", 2.0), ("c", 3.0), ("d", 4.0)):
            made.put(workload(name, created=created), NOW)
        assert made.untold(9) == []
        made.requeue(head(made), RequeueReason.NO_FIT, WaitStage.QUOTA, NOW, "WaitingForQuota")
        assert [made.queues["a"].bypassed(f"default/{name}") for name in "bd"] == ["WaitingForQuota"] * 2
        assert made.untold(2) == ["default/d", "default/c"]
        assert made.untold(2) == ["default/b"]
        assert not made.bypassed

    def test_a_requeued_workload_needs_no_report(self) -> None:
        made = lines()
        made.put(workload("a", created=1.0), NOW)
        made.put(workload("b", created=2.0), NOW)
        made.requeue(head(made), RequeueReason.NO_FIT, WaitStage.QUOTA, NOW, "WaitingForQuota")
        wake(made)
        assert (made.untold(9), made.queues["a"].bypassed("default/b")) == ([], "")

    @pytest.mark.parametrize("why", [RequeueReason.GATED, RequeueReason.OTHER, RequeueReason.NAMESPACE])
    def test_other_reasons_are_its_own(self, why: RequeueReason) -> None:
        made = lines()
        made.put(workload("a", created=1.0), NOW)
        made.put(workload("b", created=2.0), NOW)
        made.requeue(head(made), why, WaitStage.UNKNOWN, NOW)
        assert (ready(made), parked(made)) == ({"b"}, {"a"})

    def test_a_strict_line_parks_no_class(self) -> None:
        made = lines("StrictFIFO")
        made.put(workload("a", created=1.0), NOW)
        made.put(workload("b", created=2.0), NOW)
        made.requeue(head(made), RequeueReason.NO_FIT, WaitStage.QUOTA, NOW)
        assert ready(made) == {"a", "b"}

    def test_nor_does_one_without_the_gate(self) -> None:
        made = lines(gates={"SchedulingEquivalenceHashing": False})
        made.put(workload("a", created=1.0), NOW)
        made.put(workload("b", created=2.0), NOW)
        made.requeue(head(made), RequeueReason.NO_FIT, WaitStage.QUOTA, NOW)
        assert (ready(made), parked(made)) == ({"b"}, {"a"})

    def test_a_preemptor_is_first_until_there_is_another(self) -> None:
        made = lines()
        for name, created in (("a", 1.0), ("b", 2.0), ("c", 3.0)):
            made.put(workload(name, requests=int(created), created=created), NOW)
        one = made.queues["a"].get("default/b")
        assert one is not None
        made.queues["a"].drop(one.key)
        made.queues["a"].in_cycle = one
        made.requeue(one, RequeueReason.PENDING_PREEMPTION, WaitStage.UNKNOWN, NOW)
        first = head(made)
        assert first.workload.name == "b"
        made.requeue(first, RequeueReason.NO_FIT, WaitStage.QUOTA, NOW)
        assert head(made).workload.name == "a"

    def test_a_workload_dropped_during_its_cycle_is_not_requeued(self) -> None:
        made = lines()
        made.put(workload("w"), NOW)
        one = head(made)
        made.drop("default/w")
        made.requeue(one, RequeueReason.LOST_ITS_PLACE, WaitStage.UNKNOWN, NOW)
        assert len(made.queues["a"]) == 0

    def test_nor_is_one_of_a_deleted_queue(self) -> None:
        made = lines()
        made.put(workload("w"), NOW)
        one = head(made)
        made.drop_queue("a")
        made.requeue(one, RequeueReason.LOST_ITS_PLACE, WaitStage.UNKNOWN, NOW)
        assert made.get("default/w") is None


class TestBackoff:
    @pytest.mark.parametrize(
        ("given", "waits"),
        [
            (status(), False),
            (status(requeue_at=NOW + 1), True),
            (status(requeue_at=NOW), False),
            (status().condition("Requeued", False, "PodsReadyTimeout", "", 0.0), True),
            (status().condition("Requeued", True, "BackoffFinished", "", 0.0), False),
        ],
        ids=["nothing said", "later", "now", "not requeued", "requeued"],
    )
    def test_backing_off_is_a_time_to_come_or_a_word_to_wait_for(self, given: Status, waits: bool) -> None:
        assert backing_off(given, NOW) is waits

    def test_a_new_workload_that_backs_off_is_parked(self) -> None:
        made = lines()
        made.put(replace(workload("w"), status=status(requeue_at=NOW + 5)), NOW)
        assert parked(made) == {"w"}

    def test_a_queued_workload_that_begins_to_back_off_is_parked(self) -> None:
        made = lines()
        made.put(workload("w"), NOW)
        made.put(replace(workload("w"), status=status(requeue_at=NOW + 5)), NOW)
        assert (ready(made), parked(made)) == (set(), {"w"})

    def test_no_event_wakes_it_before_its_time(self) -> None:
        made = lines()
        made.put(replace(workload("w"), status=status(requeue_at=NOW + 5)), NOW)
        assert wake(made, now=NOW + 4) == 0
        assert wake(made, now=NOW + 5) == 1
        assert ready(made) == {"w"}

    def test_its_time_alone_wakes_it(self) -> None:
        made = lines()
        made.put(replace(workload("w"), status=status(requeue_at=NOW + 5)), NOW)
        assert made.next_timer == NOW + 5
        assert made.tick(NOW + 4) == 0
        assert made.tick(NOW + 5) == 1
        assert ready(made) == {"w"}
        assert made.next_timer is None

    def test_a_timer_does_not_wake_a_workload_with_requeued_false(self) -> None:
        made = lines()
        given = status(requeue_at=NOW + 5).condition("Requeued", False, "PodsReadyTimeout", "", 0.0)
        made.put(replace(workload("w"), status=given), NOW)
        assert made.tick(NOW + 9) == 0
        requeued = given.condition("Requeued", True, "BackoffFinished", "", NOW + 9)
        made.put(replace(workload("w"), status=requeued), NOW + 9)
        assert ready(made) == {"w"}

    def test_one_that_left_in_the_meantime_is_not_woken(self) -> None:
        made = lines()
        made.put(replace(workload("w"), status=status(requeue_at=NOW + 5)), NOW)
        made.drop("default/w")
        assert made.tick(NOW + 9) == 0


class TestUpdates:
    """What happens to a workload that is parked alone when its object changes."""

    def parked(self) -> PendingQueues:
        made = lines()
        made.put(workload("w", count=3), NOW)
        made.requeue(head(made), RequeueReason.OTHER, WaitStage.UNKNOWN, NOW)
        assert parked(made) == {"w"}
        return made

    @pytest.mark.parametrize(
        "change",
        [
            workload("w", count=2),
            workload("w", count=3, priority=1),
            workload("w", count=3, generation=2),
            workload("w", count=3, boost=1),
            replace(workload("w", count=3), status=status(reclaimable={"main": 1})),
            replace(workload("w", count=3), status=status(open_gates=frozenset({"g"}))),
            replace(workload("w", count=3), status=status().condition("Evicted", True, "Preempted", "", 1.0)),
            replace(workload("w", count=3), status=status().condition("Requeued", True, "Preempted", "", 1.0)),
        ],
        ids=["count", "priority", "generation", "boost", "reclaimable", "gates", "evicted", "requeued"],
    )
    def test_a_change_that_might_matter_brings_it_back(self, change: Workload) -> None:
        made = self.parked()
        made.put(change, NOW)
        assert (ready(made), parked(made)) == ({"w"}, set())

    @pytest.mark.parametrize(
        "change",
        [
            workload("w", count=3),
            replace(workload("w", count=3), status=status().condition("QuotaReserved", False, "Pending", "", 1.0)),
            replace(workload("w", count=3), status=status(requests=(("main", {"gpu": 3}),))),
        ],
        ids=["nothing", "what we say about it", "its requests"],
    )
    def test_any_other_change_leaves_it_parked(self, change: Workload) -> None:
        made = self.parked()
        made.put(change, NOW)
        assert (ready(made), parked(made)) == (set(), {"w"})
        found = made.get("default/w")
        assert found is not None
        assert found.workload is change

    def test_an_update_keeps_the_flavors_that_were_tried(self) -> None:
        made = lines()
        made.put(workload("w"), NOW)
        one = head(made)
        one.progress = FlavorProgress([{"gpu": 0}], 1, 0, one.equivalence_key)
        made.requeue(one, RequeueReason.NO_FIT, WaitStage.UNKNOWN, NOW)
        made.put(workload("w", generation=1), NOW)
        found = made.get("default/w")
        assert found is not None
        assert found.progress is one.progress

    def test_a_workload_in_the_current_cycle_is_left_alone(self) -> None:
        made = lines()
        made.put(workload("w"), NOW)
        one = head(made)
        made.put(workload("w", priority=5), NOW)
        assert made.get("default/w") is one
        assert len(made.queues["a"]) == 0

    def test_a_changed_member_of_a_parked_class_stays_parked_unless_it_changes_class(self) -> None:
        made = lines()
        made.put(workload("w"), NOW)
        made.requeue(head(made), RequeueReason.NO_FIT, WaitStage.QUOTA, NOW)
        made.put(workload("w", generation=1), NOW)
        assert parked(made) == {"w"}
        made.put(workload("w", priority=1), NOW)
        assert ready(made) == {"w"}


class TestHomes:
    def test_a_workload_finds_its_line_through_its_local_queue(self) -> None:
        made = lines()
        made.put_local_queue(LocalQueue(DEFAULT, "door", "a"))
        one = workload("w", "door")
        made.put(one, NOW)
        assert made.queue_of(one) == "a"
        assert ready(made) == {"w"}

    def test_without_a_way_it_waits_outside_until_there_is_one(self) -> None:
        made = lines()
        one = workload("w", "door")
        made.put(one, NOW)
        assert made.queue_of(one) == ""
        assert list(made.without_queue) == ["default/w"]
        made.put_local_queue(LocalQueue(DEFAULT, "door", "b"))
        assert list(made.without_queue) == ["default/w"]
        made.put_queue(queue("b"))
        assert ready(made, "b") == {"w"}
        assert not made.without_queue

    @pytest.mark.parametrize("policy", ["Hold", "HoldAndDrain"])
    def test_a_stopped_local_queue_removes_its_workloads_and_takes_them_back(self, policy: Any) -> None:
        made = lines()
        made.put(workload("v"), NOW)
        made.requeue(head(made), RequeueReason.OTHER, WaitStage.UNKNOWN, NOW)
        made.put(workload("w"), NOW)
        made.put_local_queue(LocalQueue(DEFAULT, "a", "a", policy))
        assert len(made.queues["a"]) == 0
        assert set(made.without_queue) == {"default/v", "default/w"}
        made.put_local_queue(LocalQueue(DEFAULT, "a", "a"))
        assert ready(made) == {"v", "w"}

    def test_a_local_queue_that_leads_elsewhere_now_takes_its_workloads_along(self) -> None:
        made = lines("BestEffortFIFO", None, "a", "b")
        made.put(workload("w"), NOW)
        made.put_local_queue(LocalQueue(DEFAULT, "a", "b"))
        assert (ready(made, "a"), ready(made, "b")) == (set(), {"w"})

    def test_a_dropped_queue_removes_its_workloads(self) -> None:
        made = lines()
        made.put(workload("w"), NOW)
        made.drop_queue("a")
        assert list(made.without_queue) == ["default/w"]
        made.put_queue(queue("a"))
        assert ready(made) == {"w"}

    def test_so_does_a_local_queue(self) -> None:
        made = lines()
        made.put(workload("w"), NOW)
        made.drop_local_queue("default/a")
        assert list(made.without_queue) == ["default/w"]
        assert len(made.queues["a"]) == 0

    def test_a_workload_that_asks_for_another_queue_changes_lines(self) -> None:
        made = lines("BestEffortFIFO", None, "a", "b")
        made.put(workload("w", "a"), NOW)
        made.put(workload("w", "b"), NOW)
        assert (ready(made, "a"), ready(made, "b")) == (set(), {"w"})

    def test_a_dropped_workload_is_no_longer_the_preemptor(self) -> None:
        made = lines()
        made.put(workload("w"), NOW)
        made.requeue(head(made), RequeueReason.PENDING_PREEMPTION, WaitStage.UNKNOWN, NOW)
        made.drop("default/w")
        assert made.queues["a"].preemptor is None

    def test_heads_are_the_first_of_every_active_line(self) -> None:
        made = lines("BestEffortFIFO", None, "a", "b", "c")
        for name in "abc":
            made.put(workload(f"{name}1", name, created=1.0), NOW)
            made.put(workload(f"{name}2", name, created=2.0), NOW)
        heads = made.heads(lambda name: name != "b")
        assert {one.workload.name for one in heads} == {"a1", "c1"}
        assert ready(made, "b") == {"b1", "b2"}

    def test_a_changed_strategy_holds_from_then_on(self) -> None:
        made = lines("BestEffortFIFO")
        made.put_queue(queue("a", strategy="StrictFIFO"))
        made.put(workload("w"), NOW)
        made.requeue(head(made), RequeueReason.NO_FIT, WaitStage.QUOTA, NOW)
        assert ready(made) == {"w"}
