from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.kueue.objects import cluster_queue
from closeknit.model.cluster_queue import (
    BorrowWithinCohort,
    CheckRule,
    ClusterQueue,
    Fungibility,
    Preemption,
    Selector,
)
from closeknit.model.quota import UNLIMITED, FlavorQuotas, Quota, ResourceGroup
from closeknit.model.shape import Requirement


def queue(**spec: Any) -> ClusterQueue:
    return cluster_queue({"metadata": {"name": "q"}, "spec": spec})


def test_an_empty_queue_has_the_defaults() -> None:
    assert queue() == ClusterQueue("q")
    assert queue(preemption=None, flavorFungibility={}, stopPolicy=None, fairSharing={"weight": None}) == queue()


def test_a_queue_is_read_whole() -> None:
    quotas = [{"name": "cpu", "nominalQuota": "9", "borrowingLimit": "1500m", "lendingLimit": 0}]
    assert queue(
        resourceGroups=[{"coveredResources": ["cpu"], "flavors": [{"name": "spot", "resources": quotas}]}],
        cohortName="team",
        queueingStrategy="StrictFIFO",
        flavorFungibility={
            "whenCanBorrow": "TryNextFlavor",
            "whenCanPreempt": "TryNextFlavor",
            "preference": "PreemptionOverBorrowing",
        },
        preemption={
            "withinClusterQueue": "LowerPriority",
            "reclaimWithinCohort": "Any",
            "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": -5},
        },
        admissionChecksStrategy={"admissionChecks": [{"name": "a"}, {"name": "b", "onFlavors": ["spot"]}]},
        stopPolicy="HoldAndDrain",
        fairSharing={"weight": "2500m"},
    ) == ClusterQueue(
        "q",
        (ResourceGroup(("cpu",), (FlavorQuotas("spot", {"cpu": Quota(9000, 1500, 0)}),)),),
        "team",
        "StrictFIFO",
        None,
        Fungibility("TryNextFlavor", "TryNextFlavor", "PreemptionOverBorrowing"),
        Preemption("LowerPriority", "Any", BorrowWithinCohort("LowerPriority", -5)),
        (CheckRule("a"), CheckRule("b", ("spot",))),
        "HoldAndDrain",
        2.5,
    )


def test_no_selector_matches_no_namespace_and_an_empty_one_matches_all() -> None:
    assert queue(namespaceSelector=None).selector is None
    assert queue(namespaceSelector={}).selector == Selector()
    assert queue(namespaceSelector={"matchLabels": None}).selector == Selector()


def test_labels_and_expressions_of_a_selector_must_all_match() -> None:
    selector = queue(
        namespaceSelector={
            "matchLabels": {"team": "a"},
            "matchExpressions": [{"key": "env", "operator": "NotIn", "values": ["dev"]}],
        }
    ).selector
    assert selector == Selector((Requirement("team", "In", ("a",)), Requirement("env", "NotIn", ("dev",))))


@pytest.mark.parametrize("quantity", ["9223372036854775807", "10E", "1e30", 2**63])
def test_a_quota_beyond_the_largest_amount_is_unlimited(quantity: Any) -> None:
    quotas = [{"name": "gpu", "nominalQuota": quantity}]
    groups = queue(resourceGroups=[{"coveredResources": ["gpu"], "flavors": [{"resources": quotas}]}]).groups
    assert groups[0].flavors[0].resources["gpu"].nominal == UNLIMITED


def test_a_weight_of_zero_is_not_the_default() -> None:
    assert queue(fairSharing={"weight": 0}).weight == 0.0
    assert queue(fairSharing={}).weight == 1.0


def test_a_queue_that_is_being_deleted_is_terminating() -> None:
    raw = {"metadata": {"name": "q", "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    assert cluster_queue(raw) == ClusterQueue("q", terminating=True)


@pytest.mark.parametrize("version", [{}, {"apiVersion": "kueue.x-k8s.io/v1beta1"}])
def test_enum_values_of_v1beta1_are_converted(version: dict[str, str]) -> None:
    spec = {
        "cohort": "team",
        "admissionChecks": ["a", "b"],
        "flavorFungibility": {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"},
    }
    read = cluster_queue({**version, "spec": spec})
    assert read.cohort == "team"
    assert read.checks == (CheckRule("a"), CheckRule("b"))
    assert read.fungibility == Fungibility("MayStopSearch", "MayStopSearch")


def test_a_v1beta1_enum_value_in_a_v1beta2_object_is_not_converted() -> None:
    assert cluster_queue({"apiVersion": "kueue.x-k8s.io/v1beta2", "spec": {"cohort": "team"}}).cohort == ""
