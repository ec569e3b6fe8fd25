"""Jobs: defaults, what may change and when, and which statuses a job controller may write."""

from __future__ import annotations

from typing import Any

import pytest

from contract.client import Api
from contract.expect import accepted, invalid, make
from contract.objects import Object, job, jobs, template

THEN = "2026-01-01T00:00:00Z"
NODE_AFFINITY = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "rack", "operator": "Exists"}]}]
        }
    }
}


def condition(kind: str, status: str = "True") -> Object:
    return {"type": kind, "status": status, "lastTransitionTime": THEN}


COMPLETE = {
    "conditions": [condition("SuccessCriteriaMet"), condition("Complete")],
    "startTime": THEN,
    "completionTime": THEN,
    "succeeded": 1,
}


def status_of(api: Api, space: str, name: str, **status: Any) -> Any:
    return api.merge(jobs(space, name, "status"), {"status": status})


def test_the_defaults_of_a_job(api: Api, space: str, name: str) -> None:
    held = make(api, jobs(space), job(name))
    uid = held["metadata"]["uid"]
    labels = {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "job-name": name,
    }
    expected = {
        "parallelism": 1,
        "completions": 1,
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "podReplacementPolicy": "TerminatingOrFailed",
        "manualSelector": False,
        "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}},
    }
    assert held["spec"] == {**held["spec"], **expected}
    assert held["spec"]["template"]["metadata"]["labels"] == labels
    assert held["metadata"]["labels"] == labels
    assert held["status"] == {}


def test_completions_have_no_default_where_parallelism_is_given(api: Api, space: str, name: str) -> None:
    held = make(api, jobs(space), job(name, parallelism=3))["spec"]
    assert held["parallelism"] == 3
    assert "completions" not in held


def test_parallelism_is_one_where_only_completions_are_given(api: Api, space: str, name: str) -> None:
    held = make(api, jobs(space), job(name, completions=3))["spec"]
    assert (held["parallelism"], held["completions"]) == (1, 3)


def test_a_manual_selector_is_kept(api: Api, space: str, name: str) -> None:
    inside = template(labels={"a": "b"}, restartPolicy="Never")
    body = job(name, manualSelector=True, selector={"matchLabels": {"a": "b"}}, template=inside)
    held = make(api, jobs(space), body)["spec"]
    assert held["selector"] == {"matchLabels": {"a": "b"}}
    assert held["template"]["metadata"]["labels"] == {"a": "b"}


def test_a_failure_policy_waits_for_failed_pods(api: Api, space: str, name: str) -> None:
    rules = [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]
    held = make(api, jobs(space), job(name, podFailurePolicy={"rules": rules}))["spec"]
    assert held["podReplacementPolicy"] == "Failed"
    assert held["podFailurePolicy"]["rules"][0]["onPodConditions"] == [{"type": "DisruptionTarget", "status": "True"}]


@pytest.mark.parametrize(
    ("field", "spec"),
    [
        ("spec.template.spec.restartPolicy", {"template": template(labels={})}),
        ("spec.template.spec.restartPolicy", {"template": template(labels={}, restartPolicy="Always")}),
        ("spec.parallelism", {"parallelism": -1}),
        ("spec.completions", {"completions": -1}),
        ("spec.backoffLimit", {"backoffLimit": -1}),
        ("spec.ttlSecondsAfterFinished", {"ttlSecondsAfterFinished": -1}),
        ("spec.activeDeadlineSeconds", {"activeDeadlineSeconds": -1}),
        ("spec.completionMode", {"completionMode": "Sideways"}),
        ("spec.podReplacementPolicy", {"podReplacementPolicy": "Never"}),
        ("spec.managedBy", {"managedBy": "bad value"}),
        ("spec.selector", {"selector": {"matchLabels": {"a": "b"}}}),
        ("spec.backoffLimitPerIndex", {"backoffLimitPerIndex": 1}),
        ("spec.successPolicy", {"successPolicy": {"rules": [{"succeededCount": 1}]}}),
        (
            "spec.template.metadata.labels",
            {
                "manualSelector": True,
                "selector": {"matchLabels": {"a": "b"}},
                "template": template(labels={"a": "c"}, restartPolicy="Never"),
            },
        ),
        ("spec.template.spec.containers", {"template": template(labels={}, restartPolicy="Never", containers=[])}),
    ],
)
def test_an_invalid_job_names_its_field(api: Api, space: str, name: str, field: str, spec: Object) -> None:
    details = invalid(api.post(jobs(space), job(name, **spec)), field)
    assert (details["group"], details["kind"]) == ("batch", "Job")


