from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster.kinds import CRON_JOB, JOB
from closeknit.cluster.port import Raw
from cluster.embedded.rules.hosts import Host, causes, job

OWN = {
    "batch.kubernetes.io/controller-uid": "uid-3",
    "batch.kubernetes.io/job-name": "x",
    "controller-uid": "uid-3",
    "job-name": "x",
}
FILLED = {
    "parallelism": 1,
    "completions": 1,
    "backoffLimit": 6,
    "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "uid-3"}},
    "manualSelector": False,
    "completionMode": "NonIndexed",
    "suspend": False,
    "podReplacementPolicy": "TerminatingOrFailed",
}


def around(made: Raw) -> Raw:
    """The spec without the template."""
    return {key: value for key, value in made["spec"].items() if key != "template"}


def test_a_job_is_filled_in_and_gets_a_selector_of_its_own() -> None:
    made = Host().create(JOB, job())
    assert around(made) == FILLED
    assert made["spec"]["template"]["metadata"] == {"labels": OWN}
    assert made["metadata"]["labels"] == OWN
    assert made["status"] == {}


@pytest.mark.parametrize(
    ("given", "changed"),
    [
        ({"parallelism": 3}, {"parallelism": 3, "completions": ...}),
        ({"completions": 3}, {"completions": 3}),
        ({"parallelism": 0}, {"parallelism": 0, "completions": ...}),
        ({"parallelism": None, "completions": None, "suspend": None}, {}),
        (
            {"completions": 2, "completionMode": "Indexed", "backoffLimitPerIndex": 1},
            {"completions": 2, "completionMode": "Indexed", "backoffLimitPerIndex": 1, "backoffLimit": 2147483647},
        ),
        (
            {"podFailurePolicy": {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "X"}]}]}},
            {
                "podFailurePolicy": {
                    "rules": [{"action": "Ignore", "onPodConditions": [{"type": "X", "status": "True"}]}]
                },
                "podReplacementPolicy": "Failed",
            },
        ),
    ],
)
def test_defaults_of_a_job_depend_on_what_it_says(given: Raw, changed: Raw) -> None:
    wanted = {key: value for key, value in {**FILLED, **changed}.items() if value is not ...}
    assert around(Host().create(JOB, job(**given))) == wanted


def test_a_job_with_labels_keeps_them_and_no_more() -> None:
    assert Host().create(JOB, job(labels={"a": "b"}))["metadata"]["labels"] == {"a": "b"}


def test_a_job_without_labels_gets_those_of_its_pods() -> None:
    body = job()
    body["spec"]["template"]["metadata"] = {"labels": {"app": "x"}}
    made = Host().create(JOB, body)
    assert made["metadata"]["labels"] == made["spec"]["template"]["metadata"]["labels"] == {"app": "x", **OWN}


def test_a_selector_chosen_by_hand_stays() -> None:
    body = job(manualSelector=True, selector={"matchLabels": {"a": "b"}})
    body["spec"]["template"]["metadata"] = {"labels": {"a": "b"}}
    made = Host().create(JOB, body)
    assert made["spec"]["selector"] == {"matchLabels": {"a": "b"}}
    assert made["spec"]["template"]["metadata"]["labels"] == {"a": "b"}


def test_missing_times_of_conditions_are_null() -> None:
    host = Host()
    host.create(JOB, job())
    made = host.patch(JOB, {"status": {"conditions": [{"type": "X", "status": "True"}]}}, "status")
    assert made["status"]["conditions"] == [
        {"type": "X", "status": "True", "lastProbeTime": None, "lastTransitionTime": None}
    ]


def test_a_field_that_is_taken_away_gets_its_default_again() -> None:
    host = Host()
    host.create(JOB, job(backoffLimit=2))
    assert host.patch(JOB, {"spec": {"backoffLimit": None}})["spec"]["backoffLimit"] == 6


def cron_job(**spec: Any) -> Raw:
    return {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": job()["spec"]}, **spec}}


def test_a_cron_job_is_filled_in() -> None:
    made = Host().create(CRON_JOB, cron_job())
    inner = made["spec"].pop("jobTemplate")
    assert made["spec"] == {
        "schedule": "* * * * *",
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    }
    assert inner["metadata"] == {}
    assert inner["spec"].keys() == {"template"}
    assert inner["spec"]["template"]["spec"]["schedulerName"] == "default-scheduler"
    assert made["status"] == {}


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"schedule": ""}, [("spec.schedule", "Required")]),
        ({"schedule": "* * * *"}, [("spec.schedule", "Invalid")]),
        ({"timeZone": "Nowhere/X"}, [("spec.timeZone", "Invalid")]),
        ({"timeZone": ""}, [("spec.timeZone", "Invalid")]),
        ({"timeZone": "Local"}, [("spec.timeZone", "Invalid")]),
        ({"timeZone": "Europe/Berlin"}, []),
        ({"concurrencyPolicy": "X"}, [("spec.concurrencyPolicy", "NotSupported")]),
        ({"successfulJobsHistoryLimit": -1}, [("spec.successfulJobsHistoryLimit", "Invalid")]),
        ({"startingDeadlineSeconds": -1}, [("spec.startingDeadlineSeconds", "Invalid")]),
        (
            {"jobTemplate": {"spec": job(manualSelector=True)["spec"]}},
            [("spec.jobTemplate.spec.manualSelector", "NotSupported")],
        ),
        (
            {"jobTemplate": {"spec": job(pods={"restartPolicy": "Always"})["spec"]}},
            [("spec.jobTemplate.spec.template.spec.restartPolicy", "Required")],
        ),
    ],
)
def test_a_cron_job_that_breaks_a_rule_is_refused(change: Raw, wrong: Any) -> None:
    assert causes(lambda: Host().create(CRON_JOB, cron_job(**change))) == wrong


def test_the_name_of_a_cron_job_leaves_room_for_those_of_its_jobs() -> None:
    assert Host().refusal(CRON_JOB, {"metadata": {"name": "c" * 53}, **cron_job()}) == [("metadata.name", "Invalid")]
