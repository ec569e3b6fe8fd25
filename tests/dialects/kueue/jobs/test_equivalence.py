from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.kueue.jobs.equivalence import is_same
from closeknit.dialects.kueue.jobs.injection import Info
from closeknit.dialects.kueue.jobs.kinds import LIVE
from closeknit.dialects.kueue.jobs.starting import started
from closeknit.dialects.kueue.jobs.workload_object import workload_for
from closeknit.model.gates import Gates
from closeknit.model.shape import Toleration

Raw = dict[str, Any]
JOB = LIVE["batch", "Job"]
KUEUE = Gates.profile("kueue")
MIN = "kueue.x-k8s.io/job-min-parallelism"
SECONDS = "kueue.x-k8s.io/max-exec-time-seconds"
INFO = Info("main", 4, {"l": "1"}, {}, {"pool": "big"}, (Toleration("t", "Exists"),))


def a_job(
    uid: str = "uid", labels: Raw | None = None, pod: Raw | None = None, notes: Raw | None = None, **spec: Any
) -> Raw:
    containers = [{"name": "c", "image": "i", "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}]
    template = {"metadata": {"annotations": notes or {}}, "spec": {"containers": containers, **(pod or {})}}
    metadata = {"name": "train", "uid": uid, "labels": labels or {}, "annotations": {MIN: "2"}}
    spec = {"suspend": True, "parallelism": 4, "template": template, **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


WORKLOAD = workload_for(a_job(), JOB, KUEUE)


def with_condition(kind: str) -> Raw:
    return {**WORKLOAD, "status": {"conditions": [{"type": kind, "status": "True"}]}}


def running(raw: Raw, info: Info = INFO) -> Raw:
    got = started(JOB, raw, [info])
    assert isinstance(got, dict)
    return got


def test_a_job_matches_the_workload_created_from_it() -> None:
    assert is_same(a_job(), JOB, WORKLOAD)


@pytest.mark.parametrize(
    "changed",
    [
        a_job(uid="other"),
        a_job(labels={SECONDS: "60"}),
        a_job(parallelism=5),
        a_job(pod={"containers": [{"name": "c", "image": "j"}]}),
        a_job(pod={"initContainers": [{"name": "i"}]}),
        a_job(pod={"tolerations": [{"key": "a"}]}),
    ],
    ids=["uid", "time", "count", "containers", "initContainers", "tolerations"],
)
def test_a_job_that_was_changed_is_not_the_same(changed: Raw) -> None:
    assert not is_same(changed, JOB, WORKLOAD)


def test_with_how_few_pods_a_job_starts_is_part_of_it() -> None:
    raw = a_job()
    raw["metadata"]["annotations"] = {}
    assert not is_same(raw, JOB, WORKLOAD)


@pytest.mark.parametrize(
    "changed",
    [
        a_job(pod={"nodeSelector": {"a": "b"}}),
        a_job(pod={"affinity": {"podAffinity": {}}}),
        a_job(notes={"kueue.x-k8s.io/podset-required-topology": "rack"}),
        a_job(labels={"team": "a"}),
    ],
    ids=["selector", "affinity", "topology", "labels"],
)
def test_fields_that_are_not_compared_make_no_difference(changed: Raw) -> None:
    assert is_same(changed, JOB, WORKLOAD)


def test_once_admitted_tolerations_are_not_compared() -> None:
    changed = a_job(pod={"tolerations": [{"key": "a"}]})
    assert not is_same(changed, JOB, with_condition("QuotaReserved"), [INFO])
    assert is_same(changed, JOB, with_condition("Admitted"), [INFO])


def test_a_running_job_is_compared_with_its_injected_templates() -> None:
    raw = running(a_job())
    assert is_same(raw, JOB, with_condition("QuotaReserved"), [INFO])
    assert not is_same(raw, JOB, with_condition("QuotaReserved"))


def test_a_suspended_job_may_still_be_as_it_was_submitted() -> None:
    assert is_same(a_job(), JOB, with_condition("QuotaReserved"), [INFO])
    assert not is_same(a_job(suspend=False), JOB, with_condition("QuotaReserved"), [INFO])


@pytest.mark.parametrize("count", [3, 2])
def test_a_job_that_started_with_fewer_pods_is_the_same_job(count: int) -> None:
    info = Info("main", count)
    raw = running(a_job(), info)
    assert raw["spec"]["parallelism"] == count
    assert is_same(raw, JOB, with_condition("Admitted"), [info])
    assert not is_same(raw, JOB, with_condition("Admitted"), [Info("main", 4)])
