"""Kueue's configuration: what of it decides who is admitted."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.field import Field
from closeknit.dialects.kueue.configuration import Configuration, configuration
from closeknit.model.settings import FAIR, FINAL_SHARE, PodsReady, Settings, Transformation


def read(**given: Any) -> Configuration:
    root = Field.root({"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", **given})
    found = configuration(root)
    assert list(root.report.mistakes) == []
    return found


def wrong(**given: Any) -> list[str]:
    root = Field.root({"kind": "Configuration", **given})
    configuration(root)
    return [str(mistake) for mistake in root.report.mistakes]


def test_an_empty_one_says_nothing() -> None:
    assert read() == Configuration(Settings())


def test_fair_sharing_is_on_where_it_is_mentioned() -> None:
    assert read(fairSharing={}).settings.fair_sharing == FAIR
    assert read(fairSharing={"preemptionStrategies": [FINAL_SHARE]}).settings.fair_sharing == (FINAL_SHARE,)


def test_in_v1beta1_it_says_so_itself() -> None:
    old = "config.kueue.x-k8s.io/v1beta1"
    assert read(apiVersion=old, fairSharing={"enable": False}).settings.fair_sharing == ()
    assert read(apiVersion=old, fairSharing={"enable": True}).settings.fair_sharing == FAIR


def test_what_quota_counts() -> None:
    found = read(
        resources={
            "quotaCheckStrategy": "IgnoreUndeclared",
            "excludeResourcePrefixes": ["example.com/"],
            "transformations": [
                {"input": "nvidia.com/mig-1g.5gb", "strategy": "Replace", "outputs": {"example.com/memory": "5Gi"}},
                {"input": "cpu", "outputs": {"credits": "2"}, "multiplyBy": "pods"},
            ],
        }
    ).settings
    assert found.ignore_undeclared
    assert found.exclude_prefixes == ("example.com/",)
    assert found.transformations == (
        Transformation("nvidia.com/mig-1g.5gb", {"example.com/memory": 5 * 2**30 * 10**9}, retain=False),
        Transformation("cpu", {"credits": 2 * 10**9}, multiply_by="pods"),
    )


def test_when_a_workload_is_back_in_line_after_its_pods_were_not_ready() -> None:
    given = {"requeuingStrategy": {"timestamp": "Creation"}}
    assert read(waitForPodsReady=given).settings.requeue_by == "Creation"


def test_gates_that_change_something_here_are_taken_and_others_are_named() -> None:
    root = Field.root({"featureGates": {"PartialAdmission": False, "MultiKueueBatchJobWithManagedBy": True}})
    assert configuration(root).gates == {"PartialAdmission": False}
    (warning,) = root.report.warnings
    assert "MultiKueueBatchJobWithManagedBy: is a gate that is not known here" in str(warning)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"fairSharing": {"preemptionStrategies": ["Nobody"]}}, "fairSharing.preemptionStrategies[0]: is"),
        ({"fairSharing": {"preemptionStrategies": [*FAIR[::-1]]}}, "fairSharing.preemptionStrategies: is"),
        ({"resources": {"quotaCheckStrategy": "Sometimes"}}, "resources.quotaCheckStrategy: is"),
        ({"resources": {"transformations": [{"outputs": {}}]}}, "resources.transformations[0].input: is missing"),
        (
            {"resources": {"transformations": [{"input": "cpu", "outputs": {"a": "much"}}]}},
            'resources.transformations[0].outputs.a: is "much", not a quantity',
        ),
        ({"featureGates": {"PartialAdmission": "yes"}}, 'featureGates.PartialAdmission: is "yes"; give true or false'),
    ],
)
def test_what_is_wrong_is_said_with_the_field(given: dict[str, Any], said: str) -> None:
    found = wrong(**given)
    assert found
    assert said in found[0]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"admissionFairSharing": {"usageHalfLifeTime": "5m"}}, "admissionFairSharing"),
        ({"waitForPodsReady": {"blockAdmission": True}}, "waitForPodsReady.blockAdmission"),
    ],
)
def test_what_is_not_heeded_is_said(given: dict[str, Any], field: str) -> None:
    root = Field.root({"kind": "Configuration", **given})
    configuration(root)
    assert [warning.field for warning in root.report.warnings] == [field]


def test_workloads_wait_half_an_hour_for_their_pods_unless_told_otherwise() -> None:
    assert read().pods_ready == PodsReady(timeout=1800.0, recovery=None, limit=None, base=60.0, longest=3600.0)
    told = {
        "timeout": "1h30m",
        "recoveryTimeout": "0s",
        "requeuingStrategy": {"backoffLimitCount": 3, "backoffBaseSeconds": 10, "backoffMaxSeconds": 40},
    }
    assert read(waitForPodsReady=told).pods_ready == PodsReady(5400.0, 0.0, 3, 10.0, 40.0)


def test_in_v1beta1_waiting_for_pods_has_to_be_asked_for() -> None:
    old = "config.kueue.x-k8s.io/v1beta1"
    assert read(apiVersion=old).pods_ready is None
    assert read(apiVersion=old, waitForPodsReady={"enable": True}).pods_ready == PodsReady(timeout=300.0)


def test_how_long_the_finished_are_kept_and_whether_every_job_is_managed() -> None:
    assert (read().keep_finished, read().without_queue) == (None, False)
    found = read(objectRetentionPolicies={"workloads": {"afterFinished": "10m"}}, manageJobsWithoutQueueName=True)
    assert (found.keep_finished, found.without_queue) == (600.0, True)


def test_a_span_of_time_that_is_none_is_named() -> None:
    assert wrong(waitForPodsReady={"timeout": "soon"}) == [
        'waitForPodsReady.timeout: is "soon"; give a span of time such as 90s, 5m or 1h30m'
    ]
