"""The projections of objects that informers store."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from closeknit.cluster import kinds
from closeknit.cluster.kinds import Kind
from closeknit.dialects import core
from closeknit.host.trimming import Trimmer


def pod(**labels: str) -> dict[str, Any]:
    return {
        "metadata": {
            "name": "p",
            "namespace": "default",
            "uid": "u",
            "resourceVersion": "5",
            "labels": {"app": "web", **labels},
            "managedFields": [{"manager": "kubelet"}],
            "ownerReferences": [{"kind": "DaemonSet", "uid": "d", "controller": True}],
        },
        "spec": {
            "nodeName": "n1",
            "containers": [{"name": "c", "image": "web", "resources": {"requests": {"cpu": "2"}}}],
            "initContainers": [{"name": "i", "restartPolicy": "Always", "resources": {"requests": {"cpu": "500m"}}}],
            "overhead": {"cpu": "100m"},
            "volumes": [{"name": "v"}],
        },
        "status": {"phase": "Running", "podIP": "10.0.0.1"},
    }


def kept(raw: dict[str, Any], all_pods: bool = False) -> dict[str, Any]:
    return Trimmer(all_pods)(kinds.POD, json.dumps(raw).encode())


def test_of_an_unmanaged_pod_only_requests_and_node_are_stored() -> None:
    row = kept(pod())
    assert row == {
        "metadata": {
            "name": "p",
            "namespace": "default",
            "uid": "u",
            "resourceVersion": "5",
            "ownerReferences": [{"kind": "DaemonSet", "uid": "d", "controller": True}],
        },
        "spec": {
            "nodeName": "n1",
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}],
            "initContainers": [{"name": "i", "resources": {"requests": {"cpu": "500m"}}, "restartPolicy": "Always"}],
            "overhead": {"cpu": "100m"},
        },
        "status": {"phase": "Running"},
    }
    assert core.requests(msgspec.convert(row["spec"], core.PodSpec)) == {"cpu": 2600}


def test_a_managed_pod_is_stored_whole_without_managed_fields() -> None:
    for mark in ({"kueue.x-k8s.io/queue-name": "q"}, {"kueue.x-k8s.io/managed": "true"}):
        ours = pod(**mark)
        whole = json.loads(json.dumps(ours))
        del whole["metadata"]["managedFields"]
        assert kept(ours) == whole


def test_where_every_pod_may_be_managed_all_are_stored_whole() -> None:
    assert kept(pod(), all_pods=True)["metadata"]["labels"] == {"app": "web"}


def test_a_node_is_kept_without_its_images() -> None:
    node = {"metadata": {"name": "n"}, "status": {"images": [{"names": ["x"]}], "allocatable": {"cpu": "1"}}}
    assert Trimmer()(kinds.NODE, json.dumps(node).encode())["status"] == {"allocatable": {"cpu": "1"}}


@pytest.mark.parametrize(
    ("kind", "odd"),
    [
        (kinds.POD, {"spec": {"containers": 7}}),
        (kinds.POD, {"spec": None}),
        (kinds.POD, {"status": []}),
        (kinds.NODE, {"status": None}),
        (kinds.NODE, {"status": "up"}),
    ],
)
def test_an_object_of_an_unexpected_form_is_stored_whole(kind: Kind, odd: dict[str, Any]) -> None:
    raw = {"metadata": {"name": "x", "uid": "u"}, "spec": {}, **odd}
    for data in (json.dumps(raw).encode(), json.loads(json.dumps(raw))):
        assert Trimmer()(kind, data) == raw


def test_where_jobs_may_have_rules_about_other_pods_what_they_look_at_is_stored() -> None:
    raw = pod()
    raw["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
    raw["spec"]["affinity"] = {"podAntiAffinity": {}}
    row = Trimmer(kinds=True)(kinds.POD, json.dumps(raw).encode())
    assert row["metadata"]["labels"] == {"app": "web"}
    assert row["spec"]["containers"][0]["ports"] == [{"containerPort": 80, "hostPort": 80}]
    assert row["spec"]["affinity"] == {"podAntiAffinity": {}}
    assert row["spec"]["volumes"] == [{"name": "v"}]


def test_of_a_volume_only_what_decides_where_pods_run_is_stored() -> None:
    spec = {"capacity": {"storage": "1Gi"}, "nodeAffinity": {}, "csi": {"driver": "d"}}
    raw = {"metadata": {"name": "pv", "uid": "u"}, "spec": spec, "status": {"phase": "Bound", "reason": "r"}}
    assert Trimmer()(kinds.VOLUME, json.dumps(raw).encode()) == {
        "metadata": {"name": "pv", "uid": "u"},
        "spec": {"capacity": {"storage": "1Gi"}, "nodeAffinity": {}},
        "status": {"phase": "Bound"},
    }