@pytest.mark.parametrize(
    "change",
    [
        {"parallelism": 4},
        {"backoffLimit": 2},
        {"activeDeadlineSeconds": 100},
        {"ttlSecondsAfterFinished": 100},
        {"suspend": True},
        {"podReplacementPolicy": "Failed"},
    ],
)
def test_which_fields_of_a_running_job_may_change(api: Api, space: str, name: str, change: Object) -> None:
    make(api, jobs(space), job(name))
    held = accepted(api.strategic(jobs(space, name), {"spec": change}))
    assert held["spec"] == {**held["spec"], **change}
    assert held["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("spec.completions", {"completions": 5}),
        ("spec.completionMode", {"completionMode": "Indexed"}),
        ("spec.managedBy", {"managedBy": "example.com/other"}),
        ("spec.selector", {"selector": {"matchLabels": {"a": "b"}}}),
        ("spec.template", {"template": {"spec": {"nodeSelector": {"a": "b"}}}}),
        ("spec.template", {"template": {"spec": {"schedulingGates": [{"name": "example.com/a"}]}}}),
        ("spec.template", {"template": {"metadata": {"annotations": {"a": "b"}}}}),
        ("spec.template", {"template": {"spec": {"containers": [{"name": "main", "image": "other:1"}]}}}),
        ("spec.template", {"suspend": True, "template": {"spec": {"nodeSelector": {"a": "b"}}}}),
    ],
)
def test_immutable_fields_of_a_running_job(api: Api, space: str, name: str, field: str, change: Object) -> None:
    make(api, jobs(space), job(name))
    invalid(api.strategic(jobs(space, name), {"spec": change}), field)


def test_an_indexed_job_may_be_resized_if_parallelism_goes_along(api: Api, space: str, name: str) -> None:
    make(api, jobs(space), job(name, completionMode="Indexed", completions=2, parallelism=2))
    invalid(api.merge(jobs(space, name), {"spec": {"completions": 5}}), "spec.completions")
    held = accepted(api.merge(jobs(space, name), {"spec": {"completions": 5, "parallelism": 5}}))
    assert (held["spec"]["completions"], held["spec"]["parallelism"]) == (5, 5)


@pytest.mark.parametrize(
    "change",
    [
        {"spec": {"nodeSelector": {"a": "b"}}},
        {"spec": {"tolerations": [{"key": "a", "operator": "Exists"}]}},
        {"spec": {"affinity": NODE_AFFINITY}},
        {"spec": {"schedulingGates": [{"name": "example.com/a"}]}},
        {"metadata": {"labels": {"a": "b"}}},
        {"metadata": {"annotations": {"a": "b"}}},
    ],
)
def test_the_template_of_a_suspended_job_may_be_directed(api: Api, space: str, name: str, change: Object) -> None:
    make(api, jobs(space), job(name, suspend=True))
    held = accepted(api.strategic(jobs(space, name), {"spec": {"template": change}}))
    assert held["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    "change",
    [
        {"containers": [{"name": "main", "image": "other:1"}]},
        {"containers": [{"name": "main", "env": [{"name": "A", "value": "b"}]}]},
        {"priorityClassName": "system-node-critical"},
        {"schedulerName": "other"},
        {"terminationGracePeriodSeconds": 5},
    ],
)
def test_the_rest_of_a_suspended_template_may_not_change(api: Api, space: str, name: str, change: Object) -> None:
    make(api, jobs(space), job(name, suspend=True))
    invalid(api.strategic(jobs(space, name), {"spec": {"template": {"spec": change}}}), "spec.template.spec")


