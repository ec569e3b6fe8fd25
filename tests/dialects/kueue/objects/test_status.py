from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.kueue.objects import workload, workload_status
from closeknit.model.assignment import Assignment
from closeknit.model.shape import Toleration
from closeknit.model.workload import (
    LONG_AGO,
    Admission,
    Check,
    Condition,
    PodSetAssignment,
    PodSetUpdate,
    Status,
)

HOST = "kubernetes.io/hostname"
WIRE: dict[str, Any] = {
    "conditions": [
        {
            "type": "QuotaReserved",
            "status": "True",
            "reason": "QuotaReserved",
            "message": "Quota reserved in ClusterQueue q",
            "lastTransitionTime": "1970-01-01T00:01:00Z",
            "observedGeneration": 2,
        },
        {"type": "Admitted", "status": "False", "reason": "R", "message": ""},
    ],
    "admission": {
        "clusterQueue": "q",
        "podSetAssignments": [
            {
                "name": "main",
                "count": 2,
                "flavors": {"cpu": "spot"},
                "resourceUsage": {"cpu": "1500m", "memory": "2Gi"},
                "topologyAssignment": {
                    "levels": [HOST],
                    "slices": [
                        {
                            "domainCount": 2,
                            "valuesPerLevel": [{"individual": {"prefix": "n", "roots": ["1", "2"]}}],
                            "podCounts": {"universal": 1},
                        }
                    ],
                },
                "delayedTopologyRequest": "Ready",
            },
            {"name": "none", "count": 0},
        ],
    },
    "requeueState": {"count": 3, "requeueAt": "1970-01-01T00:00:10.5Z"},
    "reclaimablePods": [{"name": "main", "count": 1}],
    "admissionChecks": [
        {
            "name": "a",
            "state": "Ready",
            "message": "there",
            "lastTransitionTime": "1970-01-01T00:00:20Z",
            "podSetUpdates": [
                {
                    "name": "main",
                    "labels": {"l": "1"},
                    "annotations": {"n": "2"},
                    "nodeSelector": {"s": "3"},
                    "tolerations": [{"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"}],
                }
            ],
            "requeueAfterSeconds": 0,
            "retryCount": 2,
        },
        {"name": "b", "state": "Pending", "message": ""},
    ],
    "resourceRequests": [{"name": "main", "resources": {"cpu": "1"}}],
    "schedulingStats": {"evictions": [{"reason": "Preempted", "underlyingCause": "", "count": 2}]},
    "unhealthyNodes": [{"name": "n1"}, {"name": "n0"}],
    "preemptionGates": [{"name": "x", "position": "Open"}, {"name": "y", "position": "Open"}],
}
VALUE = Status(
    {
        "QuotaReserved": Condition(True, "QuotaReserved", "Quota reserved in ClusterQueue q", 60.0, 2),
        "Admitted": Condition(False, "R", "", LONG_AGO, 0),
    },
    Admission(
        "q",
        (
            PodSetAssignment(
                "main",
                {"cpu": "spot"},
                {"cpu": 1500, "memory": 2 * 2**30},
                2,
                Assignment((HOST,), (("n1",), ("n2",)), (1, 1)),
                "Ready",
            ),
            PodSetAssignment("none", {}, {}, 0),
        ),
    ),
    10.5,
    3,
    {"main": 1},
    (
        Check(
            "a",
            "Ready",
            "there",
            20.0,
            (PodSetUpdate("main", {"l": "1"}, {"n": "2"}, {"s": "3"}, (Toleration("k", "Equal", "v", "NoSchedule"),)),),
            0,
            2,
        ),
        Check("b"),
    ),
    ("n1", "n0"),
    {("Preempted", ""): 2},
    frozenset({"x", "y"}),
    (("main", {"cpu": 1000}),),
)


def test_a_status_is_read_whole() -> None:
    assert workload({"status": WIRE}).status == VALUE


def test_a_status_is_written_as_it_is_read() -> None:
    assert workload_status(VALUE) == WIRE


def test_an_empty_status_is_written_as_nothing() -> None:
    assert workload_status(Status()) == {}
    assert workload({"status": {"conditions": None, "requeueState": None}}).status == Status()


def test_a_gate_is_closed_by_default() -> None:
    gates = [{"name": "a", "position": "Closed"}, {"name": "b"}, {"name": "c", "position": "Open"}]
    assert workload({"status": {"preemptionGates": gates}}).status.open_gates == {"c"}


def test_a_check_without_a_state_is_pending_and_an_assignment_without_a_name_is_of_main() -> None:
    status = workload(
        {"status": {"admissionChecks": [{"name": "a"}], "admission": {"podSetAssignments": [{"count": 1}]}}}
    ).status
    assert status.checks == (Check("a"),)
    assert status.admission == Admission("", (PodSetAssignment("main", {}, {}, 1),))


@pytest.mark.parametrize("status", ["False", "Unknown"])
def test_a_condition_that_is_not_true_does_not_hold(status: str) -> None:
    assert not workload({"status": {"conditions": [{"type": "A", "status": status}]}}).status.holds("A")


def test_domains_of_v1beta1_are_read() -> None:
    old = {"levels": ["block", "rack"], "domains": [{"values": ["b", "r"], "count": 3}]}
    status = workload({"status": {"admission": {"podSetAssignments": [{"topologyAssignment": old}]}}}).status
    assert status.admission is not None
    assert status.admission.pod_sets[0].topology == Assignment(("block", "rack"), (("b", "r"),), (3,))
