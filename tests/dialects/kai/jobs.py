"""Jobs of every kind that the grouper knows, and what it makes of them."""

from __future__ import annotations

from typing import Any

from closeknit.dialects.kai import keys
from closeknit.dialects.kai.grouper import GroupedObjects, Grouping, group_objects
from closeknit.dialects.kai.keys import SUB_GROUP

Raw = dict[str, Any]
SPEC = {"containers": [{"name": "c"}]}
NETWORK = {
    "apiVersion": "kai.scheduler/v1alpha1",
    "kind": "Topology",
    "metadata": {"name": "network"},
    "spec": {"levels": [{"nodeLabel": "zone"}, {"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]},
}
SEGMENTS_OF_2 = {keys.SEGMENT_SIZE: "2", keys.SEGMENT_REQUIRED: "rack", keys.TOPOLOGY: "network"}
RACK = {"topology": "network", "requiredTopologyLevel": "rack"}


def template(**annotations: str) -> Raw:
    return {"metadata": {"annotations": annotations}, "spec": SPEC}


def an_object(version: str, kind: str, spec: Raw, name: str = "j", **metadata: Any) -> Raw:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


def a_job(pods: int = 4, notes: Raw | None = None, inside: Raw | None = None, **spec: Any) -> Raw:
    given = {"parallelism": pods, "completions": pods, "template": template(**(inside or {})), **spec}
    return an_object("batch/v1", "Job", given, annotations=notes or {})


def a_replicated_job(name: str, replicas: int, pods: int, notes: Raw | None = None, inside: Raw | None = None) -> Raw:
    spec = {
        "parallelism": pods,
        "completions": pods,
        "completionMode": "Indexed",
        "template": template(**(inside or {})),
    }
    return {"name": name, "replicas": replicas, "template": {"metadata": {"annotations": notes or {}}, "spec": spec}}


def a_job_set(*jobs: Raw, notes: Raw | None = None, **spec: Any) -> Raw:
    given = {"replicatedJobs": list(jobs), **spec}
    return an_object("jobset.x-k8s.io/v1alpha2", "JobSet", given, annotations=notes or {})


def a_training_job(kind: str, key: str, counts: dict[str, int], inside: Raw | None = None, **spec: Any) -> Raw:
    notes = {"Worker": inside or {}}
    roles = {role: {"replicas": count, "template": template(**notes.get(role, {}))} for role, count in counts.items()}
    return an_object("kubeflow.org/v1", kind, {key: roles, **spec})


def a_pytorch_job(inside: Raw | None = None, masters: int = 1, workers: int = 4, **spec: Any) -> Raw:
    counts = {role: count for role, count in (("Master", masters), ("Worker", workers)) if count}
    return a_training_job("PyTorchJob", "pytorchReplicaSpecs", counts, inside, **spec)


def a_leader_worker_set(size: int, replicas: int = 1, notes: Raw | None = None, **template_fields: Any) -> Raw:
    inner = {"size": size, "workerTemplate": template(), **template_fields}
    spec = {"replicas": replicas, "leaderWorkerTemplate": inner}
    return an_object("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec, annotations=notes or {})


def grouped(*objects: Raw, like_kai: bool = False) -> GroupedObjects:
    return group_objects([("f", one) for one in objects], like_kai)


def groups(*objects: Raw, like_kai: bool = False) -> list[Grouping]:
    result = grouped(*objects, like_kai=like_kai)
    assert list(map(str, result.mistakes)) == []
    return result.groupings


def group(*objects: Raw, like_kai: bool = False) -> Grouping:
    [one] = groups(*objects, like_kai=like_kai)
    return one


def mistakes(*objects: Raw) -> list[str]:
    result = grouped(*objects)
    assert result.groupings == []
    return list(map(str, result.mistakes))


def warnings(*objects: Raw, like_kai: bool = False) -> list[str]:
    return list(map(str, grouped(*objects, like_kai=like_kai).warnings))


def tree(grouping: Grouping) -> dict[str, Any]:
    """The sub-groups by name: parent, minimum (of pods, or of groups as a text), and the pods in each."""
    pods: dict[str, int] = {}
    for pod in grouping.pods:
        name = pod["metadata"]["labels"].get(SUB_GROUP, "")
        pods[name] = pods.get(name, 0) + 1
    found = {}
    for entry in grouping.pod_group["spec"].get("subGroups", []):
        least = entry.get("minMember", f"{entry.get('minSubGroup')} groups")
        found[entry["name"]] = (entry.get("parent", ""), least, pods.get(entry["name"], 0))
    return found


def constraints(grouping: Grouping) -> dict[str, Raw]:
    """The constraint of every sub-group that has one."""
    entries = grouping.pod_group["spec"].get("subGroups", [])
    return {one["name"]: one["topologyConstraint"] for one in entries if "topologyConstraint" in one}
