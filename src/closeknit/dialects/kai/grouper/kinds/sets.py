"""Pods without an owner, Deployments, StatefulSets, and owners of any other kind."""

from __future__ import annotations

from collections.abc import Iterator

from ....field import Field
from ....kueue.jobs.kinds.serving import replicas
from ....kueue.jobs.kinds.stateful_set import POD_INDEX
from ... import keys
from ..plan import (
    MOST_COPIES,
    MOST_PODS,
    GroupKind,
    GroupPlan,
    Naming,
    Owned,
    Raw,
    group_name,
    name_of,
    number_of,
    planned,
)
from ..segments import cut, read_segments, too_many

SEGMENT = "segment"
"""The name of the segments that are directly in a group, before their number."""


def any_plan(_owned: Owned) -> GroupPlan:
    return GroupPlan(1)


def by_pod(_owned: Owned) -> Naming:
    return lambda pod: group_name(pod, pod)


def deployment_pods(owner: Field) -> Iterator[Raw]:
    count = replicas(owner)
    if count > MOST_COPIES:
        owner.at("spec", "replicas").wrong(f"makes {count} groups", f"at most {MOST_COPIES} are supported")
        return
    for index in range(count):
        yield planned(owner, owner.at("spec", "template"), f"{name_of(owner)}-{index}", {})


def stateful_set_pods(owner: Field) -> Iterator[Raw]:
    first, count = owner.at("spec", "ordinals", "start").count(0), replicas(owner)
    if count > MOST_PODS:
        owner.at("spec", "replicas").wrong(f"makes {count} pods", f"at most {MOST_PODS} are supported")
        return
    for index in range(first, first + count):
        yield planned(owner, owner.at("spec", "template"), f"{name_of(owner)}-{index}", {POD_INDEX: str(index)})


def stateful_set_plan(owned: Owned) -> GroupPlan:
    """One group, of which one pod has to run; with segments, all pods, which then have to be created at once."""
    owner, count = owned.owner, replicas(owned.owner)
    segments = None if owned.like_kai else read_segments(owned, owned.pods, owner.at("spec", "template"))
    if segments is None or too_many(segments, count, owner.at("spec", "replicas")):
        return GroupPlan(1)
    policy = owner.at("spec", "podManagementPolicy")
    if policy.text() != "Parallel":
        policy.wrong(f"has to be Parallel for {keys.SEGMENT_SIZE}: a segment waits for all of its pods", "set it")
    first = owner.at("spec", "ordinals", "start").count(0)

    def join(pod: Field) -> str:
        index = number_of(pod, POD_INDEX)
        return "" if index is None else f"{SEGMENT}-{(index - first) // segments.size}"

    return GroupPlan(count, entries=tuple(cut(segments, count, "", SEGMENT)), join=join)


POD = GroupKind(plan=any_plan)
ANY_OWNER = GroupKind(plan=any_plan)
DEPLOYMENT = GroupKind(plan=any_plan, naming=by_pod, pods=deployment_pods, priority=keys.INFERENCE, of_pod=True)
STATEFUL_SET = GroupKind(plan=stateful_set_plan, pods=stateful_set_pods, numbered=True)
