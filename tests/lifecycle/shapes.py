"""Workloads and queues for the tests of their life: small ones, said in few words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from closeknit.lifecycle.action import Action, StatusChange
from closeknit.model.cluster_queue import CheckRule, ClusterQueue, LocalQueue
from closeknit.model.quota import FlavorQuotas, Quota, ResourceGroup
from closeknit.model.request import PodSet, Request
from closeknit.model.shape import Shape
from closeknit.model.workload import Admission, Condition, PodSetAssignment, Status, Workload, WorkloadPodSet

NOW = 1000.0
REQUEST = Request.of([PodSet("main", 3, Shape.of({"cpu": 1000}))])
MAIN = WorkloadPodSet("main", {"cpu": 1000})
ADMISSION = Admission("cq", (PodSetAssignment("main", {"cpu": "f"}, {"cpu": 3000}, 3),))
LOCAL = LocalQueue("ns", "lq", "cq")


def queue(*checks: CheckRule, **other: Any) -> ClusterQueue:
    """A queue with two flavors, f and g."""
    flavors = tuple(FlavorQuotas(name, {"cpu": Quota(9000)}) for name in "fg")
    return ClusterQueue("cq", (ResourceGroup(("cpu",), flavors),), checks=checks, **other)


def conditions(**given: tuple[bool, str, float]) -> dict[str, Condition]:
    return {
        kind: Condition(holds, reason, f"because of {reason}", since) for kind, (holds, reason, since) in given.items()
    }


def pending(**other: Any) -> Workload:
    return Workload("ns", "wl", REQUEST, (MAIN,), "lq", "uid", **other)


def reserved(since: float = 900.0, **other: Any) -> Workload:
    held = conditions(QuotaReserved=(True, "QuotaReserved", since))
    return pending(status=Status(held, ADMISSION), **other)


def admitted(since: float = 900.0, **other: Any) -> Workload:
    held = conditions(QuotaReserved=(True, "QuotaReserved", since), Admitted=(True, "Admitted", since))
    return pending(status=Status(held, ADMISSION), **other)


def evicted(reason: str, since: float = 950.0, **other: Any) -> Workload:
    one = admitted(**other)
    return with_conditions(one, Evicted=(True, reason, since))


def with_conditions(workload: Workload, **given: tuple[bool, str, float]) -> Workload:
    status = replace(workload.status, conditions={**workload.status.conditions, **conditions(**given)})
    return replace(workload, status=status)


def with_status(workload: Workload, **changes: Any) -> Workload:
    return replace(workload, status=replace(workload.status, **changes))


def changed(actions: Sequence[Action]) -> Workload:
    """The workload as the one change among the actions leaves it."""
    [change] = [one for one in actions if isinstance(one, StatusChange)]
    return change.after


def events(actions: Sequence[Action]) -> list[tuple[str, str]]:
    return [(event.reason, event.message) for one in actions if isinstance(one, StatusChange) for event in one.events]


def said(workload: Workload, kind: str) -> tuple[bool, str, str]:
    condition = workload.status.conditions[kind]
    return condition.holds, condition.reason, condition.message
