"""Waiting for pods: what readiness is called, and what happens when it takes too long."""

from __future__ import annotations

import pytest

from closeknit.lifecycle.action import Requeue
from closeknit.lifecycle.pods_ready import pods_ready, readiness
from closeknit.model.settings import PodsReady
from closeknit.model.workload import Workload
from lifecycle.shapes import NOW, admitted, changed, events, evicted, pending, said, with_conditions, with_status

TWO_MINUTES = PodsReady(timeout=120.0)


def waiting(reason: str, since: float) -> Workload:
    return with_conditions(admitted(), PodsReady=(False, reason, since))


READY = with_conditions(admitted(), PodsReady=(True, "Started", 950.0))


@pytest.mark.parametrize(
    ("workload", "ready", "expected"),
    [
        (pending(), True, (False, "WaitForStart")),
        (admitted(), False, (False, "WaitForStart")),
        (admitted(), True, (True, "Started")),
        (waiting("WaitForStart", 900.0), True, (True, "Started")),
        (READY, True, (True, "Started")),
        (READY, False, (False, "WaitForRecovery")),
        (waiting("WaitForRecovery", 900.0), False, (False, "WaitForRecovery")),
        (waiting("WaitForRecovery", 900.0), True, (True, "Recovered")),
    ],
)
def test_readiness_has_a_name_for_every_turn(workload: Workload, ready: bool, expected: tuple[bool, str]) -> None:
    assert readiness(workload, ready)[:2] == expected


def test_the_time_for_a_start_counts_from_the_admission() -> None:
    assert pods_ready(admitted(), TWO_MINUTES, NOW) == [Requeue(1020.0, "WaitForStart")]
    assert pods_ready(waiting("WaitForStart", 990.0), TWO_MINUTES, NOW) == [Requeue(1020.0, "WaitForStart")]


def test_the_time_for_a_recovery_counts_from_the_failure() -> None:
    hurt = waiting("WaitForRecovery", 990.0)
    assert pods_ready(hurt, TWO_MINUTES, NOW) == [Requeue(1110.0, "WaitForRecovery")]
    assert pods_ready(hurt, PodsReady(120.0, recovery=30.0), NOW) == [Requeue(1020.0, "WaitForRecovery")]
    assert pods_ready(hurt, PodsReady(120.0, recovery=0.0), NOW) == []


@pytest.mark.parametrize("workload", [pending(), READY, evicted("Preempted")])
def test_no_other_workload_is_waited_for(workload: Workload) -> None:
    assert pods_ready(workload, TWO_MINUTES, 9999.0) == []


def test_a_workload_that_took_too_long_goes_and_comes_back_after_a_wait_that_doubles() -> None:
    waits = []
    for count in range(8):
        late = with_status(admitted(), requeues=count)
        after = changed(pods_ready(late, TWO_MINUTES, 1020.0))
        assert after.status.requeues == count + 1
        assert after.status.requeue_at is not None
        waits.append(after.status.requeue_at - 1020.0)
    assert waits == [60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 3600.0, 3600.0]


def test_an_evicted_workload_reports_what_it_waited_for() -> None:
    actions = pods_ready(waiting("WaitForRecovery", 900.0), TWO_MINUTES, 1020.0)
    after = changed(actions)
    assert said(after, "Evicted") == (True, "PodsReadyTimeout", "Exceeded the PodsReady timeout ns/wl")
    assert events(actions) == [
        ("EvictedDueToPodsReadyTimeoutDueToWaitForRecovery", "Exceeded the PodsReady timeout ns/wl")
    ]
    assert after.status.evictions == {("PodsReadyTimeout", "WaitForRecovery"): 1}


def test_after_so_many_times_it_is_to_be_deactivated() -> None:
    twice = PodsReady(120.0, limit=2)
    again = with_status(admitted(), requeues=1)
    assert changed(pods_ready(again, twice, 1020.0)).evicted
    last = changed(pods_ready(with_status(admitted(), requeues=2), twice, 1020.0))
    assert said(last, "DeactivationTarget")[:2] == (True, "RequeuingLimitExceeded")
    assert not last.evicted
