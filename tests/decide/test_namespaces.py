"""What is checked before a workload is nominated."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from closeknit.decide.decision import Wait
from closeknit.decide.scheduler import Scheduler
from closeknit.model.cluster_queue import LocalQueue, Selector
from closeknit.model.container import Container
from closeknit.model.limit_range import LimitRange
from closeknit.model.shape import Requirement
from closeknit.model.workload import Check, Workload
from closeknit.queue.wake import RequeueReason

from .objects import DEFAULT, part, queue, scheduler, workload

ENGINEERS = Selector((Requirement("dep", "In", ("eng",)),))


def waits(built: Scheduler, one: Workload) -> Wait:
    built.put(one, 0.0)
    (decision,) = built.cycle(0.0)
    assert isinstance(decision, Wait)
    return decision


def checked(state: Any) -> Workload:
    one = workload("w")
    return replace(one, status=replace(one.status, checks=(Check("c", state),)))


@pytest.mark.parametrize("state", ["Retry", "Rejected"])
def test_checks_that_failed(state: str) -> None:
    found = waits(scheduler([queue("a")]), checked(state))
    expected = (RequeueReason.OTHER, "PendingEvaluation", "The workload has failed admission checks")
    assert (found.why, found.reason, found.message) == expected


def test_an_unknown_namespace() -> None:
    built = scheduler([queue("a")])
    built.put_local_queue(LocalQueue("elsewhere", "a", "a"))
    found = waits(built, replace(workload("w"), namespace="elsewhere"))
    expected = (RequeueReason.OTHER, "Misconfigured", "Could not obtain workload namespace elsewhere")
    assert (found.why, found.reason, found.message) == expected


@pytest.mark.parametrize("selector", [None, ENGINEERS], ids=["no selector matches nothing", "another"])
def test_a_namespace_that_the_queue_does_not_select(selector: Selector | None) -> None:
    found = waits(scheduler([queue("a", selector=selector)]), workload("w"))
    expected = (RequeueReason.NAMESPACE, "Misconfigured", "workload namespace doesn't match ClusterQueue selector")
    assert (found.why, found.reason, found.message) == expected


def test_a_namespace_that_it_selects() -> None:
    built = scheduler([queue("a", selector=ENGINEERS)])
    built.world.namespaces[DEFAULT] = {"dep": "eng"}
    built.put(workload("w"), 0.0)
    built.cycle(0.0)
    assert "default/w" in built.world.ledger


def test_limits_that_requests_exceed() -> None:
    one = workload("w", "a", 1, 1, part(containers=(Container.of({"gpu": 2}, {"gpu": 1}),)))
    found = waits(scheduler([queue("a")]), one)
    assert (found.why, found.reason) == (RequeueReason.OTHER, "Misconfigured")
    assert found.message == (
        "resources validation failed: spec.podSets[0].template.spec.containers[0]: "
        'Invalid value: ["gpu"]: requests must not exceed its limits'
    )


def test_a_limit_range_of_its_namespace() -> None:
    built = scheduler([queue("a")])
    built.world.limit_ranges[DEFAULT] = (LimitRange("Container", max={"gpu": 1}),)
    found = waits(built, workload("w", "a", 1, 1, part(containers=(Container.of({"gpu": 2}),))))
    assert found.message == (
        "resources didn't satisfy LimitRange constraints: spec.podSets[0].template.spec.containers[0]: "
        'Invalid value: ["gpu"]: requests must not be above the limitRange max'
    )
