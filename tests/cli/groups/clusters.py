"""Nodes and groups of pods for tests of the commands: the twelve-node tree, and the example of KAI's topology page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

Raw = dict[str, Any]

GPU = "nvidia.com/gpu"
ZONE, RACK, HOST = "topology.kubernetes.io/zone", "topology.kubernetes.io/rack", "kubernetes.io/hostname"
TWELVE = {
    "ZA": {"RA1": {"NA1": 2, "NA2": 2, "NA3": 2}, "RA2": {"NA4": 4}, "RA3": {"NA5": 2, "NA6": 2, "NA7": 2}},
    "ZB": {"RB1": {"NB1": 4, "NB2": 4}, "RB2": {"NB3": 2}},
    "ZC": {"RC1": {"NC1": 2, "NC2": 4}},
}
"""GPUs by zone, rack and node."""
ELEVEN = {
    "zone-a": {
        "rack-a1": {"a1-1": 1, "a1-2": 1},
        "rack-a2": {"a2-1": 1},
        "rack-a3": {"a3-1": 1},
        "rack-a4": {"a4-1": 1},
    },
    "zone-b": {f"rack-b{rack}": {f"b{rack}-{node}": 1 for node in (1, 2)} for rack in (1, 2, 3)},
}
"""The cluster of KAI's topology page."""


def node(name: str, gpus: int, labels: dict[str, str], **spec: Any) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOST: name.lower(), **labels}},
        "spec": spec,
        "status": {
            "allocatable": {GPU: str(gpus), "cpu": "16", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def nodes(tree: dict[str, dict[str, dict[str, int]]]) -> list[Raw]:
    return [
        node(name, gpus, {ZONE: zone, RACK: rack})
        for zone, racks in tree.items()
        for rack, members in racks.items()
        for name, gpus in members.items()
    ]


def topology(name: str = "network", *levels: str) -> Raw:
    listed = [{"nodeLabel": level} for level in levels or (ZONE, RACK, HOST)]
    return {
        "apiVersion": "kai.scheduler/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": name},
        "spec": {"levels": listed},
    }


def pod(name: str, gpus: int = 1, node: str = "", annotations: Raw | None = None, labels: Raw | None = None) -> Raw:
    spec: Raw = {"containers": [{"name": "c", "image": "i", "resources": {"limits": {GPU: str(gpus)}}}]}
    if node:
        spec["nodeName"] = node
    metadata = {"name": name, "annotations": annotations or {}, "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def kai_job(name: str, pods: int, gpus: int = 1, **annotations: str) -> Raw:
    """A Job for KAI; `required` and `preferred` are levels of `topology`."""
    marks = {"topology": "kai.scheduler/topology", "size": "kai.scheduler/segment-size"}
    marks |= {word: f"kai.scheduler/topology-{word}-placement" for word in ("required", "preferred")}
    marks["segment"] = "kai.scheduler/segment-topology-required-placement"
    given = {marks[key]: value for key, value in {"topology": "network", **annotations}.items()}
    template = {"spec": {**pod("x", gpus)["spec"], "schedulerName": "kai-scheduler", "restartPolicy": "Never"}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "annotations": given},
        "spec": {"parallelism": pods, "completions": pods, "completionMode": "Indexed", "template": template},
    }


def kai_group(name: str, sub_groups: list[Raw] | None = None, **spec: Any) -> Raw:
    more = {"subGroups": sub_groups} if sub_groups else {}
    return {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"queue": "default-queue", **spec, **more},
    }


def kai_pods(group: str, number: int, gpus: int = 1, sub_group: str = "", node: str = "") -> list[Raw]:
    labels = {"kai.scheduler/subgroup-name": sub_group} if sub_group else {}
    prefix = f"{group}-{sub_group}" if sub_group else group
    return [
        pod(f"{prefix}-{at}{'-on' if node else ''}", gpus, node, {"pod-group-name": group}, labels)
        for at in range(number)
    ]


def hyper_node(name: str, tier: int, *members: str, kind: str = "Node", tier_name: str = "") -> Raw:
    chosen = [{"type": kind, "selector": {"exactMatch": {"name": one}}} for one in members]
    spec = {"tier": tier, "members": chosen, **({"tierName": tier_name} if tier_name else {})}
    return {"apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode", "metadata": {"name": name}, "spec": spec}


def written(path: Path, *objects: Raw) -> str:
    path.write_text(yaml.safe_dump_all(objects, sort_keys=False), encoding="utf-8")
    return str(path)
