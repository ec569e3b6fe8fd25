from __future__ import annotations

import copy
from typing import Any

import pytest

from closeknit.dialects.kueue.objects import to_v1beta2

NEWS: dict[str, Any] = {"news": {"deep": [None, {}]}}


def converted(kind: str, spec: Any = None, status: Any = None) -> Any:
    raw = {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": kind,
        "metadata": {"name": "x", **NEWS},
        "spec": spec or {},
        "status": status or {},
        **NEWS,
    }
    before = copy.deepcopy(raw)
    got = to_v1beta2(raw)
    assert raw == before
    assert got["apiVersion"] == "kueue.x-k8s.io/v1beta2"
    assert (got["kind"], got["metadata"], got["news"]) == (kind, before["metadata"], before["news"])
    assert list(got) == list(raw)
    return got


def test_a_cluster_queue_is_converted() -> None:
    old = {
        "cohort": "team",
        "admissionChecks": ["a", "b"],
        "flavorFungibility": {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt", **NEWS},
        **NEWS,
    }
    got = converted("ClusterQueue", old, {"pendingWorkloads": 3, "pendingWorkloadsStatus": {"head": []}, **NEWS})
    assert got["spec"] == {
        "cohortName": "team",
        "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "MayStopSearch", **NEWS},
        "admissionChecksStrategy": {"admissionChecks": [{"name": "a"}, {"name": "b"}]},
        **NEWS,
    }
    assert got["status"] == {"pendingWorkloads": 3, **NEWS}


def test_enum_values_of_both_versions_stay() -> None:
    spec = {
        "flavorFungibility": {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": None},
        "admissionChecksStrategy": {"admissionChecks": [{"name": "a", "onFlavors": ["f"]}]},
        "stopPolicy": "Hold",
    }
    assert converted("ClusterQueue", spec)["spec"] == spec
    strategy = spec["admissionChecksStrategy"]
    assert converted("ClusterQueue", {**spec, "admissionChecks": []})["spec"] == {
        **spec,
        "admissionChecksStrategy": strategy,
    }


def test_a_local_queue_is_converted() -> None:
    usage = [{"name": "f", "resources": []}]
    got = converted("LocalQueue", {"clusterQueue": "q"}, {"flavorUsage": usage, "flavors": [{"name": "f"}], **NEWS})
    assert got["status"] == {"flavorsUsage": usage, **NEWS}


@pytest.mark.parametrize(
    ("source", "group", "kind"),
    [
        ("kueue.x-k8s.io/workloadpriorityclass", "kueue.x-k8s.io", "WorkloadPriorityClass"),
        ("scheduling.k8s.io/priorityclass", "scheduling.k8s.io", "PriorityClass"),
    ],
)
def test_a_priority_class_becomes_a_reference(source: str, group: str, kind: str) -> None:
    old = {"priorityClassName": "high", "priorityClassSource": source, "priority": 3, **NEWS}
    want = {"priority": 3, "priorityClassRef": {"group": group, "kind": kind, "name": "high"}, **NEWS}
    assert converted("Workload", old)["spec"] == want


def test_a_priority_class_of_unknown_source_stays_where_it_is() -> None:
    old = {"priorityClassName": "high", "priorityClassSource": "elsewhere"}
    assert converted("Workload", old)["spec"] == old


def test_the_status_of_a_workload_is_converted() -> None:
    domains = [{"values": ["b1", "r1"], "count": 2}, {"values": ["b1", "r2"], "count": 1}]
    assignment = {
        "name": "main",
        "topologyAssignment": {"levels": ["block", "rack"], "domains": domains, **NEWS},
        **NEWS,
    }
    old = {
        "accumulatedPastExexcutionTimeSeconds": 7,
        "admission": {"clusterQueue": "q", "podSetAssignments": [assignment, {"name": "rest"}], **NEWS},
        **NEWS,
    }
    assert converted("Workload", {}, old)["status"] == {
        "accumulatedPastExecutionTimeSeconds": 7,
        "admission": {
            "clusterQueue": "q",
            "podSetAssignments": [
                {
                    "name": "main",
                    "topologyAssignment": {
                        "levels": ["block", "rack"],
                        "slices": [
                            {
                                "domainCount": 2,
                                "valuesPerLevel": [
                                    {"universal": "b1"},
                                    {"individual": {"prefix": "r", "roots": ["1", "2"]}},
                                ],
                                "podCounts": {"individual": [2, 1]},
                            }
                        ],
                        **NEWS,
                    },
                    **NEWS,
                },
                {"name": "rest"},
            ],
            **NEWS,
        },
        **NEWS,
    }


def test_layers_which_v1beta1_does_not_know_are_dropped() -> None:
    request = {"required": "block", "podsetSliceRequiredTopologyConstraints": [{"topology": "rack", "size": 2}]}
    spec = {"podSets": [{"name": "a", "topologyRequest": request}, {"name": "b", "topologyRequest": None}]}
    assert converted("Workload", spec)["spec"]["podSets"] == [
        {"name": "a", "topologyRequest": {"required": "block"}},
        {"name": "b", "topologyRequest": None},
    ]
    assert to_v1beta2({"kind": "Workload", "spec": spec}) == {"kind": "Workload", "spec": spec}


@pytest.mark.parametrize(
    "kind",
    [
        "AdmissionCheck",
        "Cohort",
        "ProvisioningRequestConfig",
        "ResourceFlavor",
        "Topology",
        "WorkloadPriorityClass",
    ],
)
def test_kinds_without_renamed_fields_change_only_their_version(kind: str) -> None:
    spec = {"cohort": "x", "anything": [1]}
    assert converted(kind, spec)["spec"] == spec


def test_objects_of_v1beta2_or_of_another_group_are_returned_unchanged() -> None:
    for version in ("kueue.x-k8s.io/v1beta2", "example.com/v1beta1"):
        raw = {"apiVersion": version, "kind": "ClusterQueue", "spec": {"cohort": "a"}}
        assert to_v1beta2(raw) is raw


def test_an_object_without_a_version_gets_none() -> None:
    assert to_v1beta2({"kind": "ClusterQueue", "spec": {"cohort": "a"}}) == {
        "kind": "ClusterQueue",
        "spec": {"cohortName": "a"},
    }
