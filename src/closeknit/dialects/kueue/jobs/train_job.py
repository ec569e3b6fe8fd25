"""Render a TrainJob as a JobSet: part of it is in the job, the rest in a runtime that many jobs share."""

from __future__ import annotations

from typing import Any, NamedTuple

from .raw import Raw, at, each, mapping, put

GROUP = "trainer.kubeflow.org"
RUNTIMES = ("ClusterTrainingRuntime", "TrainingRuntime")
STEP = GROUP + "/trainjob-ancestor-step"
TRAINER = "trainer"
NODE = "node"
"""The name of the training container; with MPI also of the job whose pods the launcher uses."""
MANAGER = "kueue.x-k8s.io/manager"
"""The manager of our patches of the runtime."""

PATCHES = ("spec", "runtimePatches")
POD = ("template", "spec", "template")

_PLAIN = ("image", "command", "args")


class Source(NamedTuple):
    """The object that a job is rendered from; `namespace` is empty for a cluster-scoped one."""

    group: str
    kind: str
    namespace: str
    name: str


def runtime_of(raw: Raw) -> Source:
    """The runtime that a job refers to, a ClusterTrainingRuntime by default."""
    ref = mapping(raw, "spec", "runtimeRef")
    group, kind, name = (
        value if isinstance(value := ref.get(key), str) else "" for key in ("apiGroup", "kind", "name")
    )
    kind = kind or RUNTIMES[0]
    namespace = at(raw, "metadata", "namespace") or "" if kind == "TrainingRuntime" else ""
    return Source(group or GROUP, kind, namespace, name)


def rendered(raw: Raw, runtime: Raw) -> Raw:
    """The JobSet, with the metadata and the status of the TrainJob."""
    trainer, policy = mapping(raw, "spec", "trainer"), mapping(runtime, "spec", "mlPolicy")
    jobs = [_trained(one, trainer, policy) for one in each(runtime, "spec", "template", "spec", "replicatedJobs")]
    for patches in others(raw):
        named = {
            str(one.get("name")): mapping(one, *POD)
            for one in each(patches, "trainingRuntimeSpec", "template", "spec", "replicatedJobs")
        }
        jobs = [_patched(one, named.get(str(one.get("name")))) for one in jobs]
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": mapping(raw, "metadata"),
        "spec": {"replicatedJobs": jobs, "suspend": at(raw, "spec", "suspend") is True},
        "status": {"replicatedJobsStatus": each(raw, "status", "jobsStatus")},
    }


def others(raw: Raw) -> list[Raw]:
    """The patches of the runtime by other managers."""
    return [one for one in each(raw, *PATCHES) if one.get("manager") != MANAGER]


def _trained(job: Raw, trainer: Raw, policy: Raw) -> Raw:
    """One of the runtime's jobs, with the TrainJob's trainer fields and number of nodes."""
    name, trains = job.get("name"), at(job, "template", "metadata", "labels", STEP) == TRAINER
    nodes = trainer.get("numNodes") or policy.get("numNodes") or 1
    mpi = policy.get("mpi")
    shared = at(mpi, "runLauncherAsNode") is True
    if mpi is not None and name == NODE:
        job = _of(job, max(nodes - 1, 1) if shared and isinstance(nodes, int) else nodes)
    elif trains:
        job = _of(job, 1 if mpi is not None else nodes)
    if trains or (name == NODE and shared):
        containers = [_with_trainer(one, trainer, trains) for one in each(job, *POD, "spec", "containers")]
        job = put(job, (*POD, "spec", "containers"), containers)
    return job


def _of(job: Raw, nodes: int) -> Raw:
    job = put(put(job, ("template", "spec", "parallelism"), nodes), ("template", "spec", "completions"), nodes)
    return {**job, "replicas": 1}


def _with_trainer(container: Raw, trainer: Raw, trains: bool) -> Raw:
    """The training container with the trainer's fields; the nodes of a launcher only get its resources."""
    if container.get("name") != NODE:
        return container
    fields = {key: trainer[key] for key in _PLAIN if trains and trainer.get(key)}
    if trains and trainer.get("env"):
        env = {str(one.get("name")): one for one in (*each(container, "env"), *each(trainer, "env"))}
        fields["env"] = list(env.values())
    if trainer.get("resourcesPerNode"):
        fields["resources"] = trainer["resourcesPerNode"]
    return {**container, **fields}


def _patched(job: Raw, patch: Raw | None) -> Raw:
    return put(job, POD, merged(mapping(job, *POD), patch)) if patch else job


def merged(tree: Any, patch: Any) -> Any:
    """Apply a patch as Trainer does: mappings and lists of named items are merged, anything else is replaced."""
    if isinstance(tree, dict) and isinstance(patch, dict):
        return {**tree, **{key: merged(tree.get(key), value) for key, value in patch.items()}}
    if _is_named(tree) and _is_named(patch):
        named = {one["name"]: one for one in tree}
        named |= {one["name"]: merged(named.get(one["name"]), one) for one in patch}
        return list(named.values())
    return patch


def _is_named(tree: Any) -> bool:
    return isinstance(tree, list) and all(isinstance(at(one, "name"), str) for one in tree)
