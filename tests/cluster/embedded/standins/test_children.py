from __future__ import annotations

import pytest

from closeknit.cluster.embedded.label_selector import selects
from closeknit.cluster.embedded.standins.children import (
    dispensable_first,
    fingerprint,
    part_of,
    pod,
    tally,
    with_condition,
    with_env,
)
from closeknit.cluster.embedded.standins.pace import ReconcileThrottle
from closeknit.cluster.kinds import JOB
from closeknit.cluster.port import Raw

OWNER: Raw = {"metadata": {"name": "j", "namespace": "team", "uid": "u1"}}


def made(name: str, phase: str = "Running", ready: bool = True, node: str = "n", **meta: str) -> Raw:
    conditions = [{"type": "Ready", "status": str(ready)}]
    return {
        "metadata": {"name": name, **meta},
        "spec": {"nodeName": node},
        "status": {"phase": phase, "conditions": conditions},
    }


def test_a_pod_of_a_template_carries_its_parts_and_leaves_the_template_alone() -> None:
    template: Raw = {
        "metadata": {"labels": {"a": "1", "b": "2"}, "annotations": {"x": "y"}},
        "spec": {"restartPolicy": "Never", "hostname": "old"},
    }
    new = pod(template, JOB, OWNER, prefix="j-", labels={"b": "3"}, finalizers=("f",), spec={"hostname": "new"})
    assert new.body == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": "j-",
            "namespace": "team",
            "labels": {"a": "1", "b": "3"},
            "annotations": {"x": "y"},
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "name": "j",
                    "uid": "u1",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
            "finalizers": ["f"],
        },
        "spec": {"restartPolicy": "Never", "hostname": "new"},
    }
    assert template["metadata"]["labels"] == {"a": "1", "b": "2"}


def test_pods_are_counted_by_state() -> None:
    pods = [
        made("a"),
        made("b", ready=False),
        made("c", "Pending", ready=False),
        made("d", "Succeeded"),
        made("e", "Failed"),
        made("f", deletionTimestamp="2026-01-01T00:00:00Z"),
    ]
    assert tally(pods)._asdict() == {"active": 3, "ready": 1, "succeeded": 1, "failed": 1, "terminating": 1}


def test_the_most_dispensable_pods_are_first() -> None:
    pods = [
        made("old", creationTimestamp="2026-01-01T00:00:00Z"),
        made("young", creationTimestamp="2026-01-02T00:00:00Z"),
        made("unready", ready=False, creationTimestamp="2026-01-01T00:00:00Z"),
        made("pending", "Pending", ready=False, creationTimestamp="2026-01-01T00:00:00Z"),
        made("homeless", "Pending", ready=False, node="", creationTimestamp="2026-01-01T00:00:00Z"),
    ]
    names = [one["metadata"]["name"] for one in dispensable_first(pods)]
    assert names == ["homeless", "pending", "unready", "young", "old"]


def test_a_condition_keeps_its_time_until_its_status_changes() -> None:
    first = with_condition(None, "Ready", True, "A", "one", 60.0)
    assert first == [
        {
            "type": "Ready",
            "status": "True",
            "reason": "A",
            "message": "one",
            "lastTransitionTime": "1970-01-01T00:01:00Z",
        }
    ]
    second = with_condition(first, "Ready", True, "B", "two", 120.0)
    assert (second[0]["reason"], second[0]["lastTransitionTime"]) == ("B", "1970-01-01T00:01:00Z")
    third = with_condition(second, "Ready", False, "B", "two", 180.0)
    assert third[0]["lastTransitionTime"] == "1970-01-01T00:03:00Z"
    assert first[0]["reason"] == "A"


def test_variables_that_are_there_stay() -> None:
    given: list[Raw] = [{"name": "c", "env": [{"name": "A", "value": "mine"}]}, {"name": "d"}]
    more = [{"name": "A", "value": "yours"}, {"name": "B", "value": "2"}]
    assert with_env(given, more) == [
        {"name": "c", "env": [{"name": "A", "value": "mine"}, {"name": "B", "value": "2"}]},
        {"name": "d", "env": [{"name": "A", "value": "yours"}, {"name": "B", "value": "2"}]},
    ]


def test_fingerprints_depend_on_values_but_not_on_key_order() -> None:
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    assert fingerprint({"a": 1}) != fingerprint({"a": 2})
    assert len(fingerprint("x")) == 10


@pytest.mark.parametrize(
    ("value", "whole", "up", "part"),
    [(3, 10, True, 3), ("25%", 10, True, 3), ("25%", 10, False, 2), ("0%", 10, True, 0), ("100%", 7, False, 7)],
)
def test_percentages_are_rounded_as_requested(value: int | str, whole: int, up: bool, part: int) -> None:
    assert part_of(value, whole, up=up) == part


@pytest.mark.parametrize(
    ("selector", "picks"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {"a": "1"}}, True),
        ({"matchLabels": {"a": "2"}}, False),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "2"]}]}, True),
        ({"matchExpressions": [{"key": "b", "operator": "Exists"}]}, False),
        ({"matchLabels": {"a": "1"}, "matchExpressions": [{"key": "b", "operator": "DoesNotExist"}]}, True),
    ],
)
def test_selectors(selector: Raw | None, picks: bool) -> None:
    assert selects(selector, {"a": "1"}) is picks


def test_large_owners_are_reconciled_less_often() -> None:
    pace = ReconcileThrottle()
    pace.looked("small", 10, 100.0)
    pace.looked("large", 5_000, 100.0)
    assert pace.wait("small", 100.0) is None
    assert pace.wait("large", 100.0) == 100.5
    assert pace.wait("large", 100.5) is None
