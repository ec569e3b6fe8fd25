from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.kueue.jobs.injection import Info
from closeknit.dialects.kueue.jobs.kinds import LIVE, Finished
from closeknit.dialects.kueue.jobs.kinds.job import terminal
from closeknit.dialects.kueue.jobs.starting import started, stopping

Raw = dict[str, Any]
JOB = LIVE["batch", "Job"]
TEMPLATE: Raw = {"spec": {"containers": [{"name": "c", "image": "busybox"}], "restartPolicy": "Never"}}
MIN = "kueue.x-k8s.io/job-min-parallelism"
SAME = "kueue.x-k8s.io/job-completions-equal-parallelism"


def a_job(status: Raw | None = None, annotations: Raw | None = None, **spec: Any) -> Raw:
    metadata: Raw = {"name": "train", "uid": "uid"}
    if annotations:
        metadata["annotations"] = annotations
    spec = {"suspend": True, "template": TEMPLATE, **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec, "status": status or {}}


def test_a_job_is_not_suspended_by_default() -> None:
    raw = a_job()
    del raw["spec"]["suspend"]
    assert not JOB.is_suspended(raw)
    assert JOB.is_suspended(JOB.suspended(raw, True))
    assert "suspend" not in raw["spec"]


@pytest.mark.parametrize(
    ("spec", "count"),
    [({}, 1), ({"parallelism": 4}, 4), ({"parallelism": 4, "completions": 3}, 3), ({"parallelism": 0}, 0)],
)
def test_no_more_pods_run_at_once_than_there_are_completions(spec: Raw, count: int) -> None:
    (main,) = JOB.pod_sets(a_job(**spec))
    assert (main.name, main.count, main.least) == ("main", count, None)
    assert main.template is TEMPLATE
    assert main.ranks.index_label == "batch.kubernetes.io/job-completion-index"


@pytest.mark.parametrize(("text", "least"), [("2", 2), ("8", 8), ("9", None), ("0", None), ("two", None)])
def test_a_job_may_have_a_minimum_number_of_pods(text: str, least: int | None) -> None:
    (main,) = JOB.pod_sets(a_job(annotations={MIN: text}, parallelism=8))
    assert main.least == least


def test_a_job_ends_by_its_conditions() -> None:
    ended = {"type": "Complete", "status": "True", "message": "Reached expected number of succeeded pods"}
    failing = {"type": "FailureTarget", "status": "True", "message": "x"}
    failed = {"type": "Failed", "status": "True", "message": "Job has reached the specified backoff limit"}
    assert JOB.finished(a_job()) is None
    assert JOB.finished(a_job({"conditions": [failing, {**failed, "status": "False"}]})) is None
    assert JOB.finished(a_job({"conditions": [ended]})) == Finished(True, "Reached expected number of succeeded pods")
    assert JOB.finished(a_job({"conditions": [failing, failed]})) == Finished(
        False, "Job has reached the specified backoff limit"
    )


def test_a_job_is_active_while_it_has_pods() -> None:
    assert not JOB.is_active(a_job())
    assert not JOB.is_active(a_job({"active": 0}))
    assert JOB.is_active(a_job({"active": 2}))


@pytest.mark.parametrize(
    ("status", "ready"),
    [
        ({}, False),
        ({"ready": 2, "active": 3}, False),
        ({"ready": 3}, True),
        ({"ready": 1, "succeeded": 1, "uncountedTerminatedPods": {"succeeded": ["u1"]}}, True),
        ({"ready": 2, "uncountedTerminatedPods": {"failed": ["u1"]}}, False),
    ],
)
def test_pods_that_succeeded_count_as_ready(status: Raw, ready: bool) -> None:
    assert JOB.pods_ready(a_job(status, parallelism=3)) is ready


@pytest.mark.parametrize(
    ("spec", "status", "free"),
    [
        ({"parallelism": 1, "completions": 5}, {"succeeded": 5}, {}),
        ({"parallelism": 3, "completions": 5}, {}, {}),
        ({"parallelism": 3, "completions": 5}, {"succeeded": 2}, {}),
        ({"parallelism": 3, "completions": 5}, {"succeeded": 3}, {"main": 1}),
        ({"parallelism": 3, "completions": 5}, {"succeeded": 9}, {"main": 3}),
        ({"parallelism": 3}, {"succeeded": 1}, {"main": 1}),
    ],
)
def test_pods_beyond_the_remaining_completions_are_reclaimable(spec: Raw, status: Raw, free: dict[str, int]) -> None:
    assert JOB.reclaimable(a_job(status, **spec)) == free


