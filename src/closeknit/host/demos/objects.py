"""Objects that demos use: hosts in racks in blocks, queues over them, and jobs that ask for one rack or block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...cluster.port import Raw
from ...model.topology import HOSTNAME
from ...observe.pool_form import BLOCK, RACK

KUEUE = "kueue.x-k8s.io/v1beta2"
PREFIX = "kueue.x-k8s.io/"
GPU = "nvidia.com/gpu"
POOL: Mapping[str, str] = {"pool": "gpu"}
NAMESPACE = "default"
FLAVOR = "gpu"
LOST = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
PATIENCE = 2
"""Toleration of demo pods for a lost node, in seconds; the Kubernetes default is five minutes."""


def hosts(blocks: int, racks: int, nodes: int, gpus: int = 8) -> Iterator[Raw]:
    """Node 3 of rack 2 of block 1 is b1-r2-n3; numbers are zero-padded so that names sort."""
    for block in _numbered("b", blocks):
        for rack in _numbered(f"{block}-r", racks):
            for name in _numbered(f"{rack}-n", nodes):
                yield host(name, {BLOCK: block, RACK: rack}, gpus)


def _numbered(prefix: str, count: int) -> list[str]:
    width = len(str(count))
    return [f"{prefix}{number:0{width}d}" for number in range(1, count + 1)]


def host(name: str, place: Mapping[str, str], gpus: int = 8) -> Raw:
    room = {"cpu": "96", "memory": "1Ti", GPU: str(gpus), "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**POOL, **place, HOSTNAME: name}},
        "status": {"capacity": room, "allocatable": room},
    }


def topology(levels: Sequence[str] = (BLOCK, RACK, HOSTNAME)) -> Raw:
    return kueue("Topology", "hall", {"levels": [{"nodeLabel": level} for level in levels]})


def flavor() -> Raw:
    return kueue("ResourceFlavor", FLAVOR, {"nodeLabels": dict(POOL), "topologyName": "hall"})


def cluster_queue(name: str, gpus: int, **spec: object) -> Raw:
    """Quota for `gpus` GPUs, and enough of everything else for any job that fits on the hosts."""
    amounts = {GPU: gpus, "cpu": 100_000, "memory": "1000Ti", "pods": 100_000}
    quota = {"name": FLAVOR, "resources": [{"name": one, "nominalQuota": amount} for one, amount in amounts.items()]}
    groups = [{"coveredResources": list(amounts), "flavors": [quota]}]
    return kueue("ClusterQueue", name, {"namespaceSelector": {}, "resourceGroups": groups, **spec})


def local_queue(name: str, of: str) -> Raw:
    made = kueue("LocalQueue", name, {"clusterQueue": of})
    return {**made, "metadata": {"name": name, "namespace": NAMESPACE}}


def kueue(kind: str, name: str, spec: Raw) -> Raw:
    return {"apiVersion": KUEUE, "kind": kind, "metadata": {"name": name}, "spec": spec}


def job(
    name: str,
    queue: str,
    pods: int,
    *,
    gpus: int = 8,
    required: str = "",
    preferred: str = "",
    runs: str = "forever",
    more: Mapping[str, str] | None = None,
) -> Raw:
    """An Indexed Job. `runs` is the run time of its pods, as in the run-time annotation; `more` are its labels."""
    notes = {"closeknit.dev/run-time": runs}
    if required:
        notes[PREFIX + "podset-required-topology"] = required
    if preferred:
        notes[PREFIX + "podset-preferred-topology"] = preferred
    amount = {GPU: str(gpus)}
    container = {"name": "main", "image": "example.com/train:1", "resources": {"requests": amount, "limits": amount}}
    leaves = [{"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": PATIENCE} for key in LOST]
    labels = {PREFIX + "queue-name": queue, **(more or {})}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "completionMode": "Indexed",
            "backoffLimitPerIndex": 5,
            "template": {
                "metadata": {"annotations": notes},
                "spec": {"restartPolicy": "Never", "tolerations": leaves, "containers": [container]},
            },
        },
    }
