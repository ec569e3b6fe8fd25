"""A pod as reconcilers see it, read from the API server's object."""

from __future__ import annotations

from typing import Any

from closeknit.dialects.pods import pod
from closeknit.model.pod import Owner, Pod
from closeknit.model.shape import Toleration
from closeknit.model.workload import LONG_AGO

RAW: dict[str, Any] = {
    "metadata": {
        "namespace": "ns",
        "name": "train-1",
        "uid": "u1",
        "creationTimestamp": "1970-01-01T00:01:00Z",
        "deletionTimestamp": "1970-01-01T00:02:00Z",
        "labels": {"kueue.x-k8s.io/podset": "workers", "index": "3"},
        "annotations": {
            "kueue.x-k8s.io/workload": "job-train-2",
            "kueue.x-k8s.io/workload-slice-name": "job-train-1",
            "kueue.x-k8s.io/pod-index-offset": "1",
        },
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "u2"},
            {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "u3", "controller": True},
        ],
    },
    "spec": {
        "nodeName": "n",
        "nodeSelector": {"kubernetes.io/hostname": "n"},
        "schedulingGates": [{"name": "kueue.x-k8s.io/topology"}, {"name": "example.com/x"}],
        "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}],
    },
    "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
}


def test_all_fields_of_a_pod_are_read() -> None:
    meta = RAW["metadata"]
    assert pod(RAW) == Pod(
        "ns",
        "train-1",
        "u1",
        meta["labels"],
        meta["annotations"],
        "job-train-2",
        "job-train-1",
        "workers",
        "1",
        "n",
        "Running",
        ("kueue.x-k8s.io/topology", "example.com/x"),
        True,
        {"kubernetes.io/hostname": "n"},
        (Toleration("gpu", "Exists", "", "NoExecute"),),
        True,
        True,
        60.0,
        Owner("Job", "train", "u3", "batch/v1"),
    )
    assert pod(RAW).tolerations[0].seconds == 300


def test_an_empty_pod_is_read() -> None:
    assert pod({}) == Pod("", "")
    assert pod({"metadata": None, "spec": None, "status": None}) == Pod("", "")
    nothing = {"metadata": {"name": "p", "labels": None}, "spec": {"schedulingGates": None}, "status": {"phase": None}}
    assert pod(nothing) == Pod("", "p", created=LONG_AGO)


def test_without_a_name_that_slices_share_the_family_is_the_workload() -> None:
    one = pod({"metadata": {"annotations": {"kueue.x-k8s.io/workload": "w"}}})
    assert (one.workload, one.family) == ("w", "w")


def test_other_gates_do_not_hold_back_for_a_place() -> None:
    one = pod({"spec": {"schedulingGates": [{"name": "example.com/x"}]}})
    assert (one.gates, one.gated) == (("example.com/x",), False)


def test_which_pods_have_ended() -> None:
    phases = ["Pending", "Running", "Unknown", "Succeeded", "Failed"]
    assert [pod({"status": {"phase": phase}}).ended for phase in phases] == [False, False, False, True, True]