def test_a_job_is_directed_and_started_in_one_write(api: Api, space: str, name: str) -> None:
    make(api, jobs(space), job(name, suspend=True))
    change = {"spec": {"suspend": False, "template": {"spec": {"nodeSelector": {"a": "b"}}}}}
    held = accepted(api.strategic(jobs(space, name), change))["spec"]
    assert (held["suspend"], held["template"]["spec"]["nodeSelector"]) == (False, {"a": "b"})


def test_a_job_that_ran_may_be_directed_again_only_once_it_says_suspended(api: Api, space: str, name: str) -> None:
    make(api, jobs(space), job(name, suspend=True))
    accepted(status_of(api, space, name, startTime=THEN))
    change = {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}}
    invalid(api.strategic(jobs(space, name), change), "spec.template")
    accepted(status_of(api, space, name, conditions=[condition("Suspended")]))
    accepted(api.strategic(jobs(space, name), change))


def test_a_complete_job(api: Api, space: str, name: str) -> None:
    make(api, jobs(space), job(name))
    held = accepted(status_of(api, space, name, **COMPLETE))["status"]
    assert held["succeeded"] == 1
    assert [each["type"] for each in held["conditions"]] == ["SuccessCriteriaMet", "Complete"]


def test_a_failed_job(api: Api, space: str, name: str) -> None:
    make(api, jobs(space), job(name))
    accepted(status_of(api, space, name, startTime=THEN, conditions=[condition("FailureTarget"), condition("Failed")]))


@pytest.mark.parametrize(
    ("field", "status"),
    [
        ("status.completionTime", {**COMPLETE, "completionTime": None}),
        ("status.startTime", {**COMPLETE, "startTime": None}),
        ("status.conditions", {**COMPLETE, "conditions": [condition("Complete")]}),
        ("status.active", {**COMPLETE, "active": 1}),
        ("status.completionTime", {**COMPLETE, "completionTime": "2025-01-01T00:00:00Z"}),
        ("status.conditions", {"startTime": THEN, "conditions": [condition("Failed")]}),
        ("status.startTime", {"conditions": [condition("FailureTarget"), condition("Failed")]}),
        ("status.ready", {"active": 1, "ready": 2}),
        ("status.active", {"active": -1}),
        ("status.completedIndexes", {"completedIndexes": "0"}),
    ],
)
def test_a_status_that_contradicts_itself_is_invalid(
    api: Api, space: str, name: str, field: str, status: Object
) -> None:
    make(api, jobs(space), job(name))
    invalid(status_of(api, space, name, **status), field)


def test_a_finished_job_stays_finished(api: Api, space: str, name: str) -> None:
    make(api, jobs(space), job(name))
    accepted(status_of(api, space, name, **COMPLETE))
    invalid(status_of(api, space, name, conditions=[condition("Complete", "False")]), "status.conditions")


def test_counters_of_ended_pods_do_not_fall(api: Api, space: str, name: str) -> None:
    make(api, jobs(space), job(name, completions=5))
    accepted(status_of(api, space, name, succeeded=2, failed=2))
    invalid(status_of(api, space, name, succeeded=1), "status.succeeded")
    invalid(status_of(api, space, name, failed=1), "status.failed")


def test_the_start_time_is_cleared_only_while_suspended(api: Api, space: str, name: str) -> None:
    make(api, jobs(space), job(name))
    accepted(status_of(api, space, name, startTime=THEN))
    invalid(status_of(api, space, name, startTime=None), "status.startTime")
    invalid(status_of(api, space, name, startTime="2026-02-01T00:00:00Z"), "status.startTime")
    accepted(api.merge(jobs(space, name), {"spec": {"suspend": True}}))
    assert "startTime" not in accepted(status_of(api, space, name, startTime=None))["status"]


def test_completed_indexes_have_to_be_indexes_of_the_job(api: Api, space: str, name: str) -> None:
    make(api, jobs(space), job(name, completionMode="Indexed", completions=3))
    accepted(status_of(api, space, name, completedIndexes="0,2", succeeded=2))
    for wrong in ("0,7", "x"):
        invalid(status_of(api, space, name, completedIndexes=wrong), "status.completedIndexes")
