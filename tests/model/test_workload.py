from __future__ import annotations

from closeknit.model.quota import FlavorResource
from closeknit.model.request import Group, PodSet, Request
from closeknit.model.shape import Shape
from closeknit.model.workload import Admission, Condition, PodSetAssignment, Status, Workload, usage_of


def test_a_condition_keeps_its_time_until_it_changes_sides() -> None:
    status = Status().condition("Evicted", True, "Preempted", "for x", 10.0)
    status = status.condition("Evicted", True, "NodeFailures", "for y", 20.0, generation=3)
    assert status.conditions["Evicted"] == Condition(True, "NodeFailures", "for y", 10.0, 3)
    status = status.condition("Evicted", False, "QuotaReserved", "", 30.0)
    assert status.conditions["Evicted"].since == 30.0


def test_a_change_makes_a_new_status_and_leaves_the_old_one() -> None:
    old = Status()
    new = old.condition("Admitted", True, "Admitted", "", 1.0)
    assert new.holds("Admitted")
    assert not old.holds("Admitted")
    assert old.conditions == {}


def test_a_condition_that_was_never_set_does_not_hold() -> None:
    one = Workload("ns", "w")
    assert [one.reserved, one.admitted, one.evicted, one.finished] == [False] * 4


def test_a_workload_and_its_queue_go_by_namespace_and_name() -> None:
    one = Workload("ns", "w", queue="q")
    assert (one.key, one.local_queue) == ("ns/w", "ns/q")


def test_a_pod_set_is_found_by_its_name() -> None:
    workers = PodSet("workers", 2, Shape.of({"gpu": 1}))
    one = Workload("ns", "w", Request((Group((Group((workers,)),)),)))
    assert one.pod_set("workers") is workers
    assert one.pod_set("leader") is None


def test_usage_is_summed_by_flavor_and_resource() -> None:
    leader = PodSetAssignment("leader", {"gpu": "a100", "cpu": "spot"}, {"gpu": 1, "cpu": 500}, 1)
    workers = PodSetAssignment("workers", {"gpu": "a100"}, {"gpu": 8, "memory": 3}, 4)
    assert usage_of(Admission("q", (leader, workers))) == {
        FlavorResource("a100", "gpu"): 9,
        FlavorResource("spot", "cpu"): 500,
    }
