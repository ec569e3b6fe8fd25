"""Without admission policies: jobs are suspended as soon as they are seen; what cannot be held gets an event."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from closeknit.cluster import kinds
from closeknit.cluster.embedded.rules import AdmissionSettings as Rules
from closeknit.cluster.kinds import kind_of
from closeknit.dialects.kueue.jobs.kinds import LIVE
from closeknit.host.embedded import EmbeddedOptions
from closeknit.observe.live_jobs import Managed
from host.centre import HOST, centre
from host.jobs_of_each_kind import CASES, DEPLOYMENT, GROUP, JOB, LEADER_WORKER_SET, POD, STATEFUL_SET, Case
from host.lab import Lab, Raw, condition

UNGATEABLE = (POD, GROUP, DEPLOYMENT, STATEFUL_SET, LEADER_WORKER_SET)
SUSPENDABLE = [case for case in CASES if case not in UNGATEABLE]
NOTHING_IS_HELD = Rules(frameworks=frozenset())


def bare(managed: Managed | None = None) -> Lab:
    managed = managed or Managed().without_gates()
    return centre(Lab(EmbeddedOptions(managed=managed, seed=1, rules=NOTHING_IS_HELD)))


def hosts(lab: Lab) -> set[str]:
    """The hosts assigned to its workloads."""
    sets = [one for workload in lab.workloads() for one in workload["status"]["admission"]["podSetAssignments"]]
    values: set[str] = set()
    for one in sets:
        for level in one["topologyAssignment"]["slices"]:
            last = level["valuesPerLevel"][-1]
            individual = last.get("individual") or {"roots": [last["universal"]]}
            prefix = individual.get("prefix", "")
            values |= {prefix + root for root in individual["roots"]}
    return values


def placed(lab: Lab) -> list[Raw]:
    return [pod for pod in lab.pods() if HOST in pod["spec"].get("nodeSelector", {}) and pod["spec"].get("nodeName")]


def until(lab: Lab, holds: Callable[[], bool], seconds: int = 60) -> None:
    for _ in range(seconds):
        if holds():
            return
        lab.advance(1)
    raise AssertionError(f"not within {seconds} s")


def events(lab: Lab, reason: str) -> list[Raw]:
    return [one for one in lab.all(kinds.EVENT) if one["reason"] == reason]


@pytest.mark.parametrize("case", SUSPENDABLE, ids=lambda case: case.name)
def test_a_job_that_was_made_unsuspended_is_suspended_and_then_runs_where_it_is_placed(case: Case) -> None:
    lab = bare()
    made = lab.apply(case.manifest)[-1]
    integration = LIVE[kind_of(made["apiVersion"], made["kind"]).group, made["kind"]]  # type: ignore[union-attr]
    assert not integration.is_suspended(made)
    lab.settle()
    assert events(lab, "Stopped") or events(lab, "Suspended")
    until(lab, lambda: len(placed(lab)) == case.pods)
    (workload,) = lab.workloads()
    assert condition(workload, "Admitted")
    assert {pod["spec"]["nodeSelector"][HOST] for pod in placed(lab)} <= hosts(lab)
    assert all(pod in placed(lab) or "deletionTimestamp" in pod["metadata"] for pod in lab.pods())


def test_nothing_of_a_job_runs_that_has_no_quota() -> None:
    lab = bare()
    lab.patch(kinds.CLUSTER_QUEUE, "", "cq", {"spec": {"stopPolicy": "Hold"}})
    lab.settle()
    lab.apply(JOB.manifest)
    lab.advance(60)
    assert lab.get(kinds.JOB, "one")["spec"]["suspend"] is True
    assert lab.pods() == []


@pytest.mark.parametrize("case", UNGATEABLE, ids=lambda case: case.name)
def test_what_cannot_be_gated_is_left_alone_and_gets_an_event(case: Case) -> None:
    lab = bare()
    made = lab.apply(case.manifest)[-1]
    lab.advance(10)
    assert lab.workloads() == []
    found = [one for one in events(lab, "NotQueued") if one["involvedObject"]["uid"] == made["metadata"]["uid"]]
    assert len(found) == 1
    assert found[0]["type"] == "Warning"
    assert found[0]["message"].startswith("It does not wait in queue lq: this server cannot gate pods")


def test_what_names_no_queue_gets_no_event() -> None:
    lab = bare()
    lab.apply(POD.manifest.replace("labels: {kueue.x-k8s.io/queue-name: lq}", "labels: {app: x}"))
    lab.advance(10)
    assert events(lab, "NotQueued") == []


@pytest.mark.parametrize("case", [POD, DEPLOYMENT], ids=lambda case: case.name)
def test_with_policies_there_is_no_such_event(case: Case) -> None:
    lab = centre(Lab(EmbeddedOptions(seed=1)))
    lab.apply(case.manifest)
    lab.advance(10)
    assert events(lab, "NotQueued") == []


@pytest.mark.parametrize("case", [POD, GROUP, DEPLOYMENT], ids=lambda case: case.name)
def test_an_ungated_pod_is_left_alone_though_its_kind_is_enabled(case: Case) -> None:
    """It was created before the policies, or where it is unknown whether they are in force."""
    lab = bare(Managed())
    lab.apply(case.manifest)
    lab.advance(10)
    assert len(lab.pods()) == case.pods
    assert not any("deletionTimestamp" in pod["metadata"] for pod in lab.pods())
    assert lab.workloads() == []
