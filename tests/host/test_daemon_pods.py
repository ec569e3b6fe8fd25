"""Pods of DaemonSets on the whole embedded host: they wait in no queue, and their room is counted once."""

from __future__ import annotations

from copy import deepcopy

from closeknit.cluster import kinds
from host.centre import centre
from host.lab import condition

DAEMON = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: default, namespace: default}
spec: {clusterQueue: cq}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: default}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      tolerations: [{operator: Exists}]
      containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: default}
spec:
  parallelism: 12
  completions: 12
  completionMode: Indexed
  template:
    metadata: {annotations: {closeknit.dev/run-time: 1h, kueue.x-k8s.io/podset-unconstrained-topology: "true"}}
    spec:
      restartPolicy: Never
      containers: [{name: c, image: i, resources: {requests: {cpu: "3"}}}]
"""


def test_pods_of_a_daemon_set_run_without_a_workload_where_there_is_a_default_queue() -> None:
    lab = centre()
    lab.apply(DAEMON)
    lab.advance(10)
    assert [pod["status"]["phase"] for pod in lab.pods()] == ["Running"] * 12
    assert lab.workloads() == []
    [usage] = lab.get(kinds.CLUSTER_QUEUE, "cq")["status"]["flavorsUsage"]
    assert {one["total"] for one in usage["resources"]} == {"0"}


def test_their_room_is_counted_once() -> None:
    """Each host has four processors: one for the agent, and exactly three for a pod of the job."""
    lab = centre()
    lab.apply(DAEMON)
    lab.apply(JOB)
    lab.advance(10)
    [workload] = lab.workloads()
    assert condition(workload, "Admitted")
    assert {pod["status"]["phase"] for pod in lab.pods()} == {"Running"}


def test_they_start_though_the_quota_is_used_up() -> None:
    lab = centre()
    cpu = {"name": "cpu", "nominalQuota": "0"}
    groups = deepcopy(lab.get(kinds.CLUSTER_QUEUE, "cq")["spec"]["resourceGroups"])
    groups[0]["flavors"][0]["resources"][0] = cpu
    lab.patch(kinds.CLUSTER_QUEUE, "", "cq", {"spec": {"resourceGroups": groups}})
    lab.apply(DAEMON)
    lab.advance(10)
    assert {pod["status"]["phase"] for pod in lab.pods()} == {"Running"}
