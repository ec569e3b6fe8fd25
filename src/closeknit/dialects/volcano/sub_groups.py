"""How Volcano divides the pods of a group: sub-groups by label values, or tasks with minimums of their own.

    PodGroup, minMember 5                         Group, min_total 5
      subGroupPolicy workers, minSubGroups 2        └ Group workers, min_groups 2
        pods with partition-id 0, 1, 2                  └ Groups workers/0, workers/1, workers/2

`minMember` counts the pods of all sub-groups together. Where it is every pod there is, each group simply needs all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from ...model.cluster_queue import Selector
from ...model.natural import natural
from ...model.request import Constraint, Group
from ..group_pods import GroupPod, pod_sets
from ..minimums import least_pods
from . import keys


class SubGroupPolicy(NamedTuple):
    """Pods that `selector` matches form a sub-group for each combination of values of the labels `keys`.

    A sub-group needs `size` pods, and the group `least` of its sub-groups.
    """

    name: str
    selector: Selector
    keys: tuple[str, ...]
    size: int
    least: int
    constraint: Constraint | None = None

    def sub_group(self, pod: GroupPod) -> str:
        """The name of the sub-group of a pod; empty if the policy is not for it."""
        has_all = bool(self.keys) and all(key in pod.labels for key in self.keys)
        is_member = has_all and self.selector.matches(pod.labels)
        return "/".join((self.name, *(pod.labels[key] for key in self.keys))) if is_member else ""


class Division(NamedTuple):
    """The parts of a group. `minimum` is minMember, `tasks` the minimums of single tasks."""

    minimum: int
    policies: tuple[SubGroupPolicy, ...] = ()
    tasks: Mapping[str, int] = MappingProxyType({})

    @property
    def binds_tasks(self) -> bool:
        """Whether the minimums of tasks count: as in Volcano, only if the group's minimum covers them."""
        return 0 < sum(self.tasks.values()) <= self.minimum


def divided(name: str, pods: Sequence[GroupPod], division: Division, constraint: Constraint | None) -> Group:
    """The group of these pods."""
    needs_all = division.minimum >= len(pods)
    own, children = _children(name, pods, division, needs_all)
    if not children:
        return Group(pod_sets(name, own), name, constraint, min_pods=division.minimum)
    implied = sum(map(least_pods, children)) + (len(own) if needs_all else 0)
    total = division.minimum if division.minimum > implied else None
    if len(children) == 1 and not own and division.policies:
        [only] = children
        return _as_groups(Group(only.members, name, constraint, min_groups=only.min_groups, min_total=total))
    own_least = None if needs_all else 0
    return Group((*pod_sets(name, own), *children), name, constraint, min_pods=own_least, min_total=total)


def _as_groups(group: Group) -> Group:
    """The same minimum as a number of sub-groups, where each has just the pods that it needs: 5 pods are 3 pairs."""
    sizes = {(one.min_pods, sum(pods.count + len(pods.running) for pods in one.own_pod_sets)) for one in group.groups}
    [(needed, there)] = sizes if len(sizes) == 1 else [(None, 0)]
    if group.min_total is None or needed != there or not there:
        return group
    return replace(group, min_groups=max(group.min_groups or 0, -(-group.min_total // there)), min_total=None)


def _children(
    name: str, pods: Sequence[GroupPod], division: Division, needs_all: bool
) -> tuple[list[GroupPod], list[Group]]:
    """The pods that belong to the group itself, and the groups of the others."""
    if division.policies:
        return _by_policy(pods, division.policies, needs_all)
    if not division.binds_tasks or needs_all:
        return list(pods), []
    parts: dict[str, list[GroupPod]] = {task: [] for task in division.tasks}
    own = [pod for pod in pods if pod.labels.get(keys.TASK, "") not in parts]
    for pod in pods:
        parts.get(pod.labels.get(keys.TASK, ""), []).append(pod)
    return own, [
        Group(pod_sets(f"{name}/{task}" if task == name else task, parts[task]), task, min_pods=least)
        for task, least in division.tasks.items()
    ]


def _by_policy(
    pods: Sequence[GroupPod], policies: Sequence[SubGroupPolicy], needs_all: bool
) -> tuple[list[GroupPod], list[Group]]:
    own: list[GroupPod] = []
    parts: dict[str, dict[str, list[GroupPod]]] = {policy.name: {} for policy in policies}
    for pod in pods:
        found = next(((one, part) for one in policies if (part := one.sub_group(pod))), None)
        if found is None:
            own.append(pod)
        else:
            parts[found[0].name].setdefault(found[1], []).append(pod)
    return own, [_policy_group(policy, parts[policy.name], needs_all) for policy in policies]


def _policy_group(policy: SubGroupPolicy, parts: Mapping[str, Sequence[GroupPod]], needs_all: bool) -> Group:
    groups = tuple(
        Group(
            pod_sets(part, parts[part]),
            part,
            policy.constraint,
            min_pods=max(policy.size, len(parts[part])) if needs_all else policy.size,
        )
        for part in sorted(parts, key=natural)
    )
    return Group(groups, policy.name, min_groups=max(policy.least, len(groups)) if needs_all else policy.least)
