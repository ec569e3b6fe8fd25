"""The queueing options of jobs, and mistakes in them."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.kueue.jobs import GivenJob, read
from closeknit.model.gates import Gates

PREFIX = "kueue.x-k8s.io/"


def job(labels: dict[str, Any] | None = None, annotations: dict[str, Any] | None = None, **meta: Any) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "c"}], "priorityClassName": "pods"}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "labels": labels or {}, "annotations": annotations or {}, **meta},
        "spec": {"parallelism": 4, "completions": 4, "template": template},
    }


def one(raw: dict[str, Any]) -> GivenJob:
    (reading,) = read([("f.yaml", raw)], Gates.profile())
    assert not reading.mistakes, reading.mistakes
    return reading.jobs[0]


def mistakes(raw: dict[str, Any]) -> list[str]:
    (reading,) = read([("f.yaml", raw)], Gates.profile())
    return [str(mistake) for mistake in reading.mistakes]


def test_all_options_are_read() -> None:
    found = one(
        job(
            {f"{PREFIX}queue-name": "q", f"{PREFIX}priority-class": "high", f"{PREFIX}max-exec-time-seconds": "90"},
            {f"{PREFIX}job-min-parallelism": "2", f"{PREFIX}admission-gated-by": "a,b"},
            uid="u",
            creationTimestamp="2026-03-01T00:00:00Z",
        )
    ).standing
    assert (found.queue, found.workload_class, found.pod_class) == ("q", "high", "pods")
    assert (found.max_seconds, found.least, found.gated_by) == (90, {"main": 2}, "a,b")
    assert (found.uid, found.created, found.priority) == ("u", "2026-03-01T00:00:00Z", None)


def test_a_prebuilt_workload_may_be_named_in_a_label_or_an_annotation() -> None:
    key = f"{PREFIX}prebuilt-workload-name"
    assert one(job({key: "label"})).standing.prebuilt == "label"
    assert one(job({key: "label"}, {key: "annotation"})).standing.prebuilt == "annotation"


def test_templates_are_kept_unchanged() -> None:
    raw = job()
    assert one(raw).templates == {"main": raw["spec"]["template"]}


def test_a_cron_job_has_its_options_in_the_job_template() -> None:
    inner = job({f"{PREFIX}queue-name": "q"})
    raw = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "c", "uid": "u"},
        "spec": {"schedule": "@daily", "jobTemplate": {"metadata": inner["metadata"], "spec": inner["spec"]}},
    }
    assert one(raw).standing.queue == "q"


def test_a_pod_group_has_the_options_of_its_first_pod() -> None:
    labels = {f"{PREFIX}queue-name": "q", f"{PREFIX}pod-group-name": "g"}
    notes = {f"{PREFIX}pod-group-total-count": "2", f"{PREFIX}role-hash": "r"}
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"p{number}", "labels": labels, "annotations": notes},
            "spec": {"containers": [{"name": "c", "image": f"i{number}"}], "priorityClassName": "pods"},
        }
        for number in range(2)
    ]
    (reading,) = read([("f.yaml", pod) for pod in pods], Gates.profile())
    (group,) = reading.jobs
    assert (group.standing.queue, group.standing.pod_class, group.order) == ("q", "pods", ("r",))
    assert group.templates == {"r": {"spec": pods[0]["spec"]}}


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (job({f"{PREFIX}queue-name": "Not/A/Name"}), 'queue-name]: is "Not/A/Name", not the name of an object'),
        (job({f"{PREFIX}max-exec-time-seconds": "0"}), 'max-exec-time-seconds]: is "0"; use a whole number'),
        (job({f"{PREFIX}max-exec-time-seconds": "soon"}), 'max-exec-time-seconds]: is "soon"'),
        (job(creationTimestamp="yesterday"), 'metadata.creationTimestamp: is "yesterday", not a time'),
    ],
)
def test_mistakes_are_reported(raw: dict[str, Any], said: str) -> None:
    (text,) = mistakes(raw)
    assert said in text
