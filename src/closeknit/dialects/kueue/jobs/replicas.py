"""Kinds that are a number of replicas of a pod template: training jobs, serving sets."""

from __future__ import annotations

from collections.abc import Callable

from ....model.request import Ranks
from ...field import Field
from .. import keys
from .roles import MAIN, Role

LAUNCHER = "Launcher"
REPLICA_INDEX = "training.kubeflow.org/replica-index"
WORKER_INDEX = "leaderworkerset.sigs.k8s.io/worker-index"
POD_INDEX = "apps.kubernetes.io/pod-index"

TRAINING_JOBS = {
    "MPIJob": ("mpiReplicaSpecs", (LAUNCHER, "Worker")),
    "PyTorchJob": ("pytorchReplicaSpecs", ("Master", "Worker")),
    "TFJob": ("tfReplicaSpecs", ("Chief", "Master", "PS", "Worker", "Evaluator")),
    "XGBoostJob": ("xgbReplicaSpecs", ("Master", "Worker")),
    "PaddleJob": ("paddleReplicaSpecs", ("Master", "Worker")),
    "JAXJob": ("jaxReplicaSpecs", ("Worker",)),
}


def training_job(kind: str) -> Callable[[Field], list[Role]]:
    """The roles of a Kubeflow job: those of its replica types that are given, in Kueue's order."""
    key, types = TRAINING_JOBS[kind]

    def roles(body: Field) -> list[Role]:
        specs = body.at("spec", key)
        given = [(name, specs.at(name)) for name in types if specs.at(name).given]
        if not given:
            specs.wrong(f"has none of {', '.join(types)}", "give at least one")
        return [
            Role(
                name.lower(),
                spec.at("replicas").count(1),
                spec.at("template"),
                Ranks(REPLICA_INDEX),
                ranked=name != LAUNCHER or _launcher_works(body),
            )
            for name, spec in given
        ]

    return roles


def _launcher_works(body: Field) -> bool:
    """Whether the launcher of an MPIJob is rank 0; else it runs mpirun and nothing more."""
    return body.at("spec", "runLauncherAsWorker").value is True


def leader_worker_set(body: Field) -> list[Role]:
    """One replica: a leader with a template of its own is not one of the workers."""
    group = body.at("spec", "leaderWorkerTemplate")
    size, leader, workers = (
        group.at("size").count(1, least=1),
        group.at("leaderTemplate"),
        group.at("workerTemplate"),
    )
    if not leader.given:
        return [Role(MAIN, size, workers, Ranks(WORKER_INDEX))]
    return [Role("leader", 1, leader), Role("worker", size - 1, workers, Ranks(WORKER_INDEX))]


def stateful_set(body: Field) -> list[Role]:
    return [Role(MAIN, body.at("spec", "replicas").count(1), body.at("spec", "template"), Ranks(POD_INDEX))]


def deployment(body: Field) -> list[Role]:
    """One replica: the pods of a Deployment are placed one by one."""
    return [Role(MAIN, 1, body.at("spec", "template"), Ranks(keys.POD_GROUP_INDEX))]


def replicas(body: Field) -> int:
    return body.at("spec", "replicas").count(1)
