"""Kubeflow's training jobs: one group. Masters and workers of a PyTorchJob are sub-groups, as in KAI.

The minimum is that of the scheduling policy, then (PyTorchJob) of the elastic policy, else all replicas. Workers may
be divided into segments, which are sub-groups of `worker`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ....field import Field
from ....kueue.jobs.kinds.training import REPLICA_INDEX, training_job
from ....kueue.jobs.roles import Role
from ..plan import (
    MOST_PODS,
    GroupKind,
    GroupPlan,
    Owned,
    PlannedGroup,
    Raw,
    check_minimum,
    labels,
    name_of,
    number_of,
    planned,
)
from ..segments import Segments, cut, read_segments, too_many

ROLE = "training.kubeflow.org/replica-type"
MPI_ROLE = "training.kubeflow.org/job-role"
WORKER, LAUNCHER = "worker", "launcher"
PYTORCH = "PyTorchJob"


def role_of(pod: Field) -> str:
    return (labels(pod).at(ROLE).text() or labels(pod).at(MPI_ROLE).text()).lower()


def training_kind(kind: str) -> GroupKind:
    """The descriptor of one of Kubeflow's kinds."""
    roles_of, is_pytorch = training_job(kind), kind == PYTORCH

    def plan(owned: Owned) -> GroupPlan:
        roles = [role for role in roles_of(owned.owner) if role.count or role.name == WORKER]
        late = _late_launchers(owned, roles)
        count = sum(role.count for role in roles)
        minimum = _minimum(owned.owner, is_pytorch)
        least = _least(minimum, count) - late
        segments = None if owned.like_kai and not is_pytorch else _segments(owned, roles)
        if not is_pytorch and segments is None:
            return GroupPlan(least)
        others = [role for role in roles if role.name != WORKER]
        entries = [
            PlannedGroup(role.name, min_member=0 if late and role.name == LAUNCHER else role.count) for role in others
        ]
        rest = max(0, least - sum(entry.min_member or 0 for entry in entries))
        for worker in (role for role in roles if role.name == WORKER):
            entries += _workers(minimum, worker.count, rest, segments)
        return GroupPlan(least, entries=tuple(entries), join=lambda pod: _join(pod, segments))

    return GroupKind(plan=plan, pods=_pods(kind), numbered=True, kai_segments=is_pytorch)


def _minimum(owner: Field, is_pytorch: bool) -> Field:
    """The field with the minimum of the job."""
    policy = owner.at("spec", "runPolicy", "schedulingPolicy", "minAvailable")
    elastic = owner.at("spec", "elasticPolicy", "minReplicas")
    return elastic if is_pytorch and elastic.given and not policy.given else policy


def _least(minimum: Field, count: int) -> int:
    least = minimum.count(count)
    check_minimum(minimum, least, count)
    return least


def _late_launchers(owned: Owned, roles: Sequence[Role]) -> int:
    """The launchers of an MPIJob that are created only when its workers are ready, and are not there yet."""
    waits = owned.owner.at("spec", "launcherCreationPolicy").text() == "WaitForWorkersReady"
    if not waits or any(role_of(pod) == LAUNCHER for pod in owned.pods):
        return 0
    return sum(role.count for role in roles if role.name == LAUNCHER)


def _segments(owned: Owned, roles: Sequence[Role]) -> Segments | None:
    workers = [pod for pod in owned.pods if role_of(pod) == WORKER]
    for role in roles:
        if role.name == WORKER:
            found = read_segments(owned, workers, role.template)
            return None if found is None or too_many(found, role.count, role.template) else found
    return None


def _workers(minimum: Field, count: int, least: int, segments: Segments | None) -> list[PlannedGroup]:
    if segments is None or not count:
        return [PlannedGroup(WORKER, min_member=least)]
    children = cut(segments, count, WORKER, WORKER)
    if least < count:
        text = f"leaves {count - least} of {count} workers out, but their segments need all of them"
        minimum.warn(text, "remove it, or the segments")
    return [PlannedGroup(WORKER, min_sub_group=len(children)), *children]


def _join(pod: Field, segments: Segments | None) -> str:
    role = role_of(pod)
    if segments is None or role != WORKER:
        return role
    index = number_of(pod, REPLICA_INDEX)
    return "" if index is None else f"{WORKER}-{index // segments.size}"


def _pods(kind: str) -> Callable[[Field], Iterator[Raw]]:
    roles_of = training_job(kind)

    def pods(owner: Field) -> Iterator[Raw]:
        roles = roles_of(owner)
        if sum(role.count for role in roles) > MOST_PODS:
            owner.at("spec").wrong("makes too many pods", f"at most {MOST_PODS} are supported")
            return
        for role in roles:
            for index in range(role.count):
                marks = {ROLE: role.name, REPLICA_INDEX: str(index)}
                yield planned(owner, role.template, f"{name_of(owner)}-{role.name}-{index}", marks)

    return pods
