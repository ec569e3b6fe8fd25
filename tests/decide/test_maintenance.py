"""Maintenance windows in a decision: who may still be placed there, and what is drained."""

from __future__ import annotations

from dataclasses import replace

import pytest

from closeknit.decide.decision import Admit, Decision, Wait
from closeknit.decide.scheduler import Scheduler
from closeknit.decide.what_if import StepKind, play
from closeknit.model.maintenance import Maintenance
from closeknit.model.node import Node
from closeknit.model.request import Constraint
from closeknit.model.shape import Toleration
from closeknit.model.topology import HOSTNAME
from closeknit.model.workload import Check, Workload
from closeknit.queue.wake import WakeEvent

from .test_our_gates import RACK, cluster, job, running

WINDOW = Maintenance("rack-0", (((RACK, "r0"),),), 1000.0, 2000.0, times="from 16:40 until 33:20")


def limited(one: Workload, seconds: int | None) -> Workload:
    return replace(one, max_seconds=seconds)


def decided(built: Scheduler, one: Workload, now: float) -> Admit | Wait:
    built.put(one, now)
    return next(each for each in built.cycle(now) if isinstance(each, Admit | Wait) and each.workload.name == one.name)


def hosts(found: Decision) -> list[str]:
    assert isinstance(found, Admit), found
    return [path[-1] for one in found.admission.pod_sets if one.topology is not None for path in one.topology.values]


def one_rack(window: Maintenance = WINDOW, gates: dict[str, bool] | None = None) -> Scheduler:
    built = cluster(racks=1, hosts=2, gates=gates)
    built.world.put_window(window)
    return built


def test_a_workload_without_a_time_limit_is_not_placed_in_a_window_that_is_still_to_come() -> None:
    found = decided(one_rack(), job("endless", 1, Constraint(required=RACK)), 0.0)
    assert isinstance(found, Wait)
    assert 'maintenance "rack-0" from 16:40 until 33:20: 2' in found.message


@pytest.mark.parametrize(("now", "seconds", "fits"), [(0, 1000, True), (1, 1000, False), (900, 100, True)])
def test_a_workload_is_placed_there_if_it_is_sure_to_end_before_the_window_begins(
    now: int, seconds: int, fits: bool
) -> None:
    found = decided(one_rack(), limited(job("short", 1, Constraint(required=RACK)), seconds), float(now))
    assert isinstance(found, Admit) == fits


def test_time_that_a_workload_has_already_run_shortens_what_it_may_still_run() -> None:
    one = limited(job("resumed", 1, Constraint(required=RACK)), 1500)
    one = replace(one, status=replace(one.status, executed=600))
    assert isinstance(decided(one_rack(), one, 0.0), Admit)


def test_a_workload_whose_checks_are_not_ready_is_not_sure_to_end_in_time() -> None:
    one = limited(job("checked", 1, Constraint(required=RACK)), 10)
    one = replace(one, status=replace(one.status, checks=(Check("check"),)))
    assert isinstance(decided(one_rack(), one, 0.0), Wait)


def test_nothing_is_placed_while_the_window_is_open_and_everything_after_it() -> None:
    assert isinstance(decided(one_rack(), limited(job("short", 1, Constraint(required=RACK)), 1), 1000.0), Wait)
    assert isinstance(decided(one_rack(), job("endless", 1, Constraint(required=RACK)), 2000.0), Admit)


def test_a_pod_that_tolerates_every_taint_is_kept_out_as_well() -> None:
    one = job("tolerant", 1, Constraint(required=RACK))
    (pod_set,) = one.request.pod_sets
    shape = replace(pod_set.shape, tolerations=(Toleration(operator="Exists"),))
    one = replace(one, request=one.request.changed([replace(pod_set, shape=shape)]))
    assert isinstance(decided(one_rack(), one, 0.0), Wait)


def test_a_node_that_joins_the_domain_later_is_included() -> None:
    built = one_rack()
    built.world.put_node(Node("r0h9", {RACK: "r0", HOSTNAME: "r0h9"}, {"gpu": 4, "pods": 110}))
    assert isinstance(decided(built, job("endless", 1, Constraint(required=RACK)), 0.0), Wait)


