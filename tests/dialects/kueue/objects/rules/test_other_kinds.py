"""LocalQueue, Cohort, WorkloadPriorityClass, AdmissionCheck, ProvisioningRequestConfig; updates of all small kinds."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.field import Field
from closeknit.dialects.kueue.objects.rules import CREATE_CHECKS, check_update

HOST = "kubernetes.io/hostname"


def an_object(kind: str, **parts: Any) -> Field:
    return Field.root({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": "x"}, **parts})


def mistakes(kind: str, **parts: Any) -> list[str]:
    field = an_object(kind, **parts)
    CREATE_CHECKS[kind](field)
    return [str(one) for one in field.report.mistakes]


def updated(kind: str, old: Any, new: Any) -> list[str]:
    field = an_object(kind, spec=new)
    check_update(an_object(kind, spec=old), field)
    return [str(one) for one in field.report.mistakes]


PARAMETERS = {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "p"}
UPDATES = [{"key": "a", "valueFromProvisioningClassDetail": "b"}]


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        ("LocalQueue", {"spec": {"clusterQueue": "q", "stopPolicy": "HoldAndDrain", "fairSharing": {"weight": "2"}}}),
        ("Cohort", {"spec": {}}),
        ("Cohort", {"spec": {"parentName": "all", "fairSharing": {"weight": 0}}}),
        ("WorkloadPriorityClass", {"value": -5, "description": "d" * 2048}),
        ("AdmissionCheck", {"spec": {"controllerName": "c" * 253}}),
        ("AdmissionCheck", {"spec": {"controllerName": "c", "parameters": PARAMETERS}}),
        ("ProvisioningRequestConfig", {"spec": {"provisioningClassName": "a.b"}}),
        (
            "ProvisioningRequestConfig",
            {
                "spec": {
                    "provisioningClassName": "a",
                    "parameters": {f"p{i}": "v" * 255 for i in range(100)},
                    "managedResources": ["cpu", "nvidia.com/gpu"],
                    "retryStrategy": {"backoffLimitCount": 0, "backoffBaseSeconds": 0, "backoffMaxSeconds": 0},
                    "podSetUpdates": {"nodeSelector": UPDATES},
                    "podSetMergePolicy": "IdenticalWorkloadSchedulingRequirements",
                }
            },
        ),
    ],
)
def test_a_valid_object_has_no_mistakes(kind: str, parts: dict[str, Any]) -> None:
    assert mistakes(kind, **parts) == []


@pytest.mark.parametrize(
    ("kind", "parts", "text"),
    [
        ("LocalQueue", {"spec": {}}, "spec.clusterQueue: is missing; set the name of a ClusterQueue"),
        ("LocalQueue", {"spec": {"clusterQueue": ""}}, 'spec.clusterQueue: is "", not the name of an object'),
        ("LocalQueue", {"spec": {"clusterQueue": "Q"}}, 'spec.clusterQueue: is "Q", not the name of an object'),
        ("LocalQueue", {"spec": {"clusterQueue": 3}}, "spec.clusterQueue: is 3, not a string"),
        ("LocalQueue", {"spec": {"clusterQueue": "q", "stopPolicy": ""}}, "spec.stopPolicy: is missing; use one of"),
        (
            "LocalQueue",
            {"spec": {"clusterQueue": "q", "fairSharing": {"weight": "-1"}}},
            "spec.fairSharing.weight: is -1; use a quantity that is not negative",
        ),
        ("Cohort", {"spec": {"parentName": "a_b"}}, 'spec.parentName: is "a_b", not the name of an object'),
        ("Cohort", {"spec": {"fairSharing": {"weight": "-1m"}}}, "spec.fairSharing.weight: is -1m; use a quantity"),
        ("WorkloadPriorityClass", {}, "value: is missing; set a whole number, as a top-level field"),
        ("WorkloadPriorityClass", {"value": "1"}, 'value: is "1", not a whole number'),
        (
            "WorkloadPriorityClass",
            {"value": -(2**31) - 1},
            "value: is -2147483649; use a whole number from -2147483648",
        ),
        ("WorkloadPriorityClass", {"value": 1, "description": "d" * 2049}, "description: has 2049 characters; use at"),
        ("AdmissionCheck", {"spec": {}}, "spec.controllerName: is missing; set the name of the controller"),
        ("AdmissionCheck", {"spec": {"controllerName": "c" * 254}}, "spec.controllerName: has 254 characters"),
        (
            "AdmissionCheck",
            {"spec": {"controllerName": "c", "parameters": {**PARAMETERS, "kind": None}}},
            "spec.parameters.kind: is missing; set the API group, kind and name",
        ),
        (
            "AdmissionCheck",
            {"spec": {"controllerName": "c", "parameters": {**PARAMETERS, "name": "P"}}},
            'spec.parameters.name: is "P", not the name of an object',
        ),
        ("ProvisioningRequestConfig", {"spec": {}}, "spec.provisioningClassName: is missing; set the name of"),
        (
            "ProvisioningRequestConfig",
            {"spec": {"provisioningClassName": "a", "parameters": {f"p{i}": "" for i in range(101)}}},
            "spec.parameters: has 101 entries; use at most 100",
        ),
        (
            "ProvisioningRequestConfig",
            {"spec": {"provisioningClassName": "a", "parameters": {"p": "v" * 256}}},
            "spec.parameters.p: has 256 characters; use at most 255",
        ),
        (
            "ProvisioningRequestConfig",
            {"spec": {"provisioningClassName": "a", "managedResources": ["cpu"] * 101}},
            "spec.managedResources: has 101 entries; use at most 100",
        ),
        (
            "ProvisioningRequestConfig",
            {"spec": {"provisioningClassName": "a", "managedResources": ["a/b/c"]}},
            'spec.managedResources[0]: is "a/b/c", not the name of a resource',
        ),
        (
            "ProvisioningRequestConfig",
            {"spec": {"provisioningClassName": "a", "retryStrategy": {"backoffLimitCount": -1}}},
            "spec.retryStrategy.backoffLimitCount: is -1; use a whole number from 0",
        ),
        (
            "ProvisioningRequestConfig",
            {"spec": {"provisioningClassName": "a", "podSetMergePolicy": "All"}},
            'spec.podSetMergePolicy: is "All"; use one of: IdenticalPodTemplates, IdenticalWorkload',
        ),
        (
            "ProvisioningRequestConfig",
            {"spec": {"provisioningClassName": "a", "podSetUpdates": {"nodeSelector": UPDATES * 9}}},
            "spec.podSetUpdates.nodeSelector: has 9 entries; use at most 8",
        ),
        (
            "ProvisioningRequestConfig",
            {"spec": {"provisioningClassName": "a", "podSetUpdates": {"nodeSelector": [{"key": "a"}]}}},
            "spec.podSetUpdates.nodeSelector[0].valueFromProvisioningClassDetail: is missing; set the detail",
        ),
    ],
)
def test_mistakes_are_reported_with_their_paths(kind: str, parts: dict[str, Any], text: str) -> None:
    found = mistakes(kind, **parts)
    assert len(found) == 1
    assert found[0].startswith(text)


def test_a_cohort_within_itself_is_warned_of() -> None:
    field = an_object("Cohort", spec={"parentName": "x"})
    CREATE_CHECKS["Cohort"](field)
    assert [str(one) for one in field.report.warnings] == [
        "spec.parentName: is the cohort itself, so that no queue in it can admit workloads; set another parent, or none"
    ]
    assert not field.report.mistakes


def levels(*labels: str) -> dict[str, Any]:
    return {"levels": [{"nodeLabel": label} for label in labels]}


@pytest.mark.parametrize(
    ("kind", "old", "new", "text"),
    [
        ("LocalQueue", {"clusterQueue": "a"}, {"clusterQueue": "a", "stopPolicy": "Hold"}, None),
        (
            "LocalQueue",
            {"clusterQueue": "a"},
            {"clusterQueue": "b"},
            "spec.clusterQueue: cannot be changed from a; create",
        ),
        ("AdmissionCheck", {"controllerName": "a"}, {"controllerName": "a", "parameters": PARAMETERS}, None),
        ("AdmissionCheck", {"controllerName": "a"}, {"controllerName": "b"}, "spec.controllerName: cannot be changed"),
        ("Cohort", {"parentName": "a"}, {"parentName": "b"}, None),
        ("Cohort", {}, {"parentName": "B"}, 'spec.parentName: is "B", not the name'),
        ("ResourceFlavor", {}, {"topologyName": "t", "nodeLabels": {"a": "b"}}, None),
        (
            "ResourceFlavor",
            {"topologyName": "t", "nodeLabels": {"a": "b"}},
            {"topologyName": "t", "nodeLabels": {"a": "c"}, "nodeTaints": [{"key": "x", "effect": "NoSchedule"}]},
            None,
        ),
        ("ResourceFlavor", {"topologyName": "t"}, {}, "spec.topologyName: cannot be changed from t; create a new"),
        (
            "ResourceFlavor",
            {"topologyName": "t"},
            {"topologyName": "s", "nodeLabels": {"a": "b"}},
            "spec.topologyName: cannot be changed from t",
        ),
        ("ResourceFlavor", {}, {"topologyName": "t"}, "spec.nodeLabels: is required for a flavor with a topology"),
        ("Topology", levels("block", "rack"), levels("block", "rack"), None),
        ("Topology", levels("block", HOST), levels("rack", "row", HOST), None),
        ("Topology", levels("block", "rack"), levels("block"), f"spec.levels: cannot be changed unless {HOST} is"),
        ("Topology", levels("block"), levels("block", HOST), "spec.levels: cannot be changed unless"),
        ("Topology", levels("block", HOST), levels("block"), "spec.levels: cannot be changed unless"),
        ("Unheard", {"a": 1}, {"a": 2}, None),
    ],
)
def test_some_things_cannot_change(kind: str, old: Any, new: Any, text: str | None) -> None:
    found = updated(kind, old, new)
    if text is None:
        assert found == []
    else:
        assert len(found) == 1
        assert found[0].startswith(text)
