from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster.kinds import JOB
from closeknit.cluster.port import Raw
from cluster.embedded.rules.hosts import CONTAINER, Host, job

IGNORE = {"action": "Ignore", "onPodConditions": [{"type": "X"}]}
STARTED = "2026-01-01T00:00:00Z"
AFFINITY = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "Exists"}]}]
        }
    }
}


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ({"parallelism": -1}, [("spec.parallelism", "Invalid")]),
        ({"completions": -1}, [("spec.completions", "Invalid")]),
        ({"backoffLimit": -1}, [("spec.backoffLimit", "Invalid")]),
        ({"ttlSecondsAfterFinished": -1}, [("spec.ttlSecondsAfterFinished", "Invalid")]),
        ({"completionMode": "X"}, [("spec.completionMode", "NotSupported")]),
        ({"podReplacementPolicy": "X"}, [("spec.podReplacementPolicy", "NotSupported")]),
        ({"managedBy": "x"}, [("spec.managedBy", "Invalid")]),
        ({"managedBy": "a.b/" + "x" * 70}, [("spec.managedBy", "TooLong")]),
        ({"backoffLimitPerIndex": 1}, [("spec.backoffLimitPerIndex", "Invalid")]),
        (
            {"maxFailedIndexes": 1},
            [("spec.backoffLimitPerIndex", "Required"), ("spec.maxFailedIndexes", "Invalid")],
        ),
        ({"completionMode": "Indexed", "parallelism": 3}, [("spec.completions", "Required")]),
        (
            {"completionMode": "Indexed", "completions": 2, "parallelism": 100_001},
            [("spec.parallelism", "Invalid")],
        ),
        ({"successPolicy": {"rules": [{"succeededCount": 1}]}}, [("spec.successPolicy", "Invalid")]),
        (
            {"selector": {"matchLabels": {"a": "b"}}},
            [("spec.selector", "Invalid"), ("spec.template.metadata.labels", "Invalid")],
        ),
        ({"manualSelector": True}, [("spec.selector", "Required"), ("spec.template.metadata.labels", "Invalid")]),
        (
            {"podFailurePolicy": {"rules": [IGNORE]}, "podReplacementPolicy": "TerminatingOrFailed"},
            [("spec.podReplacementPolicy", "NotSupported")],
        ),
        (
            {
                "podFailurePolicy": {
                    "rules": [{"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [1]}}]
                }
            },
            [("spec.podFailurePolicy.rules[0].action", "Invalid")],
        ),
        (
            {"podFailurePolicy": {"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [0]}}]}},
            [("spec.podFailurePolicy.rules[0].onExitCodes.values[0]", "Invalid")],
        ),
        ({"podFailurePolicy": {"rules": [{"action": "Ignore"}]}}, [("spec.podFailurePolicy.rules[0]", "Invalid")]),
    ],
)
def test_a_job_that_breaks_a_rule_is_refused_by_field(spec: Raw, wrong: Any) -> None:
    assert Host().refusal(JOB, job(**spec)) == wrong


@pytest.mark.parametrize("policy", ["Always", None])
def test_pods_of_a_job_have_to_end(policy: str | None) -> None:
    wrong = Host().refusal(JOB, job(pods={"restartPolicy": policy}))
    assert wrong == [("spec.template.spec.restartPolicy", "Required")]


def test_labels_that_the_server_gives_cannot_be_others() -> None:
    body = job()
    body["spec"]["template"]["metadata"] = {"labels": {"controller-uid": "b", "job-name": "q"}}
    assert Host().refusal(JOB, body) == [
        ("spec.template.metadata.labels[controller-uid]", "Invalid"),
        ("spec.template.metadata.labels[job-name]", "Invalid"),
    ]


def test_a_job_replaced_by_its_manifest_lacks_the_selector_that_the_server_generated() -> None:
    host = Host()
    host.create(JOB, job())
    refused = host.change_refusal(JOB, {"spec": {"selector": None}})
    assert refused == [
        ("spec.selector", "Required"),
        ("spec.template.metadata.labels", "Invalid"),
        ("spec.selector", "Invalid"),
    ]


PLACING = [
    {"nodeSelector": {"a": "b"}},
    {"tolerations": [{"operator": "Exists"}]},
    {"affinity": AFFINITY},
    {"schedulingGates": [{"name": "x/y"}]},
    {"containers": [{**CONTAINER, "resources": {"requests": {"cpu": "1"}}}]},
]
OTHERS = [
    {"containers": [{**CONTAINER, "image": "o"}]},
    {"priorityClassName": "z"},
    {"schedulerName": "z"},
    {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "a"}]}}},
]


def started(host: Host, *, says_so: bool) -> None:
    conditions = [{"type": "Suspended", "status": "True"}] if says_so else []
    host.patch(JOB, {"status": {"startTime": STARTED, "conditions": conditions}}, "status", trusted=True)


@pytest.mark.parametrize("change", PLACING + OTHERS)
def test_the_template_of_a_running_job_stays(change: Raw) -> None:
    host = Host()
    host.create(JOB, job())
    assert host.change_refusal(JOB, {"spec": {"template": {"spec": change}}}) == [("spec.template", "Invalid")]