def test_of_two_windows_that_overlap_the_earlier_decides_and_the_later_remains_when_it_is_gone() -> None:
    built = one_rack()
    built.world.put_window(replace(WINDOW, name="early", begins=500.0))
    one = limited(job("short", 1, Constraint(required=RACK)), 800)
    assert isinstance(decided(built, one, 0.0), Wait)
    built.world.drop_window("early")
    built.wake_queues(WakeEvent.NODE_CHANGED, ["cq"], 0.0)
    assert [type(each) for each in built.cycle(0.0)] == [Admit]


def test_a_plan_that_is_kept_is_made_again_when_its_time_has_passed() -> None:
    """The head of a queue keeps its plan; meanwhile the rack in its plan comes too close to its window."""
    built = cluster(racks=2, hosts=1, gpus=4, quota=4)
    built.world.put_window(WINDOW)
    built.put(running(job("first", 4, gpus=1), r1h0=4), 0.0)
    one = limited(job("second", 4, Constraint(required=RACK)), 900)
    assert isinstance(decided(built, one, 0.0), Wait)
    built.drop("ns/first")
    built.wake(WakeEvent.WORKLOAD_DELETED, "cq", 500.0)
    (found,) = built.cycle(500.0)
    assert isinstance(found, Admit)
    assert hosts(found) == ["r1h0"]


def test_workloads_with_other_time_limits_are_not_parked_with_the_class() -> None:
    built = one_rack()
    assert isinstance(decided(built, limited(job("long", 1, Constraint(required=RACK)), 5000), 0.0), Wait)
    assert isinstance(decided(built, limited(job("short", 1, Constraint(required=RACK)), 50), 0.0), Admit)


def test_without_the_gate_windows_are_ignored() -> None:
    built = one_rack(gates={"MaintenanceWindows": False})
    assert not built.world.windows
    assert isinstance(decided(built, job("endless", 1, Constraint(required=RACK)), 0.0), Admit)


def test_a_failed_node_is_not_replaced_by_one_whose_window_the_workload_would_reach() -> None:
    built = cluster(racks=1, hosts=3)
    built.world.put_window(replace(WINDOW, domains=(((HOSTNAME, "r0h1"),),)))
    one = running(job("two", 4, Constraint(required=RACK)), r0h0=4)
    node = built.world.nodes["r0h0"]
    built.world.put_node(replace(node, ready=False))
    built.put(replace(one, status=replace(one.status, unhealthy=("r0h0",))), 0.0)
    (found,) = built.cycle(10.0)
    assert hosts(found) == ["r0h2"]


def test_a_window_that_has_begun_drains_the_workloads_inside_it_and_no_others() -> None:
    built = cluster(racks=2, hosts=2)
    built.world.put_window(replace(WINDOW, drain=True))
    inside, outside = running(job("in", 2), r0h1=1, r1h0=1), running(job("out", 1), r1h0=1)
    assert built.world.drained_by(inside, 999.0) is None
    assert built.world.drained_by(inside, 1000.0) == replace(WINDOW, drain=True)
    assert built.world.drained_by(outside, 1000.0) is None
    assert built.world.drained_by(inside, 2000.0) is None


def test_a_window_without_drain_leaves_running_workloads_alone() -> None:
    built = cluster(racks=1, hosts=1)
    built.world.put_window(WINDOW)
    assert built.world.drained_by(running(job("in", 1), r0h0=1), 1500.0) is None


def test_what_if_evicts_what_a_window_drains_at_that_time_and_places_it_elsewhere() -> None:
    built = cluster(racks=2, hosts=1)
    built.world.put_window(replace(WINDOW, drain=True))
    story = play(built, [running(job("in", 1), r0h0=1)], 1000.0)
    assert [(step.kind, step.message) for step in story.steps] == [
        (StepKind.EVICTED, 'Maintenance "rack-0" of its nodes has begun, from 16:40 until 33:20'),
        (StepKind.ADMITTED, ""),
    ]
