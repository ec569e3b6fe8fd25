"""A small data centre for the tests of the embedded host: two blocks of two racks of three hosts, one queue."""

from __future__ import annotations

from .lab import Lab

HOST = "kubernetes.io/hostname"
BLOCK, RACK = "cloud.provider.com/topology-block", "cloud.provider.com/topology-rack"

QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: default}
spec:
  levels:
  - {nodeLabel: cloud.provider.com/topology-block}
  - {nodeLabel: cloud.provider.com/topology-rack}
  - {nodeLabel: kubernetes.io/hostname}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: gpu}
spec: {nodeLabels: {pool: gpu}, topologyName: default, tolerations: [{key: gpu, operator: Exists}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: cq}
spec:
  namespaceSelector: {}
  preemption: {withinClusterQueue: LowerPriority}
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors: [{name: gpu, resources: [{name: cpu, nominalQuota: 100}, {name: memory, nominalQuota: 1000Gi}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: lq, namespace: default}
spec: {clusterQueue: cq}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: high}
value: 100
"""


def centre(lab: Lab | None = None, cpu: int = 4) -> Lab:
    lab = lab or Lab()
    for number in range(12):
        name = f"h{number:02d}"
        labels = {HOST: name, BLOCK: f"b{number // 6}", RACK: f"r{number // 3}", "pool": "gpu"}
        room = {"cpu": str(cpu), "memory": "64Gi", "pods": "32"}
        lab.create(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": labels},
                "spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]},
                "status": {
                    "allocatable": room,
                    "capacity": room,
                    "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
                },
            }
        )
    lab.apply(QUEUES)
    lab.settle()
    return lab


def template(seconds: str = "20s", cpu: str = "2", indent: int = 6, wish: str = "required") -> str:
    """A pod template in YAML, for pods that have to be in one rack."""
    text = f"""\
metadata:
  annotations:
    closeknit.dev/run-time: {seconds}
    kueue.x-k8s.io/podset-{wish}-topology: {RACK}
spec:
  restartPolicy: {"Never" if seconds != "forever" else "Always"}
  containers:
  - name: node
    image: example
    resources: {{requests: {{cpu: "{cpu}"}}}}
"""
    return "\n".join(" " * indent + line for line in text.splitlines())
