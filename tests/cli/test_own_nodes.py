"""The cluster that `up --nodes` builds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from closeknit.cli.own_nodes import cluster_of
from closeknit.cluster import kinds
from closeknit.model.mistake import InputError
from host.lab import Lab

Raw = dict[str, Any]

POOL = """
blocks: 2
racksPerBlock: 2
nodesPerRack: 2
node: {cpu: 16, memory: 64Gi, nvidia.com/gpu: 8}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: default, labels: {kueue.x-k8s.io/queue-name: default}}
spec:
  parallelism: 2
  completions: 2
  completionMode: Indexed
  template:
    metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: cloud.provider.com/topology-rack}}
    spec:
      restartPolicy: Never
      containers:
      - {name: c, image: i, resources: {requests: {cpu: 1, nvidia.com/gpu: 8}, limits: {nvidia.com/gpu: 8}}}
"""


def by_kind(objects: Sequence[Raw], kind: str) -> list[Raw]:
    return [one for one in objects if one["kind"] == kind]


def test_a_pool_becomes_nodes_with_a_topology_and_a_queue_for_all_they_have(tmp_path: Path) -> None:
    path = tmp_path / "pool.yaml"
    path.write_text(POOL)
    made = cluster_of([str(path)])
    assert [one["metadata"]["name"] for one in by_kind(made.objects, "Node")][:3] == [
        "b01-r01-n01",
        "b01-r01-n02",
        "b01-r02-n01",
    ]
    (topology,) = by_kind(made.objects, "Topology")
    assert [level["nodeLabel"] for level in topology["spec"]["levels"]] == [
        "cloud.provider.com/topology-block",
        "cloud.provider.com/topology-rack",
        "kubernetes.io/hostname",
    ]
    (queue,) = by_kind(made.objects, "ClusterQueue")
    (flavor,) = queue["spec"]["resourceGroups"][0]["flavors"]
    assert flavor["resources"] == [
        {"name": "cpu", "nominalQuota": "128"},
        {"name": "memory", "nominalQuota": "512Gi"},
        {"name": "nvidia.com/gpu", "nominalQuota": "64"},
        {"name": "pods", "nominalQuota": "880"},
    ]
    (local,) = by_kind(made.objects, "LocalQueue")
    assert local["metadata"] == {"name": "default", "namespace": "default"}
    assert made.notes[0].startswith("8 nodes; levels from their labels: cloud.provider.com/topology-block, ")
    assert made.notes[1] == (
        "created Topology, ResourceFlavor, ClusterQueue and LocalQueue, all named default, "
        "with quota for the whole capacity of the nodes"
    )


def test_a_job_runs_on_it(tmp_path: Path) -> None:
    path = tmp_path / "pool.yaml"
    path.write_text(POOL)
    lab = Lab()
    for raw in cluster_of([str(path)]).objects:
        lab.create(raw)
    lab.advance(2)
    lab.apply(JOB)
    lab.advance(3)
    assert [pod["spec"]["nodeName"] for pod in lab.pods()] == ["b01-r01-n01", "b01-r01-n02"]


def a_node(name: str, **labels: str) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": "made-elsewhere",
            "resourceVersion": "7",
            "labels": {"kubernetes.io/hostname": name, **labels},
        },
        "spec": {"providerID": "cloud://1", "taints": [{"key": "gpu", "effect": "NoSchedule"}], "unschedulable": True},
        "status": {
            "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
            "capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
            "images": [{"names": ["example.com/large:1"], "sizeBytes": 1}],
        },
    }


def test_server_fields_of_a_node_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "nodes.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [a_node("n1", rack="r1")]}))
    (node,) = by_kind(cluster_of([str(path)]).objects, "Node")
    assert set(node["metadata"]) == {"name", "labels"}
    assert node["spec"] == {"taints": [{"key": "gpu", "effect": "NoSchedule"}], "unschedulable": True}
    assert set(node["status"]) == {"allocatable", "capacity", "conditions"}


def test_nodes_without_topology_labels_get_a_queue_without_a_topology(tmp_path: Path) -> None:
    path = tmp_path / "nodes.json"
    node = a_node("n1")
    del node["metadata"]["labels"]["kubernetes.io/hostname"]
    path.write_text(json.dumps(node))
    made = cluster_of([str(path)])
    assert by_kind(made.objects, "Topology") == []
    assert by_kind(made.objects, "ResourceFlavor")[0]["spec"] == {}
    assert made.notes[0].startswith("1 node, no topology: No label")


def test_a_file_without_nodes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "jobs.yaml"
    path.write_text(JOB)
    with pytest.raises(InputError, match="there is no Node in it"):
        cluster_of([str(path)])


def test_the_nodes_are_admitted_as_a_user_would_send_them(tmp_path: Path) -> None:
    path = tmp_path / "nodes.json"
    path.write_text(json.dumps(a_node("n1", rack="r1")))
    lab = Lab()
    for raw in cluster_of([str(path)]).objects:
        lab.create(raw)
    lab.advance(2)
    node = lab.get(kinds.NODE, "n1")
    assert [one["key"] for one in node["spec"]["taints"]] == ["gpu", "node.kubernetes.io/unschedulable"]


def test_zones_of_a_pool_become_an_annotation_of_its_nodes(tmp_path: Path) -> None:
    path = tmp_path / "pool.yaml"
    path.write_text(POOL.replace("node: {", "node: {numa: {zones: 2, reservedCPUs: 4}, "))
    node = by_kind(cluster_of([str(path)]).objects, "Node")[0]
    assert node["metadata"]["annotations"] == {"closeknit.dev/numa": '{"zones": 2, "reservedCPUs": 4}'}
    assert (node["status"]["allocatable"]["cpu"], node["status"]["capacity"]["cpu"]) == ("16", "20")
