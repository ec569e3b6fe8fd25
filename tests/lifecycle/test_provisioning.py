"""Asking for machines: one request for each check, and what its conditions make of the check."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from closeknit.lifecycle.action import Action, RequestProvisioning, Withdraw
from closeknit.lifecycle.provisioning import ProvisioningAttempt, ProvisioningView, provisioning, request_name
from closeknit.model.container import Container
from closeknit.model.gates import Gates
from closeknit.model.provisioning import ProvisioningConfig, RetryPolicy
from closeknit.model.request import PodSet, Request
from closeknit.model.shape import Shape
from closeknit.model.workload import Check, Condition, PodSetUpdate, Workload
from lifecycle.shapes import NOW, admitted, changed, events, evicted, pending, reserved, with_conditions, with_status

KUEUE = Gates.profile("kueue")
CONFIG = ProvisioningConfig("cfg", "class", {"a": "1"}, retry=RetryPolicy(2, 60, 100))
ASKS = {"cpu": 1000}
GPU = Request.of([PodSet("main", 3, Shape.of(ASKS, containers=(Container.of(ASKS, {"gpu": 1}),)))])


def waiting(state: Any = "Pending", retries: int = 0, of: Workload | None = None) -> Workload:
    workload = replace(of or reserved(), request=GPU)
    return with_status(workload, checks=(Check("check", state, "", 900.0, retries=retries), Check("other")))


def request(attempt: int = 1, *kinds: str, **other: Any) -> ProvisioningAttempt:
    conditions = {kind: Condition(True, kind, f"it is {kind}") for kind in kinds}
    return ProvisioningAttempt(f"wl-check-{attempt}", "check", attempt, "class", {"a": "1"}, conditions, **other)


def life(
    workload: Workload, *asked: ProvisioningAttempt, config: ProvisioningConfig | None = CONFIG, **other: Any
) -> list[Action]:
    return provisioning(ProvisioningView(workload, {"check": config}, asked, other.pop("gates", KUEUE), **other), NOW)


def state(actions: list[Action]) -> tuple[str, str]:
    check = changed(actions).status.checks[0]
    return check.state, check.message


def test_a_workload_with_quota_asks_once() -> None:
    assert life(waiting()) == [RequestProvisioning(waiting(), "check", "wl-check-1", CONFIG)]
    assert life(waiting(), request()) == []


def test_a_workload_without_quota_asks_for_nothing() -> None:
    assert life(with_status(pending(), checks=(Check("check"),))) == []


def test_attempts_are_numbered_by_the_retries_of_the_check() -> None:
    assert life(waiting(retries=2), request(2)) == [
        Withdraw(waiting(retries=2), "wl-check-2"),
        RequestProvisioning(waiting(retries=2), "check", "wl-check-3", CONFIG),
    ]


def test_a_long_name_is_cut_with_a_hash_of_the_whole() -> None:
    name = request_name("w" * 250, "check", 1)
    assert name.startswith("w" * 247 + "-")
    assert len(name) == 253


def test_a_check_without_its_configuration_waits() -> None:
    assert state(life(waiting(), config=None)) == ("Pending", "the check is not active")


def test_no_machines_are_needed_for_pods_that_mention_no_managed_resource() -> None:
    tpus, gpus = replace(CONFIG, managed=("tpu",)), replace(CONFIG, managed=("gpu",))
    assert state(life(waiting(), config=tpus)) == ("Ready", "the provisioning request is not needed")
    assert [type(one) for one in life(waiting(), config=gpus)] == [RequestProvisioning]


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (("Accepted",), None),
        (("Accepted", "Provisioned"), ("Ready", "it is Provisioned")),
        (("Failed", "Provisioned"), ("Retry", "Retrying after failure: it is Failed")),
        (("CapacityRevoked", "Provisioned"), ("Rejected", "it is CapacityRevoked")),
        (("BookingExpired", "Provisioned"), ("Retry", "Retrying after booking expired: it is BookingExpired")),
    ],
)
def test_the_first_condition_that_counts_decides(kinds: tuple[str, ...], expected: tuple[str, str] | None) -> None:
    actions = life(waiting(), request(1, *kinds))
    assert (state(actions) if actions else None) == expected


def test_the_expected_time_of_nodes_is_reported_while_waiting() -> None:
    soon = Condition(False, "ETA", "in 5 minutes")
    asked = replace(request(1, "Accepted"), conditions={**request(1, "Accepted").conditions, "Provisioned": soon})
    assert state(life(waiting(), asked)) == ("Pending", "in 5 minutes")


def test_pods_get_the_request_they_consume_and_where_its_nodes_are() -> None:
    config = replace(CONFIG, selector={"pool": "PoolName"})
    actions = life(waiting(), request(1, "Provisioned", details={"PoolName": "p7"}), config=config)
    notes = {
        "autoscaling.x-k8s.io/consume-provisioning-request": "wl-check-1",
        "autoscaling.x-k8s.io/provisioning-class-name": "class",
    }
    check = changed(actions).status.checks[0]
    assert check.updates == (PodSetUpdate("main", annotations=notes, selector={"pool": "p7"}),)
    assert check.since == NOW
    assert [reason for reason, _ in events(actions)] == ["AdmissionCheckUpdated"]


@pytest.mark.parametrize(("retries", "expected"), [(0, 60), (1, 100)])
def test_the_wait_before_another_attempt_doubles_up_to_a_limit(retries: int, expected: int) -> None:
    actions = life(waiting(retries=retries), request(retries + 1, "Failed"))
    assert changed(actions).status.checks[0].requeue_after == expected


def test_after_the_last_attempt_the_workload_is_rejected() -> None:
    assert state(life(waiting(retries=2), request(3, "Failed"))) == ("Rejected", "it is Failed")


def test_an_expired_booking_does_not_affect_a_running_workload() -> None:
    running = waiting("Ready", of=admitted())
    kept = life(running, request(1, "BookingExpired", "Provisioned"))
    assert state(kept) == ("Ready", "it is Provisioned")


def test_revoked_capacity_ends_even_a_running_workload() -> None:
    assert state(life(waiting("Ready", of=admitted()), request(1, "CapacityRevoked")))[0] == "Rejected"


def test_a_request_that_does_not_match_is_created_again() -> None:
    assert life(waiting(), replace(request(), class_name="old")) == [Withdraw(waiting(), "wl-check-1")]
    assert life(waiting(), request(), parameters={"b": "2"}) == [Withdraw(waiting(), "wl-check-1")]


def test_requests_go_with_the_workload() -> None:
    done = with_conditions(waiting(of=admitted()), Finished=(True, "Succeeded", 900.0))
    assert life(done, request()) == [Withdraw(done, "wl-check-1")]
    gone = waiting(of=evicted("Preempted"))
    assert life(gone, request()) == [Withdraw(gone, "wl-check-1")]
    keep = Gates.profile("kueue", {"CleanupProvisioningRequestsOnEviction": False})
    assert life(gone, request(), gates=keep) == []


@pytest.mark.parametrize(
    "config", [CONFIG, replace(CONFIG, class_name="new"), replace(CONFIG, parameters={"a": "2"}), None]
)
def test_the_request_of_a_running_workload_stays_whatever_the_configuration(config: ProvisioningConfig | None) -> None:
    runs = with_status(waiting("Ready", of=admitted()), checks=(Check("check", "Ready", "it is Provisioned", 900.0),))
    assert life(runs, request(1, "Provisioned"), config=config) == []


def test_a_check_that_is_ready_is_no_longer_when_its_configuration_is_gone_before_it_runs() -> None:
    assert state(life(waiting("Ready"), request(1, "Provisioned"), config=None)) == (
        "Pending",
        "the check is not active",
    )
    gone = with_status(waiting(), checks=(Check("check", "Pending", "the check is not active"),))
    assert life(gone, request(1, "Provisioned"), config=None) == [Withdraw(gone, "wl-check-1")]


def test_what_a_ready_check_gives_to_pods_stays() -> None:
    updates = (PodSetUpdate("main", annotations={"a": "b"}),)
    ready = with_status(waiting(), checks=(Check("check", "Ready", "it is Provisioned", 900.0, updates=updates),))
    selecting = replace(CONFIG, selector={"zone": "zone"})
    assert life(ready, request(1, "Provisioned", details={"zone": "z"}), config=selecting) == []
    assert life(ready, request(1, "Provisioned"), config=replace(CONFIG, managed=("tpu",))) == []
