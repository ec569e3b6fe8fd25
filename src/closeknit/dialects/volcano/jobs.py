"""Volcano's Job, `batch.volcano.sh/v1alpha1`, as the gang that its PodGroup would be.

Its pods are planned from the tasks, as `JOB-TASK-INDEX`, unless they exist. A task with a partition policy has one
sub-group for each partition: pods 0 to size-1, and so on.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...model.cluster_queue import Selector
from ...model.gang import Gang
from ...model.shape import Requirement
from ...model.topology import ListedTopology
from ..field import Field
from ..group_pods import GroupPod, key_of, read_pods
from ..pod_template import read_shape
from ..strictness import READ, UNUSED, Tree, check_fields
from . import keys, network_topology
from .gang import gang_of
from .network_topology import read_constraint
from .sub_groups import Division, SubGroupPolicy, divided

MOST_PODS = 1_000_000
_PLAIN = (
    *("schedulerName", "minAvailable", "queue", "priorityClassName", "maxRetry", "ttlSecondsAfterFinished", "plugins"),
    *("policies", "volumes", "runningEstimate", "minSuccess"),
)
_PLAIN_OF_TASK = ("name", "replicas", "minAvailable", "template", "policies", "maxRetry", "dependsOn")
FIELDS: Tree = {
    **dict.fromkeys(_PLAIN, READ),
    "networkTopology": network_topology.FIELDS,
    "tasks": [
        {
            **dict.fromkeys(_PLAIN_OF_TASK, READ),
            "topologyPolicy": UNUSED,
            "partitionPolicy": {
                **dict.fromkeys(("totalPartitions", "partitionSize", "minPartitions"), READ),
                "networkTopology": network_topology.FIELDS,
            },
        }
    ],
}


def job_of(pod: Field) -> str:
    """namespace/name of the Job that a pod is of; empty if it is of none."""
    name = pod.at("metadata", "labels", keys.JOB_NAME).text()
    return f"{pod.at('metadata', 'namespace').text() or 'default'}/{name}" if name else ""


def read_job(job: Field, pods: Sequence[Field], tiers: ListedTopology | None) -> Gang | None:
    """The gang of a Job; None, with mistakes in the reports, if it or one of its pods is invalid."""
    spec = job.at("spec")
    check_fields(spec, FIELDS)
    namespace, _, name = key_of(job).partition("/")
    tasks = spec.at("tasks").items()
    _check_names(tasks)
    planned = [pod for task in tasks for pod in _planned(task, namespace, name)]
    members = read_pods(pods) if pods else planned
    policies = (_policy(task, tiers) for task in tasks if task.at("partitionPolicy").given)
    least = {_name(task): task.at("minAvailable").count(task.at("replicas").count(0)) for task in tasks}
    division = Division(_minimum(spec.at("minAvailable"), planned), tuple(policies), least)
    tree = divided(name, members, division, read_constraint(spec.at("networkTopology"), tiers))
    return gang_of(job, pods, tree)


def _name(task: Field) -> str:
    return task.at("name").text("default")


def _check_names(tasks: Sequence[Field]) -> None:
    seen: set[str] = set()
    for task in tasks:
        if _name(task) in seen:
            task.at("name").wrong(f"{_name(task)} is the name of two tasks", "rename one of them")
        seen.add(_name(task))


def _minimum(least: Field, planned: Sequence[GroupPod]) -> int:
    """minAvailable; without it, every pod is needed."""
    minimum = least.count(0) or len(planned)
    if minimum > len(planned) and not least.report:
        text = f"is {minimum}, but the tasks have {len(planned)} pods"
        least.wrong(text, f"use at most {len(planned)}, or more replicas")
    return minimum


def _planned(task: Field, namespace: str, job: str) -> list[GroupPod]:
    replicas, name = task.at("replicas").count(0), _name(task)
    least, template = task.at("minAvailable"), task.at("template")
    if least.count(0) > replicas:
        least.wrong(f"is {least.value}, but the task has {replicas} pods", f"use at most {replicas}")
    if replicas > MOST_PODS:
        task.at("replicas").wrong(f"is {replicas}", f"at most {MOST_PODS} pods per task are supported")
        return []
    shape, labels = read_shape(template.at("spec")), template.at("metadata", "labels").strings()
    size = task.at("partitionPolicy", "partitionSize").count(1, least=1)
    own = [{**labels, keys.TASK: name, keys.PARTITION: str(number // size)} for number in range(replicas)]
    return [GroupPod(f"{namespace}/{job}-{name}-{at}", one, shape) for at, one in enumerate(own) if shape is not None]


def _policy(task: Field, tiers: ListedTopology | None) -> SubGroupPolicy:
    policy, replicas = task.at("partitionPolicy"), task.at("replicas").count(0)
    total, size = policy.at("totalPartitions").count(0), policy.at("partitionSize").count(1, least=1)
    least = policy.at("minPartitions")
    if total * size != replicas:
        text = f"makes {total} partitions of {size}, but the task has {replicas} pods"
        policy.wrong(text, "their product has to be the number of replicas")
    if least.count(0) > total:
        least.wrong(f"is {least.value}, but there are {total} partitions", f"use at most {total}")
    own_task = Selector((Requirement(keys.TASK, "In", (_name(task),)),))
    constraint = read_constraint(policy.at("networkTopology"), tiers)
    return SubGroupPolicy(_name(task), own_task, (keys.PARTITION,), size, least.count(0), constraint)
