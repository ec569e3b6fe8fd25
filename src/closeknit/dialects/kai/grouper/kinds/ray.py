"""RayCluster and RayJob: the head and every group of workers are sub-groups, each with its constraint.

A group of workers needs its `minReplicas`, or all replicas if that is not set and nothing scales the cluster. The pod
that submits a RayJob is created when the cluster is ready, so that the group does not wait for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ....field import Field
from ....kueue.jobs.kinds.ray_job import SUBMITTER, SUBMITTER_ROLE
from ... import keys
from ..plan import MOST_PODS, GroupKind, GroupPlan, Owned, PlannedGroup, Raw, labels, name_of, notes, placement, planned

GROUP = "ray.io/group"
HEAD = "headgroup"
PRIORITY = "ray.io/priority-class-name"


def _plan(cluster_at: Callable[[Field], Field]) -> Callable[[Owned], GroupPlan]:
    def plan(owned: Owned) -> GroupPlan:
        cluster = cluster_at(owned.owner)
        topology = owned.note(keys.TOPOLOGY)
        head = PlannedGroup(HEAD, min_member=1, constraint=_bounds(cluster.at("headGroupSpec"), topology))
        entries = [head]
        scales = cluster.at("enableInTreeAutoscaling").value is True
        for index, group in enumerate(cluster.at("workerGroupSpecs").items()):
            least = _least(group, scales)
            if least is not None:
                entries.append(
                    PlannedGroup(_group_name(group, index), min_member=least, constraint=_bounds(group, topology))
                )
        needed = sum(entry.min_member or 0 for entry in entries)
        if _submits(owned):
            entries.append(PlannedGroup(SUBMITTER_ROLE, min_member=0))
        return GroupPlan(needed, entries=tuple(entries), join=lambda pod: _join(pod, owned))

    return plan


def _join(pod: Field, owned: Owned) -> str:
    return labels(pod).at(GROUP).text() or (SUBMITTER_ROLE if _submits(owned) else "")


def _submits(owned: Owned) -> bool:
    """Whether a pod of its own submits the job; KAI leaves it outside of the sub-groups."""
    is_job = owned.owner.at("kind").text() == "RayJob"
    return is_job and not owned.like_kai and _mode(owned.owner) == "K8sJobMode"


def _mode(job: Field) -> str:
    return job.at("spec", "submissionMode").text("K8sJobMode") or "K8sJobMode"


def _bounds(group: Field, topology: Field) -> Raw | None:
    return placement(topology, notes(group.at("template")))


def _group_name(group: Field, index: int) -> str:
    return group.at("groupName").text() or f"worker-group-{index}"


def _least(group: Field, scales: bool) -> int | None:
    """The pods that the group needs; None if it is suspended or has none."""
    replicas, least = group.at("replicas").count(0), group.at("minReplicas")
    if group.at("suspend").value is True or not (replicas or least.count(0)):
        return None
    if least.count(0) > replicas:
        least.wrong(f"is {least.count(0)}, more than the {replicas} replicas", "raise replicas or lower it")
    return (least.count(0) if scales or least.count(0) else replicas) * _hosts(group)


def _hosts(group: Field) -> int:
    return max(1, group.at("numOfHosts").count(1))


def _pods(cluster_at: Callable[[Field], Field]) -> Callable[[Field], Iterator[Raw]]:
    def pods(owner: Field) -> Iterator[Raw]:
        cluster, name = cluster_at(owner), name_of(owner)
        groups = cluster.at("workerGroupSpecs").items()
        if sum(group.at("replicas").count(0) * _hosts(group) for group in groups) > MOST_PODS:
            cluster.at("workerGroupSpecs").wrong("makes too many pods", f"at most {MOST_PODS} are supported")
            return
        yield planned(owner, cluster.at("headGroupSpec", "template"), f"{name}-head", {GROUP: HEAD})
        for number, group in enumerate(groups):
            label = _group_name(group, number)
            count = 0 if group.at("suspend").value is True else group.at("replicas").count(0) * _hosts(group)
            for index in range(count):
                yield planned(owner, group.at("template"), f"{name}-{label}-worker-{index}", {GROUP: label})
        if owner.at("kind").text() == "RayJob" and _mode(owner) == "K8sJobMode":
            template = owner.at("spec", "submitterPodTemplate")
            default = Field({"spec": {"containers": [SUBMITTER]}}, template.path, template.report)
            yield planned(owner, template if template.given else default, f"{name}-submitter", {})

    return pods


def _own(owner: Field) -> Field:
    return owner.at("spec")


def _embedded(owner: Field) -> Field:
    return owner.at("spec", "rayClusterSpec")


def _priority(owner: Field) -> Field:
    return labels(owner).at(PRIORITY)


RAY_CLUSTER = GroupKind(plan=_plan(_own), pods=_pods(_own), priority_at=_priority, by_template=True)
RAY_JOB = GroupKind(plan=_plan(_embedded), pods=_pods(_embedded), priority_at=_priority, by_template=True)
