"""All policies of a cluster as objects, with one hash over them.

The administrator's settings are part of the expressions. Only an administrator may write policies, so the controller
compares the hash of the policies for its configuration with that of the policies in force, and reports a difference.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator

from ...cluster.embedded.rules.queueing.managed import job_kind
from ...cluster.embedded.rules.settings import AdmissionSettings
from ...cluster.kinds import DEPLOYMENT, LEADER_WORKER_SET, POD, STATEFUL_SET, Kind
from ...dialects.kueue.jobs.kinds import JOB_KINDS, JobKind
from ..marks import NAMESPACE
from . import defaults, spelling, trust, workloads
from .conditions import by_pods
from .held import judging_suspended, suspending
from .kinds import deployment, leader_worker_set, pod, stateful_set
from .policy import AdmissionPolicy, Mutating, Raw, Validating
from .trial import HASH, answering, only_tried

Maker = Callable[[AdmissionSettings], AdmissionPolicy]

BY_PODS: dict[Kind, tuple[Maker, Maker]] = {
    POD: (pod.mutating, pod.validating),
    DEPLOYMENT: (deployment.mutating, deployment.validating),
    STATEFUL_SET: (stateful_set.mutating, stateful_set.validating),
    LEADER_WORKER_SET: (leader_worker_set.mutating, leader_worker_set.validating),
}
"""Kinds that wait behind gates of pods; the others are suspended."""


def policies(settings: AdmissionSettings, home: str = NAMESPACE) -> list[Raw]:
    """Policies and bindings; `home` is the controller's namespace."""
    found = _rendered(settings)
    hash = _hash(found, settings)
    more: tuple[Mutating | Validating, ...] = (answering(hash), only_tried(home), *trust.policies(settings, home))
    found += [raw for one in more for raw in one.objects(settings)]
    return [{**one, "metadata": {**one["metadata"], "annotations": {HASH: hash}}} for one in found]


def policies_hash(settings: AdmissionSettings) -> str:
    """The hash of everything that depends on the configuration, but not on the served version or our namespace."""
    return _hash(_rendered(settings), settings)


def _hash(objects: list[Raw], settings: AdmissionSettings) -> str:
    hashed = [*objects, *settings.trusted]
    return hashlib.sha256(json.dumps(hashed, sort_keys=True).encode()).hexdigest()[:16]


def _rendered(settings: AdmissionSettings) -> list[Raw]:
    by_kind = {one.served: list(_of_kind(settings, one)) for one in JOB_KINDS}
    found = {kind: made for kind, made in by_kind.items() if made}
    made = [one for policies in found.values() for one in policies]
    made += [one for policy in made for one in spelling.warning(policy, settings)]
    made += [*defaults.policies(settings, found), *workloads.policies(settings)]
    return [raw for one in made if isinstance(one, Mutating | Validating) for raw in one.objects(settings)]


def _of_kind(settings: AdmissionSettings, job: JobKind) -> Iterator[AdmissionPolicy]:
    """The policies of one kind of job; none where it is switched off."""
    if job_kind(settings, job.served) is None and not (job.served is POD and by_pods(settings)):
        return
    if job.served in BY_PODS:
        for make in BY_PODS[job.served]:
            yield make(settings)
    elif job.held is not None:
        yield suspending(settings, job, job.held)
        yield judging_suspended(settings, job, job.held)
