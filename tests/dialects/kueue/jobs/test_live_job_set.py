from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.kueue.jobs.injection import Info
from closeknit.dialects.kueue.jobs.kinds import LIVE, Finished
from closeknit.dialects.kueue.jobs.starting import started, stopping
from closeknit.dialects.kueue.objects import Unreadable

Raw = dict[str, Any]
JOB_SET = LIVE["jobset.x-k8s.io", "JobSet"]


def template(name: str) -> Raw:
    return {"spec": {"containers": [{"name": name, "image": "i"}]}}


def replicated(name: str, replicas: int | None = None, **spec: Any) -> Raw:
    one = {"name": name, "template": {"spec": {"template": template(name), **spec}}}
    return one if replicas is None else {**one, "replicas": replicas}


def a_job_set(*jobs: Raw, status: list[Raw] | None = None, **spec: Any) -> Raw:
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "train", "uid": "uid"},
        "spec": {"replicatedJobs": list(jobs), "suspend": True, **spec},
        "status": {"replicatedJobsStatus": status or []},
    }


TWO = (replicated("Leader"), replicated("workers", 3, parallelism=4, completions=2))


def test_every_replicated_job_is_a_pod_set_of_all_its_replicas() -> None:
    leader, workers = JOB_SET.pod_sets(a_job_set(*TWO))
    assert (leader.name, leader.count, leader.template) == ("leader", 1, template("Leader"))
    assert (workers.name, workers.count) == ("workers", 6)
    assert workers.ranks.index_label == "batch.kubernetes.io/job-completion-index"
    assert (workers.ranks.group_label, workers.ranks.group_count) == ("jobset.sigs.k8s.io/job-index", 3)


def test_a_job_set_without_jobs_cannot_be_read() -> None:
    with pytest.raises(Unreadable, match="replicatedJobs is missing"):
        JOB_SET.pod_sets(a_job_set())


def test_a_job_set_ends_by_its_conditions() -> None:
    raw = a_job_set(*TWO)
    assert JOB_SET.finished(raw) is None
    raw["status"]["conditions"] = [{"type": "Completed", "status": "True", "message": "jobset completed successfully"}]
    assert JOB_SET.finished(raw) == Finished(True, "jobset completed successfully")
    raw["status"]["conditions"] = [{"type": "Failed", "status": "True", "message": "jobset failed"}]
    assert JOB_SET.finished(raw) == Finished(False, "jobset failed")


def test_a_job_set_is_active_while_any_of_its_jobs_is() -> None:
    assert not JOB_SET.is_active(a_job_set(*TWO, status=[{"name": "workers", "active": 0, "suspended": 3}]))
    assert JOB_SET.is_active(a_job_set(*TWO, status=[{"name": "Leader"}, {"name": "workers", "active": 1}]))


@pytest.mark.parametrize(
    ("leader", "workers", "ready"),
    [
        ({"ready": 1}, {"ready": 3}, True),
        ({"succeeded": 1}, {"ready": 2, "succeeded": 1}, True),
        ({"ready": 1}, {"ready": 2}, False),
        ({}, {}, False),
    ],
)
def test_a_job_set_is_ready_when_all_replicas_are_or_have_been(leader: Raw, workers: Raw, ready: bool) -> None:
    status = [{"name": "Leader", **leader}, {"name": "workers", **workers}]
    assert JOB_SET.pods_ready(a_job_set(*TWO, status=status)) is ready


@pytest.mark.parametrize(
    ("succeeded", "free"), [(0, {}), (1, {"workers": 2}), (3, {"workers": 6}), (4, {})], ids=["0", "1", "3", "nonsense"]
)
def test_the_pods_of_replicas_that_succeeded_are_reclaimable(succeeded: int, free: dict[str, int]) -> None:
    assert JOB_SET.reclaimable(a_job_set(*TWO, status=[{"name": "workers", "succeeded": succeeded}])) == free


def test_starting_changes_every_template_and_stopping_puts_them_back() -> None:
    raw = a_job_set(*TWO)
    workload = {
        "spec": {
            "podSets": [
                {"name": "leader", "count": 1, "template": template("Leader")},
                {"name": "workers", "count": 6, "template": template("workers")},
            ]
        }
    }
    running = started(JOB_SET, raw, [Info("leader", 1, {"l": "0"}), Info("workers", 6, {"l": "1"})])
    assert isinstance(running, dict)
    assert running["spec"]["suspend"] is False
    labels = [one["template"]["spec"]["template"]["metadata"] for one in running["spec"]["replicatedJobs"]]
    assert labels == [{"labels": {"l": "0"}}, {"labels": {"l": "1"}}]
    step = stopping(JOB_SET, running, workload)
    assert step is not None
    assert step.body == raw
    assert stopping(JOB_SET, raw, workload) is None


def test_infos_have_to_be_as_many_as_pod_sets() -> None:
    conflict = started(JOB_SET, a_job_set(*TWO), [Info("leader", 1)])
    assert not isinstance(conflict, dict)
    assert conflict.text == "invalid podset infos: expecting 2 podset, got 1"
