"""Kueue's own kinds: what its dialect says about them arrives as defaults and causes."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster.kinds import (
    CLUSTER_QUEUE,
    LOCAL_QUEUE,
    RESOURCE_FLAVOR,
    TOPOLOGY,
    WORKLOAD,
    Kind,
)
from closeknit.cluster.port import Raw
from closeknit.model.gates import Gates
from cluster.embedded.rules.hosts import CONTAINER, Host, refused

IN_USE = "kueue.x-k8s.io/resource-in-use"
POD_SET = {"name": "main", "count": 2, "template": {"spec": {"containers": [CONTAINER]}}}
ADMISSION = {"clusterQueue": "q", "podSetAssignments": [{"name": "main", "count": 2, "resourceUsage": {"cpu": "2"}}]}
RESERVED = [{"type": "QuotaReserved", "status": "True"}]


def workload(**spec: Any) -> Raw:
    return {"spec": {"podSets": [POD_SET], **spec}}


def test_a_cluster_queue_is_filled_in() -> None:
    made = Host().create(CLUSTER_QUEUE, {"spec": {}})["spec"]
    assert made == {
        "queueingStrategy": "BestEffortFIFO",
        "stopPolicy": "None",
        "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
        "preemption": {
            "withinClusterQueue": "Never",
            "reclaimWithinCohort": "Never",
            "borrowWithinCohort": {"policy": "Never"},
        },
    }


def test_a_flavor_stays_while_it_is_in_use_and_can_then_be_deleted() -> None:
    host = Host()
    assert host.create(RESOURCE_FLAVOR, {"spec": {}})["metadata"]["finalizers"] == [IN_USE]
    assert "finalizers" not in host.patch(RESOURCE_FLAVOR, {"metadata": {"finalizers": None}})["metadata"]


def test_without_partial_admission_a_workload_has_no_least_count() -> None:
    body = workload(podSets=[{**POD_SET, "minCount": 1}])
    assert Host().create(WORKLOAD, body)["spec"]["podSets"][0]["minCount"] == 1
    off = Host(gates=Gates.profile("closeknit", {"PartialAdmission": False}))
    assert "minCount" not in off.create(WORKLOAD, body)["spec"]["podSets"][0]


@pytest.mark.parametrize(
    ("kind", "body", "wrong"),
    [
        (WORKLOAD, workload(), []),
        (WORKLOAD, workload(podSets=[]), [("spec.podSets", "Invalid")]),
        (WORKLOAD, workload(podSets=[{**POD_SET, "minCount": 3}]), [("spec.podSets[0].minCount", "Invalid")]),
        (WORKLOAD, workload(queueName="Bad_Queue"), [("spec.queueName", "Invalid")]),
        (LOCAL_QUEUE, {"spec": {}}, [("spec.clusterQueue", "Required")]),
        (CLUSTER_QUEUE, {"spec": {"stopPolicy": "X"}}, [("spec.stopPolicy", "NotSupported")]),
        (
            TOPOLOGY,
            {"spec": {"levels": [{"nodeLabel": "a"}, {"nodeLabel": "a"}]}},
            [("spec.levels[1].nodeLabel", "Duplicate")],
        ),
        (TOPOLOGY, {"spec": {}}, [("spec.levels", "Required")]),
        (RESOURCE_FLAVOR, {"spec": {"topologyName": "t"}}, [("spec.nodeLabels", "Required")]),
    ],
)
def test_an_object_that_breaks_a_rule_is_rejected_by_field(kind: Kind, body: Raw, wrong: Any) -> None:
    assert Host().refusal(kind, body) == wrong


def test_the_sentence_says_what_to_do() -> None:
    message = refused(lambda: Host().create(LOCAL_QUEUE, {"spec": {}}))[1]
    assert message == (
        'LocalQueue.kueue.x-k8s.io "x" is invalid: spec.clusterQueue: is missing; set the name of a ClusterQueue'
    )


def test_a_local_queue_leads_to_one_cluster_queue_for_ever() -> None:
    host = Host()
    host.create(LOCAL_QUEUE, {"spec": {"clusterQueue": "a"}})
    assert host.change_refusal(LOCAL_QUEUE, {"spec": {"clusterQueue": "b"}}) == [("spec.clusterQueue", "Invalid")]


def test_what_was_invalid_in_a_cluster_queue_before_is_tolerated() -> None:
    group = {
        "coveredResources": ["cpu"],
        "flavors": [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": "1"}]}],
    }
    checks = {"admissionChecks": [{"name": "c", "onFlavors": ["gone"]}]}
    host = Host()
    body = {"spec": {"resourceGroups": [group], "admissionChecksStrategy": checks}}
    assert host.refusal(CLUSTER_QUEUE, body) == [
        ("spec.admissionChecksStrategy.admissionChecks[0].onFlavors[0]", "NotSupported")
    ]
    host.create(CLUSTER_QUEUE, body, trusted=True)
    assert host.change_refusal(CLUSTER_QUEUE, {"spec": {"stopPolicy": "Hold"}}) == []


def admitted() -> Host:
    host = Host()
    host.create(WORKLOAD, workload(queueName="a"))
    host.patch(WORKLOAD, {"status": {"conditions": RESERVED, "admission": ADMISSION}}, "status", trusted=True)
    return host


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"spec": {"queueName": "b"}}, [("spec.queueName", "Invalid")]),
        ({"spec": {"podSets": [{**POD_SET, "count": 3}]}}, [("spec.podSets", "Invalid")]),
        ({"spec": {"active": False}}, []),
    ],
)
def test_a_workload_that_holds_quota_stays_what_it_is(change: Raw, wrong: Any) -> None:
    assert admitted().change_refusal(WORKLOAD, change) == wrong


def test_an_admission_is_given_and_taken_back_but_not_edited() -> None:
    host = admitted()
    other = {"status": {"admission": {**ADMISSION, "clusterQueue": "r"}}}
    assert host.change_refusal(WORKLOAD, other, "status") == [("status.admission", "Invalid")]
    back = {"status": {"admission": None, "conditions": [{"type": "QuotaReserved", "status": "False"}]}}
    assert host.change_refusal(WORKLOAD, back, "status") == []
