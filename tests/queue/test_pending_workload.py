"""A pending workload: its priority, its queue time, and its equivalence class."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from closeknit.model.container import Container
from closeknit.model.gates import Gates
from closeknit.model.request import Constraint
from closeknit.model.settings import Settings, Transformation
from closeknit.model.shape import Toleration
from closeknit.model.workload import Workload, WorkloadPodSet
from closeknit.queue.pending_workload import (
    FlavorProgress,
    PendingWorkload,
    effective_priority,
    pending_workload,
    queue_time,
)
from decide.objects import GPU, part, workload

GATES = Gates.profile()
BOOSTS = Gates.profile("closeknit", {"PriorityBoost": True})
BY_TIME = Gates.profile("closeknit", {"PrioritySortingWithinCohort": False})


def entry(one: Workload, settings: Settings | None = None, gates: Gates = GATES) -> PendingWorkload:
    return pending_workload(one, "a", settings or Settings(), gates)


def told(kind: str, reason: str, at: float, holds: bool = True) -> Workload:
    one = workload("w", created=5.0)
    return replace(one, status=one.status.condition(kind, holds, reason, "", at))


class TestPriority:
    def test_a_boost_counts_only_with_its_gate(self) -> None:
        one = workload("w", priority=3, boost=-2)
        assert effective_priority(one, GATES) == 3
        assert effective_priority(one, BOOSTS) == 1

    def test_higher_priority_then_earlier_time_then_smaller_uid_comes_first(self) -> None:
        ones = [
            workload("e", priority=0, created=1.0),
            workload("d", priority=1, created=2.0, uid="b"),
            workload("c", priority=1, created=2.0, uid="a"),
            workload("b", priority=1, created=1.0, uid="z"),
            workload("a", priority=9, created=9.0),
        ]
        assert [one.workload.name for one in sorted(map(entry, ones), key=lambda one: one.order)] == list("abcde")


class TestTime:
    @pytest.mark.parametrize("reason", ["Preempted", "NodeFailures", "Deactivated"])
    def test_an_eviction_keeps_the_place_by_creation(self, reason: str) -> None:
        assert queue_time(told("Evicted", reason, 50.0), Settings(), GATES) == 5.0

    def test_pods_that_were_not_ready_send_it_to_the_back(self) -> None:
        one = told("Evicted", "PodsReadyTimeout", 50.0)
        assert queue_time(one, Settings(), GATES) == 50.0
        assert queue_time(one, Settings(requeue_by="Creation"), GATES) == 5.0

    def test_so_does_a_check_whatever_the_settings(self) -> None:
        one = told("Evicted", "AdmissionCheck", 50.0)
        assert queue_time(one, Settings(requeue_by="Creation"), GATES) == 50.0

    def test_an_eviction_that_is_over_does_not_count(self) -> None:
        assert queue_time(told("Evicted", "AdmissionCheck", 50.0, holds=False), Settings(), GATES) == 5.0

    def test_a_victim_reclaimed_while_borrowing_is_behind_its_preemptor_only_if_time_alone_orders(self) -> None:
        one = told("Preempted", "InCohortReclaimWhileBorrowing", 50.0)
        assert queue_time(one, Settings(), BY_TIME) == pytest.approx(50.001)
        assert queue_time(one, Settings(), GATES) == 5.0
        assert queue_time(told("Preempted", "InCohortReclamation", 50.0), Settings(), BY_TIME) == 5.0


class TestLikeness:
    def test_workloads_that_differ_only_by_name_time_and_queue_are_alike(self) -> None:
        one, other = workload("a", uid="1", created=1.0), workload("b", uid="2", created=2.0)
        assert entry(one).equivalence_key == entry(other).equivalence_key

    def test_limits_alone_tell_them_apart_only_where_zones_may_count(self) -> None:
        one, limited = part("main"), part("main", containers=(Container.of({GPU: 1}, {GPU: 1}),))
        for zones in (False, True):
            gates = GATES.changed({"NumaZones": zones})
            keys = {entry(workload("w", "a", 1, 1, each), gates=gates).equivalence_key for each in (one, limited)}
            assert len(keys) == (2 if zones else 1)

    @pytest.mark.parametrize(
        "other",
        [
            {"priority": 1},
            {"count": 3},
            {"requests": 2},
            {"requests": {"gpu": 1, "cpu": 1}},
            {"min_count": 1},
            {"constraint": Constraint(required="rack")},
        ],
        ids=str,
    )
    def test_whatever_a_scheduler_looks_at_tells_them_apart(self, other: dict[str, Any]) -> None:
        assert (
            entry(workload("w", count=2)).equivalence_key
            != entry(workload("w", **{"count": 2, **other})).equivalence_key
        )

    @pytest.mark.parametrize(
        "other",
        [
            part("other"),
            part("main", selector={"zone": "a"}),
            part("main", tolerations=(Toleration("x", "Exists"),)),
            part("main", group="g"),
            part("main")._replace(part=WorkloadPodSet("main", {"gpu": 1}, template_digest="ports")),
        ],
        ids=["name", "selector", "tolerations", "group", "the rest of the template"],
    )
    def test_so_does_whatever_else_the_pod_template_says(self, other: Any) -> None:
        assert entry(workload("w")).equivalence_key != entry(workload("w", "a", 1, 1, other)).equivalence_key

    def test_pods_that_are_done_make_it_unlike_its_former_self(self) -> None:
        one = workload("w", count=3)
        shrunk = replace(one, status=replace(one.status, reclaimable={"main": 1}))
        assert entry(one).equivalence_key != entry(shrunk).equivalence_key
        assert entry(shrunk).equivalence_key == entry(replace(shrunk, name="v")).equivalence_key

    def test_demands_are_what_quota_counts(self) -> None:
        rule = Transformation("gpu", {"credits": 2 * 10**9}, retain=False)
        (demand,) = entry(workload("w", count=3), Settings(transformations=(rule,))).demands
        assert demand.total == {"credits": 6}


class TestProgress:
    def test_flavors_are_pending_until_the_last_of_each_resource_was_tried(self) -> None:
        assert FlavorProgress([{"gpu": 0}], 1, 0, "x").pending
        assert FlavorProgress([{"gpu": -1}, {"gpu": 1}], 1, 0, "x").pending
        assert not FlavorProgress([{"gpu": -1}, {}], 1, 0, "x").pending
        assert not FlavorProgress([], 1, 0, "x").pending

    def test_the_walk_goes_on_behind_the_flavor_that_was_tried_last(self) -> None:
        progress = FlavorProgress([{"gpu": 1, "cpu": -1}], 1, 0, "x")
        assert progress.start(0, "gpu") == 2
        assert progress.start(0, "cpu") == 0
        assert progress.start(0, "memory") == 0
        assert progress.start(7, "gpu") == 0

    def test_a_walk_that_comes_back_to_where_it_was_is_over(self) -> None:
        first = FlavorProgress([{"gpu": 0}, {"gpu": -1}], 1, 0, "x").after(None)
        second = FlavorProgress([{"gpu": -1}, {"gpu": 0}], 2, 0, "x").after(first)
        assert second is not None
        assert second.pending
        assert FlavorProgress([{"gpu": 0}, {"gpu": -1}], 3, 0, "x").after(second) is None

    def test_not_if_the_queue_has_changed_or_the_walk_before_was_over(self) -> None:
        before = FlavorProgress([{"gpu": 0}], 1, 0, "x")
        assert FlavorProgress([{"gpu": 0}], 2, 1, "x").after(before) is not None
        assert FlavorProgress([{"gpu": 0}], 2, 0, "y").after(before) is not None
        over = FlavorProgress([{"gpu": -1}], 2, 0, "x", frozenset({before.place}))
        assert FlavorProgress([{"gpu": 0}], 3, 0, "x").after(over) is not None

    def test_a_replan_in_the_same_cycle_is_not_a_step(self) -> None:
        before = FlavorProgress([{"gpu": 0}], 2, 0, "x")
        assert FlavorProgress([{"gpu": 0}], 2, 0, "x").after(before) is not None


class TestUnexplained:
    """Whose status has yet to say why it waits."""

    def test_a_new_workload(self) -> None:
        assert entry(workload("w")).unexplained
        assert not pending_workload(workload("w"), "a", Settings(), Gates.profile("kueue")).unexplained

    @pytest.mark.parametrize(
        ("reason", "yes"), [("PendingEvaluation", True), ("Suspended", True), ("WaitingForQuota", False)]
    )
    def test_a_requeued_workload_but_not_an_evaluated_one(self, reason: str, yes: bool) -> None:
        assert entry(told("QuotaReserved", reason, 1.0, holds=False)).unexplained is yes
