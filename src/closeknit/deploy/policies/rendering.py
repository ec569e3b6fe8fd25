"""All policies of a cluster as objects, with one hash over them.

The administrator's settings are part of the expressions. Only an administrator may write policies, so the controller
compares the hash of the policies for its configuration with that of the policies in force, and reports a difference.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

from ...cluster.embedded.rules.queueing.managed import job_kind
from ...cluster.embedded.rules.settings import Settings
from ...cluster.kinds import (
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
from ..marks import NAMESPACE
from . import defaults, spelling, workloads
from .conditions import by_pods
from .kinds import deployment, job, job_set, leader_worker_set, pod, ray, stateful_set, train_job, training
from .policy import Mutating, Policy, Raw, Validating
from .trial import HASH, answering, only_tried

Maker = Callable[[Settings], Policy]

KINDS: dict[Kind, tuple[Maker, Maker]] = {
    JOB: (job.mutating, job.validating),
    JOB_SET: (job_set.mutating, job_set.validating),
    POD: (pod.mutating, pod.validating),
    DEPLOYMENT: (deployment.mutating, deployment.validating),
    STATEFUL_SET: (stateful_set.mutating, stateful_set.validating),
    LEADER_WORKER_SET: (leader_worker_set.mutating, leader_worker_set.validating),
    MPI_JOB: (lambda one: training.mutating(one, MPI_JOB), lambda one: training.validating(one, MPI_JOB)),
    PYTORCH_JOB: (lambda one: training.mutating(one, PYTORCH_JOB), lambda one: training.validating(one, PYTORCH_JOB)),
    TRAIN_JOB: (train_job.mutating, train_job.validating),
    RAY_CLUSTER: (lambda one: ray.mutating(one, RAY_CLUSTER), lambda one: ray.validating(one, RAY_CLUSTER)),
    RAY_JOB: (lambda one: ray.mutating(one, RAY_JOB), lambda one: ray.validating(one, RAY_JOB)),
}


def policies(settings: Settings, home: str = NAMESPACE) -> list[Raw]:
    """Policies and bindings; `home` is the controller's namespace."""
    found = _rendered(settings)
    hash = _hash(found)
    found += [raw for one in (answering(hash), only_tried(home)) for raw in one.objects(settings)]
    return [{**one, "metadata": {**one["metadata"], "annotations": {HASH: hash}}} for one in found]


def policies_hash(settings: Settings) -> str:
    """The hash of everything that depends on the configuration, but not on the served version or our namespace."""
    return _hash(_rendered(settings))


def _hash(objects: list[Raw]) -> str:
    return hashlib.sha256(json.dumps(objects, sort_keys=True).encode()).hexdigest()[:16]


def _rendered(settings: Settings) -> list[Raw]:
    kinds = [kind for kind in KINDS if job_kind(settings, kind) is not None or (kind is POD and by_pods(settings))]
    made = [make(settings) for kind in kinds for make in KINDS[kind]]
    made += [one for policy in made for one in spelling.warning(policy, settings)]
    made += [*defaults.policies(settings, kinds), *workloads.policies(settings)]
    return [raw for one in made if isinstance(one, Mutating | Validating) for raw in one.objects(settings)]
