from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from closeknit.dialects.kueue.objects import with_status, workload
from closeknit.model.request import Request
from closeknit.model.workload import LONG_AGO, Status, Workload

POD = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "1"}


def test_an_empty_workload_is_active_and_counts_as_the_oldest() -> None:
    assert workload({"metadata": {"name": "a"}, "spec": {"active": None, "priority": None}}) == Workload("", "a")
    assert Workload("", "a").created == LONG_AGO


def test_a_workload_is_read_whole() -> None:
    raw = {
        "metadata": {
            "name": "a",
            "namespace": "team",
            "uid": "u",
            "generation": 3,
            "creationTimestamp": "1970-01-01T00:01:00Z",
            "labels": {"kueue.x-k8s.io/job-uid": "j"},
            "annotations": {
                "kueue.x-k8s.io/priority-boost": "-7",
                "kueue.x-k8s.io/admission-gated-by": "x,y",
                "kueue.x-k8s.io/workload-slice-replacement-for": "team/old",
            },
        },
        "spec": {
            "queueName": "main",
            "priority": 5,
            "active": False,
            "maximumExecutionTimeSeconds": 30,
            "preemptionGates": [{"name": "g"}],
        },
    }
    assert workload(raw) == Workload(
        "team",
        "a",
        Request(()),
        (),
        "main",
        "u",
        5,
        60.0,
        False,
        "j",
        -7,
        "x,y",
        ("g",),
        "team/old",
        False,
        30,
        3,
    )


@pytest.mark.parametrize("text", ["", "high", "1.5", "1_0", " 3"])
def test_a_boost_that_is_no_number_is_none(text: str) -> None:
    assert workload({"metadata": {"annotations": {"kueue.x-k8s.io/priority-boost": text}}}).boost == 0


@pytest.mark.parametrize(
    ("owners", "group", "owned"),
    [
        ([POD], None, True),
        ([POD], "false", True),
        ([POD], "true", False),
        ([POD, POD], None, False),
        ([], None, False),
        ([{**POD, "apiVersion": "v2"}], None, False),
        ([{"apiVersion": "batch/v1", "kind": "Job"}], None, False),
    ],
)
def test_a_workload_of_one_bare_pod_belongs_to_it(owners: Any, group: str | None, owned: bool) -> None:
    notes = {} if group is None else {"kueue.x-k8s.io/is-group-workload": group}
    assert workload({"metadata": {"ownerReferences": owners, "annotations": notes}}).owned_by_pod is owned


NEWS = {"news": {"deep": [1]}}
OLD: dict[str, Any] = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "Workload",
    "metadata": {"name": "a", **NEWS},
    "spec": {"podSets": [{"name": "main", **NEWS}], **NEWS},
    "status": {
        **NEWS,
        "clusterName": "far",
        "accumulatedPastExecutionTimeSeconds": 9,
        "conditions": [
            {"type": "Odd", "status": "Unknown", "reason": "R", "message": "m", **NEWS},
            {"type": "Admitted", "status": "False", "reason": "R", "message": "m", **NEWS},
        ],
        "preemptionGates": [
            {"name": "shut", "position": "Closed", **NEWS},
            {"name": "g", "position": "Open", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        ],
        "resourceRequests": [{"name": "main", "resources": {"cpu": "1000m"}, **NEWS}],
        "requeueState": {**NEWS},
    },
}


def test_a_status_that_did_not_change_is_written_as_it_was() -> None:
    assert with_status(OLD, workload(OLD).status) == OLD


def test_a_status_is_written_over_what_others_wrote() -> None:
    before = copy.deepcopy(OLD)
    status = workload(OLD).status
    status = status.condition("Admitted", True, "Admitted", "The workload is admitted", 60.0, 2)
    got = with_status(OLD, replace(status, requeues=2, unhealthy=("n1",)))
    want = copy.deepcopy(OLD)
    want["status"]["conditions"][1] |= {
        "status": "True",
        "reason": "Admitted",
        "message": "The workload is admitted",
        "lastTransitionTime": "1970-01-01T00:01:00Z",
        "observedGeneration": 2,
    }
    want["status"]["requeueState"]["count"] = 2
    want["status"]["unhealthyNodes"] = [{"name": "n1"}]
    assert got == want
    assert before == OLD


def test_fields_that_a_status_drops_are_removed_and_others_stay() -> None:
    got = with_status(OLD, Status())["status"]
    want: dict[str, Any] = {
        **NEWS,
        "clusterName": "far",
        "preemptionGates": [{"name": "shut", "position": "Closed", **NEWS}],
        "requeueState": {**NEWS},
    }
    assert got == want


def test_a_status_is_written_in_v1beta2() -> None:
    raw = {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "Workload",
        "spec": {"priorityClassName": "high", "priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass"},
    }
    got = with_status(raw, Status(requeues=1))
    assert got["apiVersion"] == "kueue.x-k8s.io/v1beta2"
    assert got["spec"]["priorityClassRef"]["name"] == "high"
    assert got["status"] == {"requeueState": {"count": 1}}
