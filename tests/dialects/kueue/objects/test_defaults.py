from __future__ import annotations

import copy
from typing import Any

import pytest

from closeknit.dialects.kueue.objects import with_defaults
from closeknit.model.gates import Gates

NEWS = {"news": {"deep": 1}}


def filled(kind: str, spec: Any, gates: Gates | None = None) -> Any:
    raw = {"kind": kind, "spec": spec, **NEWS}
    before = copy.deepcopy(raw)
    got = with_defaults(raw) if gates is None else with_defaults(raw, gates)
    assert raw == before
    assert got["news"] == NEWS["news"]
    return got["spec"]


def test_a_cluster_queue_gets_its_policies() -> None:
    assert filled("ClusterQueue", None) == {
        "queueingStrategy": "BestEffortFIFO",
        "stopPolicy": "None",
        "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
        "preemption": {
            "withinClusterQueue": "Never",
            "reclaimWithinCohort": "Never",
            "borrowWithinCohort": {"policy": "Never"},
        },
    }


def test_fields_of_a_cluster_queue_stay_and_required_ones_are_not_defaulted() -> None:
    given = {
        "queueingStrategy": "StrictFIFO",
        "stopPolicy": None,
        "namespaceSelector": None,
        "preemption": {"reclaimWithinCohort": "Any", **NEWS},
        "fairSharing": {"weight": None, **NEWS},
    }
    got = filled("ClusterQueue", given)
    assert got["queueingStrategy"] == "StrictFIFO"
    assert got["stopPolicy"] == "None"
    assert got["namespaceSelector"] is None
    assert got["preemption"] == {
        "withinClusterQueue": "Never",
        "reclaimWithinCohort": "Any",
        "borrowWithinCohort": {"policy": "Never"},
        **NEWS,
    }
    assert got["fairSharing"] == {"weight": 1, **NEWS}
    assert "cohortName" not in got


def test_local_queues_and_cohorts_get_little() -> None:
    assert filled("LocalQueue", {"clusterQueue": "q"}) == {"clusterQueue": "q", "stopPolicy": "None"}
    assert filled("Cohort", {"fairSharing": {}}) == {"fairSharing": {"weight": 1}}
    assert filled("Cohort", {"fairSharing": {"weight": 0}}) == {"fairSharing": {"weight": 0}}
    assert filled("Cohort", None) is None


def test_a_workload_is_active_and_its_pod_sets_are_main_and_one_pod() -> None:
    given = {"podSets": [{"name": None, "template": {}, **NEWS}, {"name": "b", "count": 0, "minCount": 2}]}
    assert filled("Workload", given) == {
        "podSets": [
            {"name": "main", "count": 1, "template": {}, **NEWS},
            {"name": "b", "count": 0, "minCount": 2},
        ],
        "active": True,
    }
    assert filled("Workload", {"active": False}) == {"active": False}


def test_without_partial_admission_there_is_no_least_number_of_pods() -> None:
    off = Gates.profile("kueue", {"PartialAdmission": False})
    given = {"active": True, "podSets": [{"name": "b", "count": 3, "minCount": 2}]}
    assert filled("Workload", given, off) == {"active": True, "podSets": [{"name": "b", "count": 3}]}


def test_a_request_for_nodes_is_tried_again() -> None:
    assert filled("ProvisioningRequestConfig", {"retryStrategy": {"backoffLimitCount": 0}}) == {
        "retryStrategy": {"backoffLimitCount": 0, "backoffBaseSeconds": 60, "backoffMaxSeconds": 1800}
    }


def test_a_flavor_gets_the_finalizer() -> None:
    finalizer = "kueue.x-k8s.io/resource-in-use"
    raw = {"kind": "ResourceFlavor", "metadata": {"name": "f", "finalizers": ["other"]}, "spec": {}}
    got = with_defaults(raw)
    assert got["metadata"] == {"name": "f", "finalizers": ["other", finalizer]}
    assert with_defaults(got) == got
    assert with_defaults({"kind": "ResourceFlavor"})["metadata"] == {"finalizers": [finalizer]}


@pytest.mark.parametrize("kind", ["AdmissionCheck", "Topology", "WorkloadPriorityClass", "Pod"])
def test_other_kinds_have_no_defaults(kind: str) -> None:
    raw = {"kind": kind, "spec": {}}
    assert with_defaults(raw) is raw
