"""The children of a PyTorchJob: a pod and a Service for the master and for every worker.

Environment variables of all pods have the master's address, the rank and the world size. Without a master the first
worker has its role. Left out are the additions for elastic jobs, and the init container in which real workers wait for
the master, so that pods request what was counted.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....kinds import PYTORCH_JOB, SERVICE
from ....port import Create, Raw
from ..children import child, number, pod, with_env
from .kubeflow import JOB_NAME, OPERATOR, REPLICA_INDEX, REPLICA_TYPE, ROLE

NAME = "pytorchjob-controller"
MASTER, WORKER = "Master", "Worker"
PORT = {"name": "pytorchjob-port", "containerPort": 23456}
CONTAINER = "pytorch"


def specs(job: Raw) -> dict[str, Raw]:
    """The replica types of the job, the master first."""
    given: Raw = job["spec"].get("pytorchReplicaSpecs") or {}
    return {kind: given[kind] for kind in (MASTER, WORKER) if given.get(kind)}


def replicas(spec: Raw) -> int:
    return number(spec.get("replicas"), 1)


def places(job: Raw) -> Iterator[tuple[str, int]]:
    """All desired pods: replica type and index."""
    for kind, spec in specs(job).items():
        for index in range(replicas(spec)):
            yield kind, index


def pod_name(job: Raw, kind: str, index: int) -> str:
    return f"{job['metadata']['name']}-{kind.lower()}-{index}"


def labels(job: Raw, kind: str) -> dict[str, str]:
    return {JOB_NAME: job["metadata"]["name"], OPERATOR: NAME, REPLICA_TYPE: kind.lower()}


def restart_policy(spec: Raw) -> str:
    return str(spec.get("restartPolicy") or "OnFailure")


def new_pod(job: Raw, kind: str, index: int) -> Create:
    spec = specs(job)[kind]
    template: Raw = spec.get("template") or {}
    inner: Raw = template.get("spec") or {}
    containers = [_with_port(one) for one in with_env(inner["containers"], _environment(job, kind, index))]
    policy = restart_policy(spec)
    more: Raw = {"containers": containers, "restartPolicy": "Never" if policy == "ExitCode" else policy}
    leads = kind == MASTER or MASTER not in specs(job)
    marks = {**labels(job, kind), REPLICA_INDEX: str(index)}
    if leads and index == 0:
        marks[ROLE] = "master"
    return pod(template, PYTORCH_JOB, job, name=pod_name(job, kind, index), labels=marks, spec=more)


def new_service(job: Raw, kind: str, index: int) -> Create:
    marks = {**labels(job, kind), REPLICA_INDEX: str(index)}
    port = {"name": PORT["name"], "port": PORT["containerPort"], "targetPort": PORT["containerPort"]}
    spec = {"clusterIP": "None", "selector": marks, "ports": [port]}
    return child(SERVICE, {"spec": spec}, PYTORCH_JOB, job, name=pod_name(job, kind, index), labels=marks)


def _with_port(container: Raw) -> Raw:
    ports = container.get("ports") or []
    if container.get("name") != CONTAINER or any(one.get("name") == PORT["name"] for one in ports):
        return container
    return {**container, "ports": [*ports, PORT]}


def _environment(job: Raw, kind: str, index: int) -> list[Raw]:
    every = specs(job)
    nodes = str(sum(map(replicas, every.values())))
    told = {"PYTHONUNBUFFERED": "1"}
    if MASTER in every:
        rank = str(index if kind == MASTER else index + replicas(every[MASTER]))
        master, port = pod_name(job, MASTER, 0), str(PORT["containerPort"])
        told |= {"MASTER_PORT": port, "PET_MASTER_PORT": port, "MASTER_ADDR": master, "PET_MASTER_ADDR": master}
        told |= {"WORLD_SIZE": nodes, "RANK": rank, "PET_NODE_RANK": rank}
    told |= {"PET_NPROC_PER_NODE": str(job["spec"].get("nprocPerNode") or "auto"), "PET_NNODES": nodes}
    return [{"name": key, "value": value} for key, value in told.items()]
