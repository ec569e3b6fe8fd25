"""DaemonSets in the manifests of a cluster use capacity before their pods exist."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from closeknit.dialects.kueue.jobs import requests
from closeknit.model.gates import Gates
from closeknit.model.settings import Settings
from closeknit.observe.loader import load
from closeknit.observe.manifests import read_manifests

CLUSTER = """
apiVersion: v1
kind: Node
metadata: {name: a, labels: {kubernetes.io/hostname: a, pool: x}}
status: {allocatable: {cpu: "4", pods: "10"}, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: t}
spec: {levels: [{nodeLabel: kubernetes.io/hostname}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: f}
spec: {nodeLabels: {pool: x}, topologyName: t}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: kube-system, uid: d-1}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}
"""
POD = """
---
apiVersion: v1
kind: Pod
metadata: {name: agent-1, namespace: kube-system, ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: agent, uid: d-1, controller: true}]}
spec: {nodeName: a, containers: [{name: c, image: i, resources: {requests: {cpu: "1500m"}}}]}
status: {phase: Running}
"""  # noqa: E501


@pytest.mark.parametrize(("manifests", "free"), [(CLUSTER, [3000, 9]), (CLUSTER + POD, [2500, 9])])
def test_a_daemon_counts_until_its_pod_is_there_and_then_the_pod_does(
    tmp_path: Path, manifests: str, free: list[int]
) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(manifests)
    state = load(read_manifests([str(file)]), Gates.profile(), Settings())
    snapshot = state.scheduler.world.snapshot("f")
    assert snapshot is not None
    assert snapshot.remaining[:, 0].tolist() == free


PENDING = """
apiVersion: v1
kind: Pod
metadata: {name: agent-2, labels: {kueue.x-k8s.io/queue-name: q}, ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: agent, uid: d-1, controller: true}]}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}
"""  # noqa: E501


def test_a_pending_pod_of_a_daemon_set_is_no_job() -> None:
    parsed = requests([("file", yaml.safe_load(PENDING))], Gates.profile())
    assert parsed.jobs == []
    assert parsed.skipped == ("Pod agent-2 is of a DaemonSet and waits in no queue",)
