"""The smallest objects of every kind of job, and where their templates lie."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from closeknit.cluster.kinds import (
    DEPLOYMENT,
    JOB,
    JOB_SET,
    LEADER_WORKER_SET,
    MPI_JOB,
    POD,
    PYTORCH_JOB,
    RAY_CLUSTER,
    RAY_JOB,
    STATEFUL_SET,
    TRAIN_JOB,
    Kind,
)
from closeknit.dialects.kueue.jobs.kinds import app_wrapper, spark_application

Raw = dict[str, Any]

APP_WRAPPER, SPARK_APPLICATION = app_wrapper.APP_WRAPPER.served, spark_application.SPARK_APPLICATION.served

KUEUE = "kueue.x-k8s.io/"
QUEUE = KUEUE + "queue-name"
CLASS = KUEUE + "priority-class"
PARENT = KUEUE + "pod-suspending-parent"
NOBODY = "contract.example.com/nobody"

_TORCH: Raw = {"containers": [{"name": "pytorch", "image": "i:1"}]}
_APP = {"app": "corpus"}


def _spec(**more: Any) -> Raw:
    return {"containers": [{"name": "c", "image": "i:1"}], **more}


def _replicated(name: str) -> Raw:
    job = {"parallelism": 2, "completions": 2, "template": {"spec": _spec(restartPolicy="Never")}}
    return {"name": name, "replicas": 2, "template": {"spec": job}}


def _set(**more: Any) -> Raw:
    return {"selector": {"matchLabels": _APP}, "template": {"metadata": {"labels": _APP}, "spec": _spec()}, **more}


def _cluster() -> Raw:
    workers = [{"groupName": "w", "replicas": 4, "minReplicas": 0, "maxReplicas": 9, "template": {"spec": _spec()}}]
    for one in workers:
        one["rayStartParams"] = {}
    head = {"rayStartParams": {}, "template": {"spec": _spec()}}
    return {"headGroupSpec": head, "workerGroupSpecs": workers}


def _trained(replicas: int) -> Raw:
    return {"replicas": replicas, "template": {"spec": deepcopy(_TORCH)}}


def _job() -> Raw:
    return {
        "parallelism": 4,
        "completions": 4,
        "completionMode": "Indexed",
        "template": {"spec": _spec(restartPolicy="Never")},
    }


def bodies() -> dict[Kind, Raw]:
    """New objects at each call. No controller acts on the Job."""
    wrapped = {"apiVersion": JOB.api_version, "kind": JOB.kind, "metadata": {"name": "x"}, "spec": _job()}
    return {
        JOB: {"managedBy": NOBODY, **_job()},
        JOB_SET: {"replicatedJobs": [_replicated("leader"), _replicated("workers")]},
        POD: _spec(schedulerName=NOBODY),
        DEPLOYMENT: _set(replicas=0),
        STATEFUL_SET: _set(replicas=3, serviceName="x"),
        LEADER_WORKER_SET: {
            "replicas": 1,
            "leaderWorkerTemplate": {"size": 5, "workerTemplate": {"spec": _spec()}},
        },
        MPI_JOB: {"mpiReplicaSpecs": {"Launcher": _trained(1), "Worker": _trained(4)}},
        PYTORCH_JOB: {"pytorchReplicaSpecs": {"Master": _trained(1), "Worker": _trained(4)}},
        TRAIN_JOB: {"runtimeRef": {"name": "torch"}},
        RAY_JOB: {"entrypoint": "x", "shutdownAfterJobFinishes": True, "rayClusterSpec": _cluster()},
        RAY_CLUSTER: _cluster(),
        APP_WRAPPER: {"components": [{"template": wrapped}]},
        SPARK_APPLICATION: {
            "type": "Scala",
            "sparkVersion": "4.0.0",
            "mainApplicationFile": "local:///x.jar",
            "driver": {},
            "executor": {"instances": 4},
        },
    }


SUSPEND: dict[Kind, tuple[str, ...]] = {
    **dict.fromkeys(
        (JOB, JOB_SET, TRAIN_JOB, RAY_JOB, RAY_CLUSTER, APP_WRAPPER, SPARK_APPLICATION), ("spec", "suspend")
    ),
    **dict.fromkeys((MPI_JOB, PYTORCH_JOB), ("spec", "runPolicy", "suspend")),
}

TEMPLATES: dict[Kind, tuple[str, ...]] = {
    JOB: ("spec.template",),
    JOB_SET: tuple(f"spec.replicatedJobs.{i}.template.spec.template" for i in (0, 1)),
    POD: ("",),
    DEPLOYMENT: ("spec.template",),
    STATEFUL_SET: ("spec.template",),
    LEADER_WORKER_SET: tuple(f"spec.leaderWorkerTemplate.{one}Template" for one in ("leader", "worker")),
    MPI_JOB: tuple(f"spec.mpiReplicaSpecs.{one}.template" for one in ("Launcher", "Worker")),
    PYTORCH_JOB: tuple(f"spec.pytorchReplicaSpecs.{one}.template" for one in ("Master", "Worker")),
    TRAIN_JOB: (),
    RAY_CLUSTER: ("spec.headGroupSpec.template", "spec.workerGroupSpecs.0.template"),
    RAY_JOB: ("spec.rayClusterSpec.headGroupSpec.template", "spec.rayClusterSpec.workerGroupSpecs.0.template"),
    APP_WRAPPER: ("spec.components.0.template.spec.template",),
    SPARK_APPLICATION: ("spec.driver.template", "spec.executor.template"),
}
"""A step that is a number is the place in a list."""

RULED = (JOB, JOB_SET, LEADER_WORKER_SET, MPI_JOB, PYTORCH_JOB, RAY_JOB, RAY_CLUSTER, SPARK_APPLICATION)
"""Kinds whose templates are judged when they are made; the last template of each has several pods."""


def made(kind: Kind, labels: Raw | None = None, notes: Raw | None = None, **spec: Any) -> Raw:
    """An object of this kind; `spec` replaces parts of it, None takes them away."""
    merged = {**bodies()[kind], **spec}
    meta = {"labels": labels, "annotations": notes}
    return {
        "metadata": {key: value for key, value in meta.items() if value},
        "spec": {key: value for key, value in merged.items() if value is not None},
    }


def step(tree: Any, key: str) -> Any:
    return tree[int(key)] if isinstance(tree, list) else tree.setdefault(key, {})


def reach(tree: Any, path: str) -> Any:
    """What is at a path, made on the way there."""
    for key in path.split(".") if path else ():
        tree = step(tree, key)
    return tree


def noted(body: Raw, path: str, **notes: str) -> Raw:
    """With annotations of Kueue in the template at this path: noted(body, "spec.template", podset_group_name="g")."""
    changed = deepcopy(body)
    found = reach(changed, f"{path}.metadata.annotations".lstrip("."))
    found.update({KUEUE + key.replace("_", "-"): value for key, value in notes.items()})
    return changed
