"""Objects of a cluster as users write them, one line each, and folders of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from closeknit.model.topology import HOSTNAME

Raw = dict[str, Any]

KUEUE = "kueue.x-k8s.io/v1beta2"
GPU = "nvidia.com/gpu"
RACK = "example.com/rack"
QUEUE = "kueue.x-k8s.io/queue-name"
REQUIRED = "kueue.x-k8s.io/podset-required-topology"


def kueue(kind: str, name: str, spec: Raw | None = None, **more: Any) -> Raw:
    meta = {"name": name, **more.pop("metadata", {})}
    return {"apiVersion": KUEUE, "kind": kind, "metadata": meta, **({} if spec is None else {"spec": spec}), **more}


def namespace(name: str, **labels: str) -> Raw:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def node(name: str, rack: str = "r1", gpus: int = 8, **labels: Any) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name, RACK: rack, "pool": "gpu", **labels}},
        "status": {
            "allocatable": {"cpu": "64", GPU: str(gpus), "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-03-02T00:00:00Z"}],
        },
    }


def groups(gpus: int | Raw, flavor: str = "gpu") -> list[Raw]:
    """One group with quota for gpus, or a whole quota as given."""
    quota = gpus if isinstance(gpus, dict) else {"nominalQuota": gpus}
    return [
        {"coveredResources": [GPU], "flavors": [{"name": flavor, "resources": [{"name": GPU, **quota}]}]},
    ]


def cluster_queue(name: str, gpus: int | Raw = 8, cohort: str = "", flavor: str = "gpu", **spec: Any) -> Raw:
    given = {"resourceGroups": groups(gpus, flavor), "namespaceSelector": {}, **spec}
    return kueue("ClusterQueue", name, {**given, **({"cohortName": cohort} if cohort else {})})


def local_queue(name: str, leads_to: str, where: str = "default", **spec: Any) -> Raw:
    return kueue("LocalQueue", name, {"clusterQueue": leads_to, **spec}, metadata={"namespace": where})


def flavor(name: str = "gpu", topology: str = "", **labels: str) -> Raw:
    spec: Raw = {"nodeLabels": labels or {"pool": "gpu"}}
    return kueue("ResourceFlavor", name, {**spec, **({"topologyName": topology} if topology else {})})


def topology(name: str = "dc") -> Raw:
    return kueue("Topology", name, {"levels": [{"nodeLabel": RACK}, {"nodeLabel": HOSTNAME}]})


def template(gpus: int = 1, level: str = "", **spec: Any) -> Raw:
    meta = {"annotations": {REQUIRED: level}} if level else {}
    return {"metadata": meta, "spec": {"containers": [{"name": "c", "resources": {"requests": {GPU: gpus}}}], **spec}}


def job(name: str, pods: int = 1, queue: str | None = "main", level: str = "", **more: Any) -> Raw:
    """`labels`, `annotations`, `uid`, `namespace` go into its metadata, `gpus` and the rest into its pods."""
    meta: Raw = {"name": name, "labels": {**({QUEUE: queue} if queue else {}), **more.pop("labels", {})}}
    meta |= {key: more.pop(key) for key in ("namespace", "uid", "annotations", "ownerReferences") if key in more}
    status = more.pop("status", None)
    spec = {"parallelism": pods, "completions": pods, "template": template(more.pop("gpus", 1), level, **more)}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": meta,
        "spec": spec,
        **({"status": status} if status else {}),
    }


def workload(name: str, pods: int = 1, queue: str = "main", holds: str = "", **more: Any) -> Raw:
    """`holds` names the ClusterQueue that it was admitted to; `hosts` says where its pods are, if by topology."""
    hosts, owner = more.pop("hosts", {}), more.pop("owner", None)
    meta: Raw = {"namespace": more.pop("namespace", "default"), "uid": f"uid-of-{name}"}
    meta["creationTimestamp"] = more.pop("created", "2026-03-01T00:00:00Z")
    if owner:
        meta["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": "Job", "name": owner, "uid": f"uid-of-{owner}"}]
    level = RACK if hosts else ""
    pod_set = {"name": "main", "count": pods, "template": template(more.pop("gpus", 1), level)}
    if hosts:
        pod_set["topologyRequest"] = {"required": RACK}
    spec = {"queueName": queue, "podSets": [pod_set], **more}
    return kueue("Workload", name, spec, metadata=meta, status=_status(pods, holds, hosts) if holds else {})


def _status(pods: int, holds: str, hosts: dict[str, int]) -> Raw:
    when = "2026-03-01T00:00:00Z"
    conditions = [
        {"type": kind, "status": "True", "reason": kind, "message": "", "lastTransitionTime": when}
        for kind in ("QuotaReserved", "Admitted")
    ]
    given: Raw = {"name": "main", "count": pods, "flavors": {GPU: "gpu"}, "resourceUsage": {GPU: pods}}
    if hosts:
        slices = [
            {
                "domainCount": 1,
                "valuesPerLevel": [{"universal": host}],
                "podCounts": {"universal": count},
            }
            for host, count in hosts.items()
        ]
        given["topologyAssignment"] = {"levels": [HOSTNAME], "slices": slices}
    return {"conditions": conditions, "admission": {"clusterQueue": holds, "podSetAssignments": [given]}}


def pod(name: str, on: str = "", gpus: int = 1, where: str = "default", **meta: Any) -> Raw:
    spec = {"containers": [{"name": "c", "resources": {"requests": {GPU: gpus}}}], **({"nodeName": on} if on else {})}
    status = {"phase": "Running" if on else "Pending"}
    named = {"name": name, "namespace": where, **meta}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": named, "spec": spec, "status": status}


def small_cluster(gpus: int = 8) -> list[Raw]:
    """A namespace, one flavor without topology, one queue."""
    return [namespace("default"), flavor(), cluster_queue("cq", gpus), local_queue("main", "cq")]


def placing_cluster(gpus: int = 32) -> list[Raw]:
    """Two racks of two nodes with 8 gpus, a topology over them, one queue."""
    nodes = [node(f"n{number}", f"r{number // 3 + 1}") for number in (1, 2, 3, 4)]
    queues = [cluster_queue("cq", gpus), local_queue("main", "cq")]
    return [namespace("default"), *nodes, topology(), flavor(topology="dc"), *queues]


def folder(path: Path, *objects: Raw, name: str = "cluster.json") -> str:
    """Objects in a folder, as a list in one file."""
    path.mkdir(exist_ok=True)
    (path / name).write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))
    return str(path)
