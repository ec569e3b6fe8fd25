"""The small kinds: checks, priority classes, provisioning, topologies."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.kueue.objects import admission_check, priority_class, provisioning_config, topology
from closeknit.model.cluster_queue import AdmissionCheck
from closeknit.model.priority_class import PriorityClass
from closeknit.model.provisioning import ProvisioningConfig, RetryPolicy
from closeknit.model.topology import Topology


@pytest.mark.parametrize(
    ("conditions", "active"),
    [
        (None, None),
        ([{"type": "Other", "status": "True"}], None),
        ([{"type": "Other", "status": "False"}, {"type": "Active", "status": "True"}], True),
        ([{"type": "Active", "status": "False"}], False),
        ([{"type": "Active", "status": "Unknown"}], False),
    ],
)
def test_a_check_is_active_by_its_condition(conditions: Any, active: bool | None) -> None:
    raw = {"metadata": {"name": "a"}, "spec": {"controllerName": "c"}, "status": {"conditions": conditions}}
    assert admission_check(raw) == AdmissionCheck("a", "c", active)


def test_a_check_may_have_parameters() -> None:
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "p"}
    raw = {"metadata": {"name": "a"}, "spec": {"controllerName": "c", "parameters": parameters}}
    assert admission_check(raw).parameters == parameters


def test_the_value_of_a_priority_class_is_a_top_level_field() -> None:
    raw = {"metadata": {"name": "high"}, "value": 1000, "description": "soon"}
    assert priority_class(raw) == PriorityClass("high", 1000, "soon")
    assert priority_class({"metadata": {"name": "low"}, "value": -5}) == PriorityClass("low", -5)


def test_provisioning_is_read_whole() -> None:
    raw = {
        "metadata": {"name": "p"},
        "spec": {
            "provisioningClassName": "check-capacity.autoscaling.x-k8s.io",
            "parameters": {"zone": "a"},
            "managedResources": ["nvidia.com/gpu"],
            "retryStrategy": {"backoffLimitCount": 0, "backoffMaxSeconds": 7},
            "podSetUpdates": {"nodeSelector": [{"key": "pool", "valueFromProvisioningClassDetail": "poolName"}]},
            "podSetMergePolicy": "IdenticalPodTemplates",
        },
    }
    assert provisioning_config(raw) == ProvisioningConfig(
        "p",
        "check-capacity.autoscaling.x-k8s.io",
        {"zone": "a"},
        ("nvidia.com/gpu",),
        RetryPolicy(0, 60, 7),
        {"pool": "poolName"},
        "IdenticalPodTemplates",
    )


def test_a_failed_request_is_retried_three_times_by_default() -> None:
    assert provisioning_config({"spec": {"provisioningClassName": "c"}}).retry == RetryPolicy(3, 60, 1800)


def test_levels_keep_their_order() -> None:
    raw = {"metadata": {"name": "t"}, "spec": {"levels": [{"nodeLabel": "block"}, {"nodeLabel": "rack"}]}}
    assert topology(raw) == Topology("t", ("block", "rack"))