@pytest.mark.parametrize("change", PLACING)
@pytest.mark.parametrize("has_run", [False, True])
def test_pods_of_a_job_that_stands_still_may_be_sent_elsewhere(change: Raw, has_run: bool) -> None:
    host = Host()
    host.create(JOB, job(suspend=True))
    if has_run:
        started(host, says_so=True)
    body = {"spec": {"suspend": False, "template": {"spec": change, "metadata": {"annotations": {"a": "b"}}}}}
    assert host.change_refusal(JOB, body) == []


@pytest.mark.parametrize("change", OTHERS)
def test_the_rest_of_the_template_is_immutable_even_while_the_job_is_suspended(change: Raw) -> None:
    host = Host()
    host.create(JOB, job(suspend=True))
    assert host.change_refusal(JOB, {"spec": {"template": {"spec": change}}}) == [("spec.template.spec", "Invalid")]


@pytest.mark.parametrize("change", PLACING)
def test_a_suspended_job_that_ran_and_has_not_stopped_yet_stays_as_it_is(change: Raw) -> None:
    host = Host()
    host.create(JOB, job(suspend=True))
    started(host, says_so=False)
    assert host.change_refusal(JOB, {"spec": {"template": {"spec": change}}}) == [("spec.template", "Invalid")]


def test_our_own_writers_are_held_to_what_may_not_change() -> None:
    host = Host()
    host.create(JOB, job())
    with pytest.raises(Exception, match=r"spec.template: Invalid value"):
        host.patch(JOB, {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}}, trusted=True)


@pytest.mark.parametrize(
    ("spec", "change", "wrong"),
    [
        ({}, {"parallelism": 5}, []),
        ({}, {"completions": 5}, [("spec.completions", "Invalid")]),
        ({"completionMode": "Indexed", "completions": 2, "parallelism": 2}, {"completions": 3, "parallelism": 3}, []),
        (
            {"completionMode": "Indexed", "completions": 2, "parallelism": 2},
            {"completions": 3},
            [("spec.completions", "Invalid")],
        ),
        ({"completionMode": "Indexed", "completions": 3, "parallelism": 2}, {"completions": 5, "parallelism": 5}, []),
        ({}, {"completionMode": "Indexed"}, [("spec.completionMode", "Invalid")]),
        ({}, {"managedBy": "a.b/c"}, [("spec.managedBy", "Invalid")]),
        ({}, {"suspend": True, "activeDeadlineSeconds": 5, "ttlSecondsAfterFinished": 5, "backoffLimit": 1}, []),
    ],
)
def test_counts_and_modes_change_only_as_far_as_they_may(spec: Raw, change: Raw, wrong: Any) -> None:
    host = Host()
    host.create(JOB, job(**spec))
    assert host.change_refusal(JOB, {"spec": change}) == wrong


def ended(*kinds: str, **more: Any) -> Raw:
    return {"status": {"conditions": [{"type": kind, "status": "True"} for kind in kinds], **more}}


@pytest.mark.parametrize(
    ("status", "wrong"),
    [
        (ended("SuccessCriteriaMet", "Complete", startTime=STARTED, completionTime=STARTED), []),
        (ended("FailureTarget", "Failed", startTime=STARTED), []),
        (ended("SuccessCriteriaMet", "Complete", startTime=STARTED), [("status.completionTime", "Required")]),
        (ended("SuccessCriteriaMet", "Complete", completionTime=STARTED), [("status.startTime", "Required")]),
        (
            ended("SuccessCriteriaMet", "Complete", startTime=STARTED, completionTime=STARTED, active=1),
            [("status.active", "Invalid")],
        ),
        (ended("Failed"), [("status.conditions", "Invalid"), ("status.startTime", "Required")]),
        ({"status": {"active": 1, "ready": 2}}, [("status.ready", "Invalid")]),
        ({"status": {"completedIndexes": "0"}}, [("status.completedIndexes", "Invalid")]),
        (
            ended("SuccessCriteriaMet", "Complete", startTime=STARTED, completionTime="2025-01-01T00:00:00Z"),
            [("status.completionTime", "Invalid")],
        ),
    ],
)
def test_a_status_that_contradicts_itself_is_refused(status: Raw, wrong: Any) -> None:
    host = Host()
    host.create(JOB, job())
    assert host.change_refusal(JOB, status, "status") == wrong


@pytest.mark.parametrize(("suspend", "wrong"), [(False, [("status.startTime", "Invalid")]), (True, [])])
def test_the_start_of_a_job_is_forgotten_only_while_it_is_suspended(suspend: bool, wrong: Any) -> None:
    host = Host()
    host.create(JOB, job(suspend=suspend))
    started(host, says_so=True)
    assert host.change_refusal(JOB, {"status": {"startTime": None}}, "status") == wrong


@pytest.mark.parametrize(
    ("text", "good"), [("0", True), ("0,2-3", True), ("0,7", False), ("x", False), ("2,1", False), ("1-0", False)]
)
def test_completed_indexes_are_indexes_of_the_job(text: str, good: bool) -> None:
    host = Host()
    host.create(JOB, job(completionMode="Indexed", completions=4, parallelism=4))
    wrong = host.change_refusal(JOB, {"status": {"completedIndexes": text}}, "status")
    assert wrong == ([] if good else [("status.completedIndexes", "Invalid")])
