"""What a plan says of itself."""

from __future__ import annotations

from closeknit.decide.plan import FlavorChoice, Mode, Plan, PodSetPlan, Severity
from closeknit.model.gates import Gates
from closeknit.model.settings import Settings
from closeknit.queue.pending_workload import pending_workload
from lifecycle.shapes import pending


def pod_set(mode: Mode, severity: Severity) -> PodSetPlan:
    (demand,) = pending_workload(pending(), "cq", Settings(), Gates.profile()).demands
    return PodSetPlan(demand, {"cpu": FlavorChoice("f", mode)}, ["a reason"], severity)


def test_the_worst_of_several_reasons_is_reported() -> None:
    plan = Plan([pod_set(Mode.NO_FIT, Severity.TOPOLOGY), pod_set(Mode.NO_FIT, Severity.MAXIMUM)])
    assert plan.severity is Severity.MAXIMUM


def test_where_a_pod_set_has_no_place_at_all_it_does_not_count_that_another_waits_for_quota() -> None:
    """A leader that fits nowhere, with workers that would need victims."""
    plan = Plan([pod_set(Mode.NO_FIT, Severity.TOPOLOGY), pod_set(Mode.PREEMPT, Severity.QUOTA)])
    assert plan.severity is Severity.TOPOLOGY


def test_if_victims_would_help_all_of_them_each_counts() -> None:
    plan = Plan([pod_set(Mode.PREEMPT, Severity.TOPOLOGY), pod_set(Mode.PREEMPT, Severity.QUOTA)])
    assert plan.severity is Severity.QUOTA
