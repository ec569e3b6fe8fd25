"""How soon the pending reporter writes why a workload is pending."""

from __future__ import annotations

from closeknit.controller.pending_reporter import PendingReporter, ReportPolicy
from closeknit.decide.decision import Wait
from closeknit.model.gates import Gates
from closeknit.model.settings import Settings
from closeknit.model.workload import Workload
from closeknit.observe.cluster_cache import ClusterCache
from closeknit.queue.wake import RequeueReason
from closeknit.write.events import Recorder
from closeknit.write.token_bucket import Rate
from lifecycle.shapes import pending, with_conditions

QUOTA = "WaitingForQuota"


def told_once() -> PendingReporter:
    """A reporter that has reported a workload as waiting for quota at second 1."""
    known = ClusterCache(Gates.profile(), Settings(), lambda: 0.0)
    known.workloads["ns/wl"] = pending()
    waits = PendingReporter(known, Recorder(), ReportPolicy(1.0, 30.0, Rate(20, 100)))
    waits.report(wait(pending()), 0.0)
    waits.step(1.0)
    assert waits.due() is None
    return waits


def wait(workload: Workload) -> Wait:
    return Wait(workload, RequeueReason.NO_FIT, QUOTA, "a text")


def test_the_same_reason_is_reported_again_after_a_while() -> None:
    waits = told_once()
    waits.report(wait(with_conditions(pending(), QuotaReserved=(False, QUOTA, 1.0))), 5.0)
    assert waits.due() == 31.0


def test_a_reason_is_reported_soon_if_the_condition_has_another_one_meanwhile() -> None:
    waits = told_once()
    waits.report(wait(with_conditions(pending(), QuotaReserved=(False, "PendingEvaluation", 4.0))), 5.0)
    assert waits.due() == 6.0
