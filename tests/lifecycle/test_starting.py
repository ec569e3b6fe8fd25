"""Pods of an admitted workload that do not start, in the scheduler's own words."""

from __future__ import annotations

from typing import Any

from closeknit.lifecycle.starting import PATIENCE, unstarted, unstarted_for_long
from closeknit.model.pod import Pod

NO_ROOM = "0/8 nodes are available: 8 node(s) had volume node affinity conflict."


def pod(name: str, phase: str = "Pending", **more: Any) -> Pod:
    return Pod("ns", name, phase=phase, created=100.0, **more)


def test_pods_that_run_have_ended_or_are_being_deleted_are_not_late() -> None:
    assert unstarted([pod("a", "Running"), pod("b", "Succeeded"), pod("c", deleting=True)]) is None
    assert unstarted([]) is None


def test_the_pod_that_the_scheduler_rejected_is_named_with_its_message() -> None:
    gated = pod("a", gates=("example.com/gate",))
    found = unstarted([pod("r", "Running"), gated, pod("p"), pod("z", unschedulable=NO_ROOM)])
    assert found is not None
    assert str(found) == f"3 of 4 pods have not started: Pod z: {NO_ROOM}"


def test_gates_and_containers_are_named_where_the_scheduler_says_nothing() -> None:
    for one, why in (
        (pod("a", gates=("example.com/gate",)), "it has the scheduling gates example.com/gate"),
        (pod("a", node="n1"), "it is bound to node n1, and its containers have not started"),
        (pod("a"), "no scheduler has bound it"),
    ):
        found = unstarted([one])
        assert found is not None
        assert found.why == why


def test_a_minute_counts_from_the_admission_or_from_the_pod_if_it_came_later() -> None:
    assert unstarted_for_long([pod("a")], 50.0, 100.0 + PATIENCE) is None
    assert unstarted_for_long([pod("a")], 50.0, 101.0 + PATIENCE) is not None
    assert unstarted_for_long([pod("a")], 150.0, 101.0 + PATIENCE) is None