@pytest.mark.parametrize(
    ("completed", "failed", "over"),
    [
        ("", "", 0),
        ("1,3-5,7", "", 5),
        ("0-4", "3-6", 7),
        ("8-20", "", 2),
        ("5", "5", 1),
        ("0-2,x,4-", "9", 4),
    ],
)
def test_indexes_that_completed_or_failed_for_good_are_counted_once(completed: str, failed: str, over: int) -> None:
    status = {"succeeded": 99, "completedIndexes": completed, "failedIndexes": failed}
    assert terminal(a_job(status, completionMode="Indexed", completions=10, parallelism=10)) == over


def test_an_indexed_job_gives_back_the_pods_of_indexes_that_are_over() -> None:
    raw = a_job(
        {"completedIndexes": "0-6", "failedIndexes": "7"}, completionMode="Indexed", completions=10, parallelism=4
    )
    assert JOB.reclaimable(raw) == {"main": 2}


def test_a_started_job_runs_with_what_its_pods_get() -> None:
    raw = started(JOB, a_job(parallelism=2), [Info("main", 2, {"l": "1"}, {}, {"pool": "big"}, (), ("g",))])
    assert isinstance(raw, dict)
    assert raw["spec"] == {
        "suspend": False,
        "parallelism": 2,
        "template": {
            "metadata": {"labels": {"l": "1"}},
            "spec": {**TEMPLATE["spec"], "nodeSelector": {"pool": "big"}, "schedulingGates": [{"name": "g"}]},
        },
    }


@pytest.mark.parametrize(
    ("annotations", "before", "after"),
    [
        ({}, (8, 8), (8, 8)),
        ({MIN: "2"}, (8, 8), (3, 8)),
        ({MIN: "2", SAME: "true"}, (8, 8), (3, 3)),
    ],
)
def test_only_a_job_with_a_minimum_starts_with_fewer_pods(
    annotations: Raw, before: tuple[int, int], after: tuple[int, int]
) -> None:
    raw = a_job(annotations=annotations, parallelism=before[0], completions=before[1])
    got = started(JOB, raw, [Info("main", 3)])
    assert isinstance(got, dict)
    assert (got["spec"]["parallelism"], got["spec"]["completions"]) == after


def test_a_job_is_stopped_in_steps_and_then_is_as_it_was_submitted() -> None:
    submitted = a_job(annotations={MIN: "2", SAME: "true"}, parallelism=8, completions=8)
    workload = {"spec": {"podSets": [{"name": "main", "count": 8, "template": TEMPLATE}]}}
    running = started(JOB, submitted, [Info("main", 3, {"l": "1"}, {"a": "1"}, {"pool": "big"}, (), ("g",))])
    assert isinstance(running, dict)
    running = {**running, "status": {"startTime": "2026-01-31T12:00:00Z", "active": 3}}

    first = stopping(JOB, running, workload)
    assert first is not None
    assert (first.subresource, first.deletes) == ("", False)
    assert first.body["spec"] == {**running["spec"], "suspend": True}
    assert first.body["metadata"]["annotations"]["kueue.x-k8s.io/stopping"] == "true"

    second = stopping(JOB, first.body, workload)
    assert second is not None
    assert (second.subresource, second.body["status"]) == ("status", {"active": 3})

    assert stopping(JOB, second.body, workload) is None
    third = stopping(JOB, {**second.body, "status": {}}, workload)
    assert third is not None
    assert third.subresource == ""
    assert {**third.body, "status": {}} == submitted
    assert stopping(JOB, third.body, workload) is None


def test_a_job_without_annotations_has_none_after_it_was_stopped() -> None:
    submitted = a_job()
    step = stopping(JOB, JOB.suspended(submitted, False), None)
    assert step is not None
    last = stopping(JOB, step.body, None)
    assert last is not None
    assert last.body == submitted


def test_a_job_that_was_suspended_by_others_is_not_restored() -> None:
    assert stopping(JOB, a_job({"startTime": "2026-01-31T12:00:00Z"}), None) is None


def test_labels_that_the_server_put_on_a_template_stay_though_kueues_workload_lacks_them() -> None:
    named = {"batch.kubernetes.io/job-name": "train", "job-name": "train"}
    owned = {"batch.kubernetes.io/controller-uid": "uid", "controller-uid": "uid"}
    submitted = {**TEMPLATE, "metadata": {"labels": {"app": "a", "batch.kubernetes.io/job-name": "train"}}}
    now = {**TEMPLATE, "metadata": {"labels": {"app": "a", **named, **owned, "kueue.x-k8s.io/podset": "main"}}}
    workload = {"spec": {"podSets": [{"name": "main", "count": 1, "template": submitted}]}}
    step = stopping(JOB, a_job(annotations={"kueue.x-k8s.io/stopping": "true"}, template=now), workload)
    assert step is not None
    assert step.body["spec"]["template"]["metadata"] == {"labels": {"app": "a", **named, **owned}}
