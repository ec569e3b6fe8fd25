"""Volcano's Job, `batch.volcano.sh/v1alpha1`, as the gang that its PodGroup would be.

Its pods are planned from the tasks, as `JOB-TASK-INDEX`, unless they exist. A task with a partition policy has one
sub-group for each partition: pods 0 to size-1, and so on.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...model.cluster_queue import Selector
from ...model.gang import Gang
from ...model.request import MOST_GROUPS
from ...model.shape import Requirement
from ...model.topology import ListedTopology
from ..field import Field
from ..group_pods import GroupPod, key_of, read_pods
from ..numa_policy import read_policy
from ..pod_template import read_shape
from ..strictness import READ, UNUSED, Tree, check_fields
from . import keys, network_topology
from .gang import gang_of, left, succeeded
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
    tasks = _tasks(spec.at("tasks"))
    planned = [pod for key, task in tasks.items() for pod in _planned(key, task, namespace, name)]
    members = read_pods(pods) if pods else planned
    policies = (_policy(key, task, tiers) for key, task in tasks.items() if task.at("partitionPolicy").given)
    least = {key: task.at("minAvailable").count(task.at("replicas").count(0)) for key, task in tasks.items()}
    minimum = _minimum(spec.at("minAvailable"), len(planned), sum(least.values()))
    done = succeeded(pods)
    tasks_left = {key: left(count, done[key]) for key, count in least.items()}
    division = Division(left(minimum, done.total()), tuple(policies), tasks_left)
    tree = divided(name, members, division, read_constraint(spec.at("networkTopology"), tiers))
    return gang_of(job, pods, tree)


def _tasks(listed: Field) -> dict[str, Field]:
    """The tasks by name; Volcano names one without a name after its place."""
    if not listed.items():
        listed.wrong("is missing", "list the tasks, each with name, replicas and template")
    tasks: dict[str, Field] = {}
    for number, task in enumerate(listed.items()):
        name = task.at("name").text() or f"default{number}"
        if tasks.setdefault(name, task) is not task:
            task.at("name").wrong(f"{name} is the name of two tasks", "rename one of them")
    return tasks


def _minimum(least: Field, pods: int, of_tasks: int) -> int:
    """minAvailable; without it, the minimums of the tasks together."""
    minimum = least.count(0) or of_tasks
    if minimum > pods and not least.report:
        text = f"is {minimum}, but the tasks have {pods} pods"
        least.wrong(text, f"use at most {pods}, or more replicas")
    return minimum


def _planned(name: str, task: Field, namespace: str, job: str) -> list[GroupPod]:
    replicas = task.at("replicas").count(0)
    least, template = task.at("minAvailable"), task.at("template")
    if least.count(0) > replicas:
        least.wrong(f"is {least.value}, but the task has {replicas} pods", f"use at most {replicas}")
    if replicas > MOST_PODS:
        task.at("replicas").wrong(f"is {replicas}", f"at most {MOST_PODS} pods per task are supported")
        return []
    partitions = task.at("partitionPolicy", "totalPartitions")
    if partitions.count(1) > MOST_GROUPS:
        partitions.wrong(f"is {partitions.value}", f"at most {MOST_GROUPS} groups are supported")
        return []
    shape, labels = read_shape(template.at("spec")), template.at("metadata", "labels").strings()
    shape = None if shape is None else read_policy(shape, template)
    size = task.at("partitionPolicy", "partitionSize").count(1, least=1)
    own = [{**labels, keys.TASK: name, keys.PARTITION: str(number // size)} for number in range(replicas)]
    return [GroupPod(f"{namespace}/{job}-{name}-{at}", one, shape) for at, one in enumerate(own) if shape is not None]


def _policy(name: str, task: Field, tiers: ListedTopology | None) -> SubGroupPolicy:
    policy, replicas = task.at("partitionPolicy"), task.at("replicas").count(0)
    for key in ("totalPartitions", "partitionSize"):
        if not policy.at(key).given:
            policy.at(key).wrong("is missing", "give it: totalPartitions times partitionSize is the number of replicas")
    total, size = policy.at("totalPartitions").count(1, least=1), policy.at("partitionSize").count(1, least=1)
    least = policy.at("minPartitions")
    if total * size != replicas and not policy.report:
        text = f"makes {total} partitions of {size}, but the task has {replicas} pods"
        policy.wrong(text, "their product has to be the number of replicas")
    if least.count(0) > total:
        least.wrong(f"is {least.value}, but there are {total} partitions", f"use at most {total}")
    own_task = Selector((Requirement(keys.TASK, "In", (name,)),))
    constraint = read_constraint(policy.at("networkTopology"), tiers)
    return SubGroupPolicy(name, own_task, (keys.PARTITION,), size, least.count(0), constraint)
