"""Given jobs are queued behind all others, and never counted twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from closeknit.dialects.kueue.jobs import requests
from closeknit.model.mistake import InputError
from closeknit.observe.given_jobs import Asked, add_jobs
from closeknit.observe.loaded import LoadedCluster

from .test_loader import GATES, NOW, state_of
from .written import job, local_queue, small_cluster, workload


def asked(state: LoadedCluster, *jobs: dict[str, Any]) -> list[Asked]:
    return add_jobs(state, requests((("job.yaml", one) for one in jobs), GATES).jobs, NOW)


def test_given_jobs_come_after_all_others_the_first_of_them_oldest(tmp_path: Path) -> None:
    state = state_of(tmp_path, *small_cluster(), workload("old"))
    first, second = asked(state, job("first"), job("second"))
    times = [state.workloads[key].created for key in ("default/old", first.key, second.key)]
    assert times == sorted(times)
    assert len(set(times)) == 3
    assert (str(first.name), first.where) == ("Job default/first", "job.yaml")


def test_the_same_job_twice_is_two_jobs(tmp_path: Path) -> None:
    state = state_of(tmp_path, *small_cluster())
    found = asked(state, job("train"), job("train"))
    assert [str(one.name) for one in found] == ["Job default/train", "Job default/train (2)"]
    assert len(state.workloads) == 2


@pytest.mark.parametrize("uid", ["", "uid-of-train"])
def test_a_given_job_that_is_in_the_cluster_is_not_counted_twice(tmp_path: Path, uid: str) -> None:
    state = state_of(tmp_path, *small_cluster(), workload("job-train-abcde", owner="train"))
    given = job("train", uid=uid)
    assert [one.key for one in asked(state, given)] == ["default/job-train-abcde"]
    assert len(state.workloads) == 1
    assert "is in the cluster already" in state.notes[0]


def test_a_job_of_the_same_name_in_another_namespace_is_another_job(tmp_path: Path) -> None:
    state = state_of(tmp_path, *small_cluster(), workload("job-train-abcde", owner="train"))
    asked(state, job("train", namespace="team"))
    assert len(state.workloads) == 2


def test_mistakes_of_given_jobs_are_raised_together(tmp_path: Path) -> None:
    state = state_of(tmp_path, *small_cluster(), local_queue("other", "cq"))
    high = {"kueue.x-k8s.io/priority-class": "high"}
    with pytest.raises(InputError) as raised:
        asked(state, job("one", queue=None), job("two", labels=high))
    assert [str(mistake) for mistake in raised.value.mistakes] == [
        "job.yaml: Job default/one: metadata.labels[kueue.x-k8s.io/queue-name]: is missing, and namespace default has "
        "no LocalQueue called default; give one of the LocalQueues of namespace default: main, other",
        'job.yaml: Job default/two: metadata.labels[kueue.x-k8s.io/priority-class]: is "high", but there is no such '
        "WorkloadPriorityClass; the cluster has no WorkloadPriorityClass: create it",
    ]
