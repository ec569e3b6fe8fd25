"""The objects of a story: a small data centre, its queues, and the jobs that are sent to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .steps import CPU, HOSTS, QUEUES, RACKS

Raw = dict[str, Any]
KUEUE = "kueue.x-k8s.io/v1beta2"
PREFIX = "kueue.x-k8s.io/"


def node(name: str, rack: str) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "rack": rack, "pool": "gpu"}},
        "status": {
            "allocatable": {"cpu": str(CPU), "memory": "64Gi", "pods": "20"},
            "capacity": {"cpu": str(CPU), "memory": "64Gi", "pods": "20"},
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        },
    }


def data_centre() -> Iterator[Raw]:
    yield _kueue("Topology", "tree", {"levels": [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]})
    yield _kueue("ResourceFlavor", "gpu", {"nodeLabels": {"pool": "gpu"}, "topologyName": "tree"})
    for name, value in (("low", -10), ("high", 10)):
        yield {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "metadata": {"name": name}, "value": value}
    for name in QUEUES:
        yield cluster_queue(name, 48)
        yield {**_kueue("LocalQueue", name, {"clusterQueue": name}), "metadata": {"name": name, "namespace": "default"}}
    for number in range(RACKS * HOSTS):
        yield node(f"n{number:02d}", f"r{number // HOSTS}")


def cluster_queue(name: str, cpu: int) -> Raw:
    spec = {
        "namespaceSelector": {},
        "cohortName": "all",
        "queueingStrategy": "StrictFIFO" if name == "strict" else "BestEffortFIFO",
        "preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"},
        "resourceGroups": [
            {
                "coveredResources": ["cpu"],
                "flavors": [{"name": "gpu", "resources": [{"name": "cpu", "nominalQuota": cpu}]}],
            }
        ],
    }
    return _kueue("ClusterQueue", name, spec)


def _kueue(kind: str, name: str, spec: Raw) -> Raw:
    return {"apiVersion": KUEUE, "kind": kind, "metadata": {"name": name}, "spec": spec}


def submitted(facts: Raw) -> list[Raw]:
    """The objects of one submission: a job, or the pods of a group."""
    match facts["kind"]:
        case "Job":
            return [_job(facts)]
        case "JobSet":
            return [_job_set(facts)]
        case "Pod":
            return [_pod(facts, facts["name"], {}, {})]
    labels, notes = {PREFIX + "pod-group-name": facts["name"]}, {PREFIX + "pod-group-total-count": str(facts["pods"])}
    return [_pod(facts, f"{facts['name']}-{number}", labels, notes) for number in range(facts["pods"])]


def _labels(facts: Raw) -> dict[str, str]:
    labels = {PREFIX + "queue-name": facts["queue"]}
    return {**labels, PREFIX + "priority-class": facts["priority"]} if facts["priority"] else labels


def _annotations(facts: Raw) -> dict[str, str]:
    notes = {"closeknit.dev/run-time": f"{facts['seconds']}s", "closeknit.dev/start-time": "0s"}
    if facts["fails"]:
        notes["closeknit.dev/exit-code"] = "1"
    level = facts["level"]
    match facts["wish"]:
        case "required" | "preferred":
            notes[f"{PREFIX}podset-{facts['wish']}-topology"] = level
        case "unconstrained":
            notes[PREFIX + "podset-unconstrained-topology"] = "true"
        case "slices":
            notes[PREFIX + "podset-slice-required-topology"] = "rack"
            notes[PREFIX + "podset-slice-size"] = "2"
    return notes


def _spec(facts: Raw) -> Raw:
    resources = {"requests": {"cpu": str(facts["cpu"])}}
    return {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i", "resources": resources}]}


def _batch(facts: Raw, pods: int) -> Raw:
    template = {"metadata": {"annotations": _annotations(facts)}, "spec": _spec(facts)}
    return {
        "parallelism": pods,
        "completions": pods,
        "completionMode": "Indexed",
        "backoffLimit": 2,
        "template": template,
    }


def _job(facts: Raw) -> Raw:
    meta = {"name": facts["name"], "namespace": "default", "labels": _labels(facts)}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": _batch(facts, facts["pods"])}


def _job_set(facts: Raw) -> Raw:
    meta = {"name": facts["name"], "namespace": "default", "labels": _labels(facts)}
    one = {"name": "w", "replicas": 2, "template": {"spec": _batch(facts, facts["pods"] // 2)}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": meta,
        "spec": {"replicatedJobs": [one]},
    }


def _pod(facts: Raw, name: str, labels: dict[str, str], notes: dict[str, str]) -> Raw:
    meta = {"name": name, "namespace": "default", "labels": {**_labels(facts), **labels}}
    meta["annotations"] = {**_annotations(facts), **notes}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": _spec(facts)}


def other_pod(facts: Raw) -> Raw:
    """An unmanaged pod, bound by hand."""
    spec = {**_spec(facts), "nodeName": facts["node"]}
    notes = {"closeknit.dev/run-time": "forever"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": facts["name"], "namespace": "other", "annotations": notes},
        "spec": spec,
    }


def daemon_set(name: str) -> Raw:
    resources = {"requests": {"cpu": "1" if name == "d1" else "500m"}}
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": resources}], "nodeSelector": {"pool": "gpu"}},
    }
    spec = {"selector": {"matchLabels": {"app": name}}, "template": template}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": "other"},
        "spec": spec,
    }
