"""Simulated nodes with NUMA zones, and pods for them, for tests of the embedded host."""

from __future__ import annotations

import json
from typing import Any

from closeknit.cluster import kinds
from closeknit.host.embedded import EmbeddedOptions
from host.lab import START, Lab, Raw

SINGLE = {"zones": 2, "policy": "single-numa-node", "exporter": "2s"}
GPU = "nvidia.com/gpu"


def zoned(*names: str, cpu: int = 8, gpu: int = 4, numa: Any = SINGLE, options: EmbeddedOptions | None = None) -> Lab:
    """A cluster of such nodes, by default with two zones of 4 CPUs, 16Gi and 2 GPUs."""
    lab = Lab(options, START)
    for name in names:
        lab.create(node(name, cpu, gpu, numa))
    lab.settle()
    return lab


def node(name: str, cpu: int = 8, gpu: int = 4, numa: Any = SINGLE) -> Raw:
    room = {"cpu": str(cpu), "memory": "32Gi", "pods": "32", GPU: str(gpu)}
    note = numa if isinstance(numa, str) else json.dumps(numa)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name},
            "annotations": {} if numa is None else {"closeknit.dev/numa": note},
        },
        "status": {"allocatable": room, "capacity": room, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def pod(name: str, cpu: int = 1, gpu: int = 0, runs: str = "forever", **spec: Any) -> Raw:
    """A Guaranteed pod."""
    amounts = {"cpu": str(cpu), "memory": "1Gi", **({GPU: str(gpu)} if gpu else {})}
    container = {"name": "main", "image": "example", "resources": {"requests": amounts, "limits": amounts}}
    notes = {"closeknit.dev/run-time": runs}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "annotations": notes},
        "spec": {"restartPolicy": "Never", "containers": [container], **spec},
    }


def fates(lab: Lab) -> dict[str, str]:
    """Of each pod its phase, or the reason for which it was refused."""
    return {one["metadata"]["name"]: one["status"].get("reason") or one["status"]["phase"] for one in lab.pods()}


def held(lab: Lab, name: str) -> Any:
    notes = lab.get(kinds.POD, name)["metadata"]["annotations"]
    return json.loads(notes["closeknit.dev/numa-held"])


def available(lab: Lab, name: str, resource: str = "cpu") -> list[str]:
    """What the report of a node says is available, zone by zone."""
    zones = lab.get(kinds.NODE_TOPOLOGY, name)["zones"]
    return [one["available"] for zone in zones for one in zone["resources"] if one["name"] == resource]
