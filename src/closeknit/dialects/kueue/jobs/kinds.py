"""The kinds of jobs we place, one line each: their roles, the rules they run, how many workloads they make."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ...field import Field
from .batch import job, job_set
from .ray import ray_cluster, ray_job, ray_service
from .replicas import TRAINING_JOBS, deployment, leader_worker_set, replicas, stateful_set, training_job
from .roles import Role, Rules
from .train_job import GROUP as TRAINER

KUBEFLOW = "kubeflow.org"


class Kind(NamedTuple):
    """`body` is the path to the part that looks like a job; `copies` counts workloads if there may be several.

    `owner` is the kind and group that the Workload is named after, if it is not the object itself. `rendered`: the
    roles are not in the object alone, but in what it makes with its runtime.
    """

    roles: Callable[[Field], list[Role]]
    rules: Rules = Rules.NONE
    body: tuple[str, ...] = ()
    copies: Callable[[Field], int] | None = None
    owner: tuple[str, str] | None = None
    elastic: bool = False
    rendered: bool = False


_ALL = Rules.COUNT | Rules.GROUPS
_JOB = Rules.COUNT | Rules.ELASTIC

KINDS: dict[tuple[str, str], Kind] = {
    ("batch", "Job"): Kind(job, _JOB, elastic=True),
    ("batch", "CronJob"): Kind(job, _JOB, body=("spec", "jobTemplate"), owner=("Job", "batch")),
    ("jobset.x-k8s.io", "JobSet"): Kind(job_set, _ALL),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): Kind(leader_worker_set, _ALL, copies=replicas),
    ("apps", "StatefulSet"): Kind(stateful_set),
    ("apps", "Deployment"): Kind(deployment, copies=replicas, owner=("Pod", "")),
    ("ray.io", "RayCluster"): Kind(ray_cluster, _ALL, elastic=True),
    ("ray.io", "RayJob"): Kind(ray_job, _ALL, elastic=True),
    ("ray.io", "RayService"): Kind(ray_service, _ALL, elastic=True),
    **{(KUBEFLOW, kind): Kind(training_job(kind), Rules.COUNT) for kind in TRAINING_JOBS},
    (KUBEFLOW, "MPIJob"): Kind(training_job("MPIJob"), _ALL),
    (TRAINER, "TrainJob"): Kind(job_set, Rules.COUNT, rendered=True),
}

NOT_PLACED = {
    ("workload.codeflare.dev", "AppWrapper"),
    ("sparkoperator.k8s.io", "SparkApplication"),
}
"""Jobs that Kueue knows and we do not."""
